/**
 * Texts of which one contains the other, or most of it: found by winnowed fingerprints, measured by the passages they
 * share. The similarity of two texts is the share of either that is in the other, whichever is more.
 *
 * Only where bodies run one after another: a text has too many fingerprints for a bucket cell each.
 */

import { type Bytes, IS_LITTLE_ENDIAN } from '../../platform/bytes.ts'
import type { Passage, PassageText } from '../../compare/index.ts'
import {
  type Banding,
  ContainmentTable,
  type Fingerprints,
  GroupedTables,
  packFingerprints,
  unpackFingerprints,
  WINNOWING_VERSION,
} from '../../fingerprint/index.ts'
import { partitionKey } from '../settings.ts'
import type { Probe, SignatureScheme } from './scheme.ts'

export type ContainmentProbe = Probe<Fingerprints, PassageText>

/** The fingerprints of one text may find so many others that are measured. */
export const CONTAINMENT_LIMITS = { candidatesMax: 32, bucketMax: 200 } as const

/** What two texts share, in bytes of both. */
export interface Shared {
  /** How much of the text asked about is in the other, and of the other in it: from 0 to 1. */
  readonly share: number
  readonly shareOfOther: number
  readonly passages: readonly Passage[]
  readonly passagesOfOther: readonly Passage[]
}

export function sharedBy(own: PassageText, other: PassageText): Shared {
  return {
    share: own.shareIn(other),
    shareOfOther: other.shareIn(own),
    passages: own.passagesIn(other),
    passagesOfOther: other.passagesIn(own),
  }
}

export function containmentPartition(...owner: readonly string[]): Buffer {
  return partitionKey('containment', ...owner, WINNOWING_VERSION)
}

export class ContainmentScheme implements SignatureScheme<Fingerprints, PassageText> {
  readonly banding: Banding = { bands: 0, rows: 0 }
  readonly shape = `winnowing ${WINNOWING_VERSION} ${IS_LITTLE_ENDIAN ? 'little' : 'big'} endian`

  tables(): GroupedTables<Fingerprints> {
    return new GroupedTables(() => new ContainmentTable())
  }

  toBytes(signature: Fingerprints): Bytes {
    return packFingerprints(signature)
  }

  fromBytes(bytes: Bytes): Fingerprints {
    return unpackFingerprints(bytes)
  }

  borrowed(bytes: Bytes): Fingerprints {
    return unpackFingerprints(bytes)
  }

  bandKeys(): Uint32Array {
    return new Uint32Array(0)
  }

  estimate(first: Fingerprints, second: Fingerprints): number {
    const known = new Set(first.hashes)
    const shared = second.hashes.filter((hash) => known.has(hash)).length
    return shared / Math.max(1, Math.min(first.hashes.length, second.hashes.length))
  }

  // Tables give the most that a share may be.
  estimateMin(similarity: number): number {
    return similarity
  }

  similarityMax(estimate: number): number {
    return estimate
  }

  similarity(first: PassageText, second: PassageText): number {
    return Math.max(first.shareIn(second), second.shareIn(first))
  }

  weight({ weight }: PassageText): number {
    return weight
  }
}
