/**
 * Before runs are taken back that another one redoes: collects what the state has of their documents, shard by shard, so
 * that those are decided about again without reading their inputs. A shard of which the state has not everything is
 * read again, and why is reported.
 *
 * Invariant: what is replayed is what reading the same file in the same way would give. Rows of documents are only used
 * where they were written by the very run that read the shard last; texts are found by their digests.
 */

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { ReadingInput, Reject, Shard } from '../../input/index.ts'
import type { Writable } from '../../ledger/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { decodePack } from '../decision/pack-row.ts'
import { EVIDENCE_BYTES_MAX, shortDigest } from '../decision/prepare.ts'
import { entriesOf } from '../output/lines.ts'
import {
  type BatchEntry,
  type DocumentRow,
  documents,
  packs,
  rejects,
  replays,
  runPrefix,
  shardKey,
} from '../rows.ts'
import type { RunRow } from '../runs.ts'
import type { Fence } from '../state-settings.ts'
import type { StoredDocument, StoredItem } from './shard-batches.ts'
import { TextPlaces } from './text-places.ts'
import { clearRows } from './undo.ts'

/** Why a shard is read again. */
const READ_AGAIN = {
  new: 'it is new or has changed',
  reading: 'it is read in another way than before',
  'near-off': 'near was off, and the state keeps texts only to find near duplicates',
  evidence: 'the state has hashes or sketches of texts in place of texts (near.evidence)',
  begun: 'runs were taken back before their documents were collected',
  rejects: 'not all of its rejects are in the state, or it could not be read to its end',
  pruned: 'documents of it were pruned from the state',
  earlier: 'documents of it are as in an earlier version of the file, and were not recorded again',
  repeated: 'documents are in it more than once, and have fields that may differ',
  row: 'a document of it takes more than a row of the state may have',
  long: 'the state keeps no texts of 1.5 MB or more',
  text: 'the state has not all texts of its documents: an earlier version of prestige wrote it',
} as const

export type ReadAgain = keyof typeof READ_AGAIN

export interface Collected {
  /** Files that are decided about from the state. */
  readonly files: number
  /** Those that are read again, and the first reason that was found for each. */
  readonly read: readonly { readonly file: string; readonly why: string }[]
}

const ROW_BYTES_MAX = 32_768
const ROWS_AT_ONCE = 16
/** Brackets around the items of a row. */
const ROW_EXTRA_BYTES = 16

/** `run` redoes `earlier`; nothing of those is taken back yet. */
export async function collectReplays(
  backend: Backend,
  run: RunRow,
  earlier: readonly RunRow[],
  fence: Fence,
): Promise<Collected> {
  await clearRows(backend, replays, runPrefix(run.id))
  const found = new Map<string, ReadAgain | undefined>()
  let texts: TextPlaces | undefined
  for (const shard of run.shards) {
    const of = lastReadOf(shard, run, earlier)
    let why = typeof of === 'string' ? of : undefined
    if (typeof of !== 'string') {
      texts ??= await textsIn(backend)
      why = await new Collecting(backend, run, of, texts, fence).collect(shard.index)
    }
    for (const { file } of shard.files ?? [shard]) found.set(file, found.get(file) ?? why)
  }
  const read = [...found].flatMap(([file, why]) => (why ? [{ file, why: READ_AGAIN[why] }] : []))
  return { files: found.size - read.length, read }
}

interface ReadBefore {
  readonly run: RunRow
  /** Of that run. */
  readonly shard: number
}

/** Which run has read the shard last as it is now and as it is read now; or why none has. */
function lastReadOf(
  shard: Shard,
  { reading }: RunRow,
  earlier: readonly RunRow[],
): ReadBefore | ReadAgain {
  // From the first that is taken back on, rows are missing.
  if (earlier.some(({ redoneBy }) => redoneBy !== undefined)) return 'begun'
  for (const run of earlier.toReversed()) {
    const as = run.shards.find((one) => isSame(inputOf(one), inputOf(shard)))
    if (!as) {
      if (run.shards.some((one) => hasFileOf(one, shard))) return 'new'
      continue
    }
    if (!isSame(run.reading ?? {}, reading ?? {}) || !isSame(readOf(as), readOf(shard))) {
      return 'reading'
    }
    return whyNoTexts(run.config) ?? { run, shard: as.index }
  }
  return 'new'
}

/** Why a run with these settings keeps no texts of documents; `undefined`: it does. */
export function whyNoTexts({ near }: DedupeConfig): ReadAgain | undefined {
  if (!near.enabled) return 'near-off'
  return (near.evidence ?? 'text') === 'text' ? undefined : 'evidence'
}

function hasFileOf(one: Shard, other: Shard): boolean {
  const files = new Set((one.files ?? [one]).map(({ file }) => file))
  return (other.files ?? [other]).some(({ file }) => files.has(file))
}

/** What is read, as it was when it was listed. */
function inputOf({ file, fileBytes, modifiedMs, etag, start, end, files }: Shard): object {
  return { file, fileBytes, modifiedMs, etag, start, end, files: files?.map(fileOf) }
}

/** How: of this, fields of documents are made. */
function readOf({ path, format, compression, source, isJson, firstLine, files }: Shard): object {
  const paths = files?.map((one) => one.path)
  return { path, format, compression, source, isJson, firstLine, paths }
}

function fileOf({
  file,
  fileBytes,
  modifiedMs,
  etag,
}: Shard | NonNullable<Shard['files']>[number]) {
  return { file, fileBytes, modifiedMs, etag }
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** All texts of the state: copies may be of documents of any run. */
async function textsIn(backend: Backend): Promise<TextPlaces> {
  const texts = new TextPlaces()
  for await (const { key, value } of backend.scan(packs)) {
    const digests = decodePack(value).map((text) =>
      text.byteLength > 0 ? shortDigest(text) : undefined,
    )
    texts.addPack(key, digests)
  }
  return texts
}

/** One shard of an earlier run. */
class Collecting {
  readonly #backend: Backend
  readonly #run: RunRow
  readonly #before: ReadBefore
  readonly #texts: TextPlaces
  readonly #fence: Fence
  readonly #rowBytesMax: number
  #items: StoredItem[] = []
  #bytes = 0
  #rows: StoredItem[][] = []

  constructor(backend: Backend, run: RunRow, before: ReadBefore, texts: TextPlaces, fence: Fence) {
    this.#backend = backend
    this.#run = run
    this.#before = before
    this.#texts = texts
    this.#fence = fence
    this.#rowBytesMax = Math.min(ROW_BYTES_MAX, backend.limits.valueBytesMax) - ROW_EXTRA_BYTES
  }

  /** For a shard of the run. Returns why it is read again; else everything of it is there. */
  async collect(index: number): Promise<ReadAgain | undefined> {
    const { run, shard } = this.#before
    const rejected = await rejectsOf(this.#backend, run.id, shard)
    if (!rejected) return 'rejects'
    let next = 0
    for await (const { entries } of entriesOf(this.#backend, run.id, shard)) {
      const rows = await this.#backend.read(rowsAt, entries)
      for (const [at, entry] of entries.entries()) {
        const before = next
        while ((rejected[next]?.position ?? Infinity) < entry.position) next++
        const item = this.#itemOf(entry, rows[at])
        if (typeof item === 'string') return item
        if (!this.#addAll([...rejected.slice(before, next), item])) return 'row'
      }
      if (this.#rows.length >= ROWS_AT_ONCE) await this.#write(index)
    }
    if (!this.#addAll(rejected.slice(next))) return 'row'
    this.#endRow()
    await this.#write(index)
    await this.#backend.run(writeHead, this.#run.id, index, this.#fence)
    return undefined
  }

  #itemOf(
    { position, isRepeated }: BatchEntry,
    row: DocumentRow | undefined,
  ): StoredDocument | ReadAgain {
    const { run } = this.#before
    if (!row) return 'pruned'
    if (row.run !== run.id) return 'earlier'
    if (isRepeated && hasMoreFields(run.reading)) return 'repeated'
    const { id, source, time, quality, type, language, digest, bytes } = row
    const place = bytes === 0 ? undefined : this.#texts.find(digest)
    if (bytes > 0 && !place) return bytes >= EVIDENCE_BYTES_MAX ? 'long' : 'text'
    const item: Writable<StoredDocument> = { position, id, source }
    if (time !== undefined) item.time = time
    if (quality !== undefined) item.quality = quality
    if (type !== undefined) item.type = type
    if (language !== undefined) item.language = language
    if (place) item.packed = [place.pack.toString('hex'), place.at]
    return item
  }

  /** Whether each of them fits into a row. */
  #addAll(items: readonly StoredItem[]): boolean {
    for (const item of items) {
      const bytes = Buffer.byteLength(JSON.stringify(item)) + 1
      if (bytes > this.#rowBytesMax) return false
      if (this.#bytes + bytes > this.#rowBytesMax) this.#endRow()
      this.#items.push(item)
      this.#bytes += bytes
    }
    return true
  }

  #endRow(): void {
    if (this.#items.length > 0) this.#rows.push(this.#items)
    this.#items = []
    this.#bytes = 0
  }

  async #write(index: number): Promise<void> {
    const rows = this.#rows
    this.#rows = []
    const atOnce = this.#backend.serial ? rows.length : 1
    for (let from = 0; from < rows.length; from += atOnce) {
      const page = rows.slice(from, from + atOnce)
      await this.#backend.run(writeRows, this.#run.id, index, page, this.#fence)
    }
  }
}

/** Fields that two documents with one id and one text may differ in. */
function hasMoreFields({ fields = {} }: ReadingInput = {}): boolean {
  return Object.keys(fields).some((name) => name !== 'text' && name !== 'id')
}

/** In the order of their positions; `undefined` where some were only counted, or a file may be readable now. */
async function rejectsOf(
  backend: Backend,
  run: string,
  shard: number,
): Promise<Reject[] | undefined> {
  const prefix = shardKey(run, shard)
  const found: Reject[] = []
  for await (const { value } of backend.scan(rejects, {
    start: prefix,
    end: endOfPrefix(prefix),
  })) {
    const row = value as Partial<Reject> // safe: only keepRejects writes these
    const isCutShort = row.reason === 'truncated' || row.reason === 'unreadable'
    if (row.reason === undefined || isCutShort) return undefined
    found.push(value as Reject) // safe: as above
  }
  return found
}

function* rowsAt(
  _scope: unknown,
  entries: readonly BatchEntry[],
): Transaction<readonly (DocumentRow | undefined)[]> {
  return yield* read(...entries.map(({ key }) => cell(documents, key)))
}

function* writeRows(
  scope: Scope,
  run: string,
  shard: number,
  rows: readonly (readonly StoredItem[])[],
  fence: Fence,
): Transaction<void> {
  yield* fence(scope)
  for (const items of rows) {
    scope.write(cell(replays, shardKey(run, shard, items[0]?.position ?? 0)), items)
  }
}

function* writeHead(scope: Scope, run: string, shard: number, fence: Fence): Transaction<void> {
  yield* fence(scope)
  scope.write(cell(replays, shardKey(run, shard)), [])
}
