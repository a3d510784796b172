/** The transactions that only look: a key's entry, its bytes, and why it points where it points. */

import type { Bytes } from '../bytes.ts'
import { PrestigeError } from '../errors.ts'
import { cell, read, type ReadScope, type Transaction } from '../backends/contract.ts'
import {
  contents,
  digests,
  entries,
  type Entry,
  type Form,
  forms,
  type Known,
  partKey,
} from './rows.ts'

/** The key's entry, unless it has expired. */
export function* findEntry(scope: ReadScope, key: Bytes): Transaction<Entry | undefined> {
  const [entry] = yield* read(cell(entries, key))
  return entry?.isLive(scope.now()) ? entry : undefined
}

/**
 * The bytes of a key; or its entry, when the bytes are in parts and have to be read part by part. Both rows
 * are read in one transaction: an overwrite in between can never look like a missing key.
 */
export function* findValue(
  scope: ReadScope,
  key: Bytes,
  partBytes: number,
  noted?: () => void,
): Transaction<Bytes | Entry | undefined> {
  const [entry] = yield* read(cell(entries, key))
  noted?.()
  if (entry === undefined || !entry.isLive(scope.now())) return undefined
  if (entry.bytes > partBytes) return entry
  const [bytes] = yield* read(cell(contents, entry.id))
  if (bytes === undefined || bytes.byteLength !== entry.bytes) throw damaged(key)
  return bytes
}

/** Some parts of a content; `undefined` when one of them is gone. */
export function* findParts(
  _scope: ReadScope,
  id: Bytes,
  from: number,
  to: number,
): Transaction<readonly Bytes[] | undefined> {
  const cells = Array.from({ length: to - from }, (_, at) => cell(contents, partKey(id, from + at)))
  const parts = yield* read(...cells)
  const found = parts.filter((part) => part !== undefined)
  return found.length === cells.length ? found : undefined
}

export interface Story {
  readonly entry: Entry
  readonly known: Known
  readonly form: Form | undefined
}

export function* findStory(scope: ReadScope, key: Bytes): Transaction<Story | undefined> {
  const entry = yield* findEntry(scope, key)
  if (entry === undefined) return undefined
  const [known] = yield* read(cell(digests, entry.digest))
  if (known === undefined) throw damaged(key)
  const form = known.form && (yield* read(cell(forms, known.form)))[0]
  return { entry, known, form }
}

export function damaged(key: Bytes): PrestigeError {
  const shown = JSON.stringify(Buffer.from(key).toString('utf8'))
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `The content of key ${shown} is damaged or missing. Run verify on this store.`,
  )
}
