/**
 * The numbers behind `stats()`: added to inside every transaction, so exact at all times and after any
 * crash, and read without a scan.
 */

import {
  cell,
  type Cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { asBuffer, type Bytes } from '../platform/bytes.ts'
import { settings, storeTallies } from './rows.ts'

function tally(name: string) {
  return cell(storeTallies, Buffer.from(name))
}

const KEYS = tally('keys')
const KEYS_WITH_EXPIRY = tally('keysWithExpiry')
const VALUE_BYTES = tally('valueBytes')
const CONTENTS = tally('contents')
const CONTENT_BYTES = tally('contentBytes')

export interface Counts {
  /** Keys stored, those expired but not yet collected included. */
  readonly keys: number
  readonly keysWithExpiry: number
  /** The bytes of all keys' values, as if each were stored by itself. */
  readonly valueBytes: number
  /** Distinct contents stored. */
  readonly contents: number
  readonly contentBytes: number
}

export function count(scope: Scope, change: Partial<Counts>): void {
  if (change.keys) scope.add(KEYS, change.keys)
  if (change.keysWithExpiry) scope.add(KEYS_WITH_EXPIRY, change.keysWithExpiry)
  if (change.valueBytes) scope.add(VALUE_BYTES, change.valueBytes)
  if (change.contents) scope.add(CONTENTS, change.contents)
  if (change.contentBytes) scope.add(CONTENT_BYTES, change.contentBytes)
}

export function* readCounts(_scope: ReadScope): Transaction<Counts> {
  const found = yield* read(KEYS, KEYS_WITH_EXPIRY, VALUE_BYTES, CONTENTS, CONTENT_BYTES)
  const [keys = 0, keysWithExpiry = 0, valueBytes = 0, contents = 0, contentBytes = 0] = found
  return { keys, keysWithExpiry, valueBytes, contents, contentBytes }
}

/** How contents are kept, of stores that compress and cut them. */
export interface StoredCounts {
  /** Bytes that compressing saved of contents in one row. */
  readonly compressedBytes: number
  /** Bytes of contents that are cut into chunks. */
  readonly chunkedBytes: number
  /** Bytes of all chunks. */
  readonly chunkBytes: number
  /** Bytes of all packs, as they are stored. */
  readonly packBytes: number
}

/** Bytes of all recipes that were ever removed: it only grows. */
const SWEPT_BYTES = tally('sweptBytes')

const STORED: Readonly<Record<keyof StoredCounts, Cell<number>>> = {
  compressedBytes: tally('compressedBytes'),
  chunkedBytes: tally('chunkedBytes'),
  chunkBytes: tally('chunkBytes'),
  packBytes: tally('packBytes'),
}

export function countStored(
  scope: Scope,
  change: Partial<StoredCounts & { readonly sweptBytes: number }>,
): void {
  const { compressedBytes, chunkedBytes, chunkBytes, packBytes, sweptBytes } = change
  if (compressedBytes) scope.add(STORED.compressedBytes, compressedBytes)
  if (chunkedBytes) scope.add(STORED.chunkedBytes, chunkedBytes)
  if (chunkBytes) scope.add(STORED.chunkBytes, chunkBytes)
  if (packBytes) scope.add(STORED.packBytes, packBytes)
  if (sweptBytes) scope.add(SWEPT_BYTES, sweptBytes)
}

export function* readStored(_scope: ReadScope): Transaction<StoredCounts> {
  const found = yield* read(
    STORED.compressedBytes,
    STORED.chunkedBytes,
    STORED.chunkBytes,
    STORED.packBytes,
  )
  const [compressedBytes = 0, chunkedBytes = 0, chunkBytes = 0, packBytes = 0] = found
  return { compressedBytes, chunkedBytes, chunkBytes, packBytes }
}

/** How much of `sweptBytes` a completed collection has seen, as a double. */
const COLLECTED = cell(settings, Buffer.from('collected'))

export interface Garbage {
  readonly sweptBytes: number
  readonly chunkBytes: number
  /** Bytes of chunks that nobody may refer to any more, at most. */
  readonly garbageBytes: number
}

export function* readGarbage(_scope: ReadScope): Transaction<Garbage> {
  const [swept = 0, chunkBytes = 0, collected] = yield* read(
    SWEPT_BYTES,
    STORED.chunkBytes,
    COLLECTED,
  )
  return { sweptBytes: swept, chunkBytes, garbageBytes: swept - collectedIn(collected) }
}

function collectedIn(row: Bytes | undefined): number {
  return row?.byteLength === 8 ? asBuffer(row).readDoubleBE() : 0
}

/** Others may have collected more meanwhile. */
export function* noteCollected(
  scope: Scope,
  { sweptBytes, garbageBytes }: Garbage,
): Transaction<void> {
  const [before] = yield* read(COLLECTED)
  const row = Buffer.allocUnsafe(8)
  // Where more is collected than was ever swept, the tally is damaged.
  row.writeDoubleBE(garbageBytes < 0 ? sweptBytes : Math.max(sweptBytes, collectedIn(before)))
  scope.write(COLLECTED, row)
}
