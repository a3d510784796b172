/**
 * The numbers behind `stats()`: added to inside every transaction, so exact at all times and after any
 * crash, and read without a scan.
 */

import { cell, read, type ReadScope, type Scope, type Transaction } from '../backends/index.ts'
import { storeTallies } from './rows.ts'

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
