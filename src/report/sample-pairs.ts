/**
 * Texts of sample duplicates, laid side by side. A state keeps no texts, so they are read again from the inputs:
 * only the shards that are needed, only as far as they are needed.
 *
 * Invariant: what is shown is what was decided about. A text whose digest is another than the one that is
 * recorded is not shown, and said to have changed.
 */

import { createHash } from 'node:crypto'
import { resolve } from '../platform/paths.ts'

import { type Backend, cell, glance, type Transaction } from '../backends/index.ts'
import { alignTexts, type Span } from '../compare/index.ts'
import {
  DIGEST_BYTES,
  type DocumentRow,
  documents,
  entriesOf,
  findRun,
  hex,
  keysInFile,
  listRuns,
  type Method,
  named,
  type Named,
  type RunRow,
} from '../dedupe/index.ts'
import { type ErrorCode, PrestigeError } from '../platform/errors.ts'
import {
  type InputFile,
  isReject,
  type ReadingInput,
  readShard,
  type Shard,
} from '../input/index.ts'
import type { Report } from './report.ts'

/** So much of a text is compared. */
const CHARACTERS_MAX = 50_000
const EDITS_MAX = 2000
const CLOSEST_MAX = 6
const CLUSTERS_MAX = 4
const PASSAGES_MAX = 2
const READ_AT_ONCE = 1000

/** Failures of an input that is not as it was. Their messages name places of the machine, so they are not shown. */
const GONE: ReadonlySet<ErrorCode> = new Set([
  'INPUT_UNREADABLE',
  'INPUT_CHANGED',
  'FILE_NOT_FOUND',
  'FORMAT_UNSUPPORTED',
])

export interface SamplePair {
  readonly a: Named
  /** What `a` was measured against. */
  readonly b: Named
  readonly method: Method
  readonly similarity?: number
  /** Why it is shown: a sentence. */
  readonly why: string
  readonly spans?: readonly Span[]
  /** What the spans do not show, as sentences. */
  readonly notes: readonly string[]
}

type Wanted = Omit<SamplePair, 'spans' | 'notes'>

export async function samplePairs(
  backend: Backend,
  report: Report,
  reading?: ReadingInput,
): Promise<SamplePair[]> {
  const wanted = pairsOf(report)
  const names = new Set(wanted.flatMap(({ a, b }) => [nameOf(a), nameOf(b)]))
  const texts = await textsOf(backend, names, reading)
  const canonical = report.config.canonical.profile
  return wanted.map((pair) => alignedPair(pair, texts, canonical))
}

/** Pairs that are worth a look; copies that are the same, byte for byte, are not. */
function pairsOf({ closestCalls, clusters, passages }: Report): Wanted[] {
  const pairs: Wanted[] = closestCalls.slice(0, CLOSEST_MAX).map((call) => ({
    a: named(call),
    b: named(call.of),
    method: call.method,
    similarity: call.similarity,
    why: 'One of the least similar pairs that were taken for duplicates.',
  }))
  for (const { members, ...centre } of clusters.largest) {
    const member = members.find(({ method }) => method !== 'exact')
    if (!member || !isShownMethod(member.method) || pairs.length >= CLOSEST_MAX + CLUSTERS_MAX)
      continue
    const why = `A member of one of the largest clusters (${centre.size} documents).`
    const { method, similarity } = member
    pairs.push({ a: named(member), b: named(centre), method, similarity, why })
  }
  for (const { of, ...passage } of passages.longest.slice(0, PASSAGES_MAX)) {
    const why = 'Linked: they share passages, and are otherwise different.'
    pairs.push({ a: named(passage), b: named(of), method: 'chunk', why })
  }
  const seen = new Set<string>()
  return pairs.filter(({ a, b }) => {
    const pair = nameOf(a) + nameOf(b)
    return !seen.has(pair) && seen.add(pair)
  })
}

/** Ids of two sources may be the same. */
function nameOf({ id, source }: Named): string {
  return JSON.stringify([source, id])
}

function isShownMethod(method: string): method is Method {
  return method === 'canonical' || method === 'simhash' || method === 'near'
}

/** A text, or why there is none. */
type Found = { readonly text: string } | { readonly missing: string }

function alignedPair(
  pair: Wanted,
  texts: ReadonlyMap<string, Found>,
  canonical: Report['config']['canonical']['profile'],
): SamplePair {
  const sides = [pair.a, pair.b].map(
    (side) => texts.get(nameOf(side)) ?? { missing: unknown(side.id) },
  )
  const missing = sides.flatMap((side) => ('missing' in side ? [side.missing] : []))
  const [a = '', b = ''] = sides.map((side) => ('text' in side ? side.text : ''))
  if (missing.length > 0) return { ...pair, notes: missing }
  const shown = [a, b].map((text) => cut(text)) as [string, string] // safe: map keeps the length
  const { spans, isComplete } = alignTexts(...shown, { canonical, editsMax: EDITS_MAX })
  const notes: string[] = []
  if (shown[0].length < a.length || shown[1].length < b.length) {
    notes.push(
      `Only the first ${CHARACTERS_MAX.toLocaleString('en')} characters are compared here.`,
    )
  }
  if (!isComplete) notes.push('The texts differ much; they may share more than is shown.')
  return { ...pair, spans, notes }
}

/** Never in the middle of a surrogate pair. */
function cut(text: string): string {
  if (text.length <= CHARACTERS_MAX) return text
  const isSplit = /[\ud800-\udbff]$/.test(text.slice(0, CHARACTERS_MAX))
  return text.slice(0, CHARACTERS_MAX - (isSplit ? 1 : 0))
}

function unknown(id: string): string {
  return `Document ${JSON.stringify(id)} is not in the state any more.`
}

interface Place {
  readonly id: string
  readonly name: string
  readonly digest: string
  readonly shard: Shard
  readonly position: number
  /** How its run read it. */
  readonly reading: ReadingInput | undefined
}

async function textsOf(
  backend: Backend,
  names: ReadonlySet<string>,
  reading: ReadingInput | undefined,
): Promise<Map<string, Found>> {
  const places = await placesOf(backend, names)
  const byShard = new Map<Shard, Place[]>()
  for (const place of places) byShard.set(place.shard, [...(byShard.get(place.shard) ?? []), place])
  const texts = new Map<string, Found>()
  for (const [shard, wanted] of byShard) {
    for (const { id, name } of wanted) texts.set(name, { missing: gone(id, shard) })
    try {
      await readTexts(shard, wanted, reading ?? wanted[0]?.reading ?? {}, texts)
    } catch (error) {
      if (!(error instanceof PrestigeError) || !GONE.has(error.code)) throw error
    }
  }
  return texts
}

function gone(id: string, { path, files }: Shard): string {
  const input = files ? id : path
  return `The input ${JSON.stringify(input)} is gone, has changed since, or is read in another way now: ${JSON.stringify(id)} cannot be shown.`
}

/** Which run decided about each, and where in its input it is; the latest run first. */
async function placesOf(backend: Backend, names: ReadonlySet<string>): Promise<Place[]> {
  const wanted = new Set(names)
  const places: Place[] = []
  for (const head of (await listRuns(backend)).toReversed()) {
    if (wanted.size === 0) break
    const run = await findRun(backend, head.id)
    const found = await documentsIn(backend, run, idsIn(wanted))
    const files = new Set(Array.from(found.values(), ({ file }) => file))
    for (const shard of run.shards) {
      if (!filesOf(shard).some(({ file }) => files.has(resolve(file)))) continue
      for await (const { row, position } of rowsIn(backend, run.id, shard.index, found)) {
        const name = nameOf(row)
        if (!wanted.delete(name)) continue
        const { id, digest } = row
        places.push({ id, name, digest: hex(digest), shard, position, reading: run.reading })
      }
    }
  }
  return places
}

type FoundRows = ReadonlyMap<string, { readonly file: string; readonly row: DocumentRow }>

/** Where in a shard the rows are that were found. Most documents are none of them, which four bytes show. */
async function* rowsIn(
  backend: Backend,
  run: string,
  shard: number,
  found: FoundRows,
): AsyncGenerator<{ readonly row: DocumentRow; readonly position: number }> {
  const beginnings = new Set(
    Array.from(found.keys(), (name) => Number.parseInt(name.slice(0, 8), 16)),
  )
  for await (const { entries } of entriesOf(backend, run, shard)) {
    for (const { key, position, isRepeated } of entries) {
      if (isRepeated || !beginnings.has(key.readUInt32BE(0))) continue
      const row = found.get(key.toString('hex'))?.row
      if (row) yield { row, position }
    }
  }
}

function idsIn(names: ReadonlySet<string>): Set<string> {
  // safe: made by nameOf
  return new Set(Array.from(names, (name) => (JSON.parse(name) as [string, string])[1]))
}

function filesOf(shard: Shard): readonly InputFile[] {
  return shard.files ?? [shard]
}

/** Key → file and row of the documents of a run with these ids. A row is known by its file and its id. */
async function documentsIn(
  backend: Backend,
  run: RunRow,
  ids: ReadonlySet<string>,
): Promise<FoundRows> {
  const found = new Map<string, { readonly file: string; readonly row: DocumentRow }>()
  const all = askedOf(run, ids)
  for (let from = 0; from < all.length; from += READ_AT_ONCE) {
    const page = all.slice(from, from + READ_AT_ONCE)
    const rows = await backend.read(rowsAt, page)
    for (const [at, { file, key }] of page.entries()) {
      const row = rows[at]
      if (row?.run === run.id) found.set(key.toString('hex'), { file, row })
    }
  }
  return found
}

function askedOf({ shards }: RunRow, ids: ReadonlySet<string>): Asked[] {
  const asked = new Map<string, Asked>()
  for (const shard of shards) {
    for (const { file, path } of filesOf(shard)) {
      // A file that is a document is called by its path.
      const own = shard.files ? (ids.has(path) ? [path] : []) : ids
      for (const id of own) {
        for (const key of keysInFile(resolve(file), id)) {
          asked.set(key.toString('hex'), { file: resolve(file), key })
        }
      }
    }
  }
  return [...asked.values()]
}

interface Asked {
  readonly file: string
  readonly key: Buffer
}

function* rowsAt(
  _scope: unknown,
  asked: readonly Asked[],
): Transaction<readonly (DocumentRow | undefined)[]> {
  return yield* glance(...asked.map(({ key }) => cell(documents, key)))
}

async function readTexts(
  shard: Shard,
  wanted: readonly Place[],
  reading: ReadingInput,
  texts: Map<string, Found>,
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
        if (!place || isReject(item) || digestOf(item.text) !== place.digest) continue
        texts.set(place.name, { text: item.text })
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
