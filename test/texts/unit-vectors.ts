/** Vectors for tests of indexes: in clusters, from a seed, of length 1. */

import { randomWords } from '../../src/fingerprint/mix.ts'

export class UnitVectors {
  readonly #next: () => number
  readonly #centres: readonly Float32Array[]
  readonly dimensions: number

  constructor(seed: number, dimensions: number, clusters: number) {
    this.#next = randomWords(seed)
    this.dimensions = dimensions
    this.#centres = Array.from({ length: clusters }, () => this.any())
  }

  below(limit: number): number {
    return Math.floor((this.#next() / 2 ** 32) * limit)
  }

  /** About normal. */
  #number(): number {
    let sum = 0
    for (let count = 0; count < 6; count++) sum += this.#next() / 2 ** 32 - 0.5
    return sum
  }

  any(): Float32Array {
    return unit(Float32Array.from({ length: this.dimensions }, () => this.#number()))
  }

  /** A member of a cluster; those of one have a cosine of about 0.5. */
  member(): Float32Array {
    return this.near(this.#centres[this.below(this.#centres.length)]!, 0.7)
  }

  near(vector: Float32Array, cosine: number): Float32Array {
    const noise = this.any()
    const share = Math.sqrt(1 - cosine * cosine)
    return unit(vector.map((number, at) => cosine * number + share * noise[at]!))
  }
}

export function unit(vector: Float32Array): Float32Array {
  let square = 0
  for (const number of vector) square += number * number
  const length = Math.sqrt(square)
  return vector.map((number) => number / length)
}

export function idOf(number: number): Buffer {
  const id = Buffer.alloc(16)
  id.writeUInt32BE(number, 12)
  return id
}
