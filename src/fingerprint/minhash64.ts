/**
 * Classic 64-bit MinHash, with the arithmetic and the band keys of the resolver this project grew from: for
 * those who compare with it or move from it. For new data `sketchOf` is faster and sharper.
 *
 * The text is "^" + lower case of the trimmed text + "$"; tokens are its n-grams of code points.
 */

import { asBuffer } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { kernels } from './kernels.ts'
import {
  type MinHashCoefficients,
  minHashCoefficients,
  requireCoefficients,
} from './minhash-coefficients.ts'
import { SHINGLE_WIDTH_MAX } from './shingle-profile.ts'
import { simpleLowerCase } from './text-classes.ts'

export interface MinHash64Options {
  /** Length of the signature, if no coefficients are given. */
  readonly slots?: number | undefined
  /** Those of the permutations. Default: made of a fixed seed. */
  readonly coefficients?: MinHashCoefficients | undefined
  /** Code points in one token. */
  readonly width?: number | undefined
}

const DEFAULT_SLOTS = 200
const SLOTS_MAX = 4096
const DEFAULT_WIDTH = 3

/** Makes signatures of one kind. */
export class MinHash64 {
  readonly #coefficients: MinHashCoefficients
  readonly #width: number

  constructor({
    slots = DEFAULT_SLOTS,
    coefficients,
    width = DEFAULT_WIDTH,
  }: MinHash64Options = {}) {
    requireWhole(slots, SLOTS_MAX, 'slots')
    requireWhole(width, SHINGLE_WIDTH_MAX, 'width')
    this.#coefficients = coefficients ?? minHashCoefficients(slots)
    requireCoefficients(this.#coefficients)
    this.#width = width
  }

  /** One number a slot. The empty text has no signature. */
  signature(text: string): BigUint64Array {
    if (text === '') {
      throw new PrestigeError('INVALID_VALUE', 'The empty text has no MinHash signature.')
    }
    return kernels().minhash64(framed(text), this.#width, this.#coefficients)
  }
}

function requireWhole(value: number, max: number, name: string): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return
  throw new PrestigeError('INVALID_OPTIONS', `${name} is a whole number from 1 to ${max}.`)
}

/** White space as Unicode and Go have it: other than JavaScript's, with U+0085 and without U+FEFF. */
const SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/

export function framed(text: string): string {
  let from = 0
  let end = text.length
  while (from < end && SPACE.test(text.charAt(from))) from++
  while (end > from && SPACE.test(text.charAt(end - 1))) end--
  return `^${simpleLowerCase(text.slice(from, end))}$`
}

/** XXH64 with seed 0. */
export function xxhash64(bytes: Uint8Array): bigint {
  return kernels().xxhash64(bytes)
}

/** `b0:9c1…`, `b1:…`: XXH64 of each band's numbers in little-endian order, in hexadecimal without leading zeros. */
export function minHashBandKeys(signature: BigUint64Array, bands: number, rows: number): string[] {
  requireWhole(bands, SLOTS_MAX, 'bands')
  requireWhole(rows, SLOTS_MAX, 'rows')
  if (signature.length < bands * rows) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${bands} bands of ${rows} rows need ${bands * rows} slots; the signature has ${signature.length}.`,
    )
  }
  const row = Buffer.allocUnsafe(rows * 8)
  return Array.from({ length: bands }, (_, band) => {
    for (let at = 0; at < rows; at++) {
      row.writeBigUInt64LE(signature[band * rows + at] ?? 0n, at * 8)
    }
    return `b${band}:${xxhash64(asBuffer(row)).toString(16)}`
  })
}

/** Share of equal slots, the estimate of Jaccard similarity. */
export function minHashSimilarity(first: BigUint64Array, second: BigUint64Array): number {
  if (first.length !== second.length || first.length === 0) {
    throw new PrestigeError('INVALID_VALUE', 'Only signatures of one length compare.')
  }
  let equal = 0
  for (let slot = 0; slot < first.length; slot++) if (first[slot] === second[slot]) equal++
  return equal / first.length
}
