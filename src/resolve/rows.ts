/**
 * What the resolver keeps besides its indexes, row by row. Numbers are big endian; times are milliseconds since
 * 1970 in six bytes. Every row starts with a byte whose high half is the row's format (1) and whose low half
 * holds flags.
 *
 * A group key is sixteen bytes of a group's name and of what is resolved in it, texts or vectors. A partition is
 * sixteen bytes of a group key and of how its signatures are made.
 */

import { asBuffer, type Bytes, concat } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { RowReader, RowWriter } from '../platform/rows.ts'
import { type Codec, rows, type Space, tallies } from '../backends/index.ts'
import { nearSpaces, rawCodec, spacesOf } from '../match/index.ts'

const ID = 16

/**
 * What an input was found to be, under group key and input id.
 *
 * `1f` partition (16) representative (16) its public id (16) similarity (8) at (6); flags: 1 it is the
 * representative, 2 the similarity is an estimate.
 */
export interface Resolved {
  readonly partition: Buffer
  /** The representative's row. */
  readonly row: Buffer
  /** Its public id. */
  readonly id: Buffer
  readonly similarity: number
  readonly at: number
  readonly isRepresentative: boolean
  readonly isEstimated: boolean
}

const resolvedCodec: Codec<Resolved> = {
  encode: ({ partition, row, id, similarity, at, isRepresentative, isEstimated }) =>
    new RowWriter((isRepresentative ? 1 : 0) | (isEstimated ? 2 : 0), 3 * ID + 14)
      .bytes(partition)
      .bytes(row)
      .bytes(id)
      .double(similarity)
      .time(at)
      .whole(),
  decode(bytes) {
    const row = new RowReader('the resolver (resolutions)', bytes)
    return {
      partition: row.bytes(ID),
      row: row.bytes(ID),
      id: row.bytes(ID),
      similarity: row.double(),
      at: row.time(),
      isRepresentative: row.has(1),
      isEstimated: row.has(2),
    }
  },
}

/** `10` similarity (8) at (6). */
export interface Member {
  readonly similarity: number
  readonly at: number
}

const memberCodec: Codec<Member> = {
  encode: ({ similarity, at }) => new RowWriter(0, 14).double(similarity).time(at).whole(),
  decode(bytes) {
    const row = new RowReader('the resolver (members)', bytes)
    return { similarity: row.double(), at: row.time() }
  },
}

/**
 * The payload of a representative.
 *
 * `1f` public id (16) born at (6) parts of its evidence (2) [expires at (6)] [public id it was merged into (16)
 * similarity to it (8)]; flags: 1 expires, 2 merged, 4 in the index of containment.
 */
export interface Payload {
  readonly id: Buffer
  readonly bornAt: number
  readonly parts: number
  readonly expiresAt: number | undefined
  readonly mergedInto: { readonly id: Buffer; readonly similarity: number } | undefined
  /** Its fingerprints are in the index of containment. */
  readonly isContainable: boolean
}

function encodePayload(payload: Payload): Buffer {
  const { id, bornAt, parts, expiresAt, mergedInto, isContainable } = payload
  const flags = (expiresAt === undefined ? 0 : 1) | (mergedInto ? 2 : 0) | (isContainable ? 4 : 0)
  const row = new RowWriter(flags, 24 + (flags & 1 ? 6 : 0) + (flags & 2 ? 24 : 0))
  row.bytes(id).time(bornAt).number(parts, 2)
  if (expiresAt !== undefined) row.time(expiresAt)
  if (mergedInto) row.bytes(mergedInto.id).double(mergedInto.similarity)
  return row.whole()
}

function decodePayload(bytes: Bytes): Payload {
  const row = new RowReader('the resolver (payloads)', bytes)
  return {
    id: row.bytes(ID),
    bornAt: row.time(),
    parts: row.number(2),
    expiresAt: row.has(1) ? row.time() : undefined,
    mergedInto: row.has(2) ? { id: row.bytes(ID), similarity: row.double() } : undefined,
    isContainable: row.has(4),
  }
}

export const payloadCodec: Codec<Payload> = { encode: encodePayload, decode: decodePayload }

/** `10` partition (16) row it was merged into (16). */
export interface Alias {
  readonly partition: Buffer
  readonly into: Buffer
}

const aliasCodec: Codec<Alias> = {
  encode: ({ partition, into }) => new RowWriter(0, 2 * ID).bytes(partition).bytes(into).whole(),
  decode(bytes) {
    const row = new RowReader('the resolver (aliases)', bytes)
    return { partition: row.bytes(ID), into: row.bytes(ID) }
  },
}

/** `1f` group key (16) public id (16); flags: 1 vectors. */
export interface Leftover {
  readonly groupKey: Buffer
  readonly id: Buffer
  readonly kind: 'text' | 'vector'
}

const leftoverCodec: Codec<Leftover> = {
  encode: ({ groupKey, id, kind }) =>
    new RowWriter(kind === 'vector' ? 1 : 0, 2 * ID).bytes(groupKey).bytes(id).whole(),
  decode(bytes) {
    const row = new RowReader('the resolver (leftovers)', bytes)
    return { groupKey: row.bytes(ID), id: row.bytes(ID), kind: row.has(1) ? 'vector' : 'text' }
  },
}

const textCodec: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => asBuffer(bytes).toString(),
}

export const textNear = nearSpaces('resolve.text')
export const vectorNear = nearSpaces('resolve.vector')
/** Winnowed fingerprints of representatives, where containment is looked for. */
export const textContainment = nearSpaces('resolve.containment')
/** Group key and input id → Resolved. */
export const resolutions: Space<Resolved> = rows('resolve.resolutions', resolvedCodec, {
  ordered: true,
})
/** Group key, representative's row and input id → Member. */
export const members: Space<Member> = rows('resolve.members', memberCodec, {
  ordered: true,
  gatherBytes: 32,
})
/** Group key, public id, old public id and the row it had → Alias. */
export const aliases: Space<Alias> = rows('resolve.aliases', aliasCodec, {
  ordered: true,
  gatherBytes: 32,
})
/** Partition and row of a representative that is gone, until nothing of its cluster is left → Leftover. */
export const leftovers: Space<Leftover> = rows('resolve.leftovers', leftoverCodec, {
  ordered: true,
})
/** Partition and representative's row, and from the second part on its number (2) → evidence. */
export const evidences: Space<Bytes> = rows('resolve.evidence', rawCodec, { immutable: true })
/** Time (6), partition and representative's row → group key. */
export const expiries: Space<Bytes> = rows('resolve.expiries', rawCodec, { ordered: true })
/** Group key → kind and name of the group: `text:…`. */
export const groups: Space<string> = rows('resolve.groups', textCodec, { ordered: true })
/** `resolver` → what it was written with, as JSON. */
export const settings: Space<string> = rows('resolve.settings', textCodec)
/** Group key and name. */
export const resolverTallies: Space<number> = tallies('resolve.tallies')

export const resolverSpaces: readonly Space<unknown>[] = [
  ...spacesOf(textNear),
  ...spacesOf(vectorNear),
  ...spacesOf(textContainment),
  resolutions,
  members,
  aliases,
  leftovers,
  evidences,
  expiries,
  groups,
  settings,
  resolverTallies,
]

export function memberKey(groupKey: Bytes, row: Bytes, input: Bytes): Buffer {
  return Buffer.concat([groupKey, row, input])
}

export function aliasKey(groupKey: Bytes, id: Bytes, old: Bytes, row: Bytes): Buffer {
  return Buffer.concat([groupKey, id, old, row])
}

/** The old public id in the key of an alias. */
export function oldIdOf(key: Buffer): Buffer {
  return key.subarray(2 * ID, 3 * ID)
}

/** The row it had. */
export function oldRowOf(key: Buffer): Buffer {
  return key.subarray(3 * ID)
}

export function evidenceKey(partition: Bytes, row: Bytes, part: number): Buffer {
  if (part === 0) return concat(partition, row)
  const number = Buffer.allocUnsafe(2)
  number.writeUInt16BE(part)
  return Buffer.concat([partition, row, number])
}

export function expiryKey(expiresAt: number, partition: Bytes, row: Bytes): Buffer {
  const time = Buffer.allocUnsafe(6)
  time.writeUIntBE(expiresAt, 0, 6)
  return Buffer.concat([time, partition, row])
}

export type TallyName = 'clusters' | 'members' | 'merged' | 'passedOver'

const tallyKeys = new WeakMap<Bytes, Map<TallyName, Buffer>>()

/** The same bytes for the same group key object: engines add up what they know by identity, once a group commit. */
export function tallyKey(groupKey: Bytes, name: TallyName): Buffer {
  let known = tallyKeys.get(groupKey)
  if (!known) tallyKeys.set(groupKey, (known = new Map()))
  let key = known.get(name)
  if (!key) known.set(name, (key = concat(groupKey, Buffer.from(name))))
  return key
}

/** As the public ids of the resolver this one grew from. */
export function publicId(id: Bytes): string {
  return asBuffer(id).toString('base64url')
}

export function readPublicId(id: string): Buffer {
  const bytes = Buffer.from(id, 'base64url')
  if (bytes.byteLength === ID && publicId(bytes) === id) return bytes
  throw new PrestigeError(
    'INVALID_KEY',
    `An id has 22 characters of base64url; ${JSON.stringify(id.slice(0, 40))} is none.`,
  )
}
