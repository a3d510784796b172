/**
 * The two kinds of likeness: of texts by similarity sketches, of vectors by the sides of hyperplanes.
 *
 * An index needs to know of a signature how to keep it, how to find what shares a band with it, and how sure
 * an estimate is. Everything else is the same for both.
 */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import {
  type Banding,
  computeBands,
  cosineFromBits,
  equalSlots,
  type GroupedTables,
  hammingDistance,
  NearTables,
  vectorBandKeys,
  VectorTables,
} from '../fingerprint/index.ts'

export interface Likeness<Signature> {
  readonly banding: Banding
  /** Tables of the same shape have the same memory for the same representatives. */
  readonly shape: string
  /** Empty tables, one a group. */
  tables(): GroupedTables<Signature>
  toBytes(signature: Signature): Bytes
  fromBytes(bytes: Bytes): Signature
  /** The same, in memory that the next call may use again. */
  borrowed(bytes: Bytes): Signature
  /** One hash a band. */
  bandKeys(signature: Signature): Uint32Array
  estimate(first: Signature, second: Signature): number
  /** A pair at this similarity is estimated lower once in 30,000 times: candidates below are not measured. */
  estimateMin(similarity: number): number
  /** A pair of this estimate is more similar than this once in 30,000 times. */
  similarityMax(estimate: number): number
}

/** Standard errors that an estimate may be off. */
const ERRORS = 4

export class TextLikeness implements Likeness<Uint16Array> {
  readonly banding: Banding
  readonly shape: string
  readonly #slots: number
  readonly #lent: Uint16Array
  readonly #lentBytes: Uint8Array

  constructor(slots: number, banding: Banding) {
    this.#slots = slots
    this.#lent = new Uint16Array(slots)
    this.#lentBytes = new Uint8Array(this.#lent.buffer)
    this.banding = banding
    this.shape = `slots ${slots} ${shapeOf(banding)}`
  }

  tables(): GroupedTables<Uint16Array> {
    return new NearTables({ slots: this.#slots, ...this.banding })
  }

  toBytes(signature: Uint16Array): Bytes {
    if (IS_LITTLE_ENDIAN)
      return asBuffer(new Uint8Array(signature.buffer, signature.byteOffset, signature.byteLength))
    const bytes = Buffer.allocUnsafe(signature.length * 2)
    signature.forEach((slot, at) => bytes.writeUInt16LE(slot, at * 2))
    return bytes
  }

  fromBytes(bytes: Bytes): Uint16Array {
    return littleEndian16(bytes)
  }

  borrowed(bytes: Bytes): Uint16Array {
    const { byteLength } = this.#lentBytes
    if (!IS_LITTLE_ENDIAN || bytes.byteLength !== byteLength) return this.fromBytes(bytes)
    this.#lentBytes.set(bytes)
    return this.#lent
  }

  bandKeys(signature: Uint16Array): Uint32Array {
    return computeBands(signature, this.banding.bands, this.banding.rows)
  }

  estimate(first: Uint16Array, second: Uint16Array): number {
    return equalSlots(first, second) / this.#slots
  }

  estimateMin(similarity: number): number {
    return Math.max(0, similarity - ERRORS * standardError(similarity, this.#slots))
  }

  similarityMax(estimate: number): number {
    // Where the estimate is 1, or close to it, its own error would be taken for none.
    const error = standardError(Math.min(estimate, 1 - 2 / this.#slots), this.#slots)
    return Math.min(1, estimate + ERRORS * error)
  }
}

export class VectorLikeness implements Likeness<Uint8Array> {
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

function shapeOf({ bands, rows }: Banding): string {
  return `bands ${bands} rows ${rows} ${IS_LITTLE_ENDIAN ? 'little' : 'big'} endian`
}

function standardError(share: number, count: number): number {
  return Math.sqrt((share * (1 - share)) / count)
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

function littleEndian16(bytes: Bytes): Uint16Array {
  if (IS_LITTLE_ENDIAN && bytes.byteOffset % 2 === 0) {
    return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 1)
  }
  const buffer = asBuffer(bytes)
  const slots = new Uint16Array(bytes.byteLength >>> 1)
  if (IS_LITTLE_ENDIAN) new Uint8Array(slots.buffer).set(buffer.subarray(0, slots.byteLength))
  else slots.forEach((_, at) => (slots[at] = buffer.readUInt16LE(at * 2)))
  return slots
}
