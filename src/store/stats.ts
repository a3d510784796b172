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
import { type Bytes, concat, EMPTY } from '../platform/bytes.ts'
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
  const garbageBytes = Math.min(contentBytes, await garbageIn(backend))
  const liveBytes = contentBytes - garbageBytes
  return {
    ...counts,
    bytesSaved: Math.max(0, valueBytes - liveBytes),
    liveBytes,
    garbageBytes,
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

const NOTES_AT_ONCE = 256

/** Only what was noted for the collector is looked at, however large the store is. */
async function garbageIn(backend: Backend): Promise<number> {
  let bytes = 0
  if (!backend.serial) {
    for await (const { key: digest } of backend.scan(released)) {
      const [known] = await backend.read(() => read(cell(digests, digest)))
      if (known && !(await hasReference(backend, known.id))) bytes += known.bytes
    }
    return bytes
  }
  for (let start: Bytes | undefined = EMPTY; start;) {
    const page: Noted = await backend.read(readNoted, start)
    bytes += page.garbageBytes
    start = page.next
  }
  return bytes
}

interface Noted {
  readonly garbageBytes: number
  /** Where to go on. */
  readonly next: Bytes | undefined
}

function* readNoted(_scope: ReadScope, start: Bytes): Transaction<Noted> {
  const notes = yield* rowsOf(released, { start, limit: NOTES_AT_ONCE })
  let garbageBytes = 0
  for (const { key: digest } of notes) {
    const [known] = yield* read(cell(digests, digest))
    if (known && (yield* first(refs, known.id)) === undefined) garbageBytes += known.bytes
  }
  const last = notes.length < NOTES_AT_ONCE ? undefined : notes.at(-1)?.key
  return { garbageBytes, next: last && concat(last, Buffer.of(0)) }
}
