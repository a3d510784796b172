/** A key's bytes, also when they are in parts: small ones from one transaction, large ones part by part. */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { damaged, findEntry, findParts, findValue, type Reading } from './transactions/get.ts'
import type { Notes } from './observe.ts'
import { VALUE_BYTES_MAX } from './prepare.ts'
import { Entry, partCount } from './rows.ts'

const PARTS_AT_ONCE = 4
const ROUNDS_MAX = 10

/** The bytes of a key; `notes` are for those who measure. */
export async function readValue(
  backend: Backend,
  key: Bytes,
  reading: Reading,
  notes?: Notes,
): Promise<Buffer | undefined> {
  const found = notes
    ? await measured(backend, key, reading, notes)
    : await backend.read(findValue, key, reading)
  return found instanceof Entry ? readParts(backend, key, found, reading) : found && asBuffer(found)
}

/** Looking at the clock inside a body is harmless here: no result depends on it. */
async function measured(
  backend: Backend,
  key: Bytes,
  reading: Reading,
  notes: Notes,
): Promise<Bytes | Entry | undefined> {
  const started = performance.now()
  let lookedUp = started
  let hasEntry = false
  const found = await backend.read(findValue, key, reading, (entry) => {
    lookedUp = performance.now()
    hasEntry = entry !== undefined
  })
  if (found === undefined && hasEntry) notes.count('expired_total')
  notes.measure('user_lookup_us', (lookedUp - started) * 1000)
  notes.measure('object_lookup_us', (performance.now() - lookedUp) * 1000)
  return found
}

/** Parts never change under an id; if some are gone, the key must have changed, and is looked up again. */
export async function readParts(
  backend: Backend,
  key: Bytes,
  first: Entry,
  reading: Reading,
): Promise<Buffer | undefined> {
  // A damaged row must not make us ask for more memory than any value can take.
  if (first.bytes > VALUE_BYTES_MAX) throw damaged(key)
  const { partBytes, check } = reading
  let entry: Entry | undefined = first
  for (let round = 0; round < ROUNDS_MAX && entry; round++) {
    const value = await readContentOf(backend, entry, partBytes)
    if (value && check && !(await check.isLargeRight(value, entry))) throw damaged(key)
    if (value) return value
    const again: Entry | undefined = await backend.read(findEntry, key)
    if (again?.row.equals(entry.row)) throw damaged(key)
    if (again && again.bytes <= partBytes) return readValue(backend, key, reading)
    entry = again
  }
  if (entry === undefined) return undefined
  throw new PrestigeError('CONTENDED', 'The value was replaced every time it was read. Try again.')
}

/** The bytes of a content, unchecked; `undefined` where one of its parts is missing or has another length. */
export async function readContentOf(
  backend: Backend,
  { id, bytes }: { readonly id: Bytes; readonly bytes: number },
  partBytes: number,
): Promise<Buffer | undefined> {
  if (bytes > VALUE_BYTES_MAX) return undefined
  const value = Buffer.allocUnsafe(bytes)
  const parts = partCount(bytes, partBytes)
  for (let from = 0; from < parts; from += PARTS_AT_ONCE) {
    const to = Math.min(parts, from + PARTS_AT_ONCE)
    const found = await backend.read(findParts, id, from, to)
    if (!found) return undefined
    for (const [at, part] of found.entries()) {
      const start = (from + at) * partBytes
      // A part of another length would leave memory of others in the value.
      if (part.byteLength !== Math.min(partBytes, bytes - start)) return undefined
      value.set(part, start)
    }
  }
  return value
}
