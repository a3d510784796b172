/** What a store holds and saves, as it reports. */

import {
  type Backend,
  cell,
  first,
  read,
  type ReadScope,
  rowsOf,
  type Transaction,
} from '../backends/index.ts'
import { hasReference } from './collect.ts'
import { digests, refs, released } from './rows.ts'
import { type Counts, readCounts, readStored, type StoredCounts } from './tallies.ts'
import type { Keeping } from './transactions/release.ts'

export interface StoreStats extends Counts {
  /** How much smaller the contents that keys refer to are than all values; never negative. */
  readonly bytesSaved: number
  /** Bytes of contents that keys refer to. */
  readonly liveBytes: number
  /** Bytes of contents that no key refers to any more, and that wait to be collected. */
  readonly garbageBytes: number
  /**
   * More contents wait for the collector than `stats()` looks at: `garbageBytes` is at least this, so `liveBytes` at most,
   * and `bytesSaved` and `dedupRatio` at least.
   */
  readonly hasMoreGarbage?: true
  /** The bytes of all contents as they are kept: compressed, and chunks that they share once. Without keys and other rows. */
  readonly storedBytes: number
  /** What the file of a directory takes, free pages included. Engines without a file of their own have none. */
  readonly fileBytes?: number
  /** Bytes of all values divided by bytes of the contents they refer to; 1 for an empty store. */
  readonly dedupRatio: number
  /** Where near duplicates are linked: contents that are, and values that full buckets may have hidden one from. */
  readonly near?: { readonly links: number; readonly possibleMisses: number }
  /** Where texts of like meaning are linked: contents that are, and representatives. */
  readonly semantic?: { readonly links: number; readonly representatives: number }
}

/** Tallies are of one moment. Garbage is looked for among what was noted for the collector, a little later. */
export async function statsOf(backend: Backend, keeping: Keeping): Promise<StoreStats> {
  const { counts, stored, near, semantic } = await backend.read(readNumbers, keeping)
  const { valueBytes, contentBytes } = counts
  const garbage = await garbageIn(backend)
  const garbageBytes = Math.min(contentBytes, garbage.bytes)
  const liveBytes = contentBytes - garbageBytes
  return {
    ...counts,
    bytesSaved: Math.max(0, valueBytes - liveBytes),
    liveBytes,
    garbageBytes,
    ...(garbage.hasMore && { hasMoreGarbage: true }),
    storedBytes: contentBytes + (stored ? differenceOf(stored) : 0),
    ...(backend.file && { fileBytes: backend.file.bytes() }),
    dedupRatio: liveBytes === 0 ? 1 : valueBytes / liveBytes,
    ...(near && { near: { links: near.links, possibleMisses: near.passedOver } }),
    ...(semantic && { semantic }),
  }
}

/** Between what contents are kept in and their bytes. */
function differenceOf({ compressedBytes, chunkedBytes, packBytes }: StoredCounts): number {
  return packBytes - chunkedBytes - compressedBytes
}

function* readNumbers(scope: ReadScope, { near, semantic, layout }: Keeping) {
  return {
    counts: yield* readCounts(scope),
    stored: layout.chunks && (yield* readStored(scope)),
    near: near && (yield* near.stats()),
    semantic: semantic && (yield* semantic.graph.readCounts()),
  }
}

/** More would make `stats()` slow where much waits for the collector. */
const NOTES_MAX = 1024
/** Of engines that are asked for each content by itself. */
const ASKED_AT_ONCE = 32
/** Others do not wait longer than for so many. */
const NOTES_AT_ONCE = 256

interface Garbage {
  readonly bytes: number
  readonly hasMore: boolean
}

/** Only what was noted for the collector is looked at, however large the store is, and no more than some of that. */
async function garbageIn(backend: Backend): Promise<Garbage> {
  const noted = await notesOf(backend, NOTES_MAX + 1)
  const hasMore = noted.length > NOTES_MAX
  const atOnce = backend.serial ? NOTES_AT_ONCE : ASKED_AT_ONCE
  let bytes = 0
  for (let from = 0; from < Math.min(noted.length, NOTES_MAX); from += atOnce) {
    const some = noted.slice(from, Math.min(from + atOnce, NOTES_MAX))
    bytes += backend.serial ? await backend.read(unreferenced, some) : await asked(backend, some)
  }
  return { bytes, hasMore }
}

async function notesOf(backend: Backend, limit: number): Promise<Buffer[]> {
  if (backend.serial) {
    const rows = await backend.read(() => rowsOf(released, { limit }))
    return rows.map(({ key }) => key)
  }
  const noted: Buffer[] = []
  for await (const { key } of backend.scan(released, { limit })) noted.push(key)
  return noted
}

/** Bytes of those that no key refers to. */
function* unreferenced(_scope: ReadScope, noted: readonly Buffer[]): Transaction<number> {
  let bytes = 0
  for (const known of yield* read(...noted.map((digest) => cell(digests, digest)))) {
    if (known && (yield* first(refs, known.id)) === undefined) bytes += known.bytes
  }
  return bytes
}

/** The same where a transaction cannot look for references. */
async function asked(backend: Backend, noted: readonly Buffer[]): Promise<number> {
  const found = await backend.read(() => read(...noted.map((digest) => cell(digests, digest))))
  const bytes = found.map(async (known) =>
    known && !(await hasReference(backend, known.id)) ? known.bytes : 0,
  )
  return (await Promise.all(bytes)).reduce((sum, one) => sum + one, 0)
}
