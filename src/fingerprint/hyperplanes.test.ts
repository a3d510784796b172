import { describe, expect, it } from 'vitest'

import { PrestigeError } from '../platform/errors.ts'
import { cosine } from './exact-similarity.ts'
import { Hyperplanes } from './hyperplanes.ts'
import { randomWords } from './mix.ts'
import { exactLog, gaussianPlanes } from './random-planes.ts'

const next = randomWords(11)
const even = () => next() / 2 ** 31 - 1

function vectorOf(dimensions: number, isSpiky = false): Float32Array {
  return Float32Array.from({ length: dimensions }, () => (isSpiky ? even() ** 15 * 100 : even()))
}

describe('hyperplane bits', () => {
  it.each([1, 3, 20, 100, 384, 768])(
    'are the same in both kernels for %i dimensions',
    (dimensions) => {
      for (const form of ['dense', 'hadamard'] as const) {
        const [wasm, twin] = (['wasm', 'twin'] as const).map(
          (kernels) => new Hyperplanes({ dimensions, bits: 200, form, kernels }),
        )
        for (let count = 0; count < 60; count++) {
          const vector = vectorOf(dimensions, count % 2 === 0)
          expect(wasm!.bitsOf(vector)).toEqual(twin!.bitsOf(vector))
        }
      }
    },
  )

  it.each(['dense', 'hadamard'] as const)('estimate the angle (%s)', (form) => {
    const planes = new Hyperplanes({ dimensions: 384, bits: 1024, form })
    let error = 0
    for (let count = 0; count < 100; count++) {
      const first = vectorOf(384, count % 2 === 0)
      const weight = count / 100
      const second = vectorOf(384).map(
        (value, at) => value * (1 - weight) + (first[at] ?? 0) * weight,
      )
      const estimate = planes.estimateCosine(planes.bitsOf(first), planes.bitsOf(second))
      error += Math.abs(estimate - cosine(first, second)) / 100
    }
    expect(error).toBeLessThan(0.04)
  })

  it('do not depend on the length of a vector or on its number type', () => {
    for (const form of ['dense', 'hadamard'] as const) {
      const planes = new Hyperplanes({ dimensions: 64, form })
      const vector = vectorOf(64)
      const bits = planes.bitsOf(vector)
      expect(planes.bitsOf(Float64Array.from(vector))).toEqual(bits)
      expect(planes.bitsOf(Array.from(vector, (value) => value * 2 ** 300))).toHaveLength(32)
      expect(planes.bitsOf(Array.from(vector, (value) => value * 8))).toEqual(bits)
    }
  })

  it('refuse vectors without a direction, by name', () => {
    const planes = new Hyperplanes({ dimensions: 4 })
    const bad = [
      [0, 0, 0, 0],
      [1, NaN, 0, 0],
      [1, Infinity, 0, 0],
      [1, 2, 3],
      [1, 2, 3, 4, 5],
    ]
    for (const vector of bad) {
      expect(() => planes.bitsOf(vector)).toThrow(PrestigeError)
      expect(() => planes.bitsOf(vector)).toThrow(
        expect.objectContaining({ code: 'INVALID_VALUE' }),
      )
    }
    expect(() => new Hyperplanes({ dimensions: 4, bits: 12 })).toThrow(/multiple of 8/)
    expect(() => cosine([0, 0], [1, 1])).toThrow(/no direction/)
    expect(() => cosine([1], [1, 1])).toThrow(/no angle/)
  })

  it('come from Gaussian numbers whose logarithm is exact', () => {
    for (const value of [0.9999, 0.5, 0.1, 1e-9, 1e-18]) {
      expect(exactLog(value)).toBeCloseTo(Math.log(value), 12)
    }
    const planes = gaussianPlanes(1, 100_000, 100_000, 3)
    const mean = planes.reduce((sum, value) => sum + value, 0) / planes.length
    const square = planes.reduce((sum, value) => sum + value * value, 0) / planes.length
    const fourth = planes.reduce((sum, value) => sum + value ** 4, 0) / planes.length
    expect(Math.abs(mean)).toBeLessThan(0.02)
    expect(Math.abs(square - 1)).toBeLessThan(0.02)
    expect(Math.abs(fourth - 3)).toBeLessThan(0.1)
  })
})
