import { describe, expect, it } from 'vitest'

import { CODED_ROWS, floatTable, NEAREST_MAX, summedCodes, SUMS_MAX } from './float-table.ts'
import { randomWords } from './mix.ts'

const next = randomWords(20261118)
const numbers = (length: number) => Float32Array.from({ length }, () => (next() / 2 ** 31 - 1) * 3)

/** Products and distances by their definitions. */
function product(
  rows: Float32Array,
  row: number,
  vector: Float32Array,
  part: number,
  width: number,
) {
  let sum = 0
  for (let at = 0; at < width; at++) sum += rows[row * width + at]! * vector[part * width + at]!
  return sum
}

function distance(
  rows: Float32Array,
  row: number,
  vector: Float32Array,
  part: number,
  width: number,
) {
  let sum = 0
  for (let at = 0; at < width; at++) {
    sum += (rows[row * width + at]! - vector[part * width + at]!) ** 2
  }
  return sum
}

describe.each(['wasm', 'twin'] as const)('a table of floats, by %s', (name) => {
  it.each([
    { groups: 1, rows: 1, width: 4 },
    { groups: 1, rows: 5, width: 8 },
    { groups: 1, rows: 33, width: 384 },
    { groups: 3, rows: 256, width: 16 },
    { groups: 5, rows: 10, width: 4 },
  ])('gives products and the nearest rows: $groups × $rows of $width', (shape) => {
    const { groups, rows, width } = shape
    const table = floatTable(shape, name)
    const own = numbers(groups * rows * width)
    table.useRows(numbers(own.length))
    table.useRows(own)
    expect(table.numbers()).toEqual(own)
    expect([...table.row(rows - 1)]).toEqual([...own.subarray((rows - 1) * width, rows * width)])
    const count = NEAREST_MAX
    const vectors = numbers(count * groups * width)
    const vectorAt = (at: number) =>
      vectors.subarray(at * groups * width, (at + 1) * groups * width)
    const products = [...table.products(vectorAt(1))]
    expect(products).toHaveLength(groups * rows)
    products.forEach((found, row) => {
      const exact = product(own, row, vectorAt(1), Math.floor(row / rows), width)
      expect(found).toBeCloseTo(exact, 2)
    })
    for (const some of [1, count]) {
      const nearest = table.nearest(vectors, some).slice()
      expect(nearest).toHaveLength(groups * some)
      nearest.forEach((row, at) => {
        const group = Math.floor(at / some)
        const away = (one: number) =>
          distance(own, group * rows + one, vectorAt(at % some), group, width)
        const least = Math.min(...Array.from({ length: rows }, (_, one) => away(one)))
        expect(away(row)).toBeCloseTo(least, 2)
      })
    }
  })

  it('takes the first of equal rows, and never one that only fills it up', () => {
    const table = floatTable({ groups: 1, rows: 5, width: 4 }, name)
    table.useRows(new Float32Array(20).fill(-1))
    expect([...table.nearest(new Float32Array(8).fill(0.1), 2)]).toEqual([0, 0])
    expect([...table.halves()]).toEqual([2, 2, 2, 2, 2])
  })

  it.each([1, 3, 4, 6, 24])('sums up %i codes', (groups) => {
    const codes = summedCodes(groups, name)
    const table = numbers(groups * CODED_ROWS)
    const rows = Array.from({ length: 200 }, () =>
      Uint8Array.from({ length: groups }, () => next() & 255),
    )
    rows.forEach((row, at) => codes.put(at, row))
    codes.useTable(table)
    for (const [from, count] of [
      [0, SUMS_MAX],
      [136, SUMS_MAX],
      [7, 1],
    ] as const) {
      const sums = [...codes.sums(from, count)]
      expect(sums).toHaveLength(count)
      sums.forEach((sum, at) => {
        const exact = rows[from + at]!.reduce(
          (all, code, group) => all + table[group * CODED_ROWS + code]!,
          0,
        )
        expect(sum).toBeCloseTo(exact, 3)
      })
    }
    expect(codes.codesAt(199)).toEqual(rows[199])
  })
})
