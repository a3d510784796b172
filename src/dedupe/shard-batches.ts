/** A shard, read and prepared, batch by batch: what is decided about in one transaction. */

import { resolve } from 'node:path'

import { isReject, type Reject, type Shard } from '../input/document.ts'
import { readShard, type ReadingInput } from '../input/index.ts'
import type { PreparedDocument, Preparer } from './prepare.ts'
import { refusedReject } from './rejected.ts'

/** A batch is a transaction: the more documents, the fewer; but what waits for its turn stays within bounds. */
const BATCH_DOCUMENTS = 256
const BATCH_BYTES = 2 * 1024 * 1024

export interface Placed {
  readonly document: PreparedDocument
  readonly position: number
}

/** A batch of one shard, ready to be decided about. Plain data, so that it can come from another thread. */
export interface Batch {
  readonly shard: number
  readonly placed: readonly Placed[]
  readonly rejected: readonly Reject[]
  /** Positions done when it is. */
  readonly upTo: number
  readonly isLast: boolean
  /** Positions done before it. */
  readonly from: number
}

export async function* batchesOf(
  preparer: Pick<Preparer, 'prepare'>,
  shard: Shard,
  reading: ReadingInput,
  strict: boolean,
): AsyncGenerator<Batch> {
  let upTo = reading.resume ?? 0
  let from = upTo
  let placed: Placed[] = []
  let rejected: Reject[] = []
  let bytes = 0
  const take = (isLast: boolean): Batch => {
    const batch = { shard: shard.index, placed, rejected, upTo, isLast, from }
    from = upTo
    placed = []
    rejected = []
    bytes = 0
    return batch
  }
  for await (const items of readShard(shard, reading)) {
    for (const item of items) {
      upTo = item.position + 1
      if (isReject(item)) {
        if (strict) throw refusedReject(shard, item)
        rejected.push(item)
      } else {
        const place = resolve(shard.files?.[item.position]?.file ?? shard.file)
        const document = preparer.prepare(item, place)
        placed.push({ document, position: item.position })
        bytes += weightOf(document)
      }
      const isFull = placed.length + rejected.length >= BATCH_DOCUMENTS || bytes >= BATCH_BYTES
      if (isFull) yield take(false)
    }
  }
  yield take(true)
}

/** Most of what is kept of a document until it is decided about. */
function weightOf({ looks, chunks }: PreparedDocument): number {
  return looks.reduce((sum, { evidence }) => sum + evidence.byteLength, chunks.length * 128)
}
