import { describe, expect, it } from 'vitest'

import { randomWords } from '../../fingerprint/index.ts'
import { learnedRotation } from './rotation.ts'

const WIDTH = 16
const PARTS = 4
const random = randomWords(11)
const number = () => random() / 2 ** 31 - 1

/** Vectors that vary along four directions only, which are no axes, each less than the one before. */
function few(count: number): Float32Array {
  const directions = Array.from({ length: 4 }, () => Array.from({ length: WIDTH }, number))
  const vectors = new Float32Array(count * WIDTH)
  for (let at = 0; at < count; at++) {
    directions.forEach((direction, nth) => {
      const much = number() / (nth + 1)
      direction.forEach((share, axis) => (vectors[at * WIDTH + axis]! += share * much))
    })
  }
  return vectors
}

const dot = (one: Float32Array, other: Float32Array) =>
  one.reduce((sum, value, at) => sum + value * other[at]!, 0)

describe('a learned rotation', () => {
  const vectors = few(500)
  const rowsOf = (numbers: Float32Array) =>
    Array.from({ length: numbers.length / WIDTH }, (_, at) =>
      numbers.subarray(at * WIDTH, (at + 1) * WIDTH),
    )
  const learned = () => learnedRotation(vectors, WIDTH, PARTS, async () => undefined)

  it('keeps lengths and angles: its rows are as long as 1 and at right angles', async () => {
    const rows = rowsOf(await learned())
    rows.forEach((row, at) =>
      rows.forEach((other, to) => expect(dot(row, other)).toBeCloseTo(at === to ? 1 : 0, 5)),
    )
  })

  it('gives every part one of the four directions that say something', async () => {
    const rows = rowsOf(await learned())
    const variances = rows.map((row) =>
      rowsOf(vectors).reduce((sum, vector) => sum + dot(row, vector) ** 2, 0),
    )
    const total = variances.reduce((sum, one) => sum + one, 0)
    for (let part = 0; part < PARTS; part++) {
      const own = variances.slice(part * 4, part * 4 + 4)
      expect(own.filter((variance) => variance > total * 1e-6)).toHaveLength(1)
    }
  })

  it('is a rotation where nothing varies', async () => {
    const rows = rowsOf(
      await learnedRotation(new Float32Array(WIDTH), WIDTH, PARTS, async () => undefined),
    )
    expect(rows.map((row) => dot(row, row))).toEqual(rows.map(() => 1))
  })
})
