/**
 * Rows of a cache, as keys and values of its store:
 *
 *  - `a/ID` has an answer with its prompt, and `p/ID` the prompt as a text that is compared by meaning;
 *  - `l/ID/ID` has what `feedback` said of a prompt that was asked and one whose answer was served.
 *
 * Answers and labels are records, which the store does not compare: `ff 01 {"answer":"Paris.","prompt":"…","setAt":1,"tags":[],"tokens":0}`.
 */

import { PrestigeError } from '../platform/errors.ts'
import { digestOf } from '../fingerprint/index.ts'
import {
  decodeRecord,
  encodeRecord,
  type JsonValue,
  type Store,
  type TransactionOperation,
} from '../store/index.ts'

/** An answer as it is kept. */
export interface CacheEntry {
  readonly prompt: string
  /** Of a stream: its chunks. */
  readonly answer: JsonValue
  readonly tags: readonly string[]
  readonly source?: string
  readonly setAt: number
  readonly tokens: number
}

/** What somebody said of an answer that was served. */
export interface CacheLabel {
  readonly asked: string
  readonly served: string
  readonly similarity: number
  readonly isRight: boolean
}

export const answerKey = (id: string) => `a/${id}`
export const promptKey = (id: string) => `p/${id}`
export const labelKey = (asked: string, served: string) => `l/${asked}/${served}`
export const ANSWERS = 'a/'
export const LABELS = 'l/'

/** Of any of the keys above but those of labels. */
export const idOf = (key: Uint8Array) => Buffer.from(key).toString().slice(2)

export function encodeRow(row: CacheEntry | CacheLabel): Buffer {
  // safe: all members are JSON, and those that are undefined are left out by whoever makes a row.
  return encodeRecord(row as never)
}

export function decodeEntry(bytes: Buffer): CacheEntry {
  return decodeRecord(bytes, 'cache') as CacheEntry // safe: only `encodeRow` writes such keys
}

export function decodeLabel(bytes: Buffer): CacheLabel {
  return decodeRecord(bytes, 'cache') as CacheLabel // safe: only `encodeRow` writes such keys
}

export async function readEntry(store: Store, id: string): Promise<CacheEntry | undefined> {
  const bytes = await store.get(answerKey(id))
  return bytes && decodeEntry(bytes)
}

/** Makes an answer found by the meaning of its prompt; unless that answer has gone, or is another by now. */
export async function keepPrompt(
  store: Store,
  id: string,
  text: string,
  answer: Buffer,
  ttlMs: number | undefined,
): Promise<void> {
  const check = { check: answerKey(id), ifMatch: digestHex(answer) }
  await ifMet(store, [check, { put: promptKey(id), value: text, ttlMs }])
}

/** Of an answer that was evicted; unless somebody has set another meanwhile. */
export async function forgetPrompt(store: Store, id: string): Promise<void> {
  await ifMet(store, [{ check: answerKey(id), ifAbsent: true }, { delete: promptKey(id) }])
}

/** Takes an answer and its prompt away, unless another answer was set meanwhile. Whether it did. */
export function removeEntry(store: Store, id: string, answer: Buffer): Promise<boolean> {
  const ifMatch = digestHex(answer)
  return ifMet(store, [{ delete: answerKey(id), ifMatch }, { delete: promptKey(id) }])
}

const digestHex = (value: Buffer) => digestOf(value).toString('hex')

async function ifMet(store: Store, operations: readonly TransactionOperation[]): Promise<boolean> {
  try {
    await store.transaction(operations)
    return true
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'PRECONDITION_FAILED') return false
    throw error
  }
}
