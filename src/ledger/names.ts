/**
 * Names and the keys made of them: sixteen bytes of a name's SHA-256, so that every row is short whatever a document
 * is called. Everything given from outside is checked here, once.
 *
 * Sources and runs are few and come again with every document, so what is made of their names is remembered. The
 * engine sums up additions to a tally by the identity of its key, which is why the cells are made once.
 */

import { hash } from 'node:crypto'

import { utf8 } from '../platform/bytes.ts'
import { cell, type Cell } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { KEY, ledgerTallies, STATUSES, tallyKey } from './rows.ts'

export const DOCUMENT_ID_BYTES_MAX = 900
export const NAME_BYTES_MAX = 200
export const DETAIL_BYTES_MAX = 16 * 1024
const LEASE_MS_MAX = 2 ** 40
const REMEMBERED_MAX = 1000

export interface Name {
  readonly text: string
  readonly key: Buffer
  /** One a status, in their order. */
  readonly tallies: readonly Cell<number>[]
}

export const overallTallies: readonly Cell<number>[] = STATUSES.map((_, status) =>
  cell(ledgerTallies, tallyKey('a', undefined, status)),
)
/** Stands for "no run" where a line of none is kept. */
export const NO_RUN: Buffer = Buffer.alloc(KEY)

const sources = new Map<string, Name>()
const runs = new Map<string, Name>()

export function sourceName(text: string): Name {
  return remembered(sources, 's', text, 'A source')
}

export function runName(text: string): Name {
  return remembered(runs, 'r', text, 'A run')
}

export function runKey(run: string | undefined): Buffer {
  return run === undefined ? NO_RUN : runName(run).key
}

function remembered(known: Map<string, Name>, kind: 's' | 'r', text: string, what: string): Name {
  const found = known.get(text)
  if (found) return found
  const key = keyOf(shortText(text, what))
  const tallies = STATUSES.map((_, status) => cell(ledgerTallies, tallyKey(kind, key, status)))
  const name = { text, key, tallies }
  if (known.size >= REMEMBERED_MAX) known.clear()
  known.set(text, name)
  return name
}

export function documentKey(id: string): Buffer {
  const bytes = typeof id === 'string' ? utf8(id, 'INVALID_KEY', 'A document id') : undefined
  if (bytes && bytes.byteLength > 0 && bytes.byteLength <= DOCUMENT_ID_BYTES_MAX) {
    return keyOf(bytes)
  }
  throw new PrestigeError(
    'INVALID_KEY',
    `A document id is a string of 1 to ${DOCUMENT_ID_BYTES_MAX} bytes of UTF-8; this one ${bytes ? `has ${bytes.byteLength}` : `is ${typeOf(id)}`}.`,
  )
}

/** The one-shot hash with text output costs a third of any form that makes a Buffer itself. */
function keyOf(bytes: Buffer): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary').slice(0, KEY), 'latin1')
}

/** The UTF-8 of a name that is kept in rows as it is. */
export function shortText(text: unknown, what: string): Buffer {
  const bytes = typeof text === 'string' ? utf8(text, 'INVALID_OPTIONS', what) : undefined
  if (bytes && bytes.byteLength > 0 && bytes.byteLength <= NAME_BYTES_MAX) return bytes
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${what} is a string of 1 to ${NAME_BYTES_MAX} bytes of UTF-8; this one ${bytes ? `has ${bytes.byteLength}` : `is ${typeOf(text)}`}.`,
  )
}

export function checkDetail(detail: unknown): void {
  if (detail === undefined) return
  const bytes = typeof detail === 'string' ? utf8(detail, 'INVALID_VALUE', 'A detail') : undefined
  if (bytes && bytes.byteLength <= DETAIL_BYTES_MAX) return
  throw new PrestigeError(
    'INVALID_VALUE',
    `A detail is a string of at most ${DETAIL_BYTES_MAX} bytes of UTF-8; this one ${bytes ? `has ${bytes.byteLength}` : `is ${typeOf(detail)}`}.`,
  )
}

export function checkLease(leaseMs: unknown): asserts leaseMs is number {
  if (typeof leaseMs === 'number' && leaseMs >= 1 && leaseMs <= LEASE_MS_MAX) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `leaseMs is a number of milliseconds from 1 to ${LEASE_MS_MAX}, not ${String(leaseMs)}.`,
  )
}

/** A misspelt option must not be one that was never given. */
export function refuseUnknown(options: object, names: readonly string[]): void {
  for (const name in options) {
    if (names.includes(name)) continue
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${name} is not an option here. There ${names.length > 1 ? 'are' : 'is'} ${names.join(', ')}.`,
    )
  }
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}
