/** A key's bytes, also when they are in many rows: short ones from one transaction, long ones row by row. */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { Layout } from './contents/layout.ts'
import { readContent } from './contents/read-content.ts'
import { damaged, findBoth, findValue, type Found, type Reading } from './transactions/get.ts'
import type { Notes } from './observe.ts'
import { STREAM_BYTES_MAX, VALUE_BYTES_MAX } from './prepare.ts'
import { Entry } from './rows.ts'

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
  return found instanceof Entry ? readLong(backend, key, found, reading) : found && asBuffer(found)
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

/** Contents never change under an id; if some of it is gone, the key must have changed, and is looked up again. */
export async function readLong(
  backend: Backend,
  key: Bytes,
  first: Entry,
  reading: Reading,
): Promise<Buffer | undefined> {
  return (await readLongOf(backend, key, first, reading))?.bytes
}

/** The same, with the entry that the bytes are of. */
export async function readLongOf(
  backend: Backend,
  key: Bytes,
  first: Entry,
  reading: Reading,
): Promise<{ readonly entry: Entry; readonly bytes: Buffer } | undefined> {
  let entry: Entry | undefined = first
  const { layout, check } = reading
  for (let round = 0; round < ROUNDS_MAX && entry; round++) {
    if (entry.bytes > VALUE_BYTES_MAX) throw tooLongToGet(key, entry, layout)
    const value = await readContent(backend, entry, layout)
    if (value && check && !(await check.isLargeRight(value, entry))) throw damaged(key)
    if (value) return { entry, bytes: value }
    const again: Found | undefined = await backend.read(findBoth, key, reading)
    if (again?.entry.row.equals(entry.row)) throw damaged(key)
    if (again?.bytes) return { entry: again.entry, bytes: asBuffer(again.bytes) }
    entry = again?.entry
  }
  if (entry === undefined) return undefined
  throw new PrestigeError('CONTENDED', 'The value was replaced every time it was read. Try again.')
}

/** A damaged row must not make us ask for more memory than any value can take. */
function tooLongToGet(key: Bytes, { bytes }: Entry, { chunks }: Layout): PrestigeError {
  if (!chunks || bytes > STREAM_BYTES_MAX) return damaged(key)
  return new PrestigeError(
    'INVALID_USAGE',
    `The value has ${bytes} bytes, which is more than get returns at once. Use getStream.`,
  )
}
