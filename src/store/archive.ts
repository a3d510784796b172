/**
 * A whole store as one stream, to carry it from one engine to another or to put it aside.
 *
 * Records follow a magic line: one byte of kind, six of length, then the record. `H` is a header (JSON), `C` a content
 * (its SHA-256, then its bytes), `K` a key of the content before it (when it expires, in six bytes; 0: never; then the
 * key), `E` the end (JSON: counts, and the SHA-256 of all before it). Each content is there once, its keys behind it.
 *
 * Invariant: an archive without its end, or with another byte anywhere, is refused; what was taken from it by then is
 * whole values under their own keys.
 */

import { createHash, type Hash } from 'node:crypto'

import { asBuffer, type Bytes, equalBytes } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { digestOf } from '../fingerprint/index.ts'
import { ContentCheck } from './content-check.ts'
import { findEntry, type Reading } from './transactions/get.ts'
import { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './prepare.ts'
import { readValue } from './read-value.ts'
import { type Entry, refs } from './rows.ts'
import { type OpenedSettings, sharesFormsOf } from './settings.ts'

const MAGIC = Buffer.from('prestige archive 1\n')
const ID_BYTES = 16
const DIGEST_BYTES = 32
const HEAD_BYTES = 7
const JSON_BYTES_MAX = 1024 * 1024
const ROUNDS_MAX = 10

type Kind = 'H' | 'C' | 'K' | 'E'

export interface ArchiveCounts {
  readonly keys: number
  readonly contents: number
}

/** What an archive holds of one key. */
export interface Archived {
  readonly key: Buffer
  readonly value: Buffer
  readonly expiresAt: number | undefined
}

/** Every live key and its bytes. What others change meanwhile is there as it was before or after, never half. */
export async function* writeArchive(
  backend: Backend,
  { settings, profile }: Pick<OpenedSettings, 'settings' | 'profile'>,
): AsyncGenerator<Buffer> {
  const check = new ContentCheck({ profile, sharesForms: sharesFormsOf(settings) })
  const reading = { partBytes: settings.partBytes, check }
  const hash = createHash('sha256')
  const told = (bytes: Buffer) => {
    hash.update(bytes)
    return bytes
  }
  yield told(MAGIC)
  const { dedup, canonical, fidelity } = settings
  yield told(record('H', Buffer.from(JSON.stringify({ dedup, canonical, fidelity }))))
  let keys = 0
  let contents = 0
  let current: Buffer | undefined
  for await (const { key: row } of backend.scan(refs)) {
    const key = row.subarray(ID_BYTES)
    const found = await entryAndValue(backend, key, current, reading)
    if (!found) continue
    if (found.value) {
      contents++
      current = Buffer.from(found.entry.id)
      yield told(record('C', digestOf(found.value), found.value))
    }
    keys++
    const expires = Buffer.alloc(6)
    expires.writeUIntBE(found.entry.expiresAt ?? 0, 0, 6)
    yield told(record('K', expires, key))
  }
  yield record('E', Buffer.from(JSON.stringify({ keys, contents, sha256: hash.digest('hex') })))
}

/** The bytes only when they are not those of `current`, which were written already. */
async function entryAndValue(
  backend: Backend,
  key: Buffer,
  current: Bytes | undefined,
  reading: Reading,
): Promise<{ readonly entry: Entry; readonly value: Buffer | undefined } | undefined> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const entry = await backend.read(findEntry, key)
    if (!entry) return undefined
    if (current && equalBytes(entry.id, current)) return { entry, value: undefined }
    const value = await readValue(backend, key, reading)
    const again = await backend.read(findEntry, key)
    // Whatever was read between two equal looks at the entry is its value.
    if (value && again && equalBytes(again.id, entry.id)) return { entry: again, value }
  }
  throw new PrestigeError('CONTENDED', 'A value was replaced every time it was read. Try again.')
}

function record(kind: Kind, ...parts: readonly Bytes[]): Buffer {
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(kind, 'latin1')
  head.writeUIntBE(bytes, 1, 6)
  return Buffer.concat([head, ...parts])
}

/** What is in an archive, key by key. Ends with an error where the archive does not end as it should. */
export async function* readArchive(
  source: AsyncIterable<Bytes>,
): AsyncGenerator<Archived, ArchiveCounts> {
  const bytes = new Taken(source)
  const magic = await bytes.take(MAGIC.byteLength)
  if (!magic || !equalBytes(magic, MAGIC)) throw broken('it does not begin as an archive does')
  bytes.count(magic)
  let value: Buffer | undefined
  let keys = 0
  let contents = 0
  for (;;) {
    const head = await bytes.take(HEAD_BYTES)
    if (!head) throw broken('it is cut off')
    const kind = head.toString('latin1', 0, 1)
    const length = head.readUIntBE(1, 6)
    requireLength(kind, length)
    const body = await bytes.take(length)
    if (!body) throw broken('it is cut off')
    if (kind !== 'E') bytes.count(head, body)
    if (kind === 'C') {
      contents++
      value = body.subarray(DIGEST_BYTES)
      if (!equalBytes(digestOf(value), body.subarray(0, DIGEST_BYTES))) {
        throw broken('a value has changed since it was written')
      }
    } else if (kind === 'K') {
      if (!value) throw broken('a key comes before any value')
      keys++
      const expiresAt = body.readUIntBE(0, 6) || undefined
      yield { key: body.subarray(6), value, expiresAt }
    } else if (kind === 'E') {
      requireEnd(body, { keys, contents }, bytes.digest())
      if (await bytes.take(1)) throw broken('something follows its end')
      return { keys, contents }
    }
  }
}

function requireLength(kind: string, length: number): void {
  const limits: Record<string, readonly [number, number]> = {
    H: [2, JSON_BYTES_MAX],
    C: [DIGEST_BYTES, DIGEST_BYTES + VALUE_BYTES_MAX],
    K: [7, 6 + KEY_BYTES_MAX],
    E: [2, JSON_BYTES_MAX],
  }
  const [least, most] = limits[kind] ?? []
  if (least !== undefined && most !== undefined && length >= least && length <= most) return
  throw broken('it has a record that no archive has')
}

function requireEnd(body: Buffer, counted: ArchiveCounts, sha256: string): void {
  const wanted = JSON.stringify({ ...counted, sha256 })
  if (body.toString() !== wanted) throw broken('its end does not tell what is in it')
}

function broken(how: string): PrestigeError {
  return new PrestigeError(
    'ARCHIVE_BROKEN',
    `The archive is damaged: ${how}. Make it anew with prestige export --archive.`,
  )
}

/** Bytes of a stream, as many at a time as are wanted, and the digest of all that were counted. */
class Taken {
  readonly #source: AsyncIterator<Bytes>
  readonly #hash: Hash = createHash('sha256')
  #left: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Bytes>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  count(...all: readonly Buffer[]): void {
    for (const bytes of all) this.#hash.update(bytes)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }

  /** `undefined` when there are not so many. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [this.#left]
    let bytes = this.#left.byteLength
    while (bytes < count) {
      const step = await this.#source.next()
      if (step.done) return undefined
      parts.push(asBuffer(step.value))
      bytes += step.value.byteLength
    }
    const all = parts.length === 1 ? this.#left : Buffer.concat(parts, bytes)
    this.#left = all.subarray(count)
    // A copy: what is taken may be kept, and must not keep all that came with it.
    return Buffer.from(all.subarray(0, count))
  }
}
