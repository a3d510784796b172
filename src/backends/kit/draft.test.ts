import { describe, expect, it } from 'vitest'

import type { Bytes } from '../../platform/bytes.ts'
import { cell, rows, type Space, tallies } from '../contract.ts'
import { cellName, Draft, ReadDraft } from './draft.ts'
import { IdSource } from './ids.ts'

const bare = { encode: (bytes: Bytes) => bytes, decode: (bytes: Bytes) => bytes }
const space: Space<Bytes> = rows('rows', bare, { ordered: true })
const other: Space<Bytes> = rows('others', bare)
const sums = tallies('sums')

const key = (text: string) => Buffer.from(text, 'latin1')
const at = (text: string) => cell(space, key(text))

function draft(): Draft {
  return new Draft(
    true,
    new IdSource(
      () => 5,
      () => Buffer.alloc(6),
    ),
    5,
  )
}

describe('a draft', () => {
  it('answers what it has written, and nothing else', () => {
    const one = draft()
    expect(one.own(space, key('a'))).toBeUndefined()
    one.write(at('a'), key('A'))
    one.remove(at('b'))
    expect(one.own(space, key('a'))?.bytes).toEqual(key('A'))
    expect(one.own(space, key('b'))).toMatchObject({ bytes: undefined })
    expect(one.own(space, key('c'))).toBeUndefined()
    expect(one.own(other, key('a'))).toBeUndefined()
  })

  it('answers with the last write, also after it was asked in between', () => {
    const one = draft()
    one.write(at('a'), key('1'))
    expect(one.own(space, key('a'))?.bytes).toEqual(key('1'))
    one.write(at('a'), key('2'))
    one.write(at('b'), key('3'))
    expect(one.own(space, key('a'))?.bytes).toEqual(key('2'))
    one.remove(at('a'))
    expect(one.own(space, key('a'))).toMatchObject({ bytes: undefined })
  })

  it('keeps all writes in order, and one a cell at the end', () => {
    const one = draft()
    expect(one.finalWrites()).toEqual([])
    one.write(at('a'), key('1'))
    expect(one.finalWrites()).toHaveLength(1)
    one.write(at('b'), key('2'))
    one.write(at('a'), key('3'))
    one.remove(at('b'))
    expect(one.writes).toHaveLength(4)
    const final = one.finalWrites().map((write) => [String(write.key), write.bytes?.toString()])
    expect(final).toEqual([
      ['a', '3'],
      ['b', undefined],
    ])
  })

  it('finds its own writes by prefix, removals included', () => {
    const one = draft()
    for (const name of ['a', 'ab', 'abc', 'b']) one.write(at(name), key(name))
    one.remove(at('ab'))
    one.write(cell(other, key('abd')), key('x'))
    const found = [...one.ownOf(space, key('ab'))].map(({ key, bytes }) => [String(key), !!bytes])
    expect(found).toEqual([
      ['ab', false],
      ['abc', true],
    ])
    expect([...draft().ownOf(space, key(''))]).toEqual([])
  })

  it('knows a space by its name, not by its object', () => {
    const twin: Space<Bytes> = rows('rows', bare, { ordered: true })
    const one = draft()
    one.write(cell(twin, key('a')), key('A'))
    expect(one.own(space, key('a'))?.bytes).toEqual(key('A'))
    expect([...one.ownOf(space, key(''))]).toHaveLength(1)
  })

  it('adds whole numbers to tallies, and leaves out nothing at all', () => {
    const one = draft()
    one.add(cell(sums, key('a')), 5)
    one.add(cell(sums, key('a')), 0)
    one.add(cell(sums, key('a')), -2)
    expect(one.additions.map(({ delta }) => delta)).toEqual([5, -2])
    for (const delta of [0.5, Number.NaN, -Infinity, 2 ** 53]) {
      expect(() => one.add(cell(sums, key('a')), delta)).toThrow(
        expect.objectContaining({ code: 'BODY_MISUSE' }),
      )
    }
    expect(one.additions).toHaveLength(2)
  })

  it('refuses to write tallies and to add to rows, and records nothing of it', () => {
    const one = draft()
    const misuse = expect.objectContaining({ code: 'BODY_MISUSE' })
    expect(() => one.write(cell(sums, key('a')), 1)).toThrow(misuse)
    expect(() => one.remove(cell(sums, key('a')))).toThrow(misuse)
    const countedRows = rows<number>('counted', sums.codec)
    expect(() => one.add(cell(countedRows, key('a')), 1)).toThrow(misuse)
    expect(one.writes).toEqual([])
    expect(one.additions).toEqual([])
  })

  it('remembers what else it relies on', () => {
    for (const one of [draft(), new ReadDraft(5)]) {
      one.rely()
      expect(one.relied).toEqual([])
      one.rely(at('a'))
      one.rely(at('b'), at('c'))
      expect(one.relied.map((cell) => String(cell.key))).toEqual(['a', 'b', 'c'])
    }
  })

  it('has one time, and ids from its source', () => {
    const one = draft()
    expect([one.now(), one.now(), new ReadDraft(7).now()]).toEqual([5, 5, 7])
    expect(Buffer.compare(one.id(), one.id())).toBe(-1)
  })
})

describe('the name of a cell', () => {
  it('is the same for the same cell only', () => {
    expect(cellName(space, key('a'))).toBe(cellName(space, new Uint8Array([97])))
    const names = [
      cellName(space, key('a')),
      cellName(space, key('b')),
      cellName(space, key('a\0')),
      cellName(space, key('\xff')),
      cellName(other, key('a')),
    ]
    expect(new Set(names).size).toBe(names.length)
  })
})
