/**
 * What all tables of representatives have in common: how they are asked, and how they answer.
 *
 * Invariant: an answer depends on the representatives that are in a table, and on nothing else: not on the
 * order in which they came, nor on those that have been there.
 *
 * Tables are views: made from rows, and lost without harm. Their memory may be kept, to be made faster next time.
 */

import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { FullBucket } from './chained-tables.ts'

export interface CandidateQuery {
  /** Candidates whose estimate is below are left out: of Jaccard similarity, or of cosine. */
  readonly estimateMin?: number | undefined
  /** How many candidates at most, the best ones. */
  readonly limit?: number | undefined
  /** Buckets of more representatives than this are passed over. None are, unless asked for. */
  readonly bucketMax?: number | undefined
  /** Representatives that buckets have beside those of the table, by band: they count against `bucketMax`. */
  readonly elsewhere?: Uint32Array | undefined
}

export interface Candidate {
  /** 16 bytes. */
  readonly id: Buffer
  /** From the whole signature, never from the number of bands. */
  readonly estimate: number
}

export interface Candidates {
  /** The most similar first; of equals, the oldest id. */
  readonly candidates: readonly Candidate[]
  /** Representatives whose signature was compared. */
  readonly compared: number
  /** Buckets that were fuller than `bucketMax`: what is only in those was not found. */
  readonly bucketsPassedOver: number
  /** The bands of those buckets, of tables that have bands. */
  readonly bandsPassedOver?: readonly number[]
}

export interface TableBytes {
  readonly buckets: number
  readonly signatures: number
  readonly ids: number
}

export interface TableStats {
  readonly representatives: number
  readonly bands: number
  /** Reserved, used or not. */
  readonly bytes: TableBytes
  readonly fullestBuckets: readonly FullBucket[]
  readonly chainLongest: number
  readonly chainMean: number
}

export interface SimilarityTable<Signature> {
  readonly size: number
  /** Of all that it holds, used or not. */
  readonly bytes: number
  /** An id that is there already gets the new signature. */
  insert(id: Bytes, signature: Signature): void
  /** Whether it was there. */
  remove(id: Bytes): boolean
  query(signature: Signature, query?: CandidateQuery): Candidates
  /**
   * All that the table holds, in an order that depends on nothing else: to be copied; or, of a table that is new,
   * to be filled (`isFilled`) with such a copy, each piece before the next one is asked for.
   */
  memory(isFilled: boolean): Iterable<Uint8Array>
  /** Looks at everything, so it is slow: for people, not for every request. */
  stats(): TableStats
}

export const NO_CANDIDATES: Candidates = { candidates: [], compared: 0, bucketsPassedOver: 0 }
export const FULLEST_COUNT = 10
const DEFAULT_LIMIT = 100

export type CheckedQuery = {
  readonly [Name in Exclude<keyof CandidateQuery, 'elsewhere'>]-?: number
}

export function checkedQuery(query: CandidateQuery, estimateLeast: number): CheckedQuery {
  const { estimateMin = estimateLeast, limit = DEFAULT_LIMIT, bucketMax = Infinity } = query
  if (!(estimateMin >= estimateLeast && estimateMin <= 1)) {
    throw refusal(`estimateMin is from ${estimateLeast} to 1, not ${estimateMin}.`)
  }
  if (!isCount(limit)) throw refusal(`limit is a whole number from 1, not ${limit}.`)
  if (!isCount(bucketMax)) throw refusal(`bucketMax is a whole number from 1, not ${bucketMax}.`)
  return { estimateMin, limit, bucketMax }
}

const isCount = (value: number) => value >= 1 && (Number.isInteger(value) || value === Infinity)

function refusal(why: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', why)
}
