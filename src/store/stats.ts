/** What a store holds and saves, as it reports. */

import type { ReadScope, Transaction } from '../backends/index.ts'
import type { Keeping } from './transactions/release.ts'
import { type Counts, readCounts, readStored, type StoredCounts } from './tallies.ts'

export interface StoreStats extends Counts {
  readonly bytesSaved: number
  /** The bytes of all contents as they are kept: compressed, and chunks that they share once. Without keys and other rows. */
  readonly storedBytes: number
  /** Bytes of all values divided by bytes stored; 1 for an empty store. */
  readonly dedupRatio: number
  /** Where near duplicates are linked: contents that are, and values that full buckets may have hidden one from. */
  readonly near?: { readonly links: number; readonly possibleMisses: number }
  /** Where texts of like meaning are linked: contents that are, and representatives. */
  readonly semantic?: { readonly links: number; readonly representatives: number }
}

/** All numbers are of one moment. */
export function* readStats(
  scope: ReadScope,
  { near, semantic, layout }: Keeping,
): Transaction<StoreStats> {
  const counts = yield* readCounts(scope)
  const stored = layout.chunks && (yield* readStored(scope))
  const linked = near && (yield* near.stats())
  const meanings = semantic && (yield* semantic.graph.readCounts())
  const { valueBytes, contentBytes } = counts
  return {
    ...counts,
    bytesSaved: valueBytes - contentBytes,
    storedBytes: contentBytes + (stored ? differenceOf(stored) : 0),
    dedupRatio: contentBytes === 0 ? 1 : valueBytes / contentBytes,
    ...(linked && { near: { links: linked.links, possibleMisses: linked.passedOver } }),
    ...(meanings && { semantic: meanings }),
  }
}

/** Between what contents are kept in and their bytes. */
function differenceOf({ compressedBytes, chunkedBytes, packBytes }: StoredCounts): number {
  return packBytes - chunkedBytes - compressedBytes
}
