/**
 * The kernels: the few loops that all fingerprints are made of, in WebAssembly with SIMD, and a twin in
 * TypeScript for where that is missing. Both give the same bits; which one runs is never recorded.
 *
 * `PRESTIGE_KERNELS=twin` in the environment forces the twin, for tests and for measuring.
 */

import type { Bytes } from '../platform/bytes.ts'
import { preferredKernels } from '../platform/web-assembly.ts'
import type { MinHashCoefficients } from './minhash-coefficients.ts'
import type { ShingleProfile, ShingleShape, TextMeasures } from './shingle-profile.ts'
import { TwinKernels } from './twin-kernels.ts'
import { WasmKernels } from './wasm-kernels.ts'

/** Text is read as UTF-8: a lone surrogate counts as U+FFFD, and bytes that are not UTF-8 as themselves. */
export type TextInput = string | Bytes

export interface RawSketch {
  readonly shape: ShingleShape
  readonly slots: Uint16Array
  readonly shingles: number
  readonly distinct: number
  readonly isDistinctExact: boolean
}

export interface SketchAndHashes {
  /** Its slots are lent, as the hashes are: the next call may write over them. */
  readonly sketch: RawSketch
  readonly hashes: Uint32Array
}

export interface RawSimHash {
  readonly shape: ShingleShape
  readonly low: number
  readonly high: number
  readonly shingles: number
}

export interface TextKernels {
  readonly name: 'wasm' | 'twin'
  /** What profiles choose a shape by. */
  measures(input: TextInput): TextMeasures
  sketch(input: TextInput, profile: ShingleProfile, slots: number): RawSketch
  /** The sketch, and the hashes it was made of, sorted and distinct: one pass over the text for both. */
  sketchAndHashes(input: TextInput, profile: ShingleProfile, slots: number): SketchAndHashes
  /** Sorted and distinct. */
  shingleHashes(input: TextInput, profile: ShingleProfile): Uint32Array
  simhash(input: TextInput, profile: ShingleProfile): RawSimHash
  /** Classic MinHash over the n-grams of `width` code points of a text, XXH64 of each. */
  minhash64(input: TextInput, width: number, coefficients: MinHashCoefficients): BigUint64Array
  xxhash64(bytes: Bytes): bigint
}

export type KernelsName = TextKernels['name']

const made: { wasm?: TextKernels; twin?: TextKernels } = {}

/** The kernels of this process. They hold no state between calls, so everybody shares them. */
export function kernels(name: KernelsName = preferredKernels()): TextKernels {
  const known = made[name] ?? (name === 'wasm' ? new WasmKernels() : new TwinKernels())
  made[name] = known
  return known
}
