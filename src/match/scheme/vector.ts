/** Vectors by the sides of hyperplanes they are on; measured by the cosine of the angle between them. */

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import {
  type Banding,
  cosine,
  type HyperplaneOptions,
  Hyperplanes,
} from '../../fingerprint/index.ts'
import { BitLayout } from './bits.ts'
import type { Probe, SignatureScheme } from './scheme.ts'

export type VectorProbe = Probe<Uint8Array, Float64Array>

export class VectorScheme extends BitLayout implements SignatureScheme<Uint8Array, Float64Array> {
  readonly #planes: Hyperplanes

  constructor(planes: HyperplaneOptions & { readonly bits: number }, banding: Banding) {
    super(planes.bits, banding)
    this.#planes = new Hyperplanes(planes)
  }

  signature(vector: ArrayLike<number>): Uint8Array {
    return this.#planes.bitsOf(vector)
  }

  similarity(first: Float64Array, second: Float64Array): number {
    return levelCosine(first, second)
  }

  weight({ byteLength }: Float64Array): number {
    return byteLength
  }
}

/** Squares of numbers within these bounds, and sums of many of them, stay finite and above 0. */
const LEVEL_MIN = 2 ** -400
const LEVEL_MAX = 2 ** 400

/** The direction of a vector does not depend on its length, however large or small its numbers are. */
export function levelCosine(first: ArrayLike<number>, second: ArrayLike<number>): number {
  return cosine(levelled(first), levelled(second))
}

function levelled(vector: ArrayLike<number>): ArrayLike<number> {
  let greatest = 0
  for (let at = 0; at < vector.length; at++) {
    greatest = Math.max(greatest, Math.abs(vector[at] ?? 0))
  }
  if (greatest === 0 || (greatest >= LEVEL_MIN && greatest <= LEVEL_MAX)) return vector
  return Float64Array.from(vector, (number) => number / greatest)
}

/** As the ids of the resolver this one grew from: over the bits of doubles, lowest byte first. */
export function vectorBytes(vector: Float64Array): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * 8)
  vector.forEach((number, at) => bytes.writeDoubleLE(number, at * 8))
  return bytes
}

const SINGLE = 0x20
const DOUBLE = 0x21

/** `20` singles or `21` doubles, little endian: singles where they say the same. */
export function vectorEvidence(vector: Float64Array): Buffer {
  const isSingle = vector.every((number) => Math.fround(number) === number)
  if (!isSingle) return concat(Buffer.of(DOUBLE), vectorBytes(vector))
  const bytes = Buffer.allocUnsafe(1 + vector.length * 4)
  bytes[0] = SINGLE
  vector.forEach((number, at) => bytes.writeFloatLE(number, 1 + at * 4))
  return bytes
}

export function readVector(evidence: Bytes): Float64Array {
  const bytes = asBuffer(evidence)
  const size = bytes[0] === SINGLE ? 4 : 8
  const vector = new Float64Array((bytes.byteLength - 1) / size)
  for (let at = 0; at < vector.length; at++) {
    const from = 1 + at * size
    vector[at] = size === 4 ? bytes.readFloatLE(from) : bytes.readDoubleLE(from)
  }
  return vector
}
