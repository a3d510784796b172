/** Reading one key: its bytes, as text or as they are, whether it is there, and what is known of it. */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import type { Backend } from '../../backends/index.ts'
import { CALL_OPTIONS, type CallOptions } from '../call-options.ts'
import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import { keyBytes, refuseUnknown, type StoreKey } from '../prepare.ts'
import { readLong, readValue } from '../read-value.ts'
import { hex } from '../receipt.ts'
import { Entry } from '../rows.ts'
import { digestOfEntry } from '../transactions/condition.ts'
import { findEntry, findValue, peekValue, UNUSUAL } from '../transactions/get.ts'
import { decodeMetadata, type Metadata } from '../metadata.ts'
import { bounded } from './bounded.ts'

/** What is known of a key without reading its value. */
export interface Head {
  /** Length of the value. */
  readonly bytes: number
  /** The SHA-256 of the value, in hex: what `ifMatch` is compared with. */
  readonly digest: string
  /** The id, in hex, of the content that the key points at. Keys of one content share it. */
  readonly contentId: string
  /** When the key was put, in milliseconds since 1970. */
  readonly putAt: number
  /** When it expires, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** What was put with the value as `metadata`. */
  readonly metadata?: Metadata
}

export function get(
  core: StoreCore,
  key: StoreKey,
  options: CallOptions | undefined,
): Promise<Buffer | undefined> {
  if (options === undefined) return getPlain(core, key)
  return reading(core, 'The get', options, (backend) => getOn(core, backend, key))
}

/** The hottest path of all: no transaction, and no promise but the one that is returned. */
function getPlain(core: StoreCore, key: StoreKey): Promise<Buffer | undefined> {
  const { gate, observer, reading, lifecycle, backend } = core
  if (!backend.peek || observer || lifecycle.tracksReads) return getOn(core, backend, key)
  const usual = (found: Buffer | undefined | typeof UNUSUAL, bytes: Bytes) =>
    found === UNUSUAL ? getOn(core, backend, bytes) : Promise.resolve(found)
  try {
    gate.assertOpen()
    const bytes = keyBytes(key)
    const found = backend.peek((rows) => peekValue(rows, bytes, reading))
    if (found instanceof Promise) return gate.pass(() => found.then((late) => usual(late, bytes)))
    return usual(found, bytes)
  } catch (error) {
    return Promise.reject(error)
  }
}

async function getOn(
  { gate, observer, reading, lifecycle }: StoreCore,
  backend: Backend,
  key: StoreKey,
): Promise<Buffer | undefined> {
  gate.enter()
  try {
    if (observer) {
      return await observer.observe('get', async (notes) => {
        const bytes = keyBytes(key)
        notes.attribute('key_bytes', bytes.byteLength)
        const value = await readValue(backend, bytes, reading, notes)
        if (value !== undefined && lifecycle.tracksReads) await lifecycle.used(bytes)
        noted(value, value !== undefined, notes)
        return value
      })
    }
    // Not by readValue: one promise fewer.
    const bytes = keyBytes(key)
    const found = await backend.read(findValue, bytes, reading)
    if (found !== undefined && lifecycle.tracksReads) await lifecycle.used(bytes)
    if (!(found instanceof Entry)) return found && asBuffer(found)
    return await readLong(backend, bytes, found, reading)
  } finally {
    gate.leave()
  }
}

/** A long value is there and is not read at once. */
export function noted(value: Bytes | undefined, isThere: boolean, notes: Notes): void {
  if (!isThere) notes.count('not_found_total')
  if (!value) return
  notes.measure('value_bytes', value.byteLength)
  notes.attribute('value_bytes', value.byteLength)
}

/** A call that reads and can be given up. */
export async function reading<T>(
  { backend }: StoreCore,
  what: string,
  options: CallOptions,
  work: (backend: Backend) => Promise<T>,
): Promise<T> {
  refuseUnknown(options, CALL_OPTIONS)
  return bounded(backend, options, { what }, work)
}

export function has(
  core: StoreCore,
  key: StoreKey,
  options: CallOptions | undefined,
): Promise<boolean> {
  if (options === undefined) return entryOf(core, core.backend, key).then(isThere)
  return reading(core, 'The has', options, (backend) => entryOf(core, backend, key).then(isThere))
}

function isThere(entry: Entry | undefined): boolean {
  return entry !== undefined
}

export async function head(
  core: StoreCore,
  key: StoreKey,
  options: CallOptions | undefined,
): Promise<Head | undefined> {
  const entry =
    options === undefined
      ? await entryOf(core, core.backend, key)
      : await reading(core, 'The head', options, (backend) => entryOf(core, backend, key))
  return entry && headOf(entry)
}

async function entryOf(
  { gate }: StoreCore,
  backend: Backend,
  key: StoreKey,
): Promise<Entry | undefined> {
  const bytes = keyBytes(key)
  return gate.pass(() => backend.read(findEntry, bytes))
}

export function headOf(entry: Entry): Head {
  const { bytes, id, putAt, expiresAt, metadata } = entry
  return {
    bytes,
    digest: hex(digestOfEntry(entry)),
    contentId: hex(id),
    putAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(metadata && { metadata: decodeMetadata(metadata) }),
  }
}
