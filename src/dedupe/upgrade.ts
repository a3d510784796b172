/**
 * From format 1 of a state to format 2. In format 1 a document had a row of the job, and a line of the ledger that was
 * known by its id alone; a run had a row of the job and one of the ledger. Now each has one.
 *
 * Many small transactions, each of which leaves nothing to do for itself: what a crash leaves is done by the next.
 */

import { endOfPrefix } from '../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../backends/index.ts'
import {
  countDocument,
  documentKey,
  documents,
  dropLines,
  lines,
  lookLine,
  runCell,
} from '../ledger/index.ts'
import { renamed, rowOf, type RunHead } from './runs.ts'
import { states } from './rows.ts'

const RUNS = Buffer.from('run/')

export async function upgradeRows(backend: Backend): Promise<void> {
  for await (const { key, value } of backend.scan(documents)) {
    if (value.at === 0) await backend.run(upgradeDocument, key)
  }
  const runs = new Map<string, Buffer>()
  const range = { start: RUNS, end: endOfPrefix(RUNS) }
  for await (const { key } of backend.scan(states, range)) {
    runs.set(key.subarray(RUNS.byteLength).toString(), key)
  }
  for await (const { key, value } of backend.scan(lines)) {
    // The row of its document is the line now.
    let hasMore = runs.has(value.run ?? '')
    while (hasMore) ({ hasMore } = await backend.run(dropLines, key, Infinity, true))
  }
  for (const key of runs.values()) await backend.run(upgradeRun, key)
}

/** The row gets the time of the line, and is counted. */
function* upgradeDocument(scope: Scope, key: Buffer): Transaction<void> {
  const [row] = yield* read(cell(documents, key))
  if (!row || row.at !== 0) return
  const line = yield* lookLine(documentKey(row.id))
  scope.write(cell(documents, key), { ...row, at: line?.at ?? scope.now() })
  countDocument(scope, row, 1)
}

function* upgradeRun(scope: Scope, key: Buffer): Transaction<void> {
  const place = cell(states, key)
  const [found] = yield* read(place)
  const head = found as RunHead | undefined // safe: format 1 had runs alone under this prefix
  if (!head) return
  const [run] = yield* read(runCell(head.id))
  const config = renamed(head.config, 'similarityMin', 'threshold')
  scope.write(runCell(head.id), rowOf({ ...head, config }, run?.shards ?? 0))
  scope.remove(place)
}
