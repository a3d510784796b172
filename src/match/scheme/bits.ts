/** Signatures of bits, of which two differ the more the greater the angle between what they are made of is. */

import type { Bytes } from '../../platform/bytes.ts'
import {
  type Banding,
  cosineFromBits,
  type GroupedTables,
  hammingDistance,
  vectorBandKeys,
  VectorTables,
} from '../../fingerprint/index.ts'
import { ERRORS, shapeOf, type SignatureLayout, standardError } from './scheme.ts'

export class BitLayout implements SignatureLayout<Uint8Array> {
  readonly banding: Banding
  readonly shape: string
  readonly #bits: number
  readonly #scanMax: number | undefined

  /** `scanMax`: the largest table that is scanned although there are bands. */
  constructor(bits: number, banding: Banding, scanMax?: number) {
    this.#bits = bits
    this.banding = banding
    this.#scanMax = scanMax
    this.shape = `bits ${bits} ${shapeOf(banding)} scanned ${scanMax ?? 'default'}`
  }

  tables(): GroupedTables<Uint8Array> {
    return new VectorTables({ bits: this.#bits, banding: this.banding, scanMax: this.#scanMax })
  }

  toBytes(signature: Uint8Array): Bytes {
    return signature
  }

  fromBytes(bytes: Bytes): Uint8Array {
    return bytes
  }

  borrowed(bytes: Bytes): Uint8Array {
    return bytes
  }

  bandKeys(signature: Uint8Array): Uint32Array {
    return vectorBandKeys(signature, this.banding)
  }

  estimate(first: Uint8Array, second: Uint8Array): number {
    return cosineFromBits(hammingDistance(first, second), this.#bits)
  }

  estimateMin(similarity: number): number {
    const share = 1 - Math.acos(similarity) / Math.PI
    return this.#cosineAt(share - ERRORS * standardError(share, this.#bits))
  }

  similarityMax(estimate: number): number {
    const share = 1 - Math.acos(estimate) / Math.PI
    const error = standardError(Math.min(share, 1 - 2 / this.#bits), this.#bits)
    return this.#cosineAt(share + ERRORS * error)
  }

  #cosineAt(share: number): number {
    return Math.cos(Math.PI * (1 - Math.min(1, Math.max(0, share))))
  }
}
