import { describe, expect, it } from 'vitest'

import { textOf } from '../../test/texts/near-texts.ts'
import { randomTexts } from '../../test/texts/random-texts.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  chooseBands,
  collisionProbability,
  computeBands,
  estimateSimilarity,
  jaccard,
  profilesOf,
  shingleHashes,
  sketchOf,
} from '../fingerprint/index.ts'
import { mix, SHINGLE_MULTIPLIER } from '../fingerprint/mix.ts'
import { shapeOf, type ShingleProfile } from '../fingerprint/shingle-profile.ts'
import { allShingleHashes } from '../fingerprint/twin-text.ts'
import { compareTexts } from './compare-texts.ts'
import { shingleTexts } from './shingle-texts.ts'

const fox = 'The quick brown fox jumps over the lazy dog and runs away.'
const wolf = 'The quick brown fox jumps over the lazy dog and walks away.'

/** What the kernels would make of a shown shingle of `chars`, worked out from the definition. */
function charsHash(shown: string): number {
  let sum = 0
  for (const character of shown) {
    const point = { '␂': 0x300000, '␃': 0x300001 }[character] ?? character.codePointAt(0)!
    sum = (Math.imul(sum, SHINGLE_MULTIPLIER) + point) | 0
  }
  return mix(sum)
}

/** The hash of one shown shingle, without looking at the text it was cut from. */
function hashOfShown(shown: string, profile: ShingleProfile): number {
  if (profile.startsWith('chars')) return charsHash(shown)
  const hashes = shingleHashes(shown, profile)
  expect(hashes).toHaveLength(1)
  return hashes[0]!
}

function allShown(bytes: Uint8Array, profile: ShingleProfile): string[] {
  const shape = shapeOf(profile)
  if (typeof shape === 'string') throw new Error('a shape is wanted here')
  const count = allShingleHashes(bytes, shape).length
  return shingleTexts(
    bytes,
    shape,
    Array.from({ length: count }, (_, number) => number),
  )
}

describe('shingles as texts', () => {
  const profiles = [
    'chars-1',
    'chars-3',
    'words-1',
    'words-5',
    'codepoints-2',
    'codepoints-5',
  ] as const

  it.each(profiles)('have the hashes of the kernels, whatever the script (%s)', (profile) => {
    const texts = randomTexts(20_261)
    for (let round = 0; round < 400; round++) {
      // U+2402 and U+2403 stand for the ends here, so a text that has them cannot be hashed again.
      const text = texts.next().toWellFormed().replaceAll(/[␂␃]/g, 'x')
      const shown = allShown(Buffer.from(text), profile)
      const hashes = [...new Set(shown.map((one) => hashOfShown(one, profile)))]
      expect(hashes.toSorted((a, b) => a - b)).toEqual([...shingleHashes(text, profile)])
    }
  })

  it('are readable', () => {
    const shown = (text: string, profile: ShingleProfile) => allShown(Buffer.from(text), profile)
    expect(shown('a,b — c  d', 'words-3')).toEqual(['a b c', 'b c d'])
    expect(shown('ab', 'chars-3')).toEqual(['␂ab', 'ab␃'])
    expect(shown('x', 'chars-3')).toEqual(['␂x␃'])
    expect(shown('你好，世界', 'codepoints-2')).toEqual(['你好', '好世', '世界'])
    expect(shown('two words', 'words-5')).toEqual(['two words'])
    expect(shown('?!', 'words-5')).toEqual(['?!'])
    expect(shown('', 'words-5')).toEqual([])
  })
})

describe('two texts', () => {
  it('are compared exactly and by sketch, and by what the kernels say', () => {
    const profile = 'words-3'
    const found = compareTexts(fox, wolf, { profile, threshold: 0.5, slots: 256, guards: false })
    const [a, b] = [fox, wolf].map((text) => text.toLowerCase())
    const [own, other] = [a, b].map((text) => sketchOf(text!, { profile, slots: 256 }))
    const similarity = jaccard(shingleHashes(a!, profile), shingleHashes(b!, profile))
    const { bands, rows } = chooseBands({ slots: 256, threshold: 0.5 })
    const [ownBands, otherBands] = [own, other].map(({ slots } = own!) =>
      computeBands(slots, bands, rows),
    )
    expect(found).toMatchObject({
      profile,
      slots: 256,
      similarity,
      estimate: estimateSimilarity(own!, other!),
      threshold: 0.5,
      isDuplicate: similarity >= 0.5,
      banding: { bands, rows },
      collisionProbability: collisionProbability(similarity, bands, rows),
      shingles: { a: 10, b: 10, shared: 8 },
    })
    expect(found.isDuplicate).toBe(true)
    expect(found.sharedBands).toEqual(
      [...ownBands!.keys()].filter((band) => ownBands![band] === otherBands![band]),
    )
    expect(found.sharedBands.length).toBeGreaterThan(0)
    expect(found.containment).toEqual({ aInB: 0.8, bInA: 0.8 })
  })

  it('show the shingles they share and those only one has, in order and up to a limit', () => {
    const found = compareTexts(fox, wolf, { profile: 'words-3', shinglesMax: 2 })
    expect(found.sharedShingles).toEqual(['the quick brown', 'quick brown fox'])
    expect(found.onlyInA).toEqual(['dog and runs', 'and runs away'].slice(0, 2))
    expect(found.onlyInB).toEqual(['dog and walks', 'and walks away'].slice(0, 2))
    const none = compareTexts(fox, wolf, { profile: 'words-3', shinglesMax: 0 })
    expect([none.sharedShingles, none.onlyInA, none.onlyInB]).toEqual([[], [], []])
  })

  it('show each shingle once, however often it comes', () => {
    const found = compareTexts('a b a b a b', 'a b a b c', { profile: 'words-2' })
    expect(found.sharedShingles).toEqual(['a b', 'b a'])
    expect(found.onlyInA).toEqual([])
    expect(found.onlyInB).toEqual(['b c'])
  })

  it('show only shingles that are there, in any script', () => {
    const texts = randomTexts(7)
    for (let round = 0; round < 100; round++) {
      const [a, b] = [texts.next().toWellFormed(), texts.next().toWellFormed()]
      const found = compareTexts(a, b + a.slice(0, 40), {
        profile: 'codepoints-2',
        canonical: 'none',
        shinglesMax: 5,
      })
      const all = new Set(shingleHashes(a, 'codepoints-2'))
      for (const shown of [...found.sharedShingles, ...found.onlyInA]) {
        if (shown.length - (shown.codePointAt(0)! > 0xffff ? 1 : 0) < 2) continue
        expect(all).toContain(hashOfShown(shown, 'codepoints-2'))
      }
    }
  })

  it('are compared in canonical form by default', () => {
    expect(compareTexts('Cafe\u0301  ＡＢＣ', 'caf\u00e9 abc').similarity).toBe(1)
    expect(compareTexts('Café abc', 'café abc', { canonical: 'none' }).similarity).toBeLessThan(1)
  })

  it('are cut by the wider of their profiles, in either order', () => {
    const long = textOf(1, 1000)
    const [own] = profilesOf(long, 'adaptive', 0.8)
    expect(profilesOf('short', 'adaptive', 0.8)).not.toContain(own)
    expect(compareTexts('short', long).profile).toBe(own)
    expect(compareTexts(long, 'short').profile).toBe(own)
    expect(compareTexts('人人生而自由', 'short').profile).toBe('chars-3')
  })

  it('are cut by the profile of the longer one if auto chooses, in either order', () => {
    const auto = (a: string, b: string) => compareTexts(a, b, { profile: 'auto' }).profile
    const long = 'some words that make a long text '.repeat(10)
    expect([auto('short', long), auto(long, 'short')]).toEqual(['words-5', 'words-5'])
    const [han, latin] = ['人人生而自由'.repeat(50), 'abc de '.repeat(43).slice(0, 300)]
    expect(auto(han, latin.replace(/ $/, 'x'))).toBe('codepoints-5')
    expect(auto(latin.replace(/ $/, 'x'), han)).toBe('codepoints-5')
  })

  it.each([
    ['Hindi', 'सभी मनुष्यों को गौरव और अधिकारों', 'सभी मनुष्यों को गौरव तथा अधिकारों'],
    ['Chinese', '人人生而自由，在尊严和权利上一律平等。', '人人生而自由，在尊严与权利上一律平等。'],
    ['Arabic', 'يولد جميع الناس أحرارًا متساوين', 'يولد جميع الناس أحرارا متساوين'],
    ['emoji', '👩‍👩‍👧‍👦🎁🇩🇪 party 🎉', '👩‍👩‍👧‍👦🎁🇩🇰 party 🎉'],
  ])('are alike but not the same in %s', (_, a, b) => {
    const found = compareTexts(a, b)
    expect(found.similarity).toBeGreaterThan(0.2)
    expect(found.similarity).toBeLessThan(1)
    expect(found.onlyInA.length).toBeGreaterThan(0)
    expect(found.onlyInA).not.toContain('')
  })

  it('may be empty or one character', () => {
    expect(compareTexts('', '')).toMatchObject({
      similarity: 0,
      estimate: 0,
      isDuplicate: false,
      sharedBands: [],
      containment: { aInB: 0, bInA: 0 },
      shingles: { a: 0, b: 0, shared: 0 },
    })
    expect(compareTexts('', 'a')).toMatchObject({ similarity: 0, onlyInA: [], onlyInB: ['␂a␃'] })
    expect(compareTexts('a', 'A')).toMatchObject({ similarity: 1, sharedShingles: ['␂a␃'] })
    expect(compareTexts('a', 'A').sharedBands).toHaveLength(13)
  })

  it('have the passages that both share, as bytes of both originals', () => {
    const said =
      'Ünïcödé: we met at last at the Café Zürich near the old harbour 東京都港区六本木 🎉'
    const a = `She wrote:\n> ${said.toUpperCase()}\n${textOf(1, 30)}`
    const b = Buffer.from(`${textOf(2, 40)} ${said.normalize('NFD')} ${textOf(3, 20)}`)
    const { passages } = compareTexts(a, b)
    const cut = (text: Uint8Array, { start, end }: { start: number; end: number }) =>
      Buffer.from(text.subarray(start, end)).toString()
    expect(passages.a.map((passage) => cut(Buffer.from(a), passage))).toEqual([said.toUpperCase()])
    expect(passages.b.map((passage) => cut(b, passage))).toEqual([said.normalize('NFD')])
    expect(compareTexts(a, b, { passagesMax: 0 }).passages).toEqual({ a: [], b: [] })
    expect(compareTexts('', a).passages).toEqual({ a: [], b: [] })
  })

  it('have no more passages than are asked for, the first of each', () => {
    const parts = Array.from({ length: 12 }, (_, at) => textOf(at + 10, 20))
    const a = parts.map((part, at) => `${part} ${textOf(at + 50, 10)}`).join('\n')
    const b = parts.map((part, at) => `${part} ${textOf(at + 80, 10)}`).join('\n')
    expect(compareTexts(a, b).passages.a).toHaveLength(10)
    const { passages } = compareTexts(a, b, { passagesMax: 2 })
    expect(passages).toEqual({
      a: compareTexts(a, b).passages.a.slice(0, 2),
      b: compareTexts(a, b).passages.b.slice(0, 2),
    })
  })

  it.each<[object, RegExp]>([
    [{ threshold: 0 }, /threshold/],
    [{ threshold: 1.1 }, /threshold/],
    [{ slots: 100 }, /slots/],
    [{ bands: 4 }, /together/],
    [{ bands: 100, rows: 100 }, /do not fit/],
    [{ profile: 'sentences' }, /profile/],
    [{ shinglesMax: -1 }, /shinglesMax/],
    [{ passagesMax: -1 }, /passagesMax/],
    [{ treshold: 0.5 }, /treshold/],
  ])('are refused with %j', (options, message) => {
    expect(() => compareTexts('a', 'b', options)).toThrow(PrestigeError)
    expect(() => compareTexts('a', 'b', options)).toThrow(message)
  })

  it('are refused when they are no text', () => {
    expect(() => compareTexts(Buffer.from([0xff]), 'b')).toThrow(/not valid UTF-8/)
    // @ts-expect-error -- JavaScript can give anything
    expect(() => compareTexts(5, 'b')).toThrow(/Text is/)
    expect(compareTexts(Buffer.from([0xff, 0xfe]), 'b', { canonical: 'none' }).similarity).toBe(0)
  })
})
