/**
 * Documents of earlier runs that a run has found better copies of: they leave the outputs, and are listed with the file
 * that each was in.
 */

import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import type { InputFile } from '../../input/index.ts'
import type { Named } from '../decision/decision.ts'
import { fromHex, hex, named } from '../names.ts'
import type { Outcome } from '../phases/outcome.ts'
import { clusters, type DocumentRow, documents } from '../rows.ts'
import { findRun, type RunRow } from '../runs.ts'
import { entriesOf, type Line, linesOf } from './lines.ts'

/** A line of `superseded.jsonl`. */
export interface SupersededLine extends Named {
  readonly action: 'superseded'
  readonly method?: string
  readonly similarity?: number
  /** What is kept in its place now. */
  readonly of?: Named
  /** What both were measured against. */
  readonly representative?: Named
  readonly file?: string
  /** The run that kept it. */
  readonly run: string
}

interface Found {
  readonly key: string
  readonly row: DocumentRow
  readonly line: SupersededLine
}

/** So many are looked up at once: each time, the places of all documents of the earlier runs are read. */
const LOOKUP_MAX = 50_000

/** Those of the lines that have superseded a document of an earlier run. */
export function* supersededEarlier(
  _scope: unknown,
  run: string,
  lines: readonly Line[],
): Transaction<Line[]> {
  const keys = lines.map(({ row }) => row.supersedes?.[0] ?? '')
  const rows = yield* read(...keys.map((key) => cell(documents, fromHex(key))))
  return lines.filter((_, at) => isEarlier(rows[at], run))
}

function isEarlier(row: DocumentRow | undefined, run: string): row is DocumentRow {
  return row !== undefined && row.run !== run && row.action === 'superseded'
}

/** The lines of `superseded.jsonl`. */
export async function* supersededLines(
  backend: Backend,
  run: RunRow,
  outcome: Outcome,
): AsyncGenerator<SupersededLine> {
  let found: Found[] = []
  const pages = linesOf(backend, run.id, (shard, entries) => {
    const positions = outcome.superseding(shard)
    return entries.filter(({ position }) => positions.has(position))
  })
  for await (const page of pages) {
    for (const { row } of page) {
      for (const key of row.supersedes ?? []) {
        const one = await backend.read(findSuperseded, run.id, key)
        if (one) found.push(one)
      }
    }
    if (found.length < LOOKUP_MAX) continue
    yield* withFiles(backend, found)
    found = []
  }
  yield* withFiles(backend, found)
}

function* findSuperseded(
  _scope: unknown,
  run: string,
  key: string,
): Transaction<Found | undefined> {
  const [row] = yield* read(cell(documents, fromHex(key)))
  if (!isEarlier(row, run)) return undefined
  const centreKey = row.cluster ?? key
  const [cluster] = yield* read(cell(clusters, fromHex(centreKey)))
  const survivorKey = cluster?.survivor ?? row.supersededBy ?? ''
  const [survivor, centre] = yield* read(
    ...[survivorKey, centreKey].map((one) => cell(documents, fromHex(one))),
  )
  // A centre was measured against nothing itself: its survivor was measured against it.
  const { method, similarity } = row.cluster ? row : (survivor ?? row)
  const line: SupersededLine = {
    ...named(row),
    action: 'superseded',
    ...(method !== undefined && { method }),
    ...(similarity !== undefined && { similarity }),
    ...(survivor && { of: named(survivor) }),
    ...(centre && { representative: named(centre) }),
    run: row.run,
  }
  return { key, row, line }
}

async function* withFiles(
  backend: Backend,
  found: readonly Found[],
): AsyncGenerator<SupersededLine> {
  const files = await filesOf(backend, found)
  for (const { key, line } of found) {
    const file = files.get(key)?.path
    yield { ...line, ...(file !== undefined && { file }) }
  }
}

/** By key. Rows of documents do not hold their file: it follows from their place in the run that decided about them. */
export async function filesOf(
  backend: Backend,
  found: readonly { readonly key: string; readonly row: Pick<DocumentRow, 'run'> }[],
): Promise<Map<string, InputFile>> {
  const files = new Map<string, InputFile>()
  for (const run of new Set(found.map(({ row }) => row.run))) {
    const keys = new Set(found.flatMap(({ key, row }) => (row.run === run ? [key] : [])))
    const { shards } = await findRun(backend, run)
    for await (const { shard: index, entries } of entriesOf(backend, run)) {
      const shard = shards[index]
      for (const { key, position } of entries) {
        const name = hex(key)
        if (shard && keys.has(name)) files.set(name, shard.files?.[position] ?? shard)
      }
    }
  }
  return files
}
