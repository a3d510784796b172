import { describe, expect, it } from 'vitest'

import { ChainedTables } from './chained-tables.ts'

const ascending = (slots: readonly number[]) => slots.toSorted((a, b) => a - b)
const keys = (...values: number[]) => Uint32Array.from(values)

describe('chained tables', () => {
  it('leave a slot that was taken out where it is, even if all chains are rebuilt', () => {
    const tables = new ChainedTables(2)
    for (let slot = 0; slot < 3; slot++) tables.put(slot, keys(7, slot))
    tables.unlink(1)
    for (let slot = 3; slot < 20; slot++) tables.put(slot, keys(8, slot))
    expect(ascending(tables.collect(keys(7, 1), Infinity).slots)).toEqual([0, 2])
    expect(tables.isLinked(1)).toBe(false)
    tables.put(1, keys(8, 1))
    expect(ascending(tables.collect(keys(7, 1), Infinity).slots)).toEqual([0, 1, 2])
  })

  it('follow one key through the chain it shares with others', () => {
    const tables = new ChainedTables(1)
    for (let slot = 0; slot < 64; slot++) tables.put(slot, keys(slot % 2 === 0 ? 0 : 1 << 20))
    const found: number[] = []
    for (let link = tables.firstOf(1 << 20); link !== 0; link = tables.nextOf(link - 1)) {
      found.push(link - 1)
    }
    expect(found).toHaveLength(32)
    expect(found.every((slot) => slot % 2 === 1)).toBe(true)
    expect(tables.census(1)).toEqual({
      fullestBuckets: [{ band: 0, key: 0, size: 32 }],
      chainLongest: 64,
      chainMean: 64,
    })
  })

  it('refuse to take out what is in no chain', () => {
    const tables = new ChainedTables(1)
    tables.put(0, keys(5))
    tables.unlink(0)
    expect(() => tables.unlink(0)).toThrow(/Slot 0 is in no chain/)
  })
})
