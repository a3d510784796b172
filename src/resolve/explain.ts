/** Why two values are, or are not, one thing. */

import type { Bytes } from '../platform/bytes.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import { compareTexts, type Comparison } from '../compare/index.ts'
import {
  cosineFromBits,
  hammingDistance,
  Hyperplanes,
  vectorBandKeys,
} from '../fingerprint/index.ts'
import { levelCosine, recordedGuards, type TextNearSettings } from '../match/index.ts'
import { publicId } from './rows.ts'
import type { VectorSettings } from './settings.ts'
import type { Vector } from './subject.ts'

export interface VectorComparison {
  /** As estimated from the bits of hyperplanes. */
  readonly estimate: number
  /** The exact cosine. */
  readonly similarity: number
  readonly threshold: number
  readonly isDuplicate: boolean
  readonly banding: { readonly bands: number; readonly rows: number }
  /** Numbers of the bands whose bits are equal, from 0. */
  readonly sharedBands: readonly number[]
  readonly bits: { readonly all: number; readonly differing: number }
  readonly ids: readonly [string, string]
}

export type PairExplanation = Comparison | VectorComparison

export function explainTexts(
  first: string,
  second: string,
  { name, version, canonicalise }: CanonicalProfile,
  settings: TextNearSettings,
): Comparison {
  const { profile, slots, bands, rows, similarityMin: threshold } = settings
  const guards = recordedGuards(settings)
  const canonical = { version: `${name} ${version}`.slice(0, 64), canonicalise }
  const options = { profile, slots, bands, rows, threshold, guards, canonical }
  return compareTexts(first, second, options)
}

interface Side {
  readonly id: Bytes
  readonly vector: Vector
}

export function explainVectors(
  first: Side,
  second: Side,
  settings: VectorSettings,
): VectorComparison {
  const { dimensions, bits, form, seed, bands, rows, cosineMin: threshold } = settings
  const planes = new Hyperplanes({ dimensions, bits, form, seed })
  const own = planes.bitsOf(first.vector)
  const other = planes.bitsOf(second.vector)
  const differing = hammingDistance(own, other)
  const similarity = levelCosine(first.vector, second.vector)
  const keys = vectorBandKeys(own, { bands, rows })
  const otherKeys = vectorBandKeys(other, { bands, rows })
  const sharedBands = [...keys.keys()].filter((band) => keys[band] === otherKeys[band])
  return {
    estimate: cosineFromBits(differing, bits),
    similarity,
    threshold,
    isDuplicate: similarity >= threshold,
    banding: { bands, rows },
    sharedBands,
    bits: { all: bits, differing },
    ids: [publicId(first.id), publicId(second.id)],
  }
}
