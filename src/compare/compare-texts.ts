/**
 * Compares two texts and says everything that a verdict rests on: how much they share, what a sketch would
 * have estimated, which bands would have found them, and which shingles they share or not.
 *
 * Pure: the same texts and options give the same answer on every machine. Not here: where the texts come from,
 * and how the answer looks on a screen.
 */

import { type CanonicalInput, canonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  allShingleHashes,
  type Banding,
  chooseBands,
  chosenShape,
  collisionProbability,
  computeBands,
  containment,
  estimateSimilarity,
  hashVersion,
  jaccard,
  requireText,
  sharedCount,
  shingleHashes,
  type ShingleProfile,
  type ShingleShape,
  type SimilaritySketch,
  sketchOf,
  type TextInput,
  textMeasures,
} from '../fingerprint/index.ts'
import { readOptions } from '../platform/options.ts'
import { type Reading, readingOf } from './guards/reading.ts'
import { readGuards, type Veto, vetoesOf } from './guards/veto.ts'
import { compareOptions, type CompareOptions } from './options.ts'
import { type Passage, PassageText } from './passages.ts'
import { shingleTexts } from './shingle-texts.ts'

export interface Comparison {
  /** The profile both texts were cut by, never `adaptive` or `auto`: `chars-5`. */
  readonly profile: string
  readonly hashVersion: string
  readonly slots: number
  /** Similarity as estimated from two sketches of so many slots. */
  readonly estimate: number
  /** The exact Jaccard similarity of the shingle sets. 0 where a text is empty. */
  readonly similarity: number
  readonly containment: { readonly aInB: number; readonly bInA: number }
  /**
   * The first passages of A that are in B, and of B that are in A, in bytes of the texts as they were given. Case,
   * accents, white space and punctuation make no difference.
   */
  readonly passages: { readonly a: readonly Passage[]; readonly b: readonly Passage[] }
  readonly threshold: number
  /** The exact similarity is at least the threshold, and no guard keeps the two apart. */
  readonly isDuplicate: boolean
  /** What keeps the two apart, however similar they are. */
  readonly vetoes: readonly Veto[]
  readonly banding: Banding
  /** Numbers of the bands in which the sketches are equal, from 0. One is enough to be found. */
  readonly sharedBands: readonly number[]
  /** How likely two texts of this similarity are to share a band. */
  readonly collisionProbability: number
  /** Distinct shingles. */
  readonly shingles: { readonly a: number; readonly b: number; readonly shared: number }
  /** The first of them, as texts, in the order of A (of B for `onlyInB`). */
  readonly sharedShingles: readonly string[]
  readonly onlyInA: readonly string[]
  readonly onlyInB: readonly string[]
}

export function compareTexts(a: TextInput, b: TextInput, options: CompareOptions = {}): Comparison {
  const { slots, threshold, shinglesMax, passagesMax, guards, ...wanted } = readOptions(
    compareOptions,
    options,
    'How texts are compared',
  )
  const first = canonicalText(a, wanted.canonical)
  const second = canonicalText(b, wanted.canonical)
  const shape = commonShape(first, second, wanted.profile)
  const profile = profileOf(shape)
  const banding = bandingOf(slots, threshold, wanted)
  const own = sketchOf(first, { profile, slots })
  const other = sketchOf(second, { profile, slots })
  const hashesA = shingleHashes(first, profile)
  const hashesB = shingleHashes(second, profile)
  const similarity = jaccard(hashesA, hashesB)
  const isSameForm = Buffer.compare(first, second) === 0
  const vetoes = isSameForm
    ? []
    : vetoesOf(readingIn(a), readingIn(b), readGuards(guards, 'near'), 'near')
  return {
    profile,
    hashVersion: hashVersion(),
    slots,
    estimate: estimateSimilarity(own, other),
    similarity,
    containment: { aInB: containment(hashesA, hashesB), bInA: containment(hashesB, hashesA) },
    passages: passagesOf(a, b, passagesMax),
    threshold,
    isDuplicate: similarity >= threshold && vetoes.length === 0,
    vetoes,
    banding,
    sharedBands: sharedBandsOf(own, other, banding),
    collisionProbability: collisionProbability(similarity, banding.bands, banding.rows),
    shingles: {
      a: hashesA.length,
      b: hashesB.length,
      shared: sharedCount(hashesA, hashesB),
    },
    sharedShingles: someShingles(first, shape, shinglesMax, (hash) => has(hashesB, hash)),
    onlyInA: someShingles(first, shape, shinglesMax, (hash) => !has(hashesB, hash)),
    onlyInB: someShingles(second, shape, shinglesMax, (hash) => !has(hashesA, hash)),
  }
}

/** A lone surrogate has no UTF-8 and counts as U+FFFD, as it does to the kernels. */
export function canonicalText(text: TextInput, canonical: CanonicalInput): Uint8Array {
  requireText(text)
  return canonicalProfile(canonical).canonicalise(bytesOf(text))
}

function bytesOf(text: TextInput): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text) : text
}

function passagesOf(a: TextInput, b: TextInput, most: number): Comparison['passages'] {
  if (most === 0) return { a: [], b: [] }
  const [first, second] = [new PassageText(bytesOf(a)), new PassageText(bytesOf(b))]
  return { a: first.passagesIn(second, most), b: second.passagesIn(first, most) }
}

function readingIn(text: TextInput): Reading {
  return readingOf(typeof text === 'string' ? text : Buffer.from(text).toString())
}

/**
 * One shape for both, in whichever order they are given: the wider of their own by `adaptive`, because short shingles
 * are all found in a much longer text; that of the longer text by `auto`.
 */
export function commonShape(a: Uint8Array, b: Uint8Array, profile: ShingleProfile): ShingleShape {
  const [first, second] = [textMeasures(a), textMeasures(b)]
  const [own, other] = [chosenShape(profile, first), chosenShape(profile, second)]
  if (profile !== 'auto') return own.width >= other.width ? own : other
  const [counts, others] = [first.counts(), second.counts()]
  const isFirst =
    counts.codePoints === others.codePoints
      ? counts.unspaced >= others.unspaced
      : counts.codePoints > others.codePoints
  return isFirst ? own : other
}

export function profileOf({ kind, width }: ShingleShape): ShingleProfile {
  return `${kind}-${width}`
}

interface BandingWanted {
  readonly bands?: number | undefined
  readonly rows?: number | undefined
}

function bandingOf(slots: number, threshold: number, { bands, rows }: BandingWanted): Banding {
  if (bands === undefined && rows === undefined) return chooseBands({ slots, threshold })
  if (bands !== undefined && rows !== undefined) return { bands, rows }
  throw new PrestigeError('INVALID_OPTIONS', 'Give bands and rows together, or neither.')
}

function sharedBandsOf(
  first: SimilaritySketch,
  second: SimilaritySketch,
  { bands, rows }: Banding,
): number[] {
  const own = computeBands(first.slots, bands, rows)
  const other = computeBands(second.slots, bands, rows)
  if (first.isEmpty || second.isEmpty) return []
  return Array.from(own.keys()).filter((band) => own[band] === other[band])
}

/** The first distinct shingles that are wanted, as texts. */
function someShingles(
  text: Uint8Array,
  shape: ShingleShape,
  most: number,
  isWanted: (hash: number) => boolean,
): string[] {
  const hashes = allShingleHashes(text, shape)
  const numbers = new Map<number, number>()
  for (let number = 0; number < hashes.length && numbers.size < most; number++) {
    const hash = hashes[number] ?? 0
    if (!numbers.has(hash) && isWanted(hash)) numbers.set(hash, number)
  }
  return shingleTexts(text, shape, [...numbers.values()])
}

/** The set is sorted. */
function has(hashes: Uint32Array, hash: number): boolean {
  let from = 0
  let end = hashes.length
  while (from < end) {
    const middle = (from + end) >>> 1
    if ((hashes[middle] ?? 0) < hash) from = middle + 1
    else end = middle
  }
  return hashes[from] === hash
}
