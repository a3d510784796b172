/**
 * What the resolver keeps besides its indexes, row by row. Numbers are big endian; times are milliseconds since
 * 1970 in six bytes. Every row starts with a byte whose high half is the row's format (1) and whose low half
 * holds flags.
 *
 * A tenant is sixteen bytes of a group's name and of what is resolved in it, texts or vectors. A shelf is
 * sixteen bytes of a tenant and of how its signatures are made.
 */

import { asBuffer, type Bytes, concat } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Codec, rows, type Space, tallies } from '../backends/index.ts'
import { nearSpaces, rawCodec, spacesOf } from '../match/index.ts'

const FORMAT = 0x10
const FORMAT_MASK = 0xf0
const ID = 16

function checked(what: string, bytes: Bytes, fixed: number, first = 0, second = 0): Buffer {
  const row = asBuffer(bytes)
  const head = row[0] ?? 0
  const bytesMin = fixed + (head & 1 ? first : 0) + (head & 2 ? second : 0)
  if (row.byteLength >= bytesMin && (head & FORMAT_MASK) === FORMAT) return row
  throw new PrestigeError('CONTENT_CORRUPT', `A row of the resolver (${what}) cannot be read.`)
}

/**
 * What an input was found to be, under tenant and input id.
 *
 * `1f` shelf (16) representative (16) its public id (16) similarity (8) at (6); flags: 1 it is the
 * representative, 2 the similarity is an estimate.
 */
export interface Resolved {
  readonly shelf: Buffer
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
  encode({ shelf, row, id, similarity, at, isRepresentative, isEstimated }) {
    const bytes = Buffer.allocUnsafe(1 + 3 * ID + 8 + 6)
    bytes[0] = FORMAT | (isRepresentative ? 1 : 0) | (isEstimated ? 2 : 0)
    bytes.set(shelf, 1)
    bytes.set(row, 1 + ID)
    bytes.set(id, 1 + 2 * ID)
    bytes.writeDoubleBE(similarity, 1 + 3 * ID)
    bytes.writeUIntBE(at, 9 + 3 * ID, 6)
    return bytes
  },
  decode(bytes) {
    const row = checked('resolutions', bytes, 1 + 3 * ID + 8 + 6)
    return {
      shelf: row.subarray(1, 1 + ID),
      row: row.subarray(1 + ID, 1 + 2 * ID),
      id: row.subarray(1 + 2 * ID, 1 + 3 * ID),
      similarity: row.readDoubleBE(1 + 3 * ID),
      at: row.readUIntBE(9 + 3 * ID, 6),
      isRepresentative: (row.readUInt8(0) & 1) !== 0,
      isEstimated: (row.readUInt8(0) & 2) !== 0,
    }
  },
}

/** `10` similarity (8) at (6). */
export interface Member {
  readonly similarity: number
  readonly at: number
}

const memberCodec: Codec<Member> = {
  encode({ similarity, at }) {
    const row = Buffer.allocUnsafe(15)
    row[0] = FORMAT
    row.writeDoubleBE(similarity, 1)
    row.writeUIntBE(at, 9, 6)
    return row
  },
  decode(bytes) {
    const row = checked('members', bytes, 15)
    return { similarity: row.readDoubleBE(1), at: row.readUIntBE(9, 6) }
  },
}

/**
 * The payload of a representative.
 *
 * `1f` public id (16) born at (6) parts of its evidence (2) [expires at (6)] [public id it was merged into (16)
 * similarity to it (8)]; flags: 1 expires, 2 merged.
 */
export interface Payload {
  readonly id: Buffer
  readonly bornAt: number
  readonly parts: number
  readonly expiresAt: number | undefined
  readonly mergedInto: { readonly id: Buffer; readonly similarity: number } | undefined
}

export function encodePayload(payload: Payload): Buffer {
  const { expiresAt, mergedInto } = payload
  const row = Buffer.alloc(25 + (expiresAt === undefined ? 0 : 6) + (mergedInto ? 24 : 0))
  row[0] = FORMAT | (expiresAt === undefined ? 0 : 1) | (mergedInto ? 2 : 0)
  row.set(payload.id, 1)
  row.writeUIntBE(payload.bornAt, 17, 6)
  row.writeUInt16BE(payload.parts, 23)
  let at = 25
  if (expiresAt !== undefined) {
    row.writeUIntBE(expiresAt, at, 6)
    at += 6
  }
  if (mergedInto) {
    row.set(mergedInto.id, at)
    row.writeDoubleBE(mergedInto.similarity, at + ID)
  }
  return row
}

export function decodePayload(bytes: Bytes): Payload {
  const row = checked('payloads', bytes, 25, 6, 24)
  const expires = (row.readUInt8(0) & 1) !== 0
  const mergedAt = 25 + (expires ? 6 : 0)
  const isMerged = (row.readUInt8(0) & 2) !== 0
  return {
    id: row.subarray(1, 17),
    bornAt: row.readUIntBE(17, 6),
    parts: row.readUInt16BE(23),
    expiresAt: expires ? row.readUIntBE(25, 6) : undefined,
    mergedInto: isMerged
      ? {
          id: row.subarray(mergedAt, mergedAt + ID),
          similarity: row.readDoubleBE(mergedAt + ID),
        }
      : undefined,
  }
}

/** `10` shelf (16) row it was merged into (16). */
export interface Alias {
  readonly shelf: Buffer
  readonly into: Buffer
}

const aliasCodec: Codec<Alias> = {
  encode: ({ shelf, into }) => Buffer.concat([Buffer.of(FORMAT), shelf, into]),
  decode(bytes) {
    const row = checked('aliases', bytes, 1 + 2 * ID)
    return { shelf: row.subarray(1, 1 + ID), into: row.subarray(1 + ID, 1 + 2 * ID) }
  },
}

/** `1f` tenant (16) public id (16); flags: 1 vectors. */
export interface Leftover {
  readonly tenant: Buffer
  readonly id: Buffer
  readonly kind: 'text' | 'vector'
}

const leftoverCodec: Codec<Leftover> = {
  encode: ({ tenant, id, kind }) =>
    Buffer.concat([Buffer.of(FORMAT | (kind === 'vector' ? 1 : 0)), tenant, id]),
  decode(bytes) {
    const row = checked('leftovers', bytes, 1 + 2 * ID)
    const kind = (row.readUInt8(0) & 1) === 0 ? 'text' : 'vector'
    return { tenant: row.subarray(1, 1 + ID), id: row.subarray(1 + ID, 1 + 2 * ID), kind }
  },
}

const textCodec: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => asBuffer(bytes).toString(),
}

export const textNear = nearSpaces('resolve.text')
export const vectorNear = nearSpaces('resolve.vector')
/** Tenant and input id → Resolved. */
export const resolutions: Space<Resolved> = rows('resolve.resolutions', resolvedCodec, {
  ordered: true,
})
/** Tenant, representative's row and input id → Member. */
export const members: Space<Member> = rows('resolve.members', memberCodec, {
  ordered: true,
  gatherBytes: 32,
})
/** Tenant, public id, old public id and the row it had → Alias. */
export const aliases: Space<Alias> = rows('resolve.aliases', aliasCodec, {
  ordered: true,
  gatherBytes: 32,
})
/** Shelf and row of a representative that is gone, until nothing of its cluster is left → Leftover. */
export const leftovers: Space<Leftover> = rows('resolve.leftovers', leftoverCodec, {
  ordered: true,
})
/** Shelf and representative's row, and from the second part on its number (2) → evidence. */
export const evidences: Space<Bytes> = rows('resolve.evidence', rawCodec, { immutable: true })
/** Time (6), shelf and representative's row → tenant. */
export const expiries: Space<Bytes> = rows('resolve.expiries', rawCodec, { ordered: true })
/** Tenant → kind and name of the group: `text:…`. */
export const groups: Space<string> = rows('resolve.groups', textCodec, { ordered: true })
/** `resolver` → what it was written with, as JSON. */
export const settings: Space<string> = rows('resolve.settings', textCodec)
/** Tenant and name. */
export const resolverTallies: Space<number> = tallies('resolve.tallies')

export const resolverSpaces: readonly Space<unknown>[] = [
  ...spacesOf(textNear),
  ...spacesOf(vectorNear),
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

export function memberKey(tenant: Bytes, row: Bytes, input: Bytes): Buffer {
  return Buffer.concat([tenant, row, input])
}

export function aliasKey(tenant: Bytes, id: Bytes, old: Bytes, row: Bytes): Buffer {
  return Buffer.concat([tenant, id, old, row])
}

/** The old public id in the key of an alias. */
export function oldIdOf(key: Buffer): Buffer {
  return key.subarray(2 * ID, 3 * ID)
}

/** The row it had. */
export function oldRowOf(key: Buffer): Buffer {
  return key.subarray(3 * ID)
}

export function evidenceKey(shelf: Bytes, row: Bytes, part: number): Buffer {
  if (part === 0) return concat(shelf, row)
  const number = Buffer.allocUnsafe(2)
  number.writeUInt16BE(part)
  return Buffer.concat([shelf, row, number])
}

export function expiryKey(expiresAt: number, shelf: Bytes, row: Bytes): Buffer {
  const time = Buffer.allocUnsafe(6)
  time.writeUIntBE(expiresAt, 0, 6)
  return Buffer.concat([time, shelf, row])
}

export type TallyName = 'clusters' | 'members' | 'merged' | 'passedOver'

const tallyKeys = new WeakMap<Bytes, Map<TallyName, Buffer>>()

/** The same bytes for the same tenant object: engines add up what they know by identity, once a group commit. */
export function tallyKey(tenant: Bytes, name: TallyName): Buffer {
  let known = tallyKeys.get(tenant)
  if (!known) tallyKeys.set(tenant, (known = new Map()))
  let key = known.get(name)
  if (!key) known.set(name, (key = concat(tenant, Buffer.from(name))))
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
