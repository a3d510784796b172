/**
 * Hyperplane bits in TypeScript. Every sum is rounded to single precision in the order in which
 * `assembly/vectors.ts` adds, because a sign may hang on it.
 */

import type { Planes, PlanesKernel } from './hyperplanes.ts'

const ROUNDS = 3

export class TwinPlanes implements PlanesKernel {
  readonly #planes: Planes

  constructor(planes: Planes) {
    this.#planes = planes
  }

  bitsOf(vector: Float32Array): Uint8Array {
    const { form, stride, bits, numbers } = this.#planes
    const padded = new Float32Array(stride)
    padded.set(vector)
    const sums = form === 'dense' ? products(padded, numbers, bits) : transformed(padded, numbers)
    const packed = new Uint8Array(bits / 8)
    for (let bit = 0; bit < bits; bit++) {
      if ((sums[bit] ?? 0) >= 0) packed[bit >> 3] = (packed[bit >> 3] ?? 0) | (1 << (bit & 7))
    }
    return packed
  }
}

function products(vector: Float32Array, planes: Float32Array, count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, plane) => dot(vector, planes, plane))
}

/** In four lanes, then (lane 0 + lane 2) + (lane 1 + lane 3). */
function dot(vector: Float32Array, planes: Float32Array, plane: number): number {
  const lanes = new Float32Array(4)
  const start = plane * vector.length
  for (let at = 0; at < vector.length; at++) {
    const product = Math.fround((vector[at] ?? 0) * (planes[start + at] ?? 0))
    lanes[at & 3] = (lanes[at & 3] ?? 0) + product
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = lanes
  return Math.fround(first + third) + Math.fround(second + fourth)
}

function transformed(vector: Float32Array, signs: Float32Array): Float32Array {
  const size = vector.length
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 0; at < size; at++)
      vector[at] = (vector[at] ?? 0) * (signs[round * size + at] ?? 0)
    for (let half = 1; half < size; half *= 2) butterfly(vector, half)
  }
  return vector
}

function butterfly(vector: Float32Array, half: number): void {
  for (let start = 0; start < vector.length; start += half * 2) {
    for (let at = start; at < start + half; at++) {
      const low = vector[at] ?? 0
      const high = vector[at + half] ?? 0
      vector[at] = low + high
      vector[at + half] = low - high
    }
  }
}
