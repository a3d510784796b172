/** Documents of a run with the results of their decisions, read from the rows in the order of the input. */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import { isMethod, type Method, type Named } from '../decision/decision.ts'
import { fromHex, named } from '../names.ts'
import {
  type BatchEntry,
  batches,
  clusters,
  decodeEntries,
  type DocumentRow,
  documents,
  runPrefix,
  shardKey,
} from '../rows.ts'

/** So many rows are read before others have a turn: leases are renewed meanwhile. */
const ROWS_A_TURN = 256

/** A document of a run, with what it was decided to be. */
export interface Line {
  readonly shard: number
  readonly entry: BatchEntry
  readonly row: DocumentRow
  /** What is kept in its place. */
  readonly of: Named | undefined
  /** What it was measured against. */
  readonly centre: Named | undefined
  /** How it was found, or, of a superseded one, how the better copy was. */
  readonly method: Method | undefined
  readonly similarity: number | undefined
}

/** Which entries of a batch are wanted. */
export type Wanted = (shard: number, entries: readonly BatchEntry[]) => readonly BatchEntry[]

/** Documents of a run in the order of shards and positions, page by page. */
export async function* linesOf(
  backend: Backend,
  run: string,
  wanted: Wanted = (_shard, entries) => entries,
): AsyncGenerator<Line[]> {
  for await (const { shard, entries: all } of entriesOf(backend, run)) {
    const entries = wanted(shard, all)
    if (entries.length > 0) yield await backend.read(findLines, shard, entries)
  }
}

/** Where the documents of a run, or of one of its shards, are. */
export async function* entriesOf(
  backend: Backend,
  run: string,
  only?: number,
): AsyncGenerator<{ readonly shard: number; readonly entries: BatchEntry[] }> {
  const all = runPrefix(run)
  const prefix = only === undefined ? all : shardKey(run, only)
  const range = { start: prefix, end: endOfPrefix(prefix) }
  let rows = 0
  for await (const { key, value } of backend.scan(batches, range)) {
    if (++rows % ROWS_A_TURN === 0) await nextTurn()
    yield { shard: key.readUInt32BE(all.byteLength), entries: decodeEntries(value) }
  }
}

function* findLines(
  _scope: unknown,
  shard: number,
  entries: readonly BatchEntry[],
): Transaction<Line[]> {
  const rows = yield* read(...entries.map(({ key }) => cell(documents, key)))
  const lines: Line[] = []
  for (const [at, entry] of entries.entries()) {
    const row = rows[at]
    if (!row) continue
    const isAlone = row.action === 'keep' && !row.cluster
    const found = isAlone ? { row, ...NOTHING } : yield* linksOf(row)
    lines.push({ shard, entry, ...found })
  }
  return lines
}

const NOTHING = { of: undefined, centre: undefined, method: undefined, similarity: undefined }

function* linksOf(row: DocumentRow): Transaction<Omit<Line, 'shard' | 'entry'>> {
  const link = row.like ?? row.spans?.[0]?.[2]
  const centreKey = row.cluster ?? link
  const [cluster] = row.cluster ? yield* read(cell(clusters, fromHex(row.cluster))) : []
  const survivorKey = row.supersededBy ?? cluster?.survivor ?? centreKey
  const keys = [survivorKey ?? '', centreKey ?? ''].map(fromHex)
  const [survivor, centre] = yield* read(...keys.map((key) => cell(documents, key)))
  // A centre was not found itself: the copy that superseded it was found near it.
  const { method, similarity } =
    row.action === 'superseded' && !row.cluster ? (survivor ?? row) : row
  return {
    row,
    of: survivor && named(survivor),
    centre: centre && named(centre),
    method: isMethod(method) ? method : undefined,
    similarity,
  }
}
