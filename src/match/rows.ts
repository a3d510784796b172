/**
 * What the near-duplicate index keeps, row by row (platform/rows.ts).
 *
 * Representatives are the truth. Where bodies run one after another, every insert and removal is a row of the
 * journal, numbered in commit order, and tables in memory are made from it. Elsewhere, buckets are cells.
 */

import { asBuffer, type Bytes, EMPTY } from '../platform/bytes.ts'
import { checkedRow, RowReader, RowWriter } from '../platform/rows.ts'
import { type Codec, rows, type Space } from '../backends/index.ts'

export const ID_BYTES = 16
const SEQUENCE_BYTES = 6

/** `10` number of the last journal row (6) its nonce (16). */
export interface Head {
  readonly sequence: number
  readonly nonce: Buffer
}

/** A representative that comes. */
export interface Insert {
  readonly partition: Buffer
  readonly id: Buffer
  readonly signature: Bytes
}

/**
 * `10` nonce (16) partition (16) id (16) signature: a representative came.
 * `11` nonce (16) partition (16) id (16): it went.
 * `12` nonce (16): here was one that went.
 *
 * A nonce is of one commit, so a row that was rolled back is never taken for the one that has its number now.
 */
export type JournalChange =
  | ({ readonly kind: 'insert'; readonly nonce: Buffer } & Insert)
  | {
      readonly kind: 'remove'
      readonly nonce: Buffer
      readonly partition: Buffer
      readonly id: Buffer
    }
  | { readonly kind: 'gone'; readonly nonce: Buffer }

/** One change, or several inserts of one transaction (see journal.ts). */
export type JournalRow = JournalChange | JournalBlock

/**
 * `10` journal row of its insert, or 0 (6) length of signature (2) signature, payload. The signature is here
 * where there is no journal; the payload belongs to whoever keeps the index.
 */
export interface Representative {
  readonly sequence: number
  readonly signature: Bytes
  readonly payload: Buffer
}

/**
 * `1f` ids (16 each); flags: 1 full, 2 continued. A full bucket names nobody, and is never written again. One that is
 * continued has another page, whose key is its own and the number of the page (4), and gains no ids.
 */
export interface Bucket {
  readonly isFull: boolean
  readonly isContinued?: boolean | undefined
  readonly ids: Buffer
}

/** The spaces of one index. Indexes of one backend differ by their prefix. */
export interface NearSpaces {
  readonly heads: Space<Head>
  readonly journal: Space<JournalRow>
  /** Group (16) and id (16) → Representative. */
  readonly representatives: Space<Representative>
  /** Group (16), band (2), its hash (4), and from the second page on its number (4) → Bucket. */
  readonly buckets: Space<Bucket>
  /** Number of a journal row that only views behind it need → nothing. */
  readonly dead: Space<Bytes>
  /** The tables in memory as they were once: see snapshot.ts, and segments/rows.ts. Never needed. */
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

export function bucketKey(partition: Bytes, band: number, hash: number): Buffer {
  const key = Buffer.allocUnsafe(ID_BYTES + 6)
  key.set(partition)
  key.writeUInt16BE(band, ID_BYTES)
  key.writeUInt32BE(hash >>> 0, ID_BYTES + 2)
  return key
}

export const rawCodec: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

const headCodec: Codec<Head> = {
  encode: ({ sequence, nonce }) =>
    new RowWriter(0, 6 + ID_BYTES).number(sequence, 6).bytes(nonce).whole(),
  decode(bytes) {
    const row = new RowReader('the index (heads)', bytes)
    return { sequence: row.number(6), nonce: row.bytes(ID_BYTES) }
  },
}

const KINDS = ['insert', 'remove', 'gone', 'block'] as const
const NONCE_AT = 1
const PARTITION_AT = NONCE_AT + ID_BYTES
const ID_AT = PARTITION_AT + ID_BYTES
const SIGNATURE_AT = ID_AT + ID_BYTES
const BLOCK = 0x13
const BLOCK_HEAD_BYTES = PARTITION_AT + 3
const GONE = 0xff
/** Pages of an engine that a block fills, but for their head. */
const BLOCK_BYTES = 5 * 4096 - 16
/** A block has more only if so many meet in one transaction. */
const BLOCK_ROOM_PARTITIONS = 3
export const BLOCK_PARTITIONS_MAX = 100

/** Inserts that one block takes. */
export function blockRoom(signatureBytes: number): number {
  const room = BLOCK_BYTES - BLOCK_HEAD_BYTES - BLOCK_ROOM_PARTITIONS * ID_BYTES
  return Math.max(2, Math.floor(room / (1 + ID_BYTES + signatureBytes)))
}

/**
 * `13` nonce (16) number of partitions (1) number of inserts (2) partitions (16 each), then of each insert the place of
 * its partition (1; `ff` of one that went), of each its id (16), of each that is still there its signature.
 */
export class JournalBlock {
  readonly kind = 'block'
  readonly row: Buffer
  readonly count: number
  readonly #placesAt: number
  readonly #idsAt: number

  constructor(bytes: Bytes) {
    this.row = checkedRow('the index (journal)', bytes, BLOCK_HEAD_BYTES)
    this.count = this.row.readUInt16BE(PARTITION_AT + 1)
    this.#placesAt = BLOCK_HEAD_BYTES + this.row.readUInt8(PARTITION_AT) * ID_BYTES
    this.#idsAt = this.#placesAt + this.count
    checkedRow('the index (journal)', bytes, this.#signaturesAt)
  }

  /** Of one length each. */
  static of(nonce: Buffer, inserts: readonly Insert[]): JournalBlock {
    const partitions = new Map<string, number>()
    const places = inserts.map(({ partition }) => {
      const name = partition.toString('latin1')
      const place = partitions.get(name) ?? partitions.size
      partitions.set(name, place)
      return place
    })
    const head = Buffer.allocUnsafe(BLOCK_HEAD_BYTES)
    head[0] = BLOCK
    head.set(nonce, NONCE_AT)
    head.writeUInt8(partitions.size, PARTITION_AT)
    head.writeUInt16BE(inserts.length, PARTITION_AT + 1)
    return new JournalBlock(
      Buffer.concat([
        head,
        ...Array.from(partitions.keys(), (name) => Buffer.from(name, 'latin1')),
        Buffer.from(places),
        ...inserts.map(({ id }) => id),
        ...inserts.map(({ signature }) => signature),
      ]),
    )
  }

  get nonce(): Buffer {
    return this.row.subarray(NONCE_AT, PARTITION_AT)
  }

  /** Those that are still there, in their order, after a number; `last` is that of the block. */
  *insertsAfter(sequence: number, last: number): Generator<NumberedInsert> {
    const bytes = this.#signatureBytes
    let at = this.#signaturesAt
    for (let place = 0; place < this.count; place++) {
      if (this.row[this.#placesAt + place] === GONE) continue
      const number = last - this.count + 1 + place
      if (number > sequence) yield { sequence: number, ...this.#insert(place, at, bytes) }
      at += bytes
    }
  }

  /** `undefined`: it is not of this block. */
  changeAt(sequence: number, last: number): JournalChange | undefined {
    const place = sequence - (last - this.count + 1)
    if (place < 0 || place >= this.count) return undefined
    const { nonce } = this
    if (this.row[this.#placesAt + place] === GONE) return { kind: 'gone', nonce }
    const bytes = this.#signatureBytes
    const at = this.#signaturesAt + this.#living(place) * bytes
    return { kind: 'insert', nonce, ...this.#insert(place, at, bytes) }
  }

  /** `undefined` if nothing is left of it. */
  without(sequence: number, last: number): JournalBlock | undefined {
    const place = sequence - (last - this.count + 1)
    if (this.#living(this.count) === 1) return undefined
    const bytes = this.#signatureBytes
    const at = this.#signaturesAt + this.#living(place) * bytes
    const row = Buffer.concat([this.row.subarray(0, at), this.row.subarray(at + bytes)])
    row[this.#placesAt + place] = GONE
    return new JournalBlock(row)
  }

  get #signaturesAt(): number {
    return this.#idsAt + this.count * ID_BYTES
  }

  get #signatureBytes(): number {
    return Math.floor(
      (this.row.byteLength - this.#signaturesAt) / Math.max(1, this.#living(this.count)),
    )
  }

  /** How many before a place are still there. */
  #living(before: number): number {
    let count = 0
    for (let place = 0; place < before; place++)
      if (this.row[this.#placesAt + place] !== GONE) count++
    return count
  }

  #insert(place: number, at: number, bytes: number): Insert {
    const partitionAt = BLOCK_HEAD_BYTES + (this.row[this.#placesAt + place] ?? 0) * ID_BYTES
    const idAt = this.#idsAt + place * ID_BYTES
    return {
      partition: this.row.subarray(partitionAt, partitionAt + ID_BYTES),
      id: this.row.subarray(idAt, idAt + ID_BYTES),
      signature: this.row.subarray(at, at + bytes),
    }
  }
}

export type NumberedInsert = Insert & { readonly sequence: number }

/** What a row inserts; `last` is its number. */
export function insertsIn(row: JournalRow, last: number): Iterable<NumberedInsert> {
  if (row.kind === 'block') return row.insertsAfter(0, last)
  if (row.kind !== 'insert') return []
  const { partition, id, signature } = row
  return [{ sequence: last, partition, id, signature }]
}

const journalCodec: Codec<JournalRow> = {
  encode(change) {
    if (change.kind === 'block') return change.row
    const flags = KINDS.indexOf(change.kind)
    if (change.kind === 'gone') return new RowWriter(flags, ID_BYTES).bytes(change.nonce).whole()
    const signature = change.kind === 'insert' ? change.signature : EMPTY
    const row = new RowWriter(flags, 3 * ID_BYTES + signature.byteLength)
    return row.bytes(change.nonce).bytes(change.partition).bytes(change.id).bytes(signature).whole()
  },
  decode(bytes) {
    const row = new RowReader('the index (journal)', bytes)
    const kind = row.oneOf(KINDS)
    if (kind === 'insert')
      return new InsertRow(checkedRow('the index (journal)', bytes, SIGNATURE_AT))
    if (kind === 'block') return new JournalBlock(bytes)
    const nonce = row.bytes(ID_BYTES)
    if (kind === 'gone') return { kind, nonce }
    return { kind, nonce, partition: row.bytes(ID_BYTES), id: row.bytes(ID_BYTES) }
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
    return this.#row.subarray(NONCE_AT, PARTITION_AT)
  }

  get partition(): Buffer {
    return this.#row.subarray(PARTITION_AT, ID_AT)
  }

  get id(): Buffer {
    return this.#row.subarray(ID_AT, SIGNATURE_AT)
  }

  get signature(): Bytes {
    return this.#row.subarray(SIGNATURE_AT)
  }
}

const representativeCodec: Codec<Representative> = {
  encode: ({ sequence, signature, payload }) =>
    new RowWriter(0, 8 + signature.byteLength + payload.byteLength)
      .number(sequence, 6)
      .number(signature.byteLength, 2)
      .bytes(signature)
      .bytes(payload)
      .whole(),
  decode(bytes) {
    const row = new RowReader('the index (representatives)', bytes)
    return { sequence: row.number(6), signature: row.bytes(row.number(2)), payload: row.rest() }
  },
}

const bucketCodec: Codec<Bucket> = {
  encode: ({ isFull, isContinued, ids }) =>
    new RowWriter((isFull ? 1 : 0) | (isContinued ? 2 : 0), ids.byteLength).bytes(ids).whole(),
  decode(bytes) {
    const row = new RowReader('the index (buckets)', bytes)
    const isContinued = row.has(2)
    return { isFull: row.has(1), ...(isContinued && { isContinued }), ids: row.rest() }
  },
}
