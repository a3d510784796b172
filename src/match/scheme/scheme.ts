/**
 * What an index and a matcher know of signatures: how they are kept, how bands find those that may be similar, how
 * sure an estimate is, and how similar two things are exactly.
 */

import { type Bytes, IS_LITTLE_ENDIAN } from '../../platform/bytes.ts'
import type { Banding, GroupedTables } from '../../fingerprint/index.ts'

/**
 * One search: a partition, the signature of what is searched for as that partition would have it, and what is
 * measured exactly against the evidence of candidates.
 */
export interface Probe<Signature, Evidence> {
  readonly partition: Buffer
  readonly signature: Signature
  readonly own: Evidence
}

/** How signatures are kept and found. */
export interface SignatureLayout<Signature> {
  readonly banding: Banding
  /** Tables of the same shape have the same memory for the same representatives. */
  readonly shape: string
  /** Empty tables, one a partition. */
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

export interface SignatureScheme<Signature, Evidence> extends SignatureLayout<Signature> {
  /** Exactly, where it is at least `least`; below that, any smaller value may be returned. */
  similarity(first: Evidence, second: Evidence, least: number): number
  /** Bytes that evidence holds on to once it was compared. */
  weight(evidence: Evidence): number
}

/** Standard errors that an estimate may be off. */
export const ERRORS = 4

export function shapeOf({ bands, rows }: Banding): string {
  return `bands ${bands} rows ${rows} ${IS_LITTLE_ENDIAN ? 'little' : 'big'} endian`
}

export function standardError(share: number, count: number): number {
  return Math.sqrt((share * (1 - share)) / count)
}
