import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { OrderedMap } from './ordered-map.ts'
import { seededRandom } from '../simulated/backend.ts'

/** The plainest thing that could be right: an array that is sorted again after every change. */
class SortedArray {
  entries: [string, number][] = []

  get(key: string): number | undefined {
    return this.entries.find(([name]) => name === key)?.[1]
  }

  set(key: string, value: number): void {
    this.delete(key)
    this.entries.push([key, value])
    this.entries.sort(([one], [other]) => (one < other ? -1 : 1))
  }

  delete(key: string): boolean {
    const before = this.entries.length
    this.entries = this.entries.filter(([name]) => name !== key)
    return this.entries.length < before
  }

  slice(start: string, end: string | undefined, limit: number): [string, number][] {
    return this.entries
      .filter(([name]) => name >= start && (end === undefined || name < end))
      .slice(0, limit)
  }
}

const name = () => fc.stringMatching(/^[\0a-c\xff]{0,3}$/)
const step = () =>
  fc.oneof(
    fc.record({ kind: fc.constant('set' as const), key: name(), value: fc.nat() }),
    fc.record({ kind: fc.constant('delete' as const), key: name() }),
    fc.record({
      kind: fc.constant('slice' as const),
      start: name(),
      end: fc.option(name(), { nil: undefined }),
      limit: fc.nat({ max: 12 }),
    }),
  )

describe('an ordered map', () => {
  it('agrees with a sorted array, whatever is done to it', () => {
    fc.assert(
      fc.property(fc.array(step(), { maxLength: 60 }), (steps) => {
        const map = new OrderedMap<number>()
        const model = new SortedArray()
        for (const one of steps) {
          if (one.kind === 'slice') {
            const { start, end, limit } = one
            expect(map.slice(start, end, limit)).toEqual(model.slice(start, end, limit))
            continue
          }
          if (one.kind === 'set') {
            map.set(one.key, one.value)
            model.set(one.key, one.value)
          } else {
            expect(map.delete(one.key)).toBe(model.delete(one.key))
          }
          expect(map.get(one.key)).toBe(model.get(one.key))
          expect(map.size).toBe(model.entries.length)
        }
        expect(map.slice('', undefined, Infinity)).toEqual(model.entries)
      }),
      { numRuns: 300 },
    )
  })

  it('agrees with a plain map through many runs that are cut, emptied and filled again', () => {
    const random = seededRandom(11)
    const map = new OrderedMap<number>()
    const model = new Map<string, number>()
    const key = () => String(Math.floor(random() * 4000)).padStart(4, '0')
    for (const shareOfDeletes of [0.1, 0.9, 0.3, 1, 0]) {
      for (let at = 0; at < 6000; at++) {
        const one = key()
        if (random() < shareOfDeletes) expect(map.delete(one)).toBe(model.delete(one))
        else {
          map.set(one, at)
          model.set(one, at)
        }
      }
      const sorted = [...model].toSorted(([one], [other]) => (one < other ? -1 : 1))
      expect(map.size).toBe(sorted.length)
      expect(map.slice('', undefined, Infinity)).toEqual(sorted)
      for (let at = 0; at < 100; at++) {
        const [start, end] = [key(), key()]
        const within = sorted.filter(([one]) => one >= start && one < end)
        expect(map.slice(start, end, 50)).toEqual(within.slice(0, 50))
        expect(map.get(start)).toBe(model.get(start))
      }
    }
  })

  it('can be emptied to the last key and filled again from either end', () => {
    const map = new OrderedMap<number>()
    for (const direction of [1, -1]) {
      const keys = Array.from({ length: 1500 }, (_, at) => String(at).padStart(4, '0'))
      const order = direction === 1 ? keys : keys.toReversed()
      for (const key of order) map.set(key, 1)
      expect(map.slice('', undefined, Infinity).map(([key]) => key)).toEqual(keys)
      for (const key of order) expect(map.delete(key)).toBe(true)
      expect(map.size).toBe(0)
      expect(map.slice('', undefined, 1)).toEqual([])
    }
  })

  it('keeps undefined apart from a key that is not there', () => {
    const map = new OrderedMap<number | undefined>()
    map.set('a', undefined)
    expect(map.size).toBe(1)
    expect(map.slice('', undefined, 9)).toEqual([['a', undefined]])
    expect(map.delete('a')).toBe(true)
    expect(map.delete('a')).toBe(false)
  })
})
