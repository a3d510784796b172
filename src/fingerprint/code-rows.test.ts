import { describe, expect, it } from 'vitest'

import { codeRows, DOTS_MAX } from './code-rows.ts'
import { randomWords } from './mix.ts'

const next = randomWords(20261116)
const code = () => (next() % 255) - 127

describe('rows of codes', () => {
  it.each([1, 3, 15, 16, 17, 64, 100, 384, 1024])(
    'give the same products as their twin, of %i dimensions',
    (dimensions) => {
      const wasm = codeRows(dimensions, 'wasm')
      const twin = codeRows(dimensions, 'twin')
      expect([wasm.name, twin.name]).toEqual(['wasm', 'twin'])
      const rows = Array.from({ length: 301 }, () => Int8Array.from({ length: dimensions }, code))
      rows.forEach((codes, row) => {
        wasm.put(row, codes)
        twin.put(row, codes)
      })
      const query = Int16Array.from({ length: dimensions }, code)
      for (const [from, count] of [
        [0, 301],
        [7, 1],
        [13, 200],
        [300, 1],
      ] as const) {
        const expected = rows
          .slice(from, from + count)
          .map((codes) => codes.reduce((sum, one, at) => sum + one * query[at]!, 0))
        expect([...twin.dots(query, from, count)]).toEqual(expected)
        expect([...wasm.dots(query, from, count)]).toEqual(expected)
        const some = expected.map((_, at) => at).filter((at) => at % 3 === 0 || at === count - 1)
        const asked = Int32Array.from(some.toReversed())
        const products = some.toReversed().map((at) => expected[at])
        expect([...twin.dotsOf(query, from, asked)]).toEqual(products)
        expect([...wasm.dotsOf(query, from, asked)]).toEqual(products)
      }
    },
  )

  it('give products with no row, and of no dimensions', () => {
    for (const name of ['wasm', 'twin'] as const) {
      const rows = codeRows(0, name)
      for (let row = 0; row < 5; row++) rows.put(row, new Int8Array(0))
      const query = new Int16Array(0)
      expect([...rows.dots(query, 0, 5)]).toEqual([0, 0, 0, 0, 0])
      expect([...rows.dotsOf(query, 1, Int32Array.of(0, 3))]).toEqual([0, 0])
      expect([...rows.dotsOf(query, 0, new Int32Array(0))]).toEqual([])
    }
  })

  it('hold the greatest products there are', () => {
    for (const name of ['wasm', 'twin'] as const) {
      const rows = codeRows(4096, name)
      rows.put(0, new Int8Array(4096).fill(-127))
      expect([...rows.dots(new Int16Array(4096).fill(127), 0, 1)]).toEqual([-127 * 127 * 4096])
    }
  })

  it('take the place of a row that was there, and multiply so many at most', () => {
    for (const name of ['wasm', 'twin'] as const) {
      const rows = codeRows(16, name)
      for (let row = 0; row < DOTS_MAX + 10; row++) rows.put(row, new Int8Array(16).fill(1))
      rows.put(3, new Int8Array(16).fill(2))
      const dots = rows.dots(new Int16Array(16).fill(1), 0, DOTS_MAX + 10)
      expect([dots.length, dots[2], dots[3]]).toEqual([DOTS_MAX, 16, 32])
      const asked = new Int32Array(DOTS_MAX + 10).fill(3)
      const same = rows.dotsOf(new Int16Array(16).fill(1), 0, asked)
      expect([same.length, same[0], same[DOTS_MAX - 1]]).toEqual([DOTS_MAX, 32, 32])
      // What was asked for does not reach into the codes.
      expect(rows.dots(new Int16Array(16).fill(1), 0, 1)[0]).toBe(16)
    }
  })
})
