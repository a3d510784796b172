/**
 * Random directions for vectors: Gaussian planes, or signs for the fast Hadamard form. From a seed.
 *
 * Only operations that IEEE 754 defines to the last bit are used, because `Math.log` and its like may differ
 * between engines and a plane must not.
 */

import { randomWords } from './mix.ts'

export const HYPERPLANE_SEED = 0x1a2b3c4d

const WORD = 2 ** 32

/** Natural logarithm of a number in (0, 1), good to 15 digits, by the series of atanh. */
export function exactLog(value: number): number {
  let mantissa = value
  let halvings = 0
  while (mantissa < 0.7) {
    mantissa *= 2
    halvings++
  }
  const ratio = (mantissa - 1) / (mantissa + 1)
  const square = ratio * ratio
  let term = ratio
  let sum = 0
  for (let odd = 1; odd < 40; odd += 2) {
    sum += term / odd
    term *= square
  }
  return 2 * sum - halvings * Math.LN2
}

/** An endless sequence of Gaussian numbers, by Marsaglia's polar method. */
function gaussians(seed: number): () => number {
  const next = randomWords(seed)
  const even = () => ((next() + 0.5) / WORD) * 2 - 1
  let spare: number | undefined
  return () => {
    if (spare !== undefined) {
      const value = spare
      spare = undefined
      return value
    }
    for (;;) {
      const first = even()
      const second = even()
      const square = first * first + second * second
      if (square >= 1) continue
      const scale = Math.sqrt((-2 * exactLog(square)) / square)
      spare = second * scale
      return first * scale
    }
  }
}

/** `count` planes one after another, each `stride` long, zeros behind its `dimensions`. */
export function gaussianPlanes(
  count: number,
  dimensions: number,
  stride: number,
  seed: number,
): Float32Array {
  const next = gaussians(seed)
  const planes = new Float32Array(count * stride)
  for (let plane = 0; plane < count; plane++) {
    for (let at = 0; at < dimensions; at++) planes[plane * stride + at] = next()
  }
  return planes
}

/** `rounds` times `size` signs, as 1 and -1. */
export function randomSigns(rounds: number, size: number, seed: number): Float32Array {
  const next = randomWords(seed)
  return Float32Array.from({ length: rounds * size }, () => (next() >>> 31 === 1 ? -1 : 1))
}
