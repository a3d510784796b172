/**
 * The transactions that add fingerprints. Whether a document is new is decided in the transaction that adds it: of two
 * workers with the same text, one adds it and the other finds it.
 *
 * A document may have more chunks than one transaction takes. Then its row comes first, and its chunks follow in lists,
 * each with its own transaction; until the last one the row says that it is not whole, and whoever adds the document
 * again ends it. Of every chunk, exactly one document is the first that has it.
 */

import { asBuffer, equalBytes } from '../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../backends/index.ts'
import type { PreparedInput } from './prepare.ts'
import { retire } from './remove.ts'
import {
  byTime,
  chunkLists,
  DOCUMENTS,
  type FingerprintRow,
  fingerprints,
  fingerprintTallies,
  hashes,
  HOLDERS_MAX,
  type Holders,
  ids,
  listKey,
  NOBODY,
  PRESENT,
  timeKey,
} from './rows.ts'
import { type FingerprintMatch, type Indexes, isRemembered, LiveRows, search } from './search.ts'

export interface Addition {
  readonly prepared: PreparedInput
  /** Chunks in lists; those of the only list may be added with the row. */
  readonly lists: readonly (readonly Buffer[])[]
  readonly isWhole: boolean
  /** Nothing is added if something matches. */
  readonly onlyIfNew: boolean
}

export interface Added {
  readonly status: 'added' | 'replaced' | 'known' | 'duplicate'
  readonly row: Buffer | undefined
  readonly isWhole: boolean
  readonly matches: readonly FingerprintMatch[]
  readonly possibleMiss: boolean
  /** Chunks that others have, of those added with the row. */
  readonly knownChunks: number
  /** A row that it replaced, of which the rest is to be removed. */
  readonly replaced: Buffer | undefined
}

const NOTHING = { matches: [], possibleMiss: false, knownChunks: 0, replaced: undefined }

export function* addDocument(
  scope: Scope,
  indexes: Indexes,
  addition: Addition,
): Transaction<Added> {
  const { prepared, onlyIfNew } = addition
  const now = scope.now()
  const [oldRow] = yield* read(cell(ids, prepared.key))
  const [old] = oldRow ? yield* read(cell(fingerprints, oldRow)) : []
  if (oldRow && old && !old.isGone && equalBytes(old.content, prepared.content)) {
    const isKnown = isRemembered(old, now, indexes.retentionMs)
    if (isKnown || !onlyIfNew) {
      if (!onlyIfNew) renew(scope, oldRow, old, prepared)
      const row = asBuffer(oldRow)
      return { status: 'known', row, isWhole: old.isWhole, ...NOTHING }
    }
  }
  const how = { scope, now, self: oldRow, limit: 'first' } as const
  const found = onlyIfNew ? yield* search(indexes, prepared, how) : undefined
  if (found) scope.rely(...found.relied)
  if (found && found.matches.length > 0) {
    const { matches, possibleMiss } = found
    const isWhole = true
    return { ...NOTHING, status: 'duplicate', row: undefined, isWhole, matches, possibleMiss }
  }
  const { row, knownChunks } = yield* insert(scope, indexes, addition)
  const replaced = oldRow && old && !old.isGone ? asBuffer(oldRow) : undefined
  if (replaced && old) retire(scope, replaced, old)
  const status = replaced ? 'replaced' : 'added'
  const possibleMiss = found?.possibleMiss ?? false
  return {
    status,
    row,
    isWhole: addition.isWhole,
    matches: [],
    possibleMiss,
    knownChunks,
    replaced,
  }
}

/** The same fingerprints again: they are as old as this. */
function renew(
  scope: Scope,
  row: Uint8Array,
  old: FingerprintRow,
  { source, language }: PreparedInput,
): void {
  const at = scope.now()
  if (at === old.at && source === old.source && language === old.language) return
  scope.write(cell(fingerprints, row), { ...old, at, source, language })
  scope.remove(cell(byTime, timeKey(old.at, row)))
  scope.write(cell(byTime, timeKey(at, row)), PRESENT)
}

function* insert(
  scope: Scope,
  indexes: Indexes,
  { prepared, lists, isWhole }: Addition,
): Transaction<{ readonly row: Buffer; readonly knownChunks: number }> {
  const { id, key, source, language, content, form, chunks } = prepared
  const [minhash] = prepared.minhash
  const [simhash] = prepared.simhash
  const row = scope.id()
  const at = scope.now()
  // What reads goes first.
  if (simhash) yield* indexes.simhash.insert(scope, simhash.partition, row, simhash, PRESENT)
  if (minhash) yield* indexes.minhash.insert(scope, minhash.partition, row, minhash, PRESENT)
  const [own] = lists
  const knownChunks = isWhole && own ? yield* keepHashes(scope, indexes, row, own) : 0
  if (isWhole && own) scope.write(cell(chunkLists, listKey(row, 0)), Buffer.concat(own))
  if (form) yield* keepHashes(scope, indexes, row, [form])
  const partitions = { minhash: minhash?.partition, simhash: simhash?.partition }
  const counts = { chunks: chunks.length, lists: lists.length }
  const names = { id, source, language, at, content, form }
  const value = { ...names, ...counts, ...partitions, isWhole, isGone: false }
  scope.write(cell(fingerprints, row), value)
  scope.write(cell(ids, key), row)
  scope.write(cell(byTime, timeKey(at, row)), PRESENT)
  scope.add(cell(fingerprintTallies, DOCUMENTS), 1)
  return { row, knownChunks }
}

/** How many of them others have. */
function* keepHashes(
  scope: Scope,
  indexes: Indexes,
  row: Buffer,
  wanted: readonly Buffer[],
): Transaction<number> {
  const found = yield* read(...wanted.map((hash) => cell(hashes, hash)))
  const live = new LiveRows(indexes, scope.now())
  let known = 0
  for (const [at, hash] of wanted.entries()) {
    const holders = found[at] ?? NOBODY
    if (yield* live.anyOf(holders, row)) known++
    const next = withHolder(holders, row)
    if (next !== holders) scope.write(cell(hashes, hash), next)
  }
  return known
}

function withHolder(holders: Holders, row: Buffer): Holders {
  const { isCommon, rows } = holders
  if (isCommon || rows.some((one) => equalBytes(one, row))) return holders
  if (rows.length < HOLDERS_MAX) return { isCommon, rows: [...rows, row] }
  return { isCommon: true, rows }
}

/** One list of chunks of a document; `undefined`: the document has been removed meanwhile. */
export function* addList(
  scope: Scope,
  indexes: Indexes,
  row: Buffer,
  number: number,
  list: readonly Buffer[],
): Transaction<number | undefined> {
  const place = cell(fingerprints, row)
  const [document] = yield* read(place)
  if (!document || document.isGone) return undefined
  const known = yield* keepHashes(scope, indexes, row, list)
  const kept = cell(chunkLists, listKey(row, number))
  const [before] = yield* read(kept)
  if (!before) scope.write(kept, Buffer.concat(list))
  const isWhole = number === document.lists - 1
  if (isWhole && !document.isWhole) scope.write(place, { ...document, isWhole })
  return known
}
