import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { idOf } from '../../test/table-model.ts'
import { ContainmentTable } from './containment-table.ts'
import { randomWords } from './mix.ts'
import { textUnits } from './text-units.ts'
import { fingerprintsOf, packFingerprints, unpackFingerprints } from './winnowing.ts'

const next = randomWords(71)
const words = (count: number) =>
  Array.from({ length: count }, () => `w${(next() % 5000).toString(36)}`).join(' ')
const printsOf = (text: string) => fingerprintsOf(Buffer.from(text))
const unitsIn = (text: string) => {
  const bytes = Buffer.from(text)
  const { starts, ends } = textUnits(bytes)
  return Array.from(starts, (start, at) => bytes.subarray(start, ends[at]).toString())
}

describe('the units of a text', () => {
  it('are words, single code points of scripts without spaces, and single pictographs', () => {
    expect(unitsIn('Hello, wörld! 漢字かな हिन्दी में 👍🏽😀 x')).toEqual([
      'Hello',
      'wörld',
      '漢',
      '字',
      'か',
      'な',
      'हिन्दी',
      'में',
      '👍',
      '🏽',
      '😀',
      'x',
    ])
  })

  it('have their places in the original bytes, with the marks that follow them', () => {
    expect(unitsIn('Cafe\u0301, l\u200bong か\u3099き ①')).toEqual([
      'Cafe\u0301',
      'l\u200bong',
      'か\u3099',
      'き',
      '①',
    ])
  })

  it.each([
    ['case', 'The Straße ΟΔΟΣ', 'the STRASSE οδος'],
    [
      'composition',
      'Café Ångström ガギ 각',
      'Cafe\u0301 A\u030angstro\u0308m カ\u3099キ\u3099 각'.normalize('NFD'),
    ],
    ['width', 'Ｗｉｄｅ １２３ ｶﾞ', 'wide 123 ガ'],
    ['white space and punctuation', 'one, two - three', '“one”\n\ttwo…three!'],
    ['invisible characters', 'soft\u00adhyphen zero\u200bwidth', 'softhyphen zerowidth'],
    ['order of marks', 'vi\u1ec7t', 'vi\u00eat\u0323'.replace('\u00eat\u0323', '\u00ea\u0323t')],
  ])('do not depend on %s', (_, one, other) => {
    expect(textUnits(Buffer.from(one)).hashes).toEqual(textUnits(Buffer.from(other)).hashes)
  })

  it('tile any bytes in order, and never end before they start', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.string({ unit: 'binary' })), (input) => {
        const bytes = typeof input === 'string' ? Buffer.from(input) : input
        const { starts, ends } = textUnits(bytes)
        let last = 0
        starts.forEach((start, at) => {
          expect(start).toBeGreaterThanOrEqual(last)
          last = ends[at] ?? 0
          expect(last).toBeGreaterThan(start)
        })
        expect(last).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })
})

describe('winnowed fingerprints', () => {
  it('leave one at least of every 17 units, wherever they stand', () => {
    for (let round = 0; round < 300; round++) {
      const passage = words(17)
      const own = new Set(printsOf(passage).hashes)
      const whole = printsOf(`${words(next() % 50)} ${passage} ${words(next() % 50)}`)
      expect(whole.hashes.some((hash) => own.has(hash))).toBe(true)
    }
  })

  it('are few where a text repeats itself', () => {
    expect(printsOf('again '.repeat(5000)).hashes).toHaveLength(1)
    expect(printsOf('🙂'.repeat(5000)).hashes).toHaveLength(1)
  })

  it.each(['', 'a', '。', 'one two three four five', '\ud800'])('are none of %j', (text) => {
    expect(printsOf(text).hashes).toHaveLength(0)
  })

  it('are packed and unpacked unchanged', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(0xffffffff)), fc.nat(20), (numbers, level) => {
        const hashes = Uint32Array.from(numbers).toSorted()
        expect(unpackFingerprints(packFingerprints({ hashes, level }))).toEqual({ hashes, level })
      }),
    )
    expect(() => unpackFingerprints(Buffer.of(0, 200))).toThrow('cannot be read')
    expect(() => unpackFingerprints(Buffer.of())).toThrow('cannot be read')
  })

  it('of a very long text are a sample that the same long passages are found by', () => {
    const text = words(150_000)
    const long = printsOf(text)
    expect(long.hashes.length).toBeLessThanOrEqual(16_000)
    expect(long.level).toBeGreaterThan(0)
    const part = printsOf(text.slice(100_000, 200_000))
    const table = new ContainmentTable()
    table.insert(idOf(1), long)
    expect(table.query(part, { estimateMin: 0.95 }).candidates).toHaveLength(1)
    expect(table.query(printsOf(words(20_000)), { estimateMin: 0.5 }).candidates).toEqual([])
  })
})

describe('a table of fingerprints', () => {
  const text = words(2000)
  const part = text.split(' ').slice(500, 600).join(' ')

  it('finds what contains a text, and what a text contains', () => {
    const table = new ContainmentTable()
    table.insert(idOf(1), printsOf(text))
    table.insert(idOf(2), printsOf(words(2000)))
    table.insert(idOf(3), printsOf(part))
    const ids = (asked: string) =>
      table.query(printsOf(asked), { estimateMin: 0.8 }).candidates.map(({ id }) => id)
    expect(ids(part)).toEqual([idOf(1), idOf(3)])
    expect(ids(text)).toEqual([idOf(1), idOf(3)])
    expect(ids(words(100))).toEqual([])
    table.insert(idOf(1), printsOf(words(10)))
    expect(ids(part)).toEqual([idOf(3)])
    expect(table.remove(idOf(3))).toBe(true)
    expect(table.remove(idOf(3))).toBe(false)
    expect(ids(part)).toEqual([])
  })

  it('passes over fingerprints of very many texts, and says so', () => {
    const table = new ContainmentTable()
    for (let at = 0; at < 60; at++) table.insert(idOf(at), printsOf(part))
    const all = table.query(printsOf(part), { bucketMax: 60 })
    expect(all).toMatchObject({ compared: 60, bucketsPassedOver: 0 })
    const none = table.query(printsOf(part), { bucketMax: 59 })
    expect(none.candidates).toEqual([])
    expect(none.bucketsPassedOver).toBe(printsOf(part).hashes.length)
  })

  it('answers the same after most of it is gone, and from its memory', () => {
    const table = new ContainmentTable()
    for (let at = 0; at < 200; at++) table.insert(idOf(at), printsOf(words(300)))
    table.insert(idOf(1000), printsOf(text))
    for (let at = 0; at < 200; at++) table.remove(idOf(at))
    const before = table.query(printsOf(part))
    expect(before.candidates.map(({ id }) => id)).toEqual([idOf(1000)])
    const copy = new ContainmentTable()
    const pieces = Array.from(table.memory(false), (piece) => Buffer.from(piece))
    for (const piece of copy.memory(true)) piece.set(pieces.shift() ?? [])
    expect(pieces).toEqual([])
    expect(copy.query(printsOf(part))).toEqual(before)
    expect(copy.stats().representatives).toBe(1)
    copy.remove(idOf(1000))
    expect(copy.query(printsOf(part)).candidates).toEqual([])
  })
})
