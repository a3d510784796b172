/**
 * Takes a run back: its fingerprints, its lines, and what it changed about others. Refused where later runs have
 * decided by what it kept, unless those are taken back first.
 */

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  read,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { dropShards, removeDocument, runName } from '../../ledger/index.ts'
import { removeCentre } from '../decision/centre.ts'
import { isLeftBehind, leaveCluster } from '../decision/cluster.ts'
import { decodeCentre } from '../decision/centre-row.ts'
import type { Engine } from '../decision/engine.ts'
import { packPrefix } from '../decision/packs.ts'
import { fromHex } from '../names.ts'
import {
  batches,
  clusters,
  decodeEntries,
  type DocumentRow,
  documents,
  members,
  packs,
  passageCounts,
  passageCuts,
  passageFiles,
  pending,
  rejects,
  runPrefix,
} from '../rows.ts'
import { listRuns, type RunHead } from '../runs.ts'

const PAGE = 32

/** Keys of a run's documents, the last decided first. */
export async function documentsOf(backend: Backend, run: string): Promise<Buffer[]> {
  const prefix = runPrefix(run)
  const keys: Buffer[] = []
  const range = { start: prefix, end: endOfPrefix(prefix) }
  for await (const { value } of backend.scan(batches, range)) {
    for (const { key, isRepeated } of decodeEntries(value)) if (!isRepeated) keys.push(key)
  }
  return keys.toReversed()
}

/** Documents that are as this run has decided. */
export async function countDocuments(backend: Backend, run: string): Promise<number> {
  let count = 0
  for (const key of await documentsOf(backend, run)) {
    if ((await backend.read(findDocument, key))?.run === run) count++
  }
  return count
}

/** Runs that have documents in clusters around a document of this run, or cut because of one. */
export async function reliedOnBy(backend: Backend, run: string): Promise<Set<string>> {
  const others = new Set<string>()
  for (const key of await documentsOf(backend, run)) {
    const row = await backend.read(findDocument, key)
    if (!row?.centre || row.run !== run) continue
    const range = { start: key, end: endOfPrefix(key) }
    for await (const { key: place, value } of backend.scan(members, range)) {
      const other = Buffer.from(value).toString()
      if (other === run || others.has(other)) continue
      const member = await backend.read(findDocument, place.subarray(key.byteLength))
      // Those of a text that it had before rely on nothing any more.
      if (member && !isLeftBehind(member, row)) others.add(other)
    }
  }
  const runs = await listRuns(backend)
  if (!runs.some(({ config }) => config.containment?.action === 'cut')) return others
  for await (const { value: row } of backend.scan(documents)) {
    if (row.run === run || others.has(row.run)) continue
    if (await isCutFor(backend, row, run)) others.add(row.run)
  }
  return others
}

async function isCutFor(backend: Backend, row: DocumentRow, run: string): Promise<boolean> {
  for (const [of, digest] of row.cutFor ?? []) {
    const other = await backend.read(findDocument, fromHex(of))
    if (other?.run === run && equalBytes(other.digest, digest)) return true
  }
  return false
}

/** Returns how many documents were taken back. */
export async function undoRun(backend: Backend, engine: Engine, run: string): Promise<number> {
  const keys = await documentsOf(backend, run)
  // Elsewhere transactions are small.
  const atOnce = backend.serial ? PAGE : 1
  let count = 0
  for (let from = 0; from < keys.length; from += atOnce) {
    const page = keys.slice(from, from + atOnce)
    try {
      count += await backend.run(undoDocuments, engine, run, page)
    } catch (error) {
      engine.invalidate()
      throw error
    }
  }
  return count
}

function* undoDocuments(
  scope: Scope,
  engine: Engine,
  run: string,
  keys: readonly Buffer[],
): Transaction<number> {
  let count = 0
  for (const key of keys) {
    const [row] = yield* read(cell(documents, key))
    // A later run has re-evaluated it.
    if (!row || row.run !== run) continue
    if (row.centre) yield* removeCentre(scope, engine, key, decodeCentre(row.centre))
    if (row.centre) scope.remove(cell(clusters, key))
    if (row.cluster) yield* leaveCluster(scope, fromHex(row.cluster), key, row)
    removeDocument(scope, key, row)
    count++
  }
  return count
}

function* findDocument(_scope: unknown, key: Bytes): Transaction<DocumentRow | undefined> {
  return (yield* read(cell(documents, key)))[0]
}

/**
 * Takes the rows away that only the run itself needs; `leased`: how many pieces of work there were; `keepsTexts`: another
 * run decides about its documents by them.
 */
export async function clearRun(
  backend: Backend,
  { id: run, number }: Pick<RunHead, 'id' | 'number'>,
  leased: number,
  keepsTexts = false,
): Promise<void> {
  for (let from = 0; from < leased; from += PAGE) {
    const to = Math.min(leased, from + PAGE)
    await backend.run(dropShards, runName(run).key, from, to)
  }
  const spaces = [batches, rejects, pending, passageCounts, passageFiles, passageCuts]
  for (const space of spaces) await clearRows(backend, space, runPrefix(run))
  if (!keepsTexts) await clearRows(backend, packs, packPrefix(number))
}

/** Takes all rows away whose keys begin with this. */
export async function clearRows(
  backend: Backend,
  space: Space<unknown>,
  prefix: Buffer,
): Promise<void> {
  let page: Buffer[] = []
  const range = { start: prefix, end: endOfPrefix(prefix) }
  for await (const { key } of backend.scan<unknown>(space, range)) {
    page.push(key)
    if (page.length < PAGE) continue
    await backend.run(dropRows, space, page)
    page = []
  }
  if (page.length > 0) await backend.run(dropRows, space, page)
}

function* dropRows(
  scope: Scope,
  space: Space<unknown>,
  keys: readonly Buffer[],
): Transaction<void> {
  for (const key of keys) scope.remove(cell(space, key))
}
