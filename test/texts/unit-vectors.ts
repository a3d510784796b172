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

const LATENT = 48

/**
 * Vectors as a model of sentences gives them: they have few degrees of freedom (48, some with more weight than others),
 * lie in topics whose members have a cosine of about 0.7, and carry a little noise in all dimensions.
 */
export class TopicVectors {
  readonly #noise: UnitVectors
  readonly #axes: readonly Float32Array[]
  readonly #topics: readonly Float32Array[]

  constructor(seed: number, dimensions: number, topics: number) {
    this.#noise = new UnitVectors(seed, dimensions, 0)
    this.#axes = Array.from({ length: LATENT }, (_, at) =>
      this.#noise.any().map((number) => number / (at + 1) ** 0.3),
    )
    const latent = new UnitVectors(seed + 1, LATENT, 0)
    this.#topics = Array.from({ length: topics }, () => latent.any())
  }

  below(limit: number): number {
    return this.#noise.below(limit)
  }

  member(): Float32Array {
    const topic = this.#topics[this.below(this.#topics.length)]!
    return unit(this.#moved(new Float32Array(this.#noise.dimensions), topic, 0.6))
  }

  /** What says nearly the same: moved along the axes and, far less, in all dimensions. */
  near(vector: Float32Array, cosine: number): Float32Array {
    const moved = unit(this.#moved(new Float32Array(vector.length), undefined, 1))
    const share = Math.sqrt(1 - cosine * cosine)
    return unit(vector.map((number, at) => cosine * number + share * moved[at]!))
  }

  #moved(vector: Float32Array, topic: Float32Array | undefined, share: number): Float32Array {
    this.#axes.forEach((axis, at) => {
      const much = (topic?.[at] ?? 0) + (share * (this.below(2001) - 1000)) / 1000 / 4
      for (let number = 0; number < vector.length; number++) vector[number]! += much * axis[number]!
    })
    for (let number = 0; number < vector.length; number++) {
      vector[number]! += (this.below(2001) - 1000) / 500_000
    }
    return vector
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
