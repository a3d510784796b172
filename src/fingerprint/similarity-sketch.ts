/**
 * Similarity sketches: a few hundred bytes that say how much of two texts is the same.
 *
 * The share of equal slots of two sketches estimates the Jaccard similarity of the texts' shingle sets,
 * with a variance of at most J(1-J)/slots. A slot keeps 16 bits: two different values look equal once in
 * 65,536 times, a hundredth of the estimate's own error. Sketches only compare within one profile and one
 * `hashVersion`.
 */

import { PrestigeError } from '../platform/errors.ts'
import { hashVersion } from './hash-version.ts'
import { kernels, type RawSketch, type TextInput } from './kernels.ts'
import { DEFAULT_PROFILE, likelyShapes, type ShingleProfile } from './shingle-profile.ts'

export const SLOTS_MIN = 64
export const SLOTS_MAX = 512
export const SLOTS_STEP = 16

export interface SketchOptions {
  /** How the text is cut. Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** A multiple of 16 from 64 to 512. More is slower and sharper. */
  readonly slots?: number | undefined
}

export interface SimilaritySketch {
  readonly slots: Uint16Array
  /** The profile that was used, never `adaptive` or `auto`: `chars-5`. */
  readonly profile: string
  readonly hashVersion: string
  /** All shingles, repeated ones counted as often as they come. */
  readonly shingles: number
  /** Distinct shingles: counted where `isDistinctExact`, else estimated from the slots. */
  readonly distinct: number
  readonly isDistinctExact: boolean
  /** There was nothing to sketch. Such a sketch resembles nothing, not even another of its kind. */
  readonly isEmpty: boolean
}

const DEFAULT_SLOTS = 128

export function sketchOf(input: TextInput, options: SketchOptions = {}): SimilaritySketch {
  requireText(input)
  const slots = requireSlots(options.slots ?? DEFAULT_SLOTS)
  return finishedSketch(kernels().sketch(input, options.profile ?? DEFAULT_PROFILE, slots))
}

export function finishedSketch(raw: RawSketch): SimilaritySketch {
  const { shape, slots, shingles, distinct, isDistinctExact } = raw
  return {
    slots,
    profile: shape.name,
    hashVersion: hashVersion(),
    shingles,
    distinct,
    isDistinctExact,
    isEmpty: shingles === 0,
  }
}

export interface SketchWithHashes {
  readonly sketch: SimilaritySketch
  /** As of `shingleHashes`. */
  readonly hashes: Uint32Array
}

/** Both at once, which costs little more than one of them. */
export function sketchWithHashes(input: TextInput, options: SketchOptions = {}): SketchWithHashes {
  const { sketch, hashes } = lentSketch(input, options)
  return { sketch: { ...sketch, slots: sketch.slots.slice() }, hashes: hashes.slice() }
}

/** The same, but slots and hashes are only lent: what is called next may write over them. */
export function lentSketch(input: TextInput, options: SketchOptions): SketchWithHashes {
  requireText(input)
  const slots = requireSlots(options.slots ?? DEFAULT_SLOTS)
  const { sketch, hashes } = kernels().sketchAndHashes(
    input,
    options.profile ?? DEFAULT_PROFILE,
    slots,
  )
  return { sketch: finishedSketch(sketch), hashes }
}

/** The hashes of a text's distinct shingles in ascending order, for measuring exactly what a sketch estimates. */
export function shingleHashes(
  input: TextInput,
  profile: ShingleProfile = DEFAULT_PROFILE,
): Uint32Array {
  requireText(input)
  return kernels().shingleHashes(input, profile)
}

/**
 * The profiles to compare a text by, none of which has to choose. The first is its own; the others are those
 * `adaptive` or `auto` may choose for a near duplicate that is a little longer, shorter, or less Chinese. A profile
 * that was fixed is the only one.
 */
export function profilesOf(
  input: TextInput,
  profile: ShingleProfile,
  similarity: number,
): readonly [ShingleProfile, ...ShingleProfile[]] {
  requireText(input)
  const [own, ...others] = likelyShapes(profile, kernels().measures(input), similarity)
  return [own.name, ...others.map(({ name }) => name)]
}

/** Between 0 and 1. Sketches of different kinds are refused, not compared. */
export function estimateSimilarity(first: SimilaritySketch, second: SimilaritySketch): number {
  if (
    first.profile !== second.profile ||
    first.hashVersion !== second.hashVersion ||
    first.slots.length !== second.slots.length
  ) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `Sketches of ${kindOf(first)} and ${kindOf(second)} do not compare.`,
    )
  }
  if (first.isEmpty || second.isEmpty) return 0
  return equalSlots(first.slots, second.slots) / first.slots.length
}

/** How many slots of two sketches of one length are equal. */
export function equalSlots(first: Uint16Array, second: Uint16Array): number {
  let equal = 0
  for (let slot = 0; slot < first.length; slot++) {
    if (first[slot] === second[slot]) equal++
  }
  return equal
}

function kindOf({ slots, profile, hashVersion: version }: SimilaritySketch): string {
  return `${slots.length} slots, ${profile}, ${version}`
}

export function requireSlots(slots: number): number {
  if (slots >= SLOTS_MIN && slots <= SLOTS_MAX && slots % SLOTS_STEP === 0) return slots
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `slots is a multiple of ${SLOTS_STEP} from ${SLOTS_MIN} to ${SLOTS_MAX}, not ${String(slots)}.`,
  )
}

export function requireText(input: unknown): void {
  if (typeof input === 'string' || input instanceof Uint8Array) return
  throw new PrestigeError(
    'INVALID_VALUE',
    `Text is a string or UTF-8 bytes, not ${input === null ? 'null' : typeof input}.`,
  )
}
