/**
 * Removing fingerprints: a document is gone for everybody in one transaction; its rows in the indexes and its chunks,
 * which may be many, follow. A note of it lets the next `prune` end what a crash has left.
 */

import { asBuffer, type Bytes, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { documentKey } from './prepare.ts'
import {
  byTime,
  chunkLists,
  DOCUMENTS,
  type FingerprintRow,
  fingerprints,
  fingerprintTallies,
  gone,
  hashes,
  ID,
  ids,
  listKey,
  PRESENT,
  timeKey,
} from './rows.ts'
import type { Indexes } from './search.ts'

/** From now on it matches nothing. Its row under its id is the caller's. */
export function retire(scope: Scope, row: Bytes, old: FingerprintRow): void {
  scope.write(cell(fingerprints, row), { ...old, isGone: true })
  scope.write(cell(gone, row), PRESENT)
  scope.remove(cell(byTime, timeKey(old.at, row)))
  scope.add(cell(fingerprintTallies, DOCUMENTS), -1)
}

/** The row of the document that was there, if it is from before a time. */
export function* retireDocument(
  scope: Scope,
  key: Buffer,
  before: number,
): Transaction<Buffer | undefined> {
  const place = cell(ids, key)
  const [row] = yield* read(place)
  const [old] = row ? yield* read(cell(fingerprints, row)) : []
  if (!row || !old || old.isGone || old.at >= before) return undefined
  scope.remove(place)
  retire(scope, row, old)
  return asBuffer(row)
}

/** Removes what is left of a row that is gone. May be done twice. */
export async function clear(backend: Backend, indexes: Indexes, row: Buffer): Promise<void> {
  try {
    const lists = await backend.run(clearIndexes, indexes, row)
    for (let number = 0; number < lists; number++) await backend.run(clearList, row, number)
    await backend.run(endGone, row)
  } catch (error) {
    indexes.invalidate()
    throw error
  }
}

/** How many lists of chunks there are to remove. */
function* clearIndexes(scope: Scope, indexes: Indexes, row: Buffer): Transaction<number> {
  const [old] = yield* read(cell(fingerprints, row))
  if (!old?.isGone) return 0
  if (old.minhash) yield* indexes.minhash.index.remove(scope, old.minhash, row)
  if (old.simhash) yield* indexes.simhash.index.remove(scope, old.simhash, row)
  if (old.form) yield* dropHashes(scope, row, [old.form])
  return old.lists
}

function* clearList(scope: Scope, row: Buffer, number: number): Transaction<void> {
  const place = cell(chunkLists, listKey(row, number))
  const [list] = yield* read(place)
  if (!list) return
  yield* dropHashes(scope, row, hashesIn(list))
  scope.remove(place)
}

function* endGone(scope: Scope, row: Buffer): Transaction<void> {
  const [old] = yield* read(cell(fingerprints, row))
  if (old && !old.isGone) return
  scope.remove(cell(fingerprints, row))
  scope.remove(cell(gone, row))
}

function* dropHashes(scope: Scope, row: Buffer, wanted: readonly Buffer[]): Transaction<void> {
  const found = yield* read(...wanted.map((hash) => cell(hashes, hash)))
  for (const [at, hash] of wanted.entries()) {
    const holders = found[at]
    if (!holders?.rows.some((one) => equalBytes(one, row))) continue
    const rows = holders.rows.filter((one) => !equalBytes(one, row))
    const place = cell(hashes, hash)
    // What is common stays known: those that have it beside the first ones are not listed.
    if (rows.length === 0 && !holders.isCommon) scope.remove(place)
    else scope.write(place, { ...holders, rows })
  }
}

export function hashesIn(list: Bytes): Buffer[] {
  const bytes = asBuffer(list)
  const count = Math.floor(bytes.byteLength / ID)
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * ID, (at + 1) * ID))
}

export interface PrunedFingerprints {
  /** Documents whose fingerprints were removed, or, with `dryRun`, would be. */
  readonly documents: number
}

const TIME_BYTES = 6

/** Those from before a time, the oldest first; then what earlier removals have left. */
export async function prune(
  backend: Backend,
  indexes: Indexes,
  before: number,
  dryRun: boolean,
): Promise<PrunedFingerprints> {
  const end = Buffer.allocUnsafe(TIME_BYTES)
  end.writeUIntBE(Math.min(before, 2 ** 48 - 1), 0, TIME_BYTES)
  let documents = 0
  for await (const { key } of backend.scan(byTime, { end })) {
    const row = key.subarray(TIME_BYTES)
    const found = await backend.read(idOf, row)
    if (found === undefined) continue
    const removed = dryRun || (await backend.run(retireDocument, documentKey(found), before))
    if (removed) documents++
  }
  if (dryRun) return { documents }
  for await (const { key } of backend.scan(gone)) await clear(backend, indexes, key)
  for (const index of indexes.all) await index.trim(backend)
  return { documents }
}

function* idOf(_scope: unknown, row: Buffer): Transaction<string | undefined> {
  const [found] = yield* read(cell(fingerprints, row))
  return found && !found.isGone ? found.id : undefined
}
