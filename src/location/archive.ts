/**
 * A resolver, a ledger or a job state as one stream of bytes, to carry it to another engine or to put it aside; a store
 * has an archive of keys and contents (store/archive.ts) in the same container.
 *
 * The header (JSON) names kind, format, settings and an id of this archive. `S` begins the rows of a space (its name),
 * `R` is one of them: length of its key (2), key, value. Of an index there are only representatives, each with its
 * signature; tallies are rows, eight bytes each.
 */

import { randomBytes } from 'node:crypto'

import { type Backend, backendAt, type Location } from '../backends/index.ts'
import { ArchiveWriter } from '../platform/archive-stream.ts'
import { asBuffer, latin1 } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { portableRows } from '../match/index.ts'
import { archiveStore } from '../store/index.ts'
import { allSpaces, chooseKind, kindNamed, kindsOn, readingOf } from './kinds.ts'
import { plainSpaces, rawOf, tallySpaces } from './rows.ts'
import type { KindName, StoredKind, StoredSettings } from './stored-kind.ts'

export interface ArchiveLocationOptions {
  /** Default: the unnamed namespace. */
  readonly namespace?: string | undefined
  /** What to archive, where a namespace holds several things. Default: the only one there is. */
  readonly kind?: KindName | undefined
}

/**
 * Nobody should write meanwhile: it fails with CONTENDED, before the end of the archive, if something was added or
 * removed. Of a store it does not.
 */
export async function* archiveLocation(
  location: Location,
  { namespace, kind }: ArchiveLocationOptions = {},
): AsyncGenerator<Buffer> {
  const backend = await backendAt(location, allSpaces, { namespace, ...readingOf(location) })
  let isStore = false
  try {
    const chosen = chooseKind(await kindsOn(backend), kind)
    const stored = kindNamed(chosen.kind)
    if (stored) yield* writeKind(backend, stored, chosen.settings)
    else isStore = true
  } finally {
    if (typeof location === 'string') await backend.close()
  }
  if (isStore) yield* archiveStore(location, { namespace })
}

async function* writeKind(
  backend: Backend,
  kind: StoredKind,
  settings: StoredSettings,
): AsyncGenerator<Buffer> {
  const indexes = await kind.indexes(backend, settings)
  const archive = new ArchiveWriter()
  const id = randomBytes(16).toString('hex')
  yield archive.begin(2, { kind: kind.kind, format: settings['format'], settings, archive: id })
  let rows = 0
  const row = (key: Buffer, value: Uint8Array) => {
    rows++
    const length = Buffer.alloc(2)
    length.writeUInt16BE(key.byteLength)
    return archive.record('R', length, key, value)
  }
  const before = await marksOf(backend, kind)
  for (const space of plainSpaces(kind, indexes)) {
    yield archive.record('S', Buffer.from(space.name))
    for await (const { key, value } of backend.scan(rawOf(space))) {
      if (space === kind.settings.space && key.equals(kind.settings.key)) continue
      // A damaged row ends the archive here, instead of in whatever it is restored into.
      space.codec.decode(Buffer.from(value), key)
      yield row(key, value)
    }
  }
  for (const { spaces } of indexes) {
    const { representatives } = spaces
    yield archive.record('S', Buffer.from(representatives.name))
    for await (const { key, value } of portableRows(backend, spaces)) {
      yield row(key, representatives.codec.encode(value, key))
    }
  }
  for (const space of tallySpaces(kind)) {
    yield archive.record('S', Buffer.from(space.name))
    for (const [name, sum] of before.get(space.name) ?? []) {
      yield row(Buffer.from(name, 'latin1'), asBuffer(space.codec.encode(sum)))
    }
  }
  if (!areSame(before, await marksOf(backend, kind))) throw changed(kind)
  yield archive.end({ rows })
}

/** Every tally: whoever adds or removes documents, members or lines changes one of them. A lease or a claim does not. */
async function marksOf(
  backend: Backend,
  kind: StoredKind,
): Promise<Map<string, Map<string, number>>> {
  const marks = new Map<string, Map<string, number>>()
  for (const space of tallySpaces(kind)) {
    const sums = new Map<string, number>()
    for await (const { key, value } of backend.scan(space)) sums.set(latin1(key), value)
    marks.set(space.name, sums)
  }
  return marks
}

function areSame(
  before: ReadonlyMap<string, ReadonlyMap<string, number>>,
  after: ReadonlyMap<string, ReadonlyMap<string, number>>,
): boolean {
  return [...before].every(([name, sums]) => {
    const now = after.get(name)
    return now?.size === sums.size && [...sums].every(([key, sum]) => now.get(key) === sum)
  })
}

function changed({ kind }: StoredKind): PrestigeError {
  return new PrestigeError(
    'CONTENDED',
    `The ${kind} was written to while it was archived. Stop what writes to it, and archive it again.`,
  )
}
