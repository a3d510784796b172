/**
 * Texts of documents of a state. They are read again from the inputs: only the shards that are needed, only as far as
 * they are needed.
 *
 * Invariant: what is returned is what was decided about. A text whose digest is not the recorded one is not returned;
 * the reason is.
 */

import { createHash } from 'node:crypto'
import { resolve } from '../../platform/paths.ts'

import type { Backend } from '../../backends/index.ts'
import { type ErrorCode, PrestigeError } from '../../platform/errors.ts'
import {
  type InputFile,
  isReject,
  type ReadingInput,
  readShard,
  type Shard,
  unitOf,
} from '../../input/index.ts'
import { keysInFile } from '../decision/identity.ts'
import { DIGEST_BYTES } from '../decision/prepare.ts'
import { hex } from '../names.ts'
import { entriesOf } from '../output/lines.ts'
import { readHead, readRun, type RunRow } from '../runs.ts'
import type { StoredDocument } from './find-documents.ts'

/** Where a document is in the inputs of the run that decided about it. */
export interface DocumentPlace {
  /** As the run names it: below the root of its inputs. */
  readonly file: string
  /** The line or row, from 1; absent of a file that is one document, and where the text could not be read. */
  readonly line?: number
  /** What `line` counts, where that is not lines: elements of a JSON array, or rows of Parquet. */
  readonly unit?: 'element' | 'row'
}

/** A text, or why there is none. */
export type FoundText = { readonly place?: DocumentPlace } & (
  | { readonly text: string; readonly missing?: undefined }
  | { readonly text?: undefined; readonly missing: string }
)

/** Failures of an input that is not as it was. Their messages name places of the machine, so they are not shown. */
const GONE: ReadonlySet<ErrorCode> = new Set([
  'INPUT_UNREADABLE',
  'INPUT_CHANGED',
  'FILE_NOT_FOUND',
  'FORMAT_UNSUPPORTED',
])

/** By key in hex; every document that was asked for is in it. `reading`: in place of how its run read it. */
export async function textsOf(
  backend: Backend,
  wanted: Iterable<StoredDocument>,
  reading?: ReadingInput,
): Promise<Map<string, FoundText>> {
  const texts = new Map<string, FoundText>()
  const byRun = new Map<string, StoredDocument[]>()
  for (const document of wanted) {
    const { run, id } = document.row
    if (texts.has(hex(document.key))) continue
    texts.set(hex(document.key), { missing: notInInput(id) })
    byRun.set(run, [...(byRun.get(run) ?? []), document])
  }
  for (const [id, documents] of byRun) {
    const head = await readHead(backend, id)
    if (!head || head.files === 0) continue
    const run = await backend.read(readRun, head)
    for (const found of await placesIn(backend, run, documents)) {
      await readPlaces(found, reading ?? run.reading ?? {}, texts)
    }
  }
  return texts
}

function notInInput(id: string): string {
  return `Document ${JSON.stringify(id)} was not read from a file, and a state keeps no texts to show.`
}

interface Place {
  readonly document: StoredDocument
  readonly position: number
}

interface PlacesInShard {
  readonly shard: Shard
  readonly places: readonly Place[]
}

async function placesIn(
  backend: Backend,
  run: RunRow,
  documents: readonly StoredDocument[],
): Promise<PlacesInShard[]> {
  const wanted = new Map(documents.map((document) => [hex(document.key), document]))
  const found: PlacesInShard[] = []
  for (const { index } of shardsOf(run, documents)) {
    if (wanted.size === 0) break
    const shard = run.shards[index]
    const places: Place[] = []
    for await (const { entries } of entriesOf(backend, run.id, index)) {
      for (const { key, position, isRepeated } of entries) {
        const document = isRepeated ? undefined : wanted.get(hex(key))
        if (!document) continue
        wanted.delete(hex(key))
        places.push({ document, position })
      }
    }
    if (shard && places.length > 0) found.push({ shard, places })
  }
  return found
}

/** More hashes than this cost more than reading where all documents of a run are. */
const KEYS_COMPUTED_MAX = 100_000

/** The shards that can have them: a key tells its file, but for further texts of one id. */
function shardsOf(
  { shards, files: fileCount }: RunRow,
  documents: readonly StoredDocument[],
): readonly Shard[] {
  if (fileCount * documents.length > KEYS_COMPUTED_MAX) return shards
  const keys = new Set(documents.map(({ key }) => hex(key)))
  const ids = new Set(documents.map(({ row }) => row.id))
  const isIn = ({ file, path }: InputFile, own: Shard) =>
    // A file that is a document is called by its path.
    (own.files ? (ids.has(path) ? [path] : []) : [...ids]).filter((id) =>
      keysInFile(resolve(file), id).some((key) => keys.delete(hex(key))),
    ).length > 0
  const files = new Set<string>()
  for (const shard of shards) {
    for (const one of filesOf(shard)) if (isIn(one, shard)) files.add(one.file)
  }
  if (keys.size > 0) return shards
  return shards.filter((shard) => filesOf(shard).some(({ file }) => files.has(file)))
}

function filesOf(shard: Shard): readonly InputFile[] {
  return shard.files ?? [shard]
}

async function readPlaces(
  { shard, places }: PlacesInShard,
  reading: ReadingInput,
  texts: Map<string, FoundText>,
): Promise<void> {
  for (const { document, position } of places) {
    const place = { file: shard.files?.[position]?.path ?? shard.path }
    texts.set(hex(document.key), { missing: gone(document.row.id, place.file), place })
  }
  try {
    await readTexts(shard, places, reading, texts)
  } catch (error) {
    if (!(error instanceof PrestigeError) || !GONE.has(error.code)) throw error
  }
}

function gone(id: string, input: string): string {
  return `The input ${JSON.stringify(input)} is gone, has changed since, or is read in another way now: ${JSON.stringify(id)} cannot be shown.`
}

async function readTexts(
  shard: Shard,
  wanted: readonly Place[],
  reading: ReadingInput,
  texts: Map<string, FoundText>,
): Promise<void> {
  const places = new Map(wanted.map((place) => [place.position, place]))
  const positions = [...places.keys()].toSorted((one, other) => one - other)
  for (const stretch of stretchesOf(positions, shard)) {
    const last = stretch.at(-1) ?? 0
    // Small batches: what comes after the last that is wanted is not read.
    const batch = { ...reading, resume: stretch[0] ?? 0, batchDocuments: 4 }
    for await (const items of readShard(shard, batch)) {
      for (const item of items) {
        const place = places.get(item.position)
        if (!place || isReject(item)) continue
        const { key, row } = place.document
        if (digestOf(item.text) !== hex(row.digest)) continue
        const file = shard.files?.[item.position]?.path
        const where =
          file === undefined
            ? { file: shard.path, line: item.line, ...unitOf(shard.format) }
            : { file }
        texts.set(hex(key), { text: item.text, place: where })
      }
      if ((items.at(-1)?.position ?? 0) >= last) break
    }
  }
}

/** Passing over a line costs less than this share of reading it as a document. */
const PASSING_SHARE = 1 / 8

/** Positions that are read in one go. Where lines can be skipped, starting over may cost less than reading on. */
export function stretchesOf(
  positions: readonly number[],
  { format, compression }: Pick<Shard, 'format' | 'compression'>,
): number[][] {
  const canPass = compression === 'none' && (format === 'jsonl' || format === 'lines')
  const stretches: number[][] = []
  for (const position of positions) {
    const current = stretches.at(-1)
    const before = current?.at(-1) ?? 0
    if (current && !(canPass && position - before > position * PASSING_SHARE))
      current.push(position)
    else stretches.push([position])
  }
  return stretches
}

function digestOf(text: string): string {
  const digest = createHash('sha256').update(text).digest()
  return digest.subarray(0, DIGEST_BYTES).toString('hex')
}
