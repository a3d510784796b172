/** Where documents come from that are decided about, for the first time or again: the one place that reads inputs for it. */

import { readLendingTexts, type ReadingInput, type Shard } from '../../input/index.ts'

/** The documents of a shard, and what is none, in their order. */
export function shardDocuments(
  shard: Shard,
  reading: ReadingInput,
): ReturnType<typeof readLendingTexts> {
  return readLendingTexts(shard, reading)
}
