/** A shard, read and prepared, batch by batch: what is decided about in one transaction. */

import { asBuffer } from '../../platform/bytes.ts'
import { resolve } from '../../platform/paths.ts'

import {
  type Document,
  isReject,
  type ReadingInput,
  readLendingTexts,
  type Reject,
  type Shard,
  withUtf8,
} from '../../input/index.ts'
import { BatchSize } from './batch-size.ts'
import { type Pack, Packer } from '../decision/packs.ts'
import type { PreparedDocument, Preparer } from '../decision/prepare.ts'
import { refusedReject } from './rejected.ts'

export interface Placed {
  readonly document: PreparedDocument
  readonly position: number
}

/** A batch of one shard, ready to be decided about. Plain data, so that it can come from another thread. */
export interface Batch {
  readonly shard: number
  readonly placed: readonly Placed[]
  readonly rejected: readonly Reject[]
  /** Texts of its documents; those point at them. */
  readonly packs: readonly Pack[]
  /** Positions done when it is. */
  readonly upTo: number
  readonly isLast: boolean
  /** Positions done before it. */
  readonly from: number
}

/** A document as it was read, without its text. */
export interface StoredDocument extends Omit<Document, 'text' | 'line'> {
  /** Key of a pack, in hex, and place in it; absent of an empty text. */
  readonly packed?: readonly [pack: string, at: number]
}

export type StoredItem = StoredDocument | Reject

/** Plain data, so that it can go to another thread. */
export interface ReplayedDocument extends StoredDocument {
  readonly utf8: Uint8Array
}

export type ReplayedItem = ReplayedDocument | Reject

/** As a reader gives it. */
export function itemOf(item: ReplayedItem): Document | Reject {
  if ('reason' in item) return item
  const { utf8, packed: _packed, ...document } = item
  return withUtf8({ ...document, line: 0 }, asBuffer(utf8))
}

/** Documents and rejects of a shard in their order, from `reading.resume` on. */
export type Items = AsyncIterable<readonly (Document | Reject)[]>

/** `run`: its number; `undefined`: texts are not packed yet. `items`: in place of what is in the input. */
export async function* batchesOf(
  preparer: Pick<Preparer, 'prepare'>,
  shard: Shard,
  reading: ReadingInput,
  strict: boolean,
  run: number | undefined,
  items: Items = readLendingTexts(shard, reading),
): AsyncGenerator<Batch> {
  const whole = resolve(shard.file)
  let upTo = reading.resume ?? 0
  let from = upTo
  let placed: Placed[] = []
  let rejected: Reject[] = []
  const size = new BatchSize()
  const packer = run === undefined ? undefined : new Packer({ run })
  const take = (isLast: boolean): Batch => {
    const packs = packer?.take() ?? []
    const batch = { shard: shard.index, placed, rejected, packs, upTo, isLast, from }
    from = upTo
    placed = []
    rejected = []
    size.clear()
    return batch
  }
  for await (const some of items) {
    for (const item of some) {
      upTo = item.position + 1
      let bytes = 0
      if (isReject(item)) {
        if (strict) throw refusedReject(shard, item)
        rejected.push(item)
      } else {
        const file = shard.files?.[item.position]?.file
        const place = file === undefined ? whole : resolve(file)
        const document = preparer.prepare(item, place)
        packer?.add(document, shard.index, item.position)
        placed.push({ document, position: item.position })
        bytes = weightOf(document)
      }
      if (size.add(bytes)) yield take(false)
    }
  }
  yield take(true)
}

/**
 * A batch in smaller ones, in the same order: of so many bytes, as `bytesOf` has it, or of one document. What was no
 * document is apart.
 */
export function partsOf(
  batch: Batch,
  bytesOf: (document: PreparedDocument) => number,
  bytesMax: number,
): Batch[] {
  const items = [...batch.placed, ...batch.rejected].toSorted(
    (one, other) => one.position - other.position,
  )
  const parts: { placed: Placed[]; rejected: Reject[]; bytes: number; upTo: number }[] = []
  for (const item of items) {
    const isRejected = !('document' in item)
    const bytes = isRejected ? 0 : bytesOf(item.document)
    let part = parts.at(-1)
    const isOther = part && (isRejected ? part.placed.length > 0 : part.rejected.length > 0)
    if (!part || isOther || (!isRejected && part.bytes + bytes > bytesMax)) {
      part = { placed: [], rejected: [], bytes: 0, upTo: 0 }
      parts.push(part)
    }
    if (isRejected) part.rejected.push(item)
    else part.placed.push(item)
    part.bytes += bytes
    part.upTo = item.position + 1
  }
  const last = parts.at(-1) ?? { placed: [], rejected: [], upTo: batch.upTo }
  let { from } = batch
  return [...parts.slice(0, -1), last].map(({ placed, rejected, upTo }, at) => {
    const isLast = batch.isLast && at >= parts.length - 1
    const made = { shard: batch.shard, placed, rejected, packs: [], upTo, isLast, from }
    from = upTo
    return made
  })
}

/** Most of what is kept of a document until it is decided about. */
export function weightOf({ looks, chunks, unprobed }: PreparedDocument): number {
  const others = chunks.length * 128 + (unprobed?.byteLength ?? 0)
  return looks.reduce((sum, { evidence }) => sum + evidence.byteLength, others)
}
