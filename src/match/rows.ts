/**
 * What the near-duplicate index keeps, row by row. Numbers are big endian. Every row starts with a byte whose
 * high half is the row's format (1) and whose low half holds flags.
 *
 * Representatives are the truth. Where bodies run one after another, every insert and removal is a row of the
 * journal, numbered in commit order, and tables in memory are made from it. Elsewhere, buckets are cells.
 */

import { asBuffer, type Bytes, concat, EMPTY } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Codec, rows, type Space } from '../backends/index.ts'

const FORMAT = 0x10
const FORMAT_MASK = 0xf0
export const ID_BYTES = 16
const SEQUENCE_BYTES = 6

/** `10` number of the last journal row (6) its nonce (16). */
export interface Head {
  readonly sequence: number
  readonly nonce: Buffer
}

/**
 * `10` nonce (16) group (16) id (16) signature: a representative came.
 * `11` nonce (16) group (16) id (16): it went.
 * `12` nonce (16): here was one that went.
 *
 * A nonce is of one commit, so a row that was rolled back is never taken for the one that has its number now.
 */
export type JournalRow =
  | {
      readonly kind: 'insert'
      readonly nonce: Buffer
      readonly group: Buffer
      readonly id: Buffer
      readonly signature: Bytes
    }
  | {
      readonly kind: 'remove'
      readonly nonce: Buffer
      readonly group: Buffer
      readonly id: Buffer
    }
  | { readonly kind: 'gone'; readonly nonce: Buffer }

/**
 * `10` journal row of its insert, or 0 (6) length of signature (2) signature, payload. The signature is here
 * where there is no journal; the payload belongs to whoever keeps the index.
 */
export interface Representative {
  readonly sequence: number
  readonly signature: Bytes
  readonly payload: Buffer
}

/** `1f` ids (16 each); flags: 1 full. A full bucket names nobody, and is never written again. */
export interface Bucket {
  readonly isFull: boolean
  readonly ids: Buffer
}

/** The spaces of one index. Indexes of one backend differ by their prefix. */
export interface NearSpaces {
  readonly heads: Space<Head>
  readonly journal: Space<JournalRow>
  /** Group (16) and id (16) → Representative. */
  readonly representatives: Space<Representative>
  /** Group (16), band (2) and its hash (4) → Bucket. */
  readonly buckets: Space<Bucket>
  /** Number of a journal row that only views behind it need → nothing. */
  readonly dead: Space<Bytes>
  /** The tables in memory as they were once: see snapshot.ts. Never needed. */
  readonly snapshots: Space<Bytes>
}

export function nearSpaces(prefix: string): NearSpaces {
  return {
    heads: rows(`${prefix}.heads`, headCodec),
    journal: rows(`${prefix}.journal`, journalCodec, { ordered: true }),
    representatives: rows(`${prefix}.representatives`, representativeCodec, { ordered: true }),
    buckets: rows(`${prefix}.buckets`, bucketCodec),
    dead: rows(`${prefix}.dead`, rawCodec, { ordered: true }),
    snapshots: rows(`${prefix}.snapshots`, rawCodec, { ordered: true }),
  }
}

export function spacesOf(spaces: NearSpaces): readonly Space<unknown>[] {
  const { heads, journal, representatives, buckets, dead, snapshots } = spaces
  return [heads, journal, representatives, buckets, dead, snapshots]
}

export function sequenceKey(sequence: number): Buffer {
  const key = Buffer.allocUnsafe(SEQUENCE_BYTES)
  key.writeUIntBE(sequence, 0, SEQUENCE_BYTES)
  return key
}

export function sequenceOf(key: Bytes): number {
  return asBuffer(key).readUIntBE(0, SEQUENCE_BYTES)
}

export function bucketKey(group: Bytes, band: number, hash: number): Buffer {
  const key = Buffer.allocUnsafe(ID_BYTES + 6)
  key.set(group)
  key.writeUInt16BE(band, ID_BYTES)
  key.writeUInt32BE(hash >>> 0, ID_BYTES + 2)
  return key
}

export const rawCodec: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

function checked(what: string, bytes: Bytes, bytesMin: number): Buffer {
  const row = asBuffer(bytes)
  if (row.byteLength >= bytesMin && ((row[0] ?? 0) & FORMAT_MASK) === FORMAT) return row
  throw unreadable(what)
}

function unreadable(what: string): PrestigeError {
  return new PrestigeError('CONTENT_CORRUPT', `A row of the index (${what}) cannot be read.`)
}

const headCodec: Codec<Head> = {
  encode({ sequence, nonce }) {
    const row = Buffer.allocUnsafe(1 + SEQUENCE_BYTES + ID_BYTES)
    row[0] = FORMAT
    row.writeUIntBE(sequence, 1, SEQUENCE_BYTES)
    row.set(nonce, 1 + SEQUENCE_BYTES)
    return row
  },
  decode(bytes) {
    const row = checked('heads', bytes, 1 + SEQUENCE_BYTES + ID_BYTES)
    return {
      sequence: row.readUIntBE(1, SEQUENCE_BYTES),
      nonce: row.subarray(1 + SEQUENCE_BYTES, 1 + SEQUENCE_BYTES + ID_BYTES),
    }
  },
}

const KINDS = ['insert', 'remove', 'gone'] as const
const NONCE_AT = 1
const GROUP_AT = NONCE_AT + ID_BYTES
const ID_AT = GROUP_AT + ID_BYTES
const SIGNATURE_AT = ID_AT + ID_BYTES

const journalCodec: Codec<JournalRow> = {
  encode(change) {
    const head = Buffer.of(FORMAT | KINDS.indexOf(change.kind))
    if (change.kind === 'gone') return concat(head, change.nonce)
    const signature = change.kind === 'insert' ? change.signature : EMPTY
    const row = Buffer.allocUnsafe(SIGNATURE_AT + signature.byteLength)
    row.set(head)
    row.set(change.nonce, NONCE_AT)
    row.set(change.group, GROUP_AT)
    row.set(change.id, ID_AT)
    row.set(signature, SIGNATURE_AT)
    return row
  },
  decode(bytes) {
    const row = checked('journal', bytes, GROUP_AT)
    const kind = KINDS[row.readUInt8(0) & 0x0f]
    if (kind === undefined) throw unreadable('journal')
    if (kind === 'gone') return { kind, nonce: row.subarray(NONCE_AT, GROUP_AT) }
    checked('journal', bytes, SIGNATURE_AT)
    if (kind !== 'remove') return new InsertRow(row)
    const group = row.subarray(GROUP_AT, ID_AT)
    return {
      kind,
      nonce: row.subarray(NONCE_AT, GROUP_AT),
      group,
      id: row.subarray(ID_AT, SIGNATURE_AT),
    }
  },
}

/** Cuts its parts when they are asked for: a million of these are read when an index is opened. */
class InsertRow {
  readonly kind = 'insert'
  readonly #row: Buffer

  constructor(row: Buffer) {
    this.#row = row
  }

  get nonce(): Buffer {
    return this.#row.subarray(NONCE_AT, GROUP_AT)
  }

  get group(): Buffer {
    return this.#row.subarray(GROUP_AT, ID_AT)
  }

  get id(): Buffer {
    return this.#row.subarray(ID_AT, SIGNATURE_AT)
  }

  get signature(): Bytes {
    return this.#row.subarray(SIGNATURE_AT)
  }
}

const REPRESENTATIVE_FIXED = 1 + SEQUENCE_BYTES + 2

const representativeCodec: Codec<Representative> = {
  encode({ sequence, signature, payload }) {
    const payloadAt = REPRESENTATIVE_FIXED + signature.byteLength
    const row = Buffer.allocUnsafe(payloadAt + payload.byteLength)
    row[0] = FORMAT
    row.writeUIntBE(sequence, 1, SEQUENCE_BYTES)
    row.writeUInt16BE(signature.byteLength, 1 + SEQUENCE_BYTES)
    row.set(signature, REPRESENTATIVE_FIXED)
    row.set(payload, payloadAt)
    return row
  },
  decode(bytes) {
    const row = checked('representatives', bytes, REPRESENTATIVE_FIXED)
    const payloadAt = REPRESENTATIVE_FIXED + row.readUInt16BE(1 + SEQUENCE_BYTES)
    checked('representatives', bytes, payloadAt)
    return {
      sequence: row.readUIntBE(1, SEQUENCE_BYTES),
      signature: row.subarray(REPRESENTATIVE_FIXED, payloadAt),
      payload: row.subarray(payloadAt),
    }
  },
}

const bucketCodec: Codec<Bucket> = {
  encode({ isFull, ids }) {
    return concat(Buffer.of(FORMAT | (isFull ? 1 : 0)), ids)
  },
  decode(bytes) {
    const row = checked('buckets', bytes, 1)
    return { isFull: (row.readUInt8(0) & 1) !== 0, ids: row.subarray(1) }
  },
}
