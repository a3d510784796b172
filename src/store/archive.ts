/**
 * A whole store as one stream, to carry it from one engine to another or to put it aside.
 *
 * Records (archive-stream.ts): `C` is a content (its SHA-256, then its bytes), `K` a key of the content before it (when
 * it expires, in six bytes; 0: never; then the key), `M` the metadata of the key behind it (metadata.ts), if it has some,
 * `L` that it is pinned or slides (lifecycle/life.ts), if it does.
 * Each content is there once, its keys behind it. Keys and contents
 * instead of rows, because a store may be restored into one with other settings, or with other keys already.
 *
 * Invariant: what was taken from an archive that turns out to be damaged is whole values under their own keys.
 */

import {
  ArchiveReader,
  type ArchiveSource,
  ArchiveWriter,
  brokenArchive,
} from '../platform/archive-stream.ts'
import { type Bytes, equalBytes } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { digestOf } from '../fingerprint/index.ts'
import { ContentCheck } from './content-check.ts'
import { Layout } from './contents/layout.ts'
import { findEntry, type Reading } from './transactions/get.ts'
import { decodeLife, encodeLife, type Life, LIFE_BYTES, lifeReader } from './lifecycle/life.ts'
import { decodeMetadata, isMetadata, type Metadata, METADATA_ROW_BYTES_MAX } from './metadata.ts'
import { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './prepare.ts'
import { readValue } from './read-value.ts'
import { type Entry, refs } from './rows.ts'
import { type OpenedSettings, sharesFormsOf } from './settings.ts'

const ID_BYTES = 16
const DIGEST_BYTES = 32
const ROUNDS_MAX = 10
const LIMITS = {
  C: [DIGEST_BYTES, DIGEST_BYTES + VALUE_BYTES_MAX],
  K: [7, 6 + KEY_BYTES_MAX],
  M: [1, METADATA_ROW_BYTES_MAX],
  L: [LIFE_BYTES, LIFE_BYTES],
} as const

/** What an archive holds of one key. */
export interface Archived {
  readonly key: Buffer
  readonly value: Buffer
  readonly expiresAt: number | undefined
  readonly metadata: Metadata | undefined
  readonly life: Life | undefined
}

/** Every live key and its bytes. What others change meanwhile is there as it was before or after, never half. */
export async function* writeArchive(
  backend: Backend,
  { settings, profile }: Pick<OpenedSettings, 'settings' | 'profile'>,
): AsyncGenerator<Buffer> {
  const check = new ContentCheck({ profile, sharesForms: sharesFormsOf(settings) })
  const reading = { layout: new Layout(settings), check }
  const archive = new ArchiveWriter()
  const { dedup, canonical, fidelity } = settings
  yield archive.begin(1, { dedup, canonical, fidelity })
  let keys = 0
  let contents = 0
  let current: Buffer | undefined
  const lifeOf = await lifeReader(backend)
  for await (const { key: row } of backend.scan(refs)) {
    const key = row.subarray(ID_BYTES)
    const found = await entryAndValue(backend, key, current, reading)
    if (!found) continue
    if (found.value) {
      contents++
      current = Buffer.from(found.entry.id)
      yield archive.record('C', digestOf(found.value), found.value)
    }
    keys++
    const expires = Buffer.alloc(6)
    expires.writeUIntBE(found.entry.expiresAt ?? 0, 0, 6)
    const { metadata } = found.entry
    if (metadata) yield archive.record('M', metadata)
    const life = await lifeOf(key)
    if (life) yield archive.record('L', encodeLife(life))
    yield archive.record('K', expires, key)
  }
  yield archive.end({ keys, contents })
}

/** The bytes only when they are not those of `current`, which were written already. */
export async function entryAndValue(
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

/** What is in an archive, key by key. Ends with an error where the archive does not end as it should. */
export async function* readArchive(source: ArchiveSource): AsyncGenerator<Archived> {
  const archive = await ArchiveReader.open(source)
  if (archive.version !== 1) {
    throw new PrestigeError(
      'INVALID_USAGE',
      `This is an archive of a ${String(archive.header['kind'])}, and not of a store. Restore it with restoreLocation, or prestige import --archive.`,
    )
  }
  let value: Buffer | undefined
  let metadata: Metadata | undefined
  let life: Life | undefined
  let keys = 0
  let contents = 0
  for await (const { kind, body } of archive.records(LIMITS, () => ({ keys, contents }))) {
    if (kind === 'C') {
      contents++
      value = body.subarray(DIGEST_BYTES)
      if (!equalBytes(digestOf(value), body.subarray(0, DIGEST_BYTES))) {
        throw brokenArchive('a value has changed since it was written')
      }
    } else if (kind === 'M') {
      if (!isMetadata(body)) throw brokenArchive('metadata of a key cannot be read')
      metadata = decodeMetadata(body)
    } else if (kind === 'L') {
      life = decodeLife(body)
      if (!life) throw brokenArchive('what was kept of the life of a key cannot be read')
    } else {
      if (!value) throw brokenArchive('a key comes before any value')
      keys++
      const expiresAt = body.readUIntBE(0, 6) || undefined
      yield { key: body.subarray(6), value, expiresAt, metadata, life }
      metadata = life = undefined
    }
  }
}
