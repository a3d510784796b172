/**
 * Writes segments: what came last in the journal becomes one, and several small ones become a larger one.
 *
 * Its pages are written in many transactions, under an id that it has claimed, and count only once the list names it:
 * that is the last transaction, which sees to it that nobody else has claimed or changed the list meanwhile. What a
 * process that was killed leaves is removed by the next one that writes a segment.
 */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { SegmentWriter } from '../../fingerprint/index.ts'
import type { NearSpaces } from '../rows.ts'
import type { SignatureLayout } from '../scheme/scheme.ts'
import { partBytesMax, partsOf } from '../snapshot.ts'
import { readArrivals } from './from-journal.ts'
import { mergeSegments, SegmentGone } from './merge.ts'
import {
  claimCell,
  encodeList,
  isInJournal,
  leftovers,
  listCell,
  pageCell,
  readList,
  restCell,
  type Segment,
  type SegmentHead,
  type SegmentList,
} from './rows.ts'

/** Of all memory: filters have at most so much. The rest is for tables, and for a filter that replaces others. */
const FILTER_SHARE = 3 / 8
const TRANSACTION_PAGES = 128
const TRANSACTIONS_TOGETHER = 8
const DROPPED_TOGETHER = 256
/** So many segments of about one size become one. */
const MERGED_MIN = 4

export interface Sealing<Signature> {
  readonly backend: Backend
  readonly spaces: NearSpaces
  readonly scheme: SignatureLayout<Signature>
  readonly bytesMax: number
  readonly pageEntries: number
}

/** The segments that a view has, and the list it has them from. */
export interface ListedSegments {
  readonly list: SegmentList['id']
  readonly segments: readonly Segment[]
}

/** What a new segment takes the place of. */
interface Change {
  readonly base: ListedSegments
  /** Those that stay. They come before it. */
  readonly kept: readonly Segment[]
}

/** Seals the journal up to a row, or as far as one segment goes; whether it did. */
export async function sealTail<Signature>(
  sealing: Sealing<Signature>,
  base: ListedSegments,
  upTo: number,
): Promise<boolean> {
  const { backend, spaces, scheme, bytesMax, pageEntries } = sealing
  const from = base.segments.at(-1)?.to ?? 0
  const arrivals = await readArrivals(backend, spaces, scheme, { from, upTo }, pageEntries)
  if (!arrivals || arrivals.representatives === 0) return false
  const { to, nonce, removals } = arrivals
  return publish(sealing, { base, kept: base.segments }, async (id, keep) => {
    const elsewhere = entriesOf(base.segments)
    let writer: SegmentWriter | undefined
    for (writer of arrivals.write(bytesMax * FILTER_SHARE, elsewhere)) await keep(writer)
    return writer && { head: { id, from, to, nonce, removals, bytes: 0 }, writer }
  })
}

/** Makes one of the last segments, if there are enough of about one size; whether it did. */
export async function mergeLast<Signature>(
  sealing: Sealing<Signature>,
  base: ListedSegments,
): Promise<boolean> {
  const { backend, spaces, bytesMax } = sealing
  const merged = toMerge(base.segments)
  const [first] = merged
  const last = merged.at(-1)
  if (!first || !last) return false
  const kept = base.segments.slice(0, base.segments.length - merged.length)
  const removals = merged.reduce((sum, one) => sum + one.removals, 0)
  const { to, nonce } = last
  try {
    return await publish(sealing, { base, kept }, async (id, keep) => {
      const [filters, elsewhere] = [bytesMax * FILTER_SHARE, entriesOf(kept)]
      let writer: SegmentWriter | undefined
      for await (writer of mergeSegments(backend, spaces, merged, filters, elsewhere))
        await keep(writer)
      return writer && { head: { id, from: first.from, to, nonce, removals, bytes: 0 }, writer }
    })
  } catch (error) {
    // Somebody else has merged them, or the search will find out that they are damaged.
    if (error instanceof SegmentGone) return false
    throw error
  }
}

/** The last ones, as long as one more is no larger than all behind it. */
function toMerge(segments: readonly Segment[]): readonly Segment[] {
  let [count, sum] = [0, 0]
  for (const { entries } of segments.toReversed()) {
    if (count > 1 && entries.representatives > sum) break
    count++
    sum += entries.representatives
  }
  return count < MERGED_MIN ? [] : segments.slice(-count)
}

function entriesOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { entries }) => sum + entries.representatives * entries.bands, 0)
}

type Keep = (writer: SegmentWriter) => Promise<void>
type Make = (
  id: Buffer,
  keep: Keep,
) => Promise<{ readonly head: SegmentHead; readonly writer: SegmentWriter } | undefined>

async function publish<Signature>(
  { backend, spaces, scheme }: Sealing<Signature>,
  { base, kept }: Change,
  make: Make,
): Promise<boolean> {
  const id = await backend.run(claim, spaces)
  await sweep(backend, spaces)
  try {
    const made = await make(id, (writer) => keepPages(backend, spaces, id, writer))
    if (!made) return false
    const { memory } = made.writer.segment
    await keepRest(backend, spaces, id, memory)
    const head = { ...made.head, bytes: memory.byteLength }
    return await backend.run(putIntoList, spaces, scheme.shape, base.list, [...kept, head])
  } finally {
    await backend.run(unclaim, spaces, id)
    await sweep(backend, spaces)
  }
}

// oxlint-disable-next-line require-yield -- it only writes
function* claim(scope: Scope, spaces: NearSpaces): Transaction<Buffer> {
  const id = scope.id()
  scope.write(claimCell(spaces), id)
  return id
}

function* unclaim(scope: Scope, spaces: NearSpaces, id: Bytes): Transaction<void> {
  const [claimed] = yield* read(claimCell(spaces))
  if (claimed && equalBytes(claimed, id)) scope.remove(claimCell(spaces))
}

/** Whether it is in force: not if others have changed the list, or claimed to do so, or if the journal is another. */
function* putIntoList(
  scope: Scope,
  spaces: NearSpaces,
  shape: string,
  base: Bytes,
  heads: readonly SegmentHead[],
): Transaction<boolean> {
  const last = heads.at(-1)
  const [claimed] = yield* read(claimCell(spaces))
  const { id } = yield* readList(spaces, shape)
  if (!last || !claimed || !equalBytes(claimed, last.id) || !equalBytes(id, base)) return false
  if (!(yield* isInJournal(spaces, last))) return false
  scope.write(listCell(spaces), encodeList({ id: scope.id(), heads }, shape))
  return true
}

async function keepPages(
  backend: Backend,
  spaces: NearSpaces,
  id: Buffer,
  writer: SegmentWriter,
): Promise<void> {
  const pages = writer.take()
  const rows = pages.map(({ number, bytes }) => ({ cell: pageCell(spaces, id, number), bytes }))
  await keepRows(backend, rows)
}

async function keepRest(
  backend: Backend,
  spaces: NearSpaces,
  id: Buffer,
  words: Uint32Array,
): Promise<void> {
  const memory = new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
  let part = 0
  for (const bytes of partsOf([memory], partBytesMax(backend))) {
    await keepRows(backend, [{ cell: restCell(spaces, id, part++), bytes }])
  }
}

interface NewRow {
  readonly cell: ReturnType<typeof pageCell>
  readonly bytes: Bytes
}

async function keepRows(backend: Backend, rows: readonly NewRow[]): Promise<void> {
  let under: Promise<void>[] = []
  for (let at = 0; at < rows.length; at += TRANSACTION_PAGES) {
    under.push(backend.run(writeRows, rows.slice(at, at + TRANSACTION_PAGES)))
    if (under.length < TRANSACTIONS_TOGETHER) continue
    await Promise.all(under)
    under = []
  }
  await Promise.all(under)
}

// oxlint-disable-next-line require-yield -- it only writes
function* writeRows(scope: Scope, rows: readonly NewRow[]): Transaction<void> {
  for (const { cell: at, bytes } of rows) scope.write(at, bytes)
}

/** Removes what belongs to no segment of the list, nor to the one that is being written. */
async function sweep(backend: Backend, spaces: NearSpaces): Promise<void> {
  while ((await backend.run(sweepSome, spaces)) === DROPPED_TOGETHER);
}

function* sweepSome(scope: Scope, spaces: NearSpaces): Transaction<number> {
  const keys = yield* leftovers(spaces, DROPPED_TOGETHER)
  for (const key of keys) scope.remove(cell(spaces.snapshots, key))
  return keys.length
}

/** To be called in the transaction that trims these rows of the journal: see `withdrawSnapshot`. */
export function* withdrawSegments(
  scope: Scope,
  spaces: NearSpaces,
  shape: string,
  trimmed: readonly number[],
): Transaction<void> {
  const { heads } = yield* readList(spaces, shape)
  const to = heads.at(-1)?.to ?? Infinity
  if (trimmed.some((number) => number > to)) scope.remove(listCell(spaces))
}
