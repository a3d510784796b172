/**
 * The row of a document of the corpus job, byte by byte: what was decided about it, and so its line in the ledger. It
 * is written once for every document there is, and read again whenever the document is met or reported, so it is
 * small and cheap to read. Numbers are big endian, texts UTF-8.
 *
 * Format 3: `3a` flags (2) digest of the text (16) bytes (6) at (6) rank (1 + 8 each) id (2 + n) source (1 + n)
 * run (1 + n), and the fields that the flags announce, in their order; a is the action. Format 2, which is only read,
 * has no time.
 */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { Codec } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'

/** What decides who survives, as numbers of which more is better, in the order of the rules. */
export type Rank = readonly number[]

export interface DocumentRow {
  readonly id: string
  readonly source: string
  readonly run: string
  /** The last that met it. */
  readonly session: string
  /** Of its text. */
  readonly digest: Bytes
  readonly bytes: number
  /** Milliseconds since 1970: since when it has this action. 0 in a row of format 2. */
  readonly at: number
  readonly time?: number
  readonly quality?: number
  readonly type?: string
  readonly rank: Rank
  readonly action: 'keep' | 'drop' | 'link' | 'superseded'
  readonly method?: string
  readonly similarity?: number
  /** Keys of centre and survivor, in hex; absent where it is a centre. */
  readonly cluster?: string
  /** Digest of the text that the centre had when this one was measured against it. */
  readonly centreDigest?: Bytes
  /** So many were found to be like the text that this document had before, and now have no copy that is kept. */
  readonly orphaned?: number
  /** Where it is a centre: its own rows in the indexes, see centre-row.ts. */
  readonly centre?: Bytes
  readonly spans?: readonly (readonly [start: number, end: number, of: string])[]
  /** Key of the document it means the same as, in hex. */
  readonly like?: string
  readonly supersededBy?: string
  readonly supersedes?: readonly string[]
  readonly possibleMiss?: true
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] }

const FORMAT_WITHOUT_TIME = 0x20
const FORMAT = 0x30
const FORMAT_MASK = 0xf0
const KEY = 16
const ACTIONS = ['keep', 'drop', 'link', 'superseded'] as const
const HAS_SESSION = 1
const HAS_TIME = 2
const HAS_QUALITY = 4
const HAS_TYPE = 8
const HAS_METHOD = 16
const HAS_SIMILARITY = 32
const HAS_CLUSTER = 64
const HAS_CENTRE_DIGEST = 128
const HAS_ORPHANED = 256
const HAS_CENTRE = 512
const HAS_SPANS = 1024
const HAS_LIKE = 2048
const IS_SUPERSEDED_BY = 4096
const HAS_SUPERSEDED = 8192
const POSSIBLE_MISS = 16_384

export const documentCodec: Codec<DocumentRow> = {
  encode: (row) => encodeRow(row),
  decode(bytes) {
    try {
      return new RowReader(asBuffer(bytes)).document()
    } catch (error) {
      const message = 'A row of the corpus job (documents) cannot be read.'
      throw new PrestigeError('CONTENT_CORRUPT', message, { cause: error })
    }
  },
}

/** Rows are written here first: how long one is, is only known when it is whole. */
let scratch: Buffer = Buffer.allocUnsafeSlow(4096)

/** Writes a row from its beginning to its end. */
class RowWriter {
  #at = 0

  number(value: number, bytes: 1 | 2 | 4 | 6): void {
    this.#room(bytes)
    scratch.writeUIntBE(value, this.#at, bytes)
    this.#at += bytes
  }

  double(value: number): void {
    this.#room(8)
    scratch.writeDoubleBE(value, this.#at)
    this.#at += 8
  }

  bytes(value: Bytes): void {
    this.#room(value.byteLength)
    scratch.set(value, this.#at)
    this.#at += value.byteLength
  }

  key(hex: string): void {
    this.#room(KEY)
    if (hex.length !== 2 * KEY) throw new TypeError(`${hex} is no key`)
    scratch.write(hex, this.#at, 'hex')
    this.#at += KEY
  }

  text(value: string, lengthBytes: 1 | 2 | 4): void {
    this.#room(lengthBytes + value.length * 3)
    const length = scratch.write(value, this.#at + lengthBytes, 'utf8')
    if (length >= 256 ** lengthBytes) throw new TypeError('a name is too long for its row')
    scratch.writeUIntBE(length, this.#at, lengthBytes)
    this.#at += lengthBytes + length
  }

  /** Two bytes that are known only later. */
  patch(value: number, at: number): void {
    scratch.writeUInt16BE(value, at)
  }

  whole(): Buffer {
    const row = Buffer.allocUnsafe(this.#at)
    scratch.copy(row, 0, 0, this.#at)
    return row
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= scratch.byteLength) return
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes))
    scratch.copy(larger, 0, 0, this.#at)
    scratch = larger
  }
}

function encodeRow(row: DocumentRow): Buffer {
  const to = new RowWriter()
  to.number(FORMAT | ACTIONS.indexOf(row.action), 1)
  to.number(0, 2)
  to.bytes(row.digest)
  to.number(row.bytes, 6)
  to.number(row.at, 6)
  to.number(row.rank.length, 1)
  for (const one of row.rank) to.double(one)
  to.text(row.id, 2)
  to.text(row.source, 1)
  to.text(row.run, 1)
  const flags = writeWhatIs(to, row) | writeLinks(to, row)
  to.patch(flags, 1)
  return to.whole()
}

/** What it is by itself. Returns the flags. */
function writeWhatIs(to: RowWriter, row: DocumentRow): number {
  const { session, time, quality, type, method, similarity } = row
  let flags = 0
  if (session !== row.run) {
    flags |= HAS_SESSION
    to.text(session, 2)
  }
  if (time !== undefined) {
    flags |= HAS_TIME
    to.double(time)
  }
  if (quality !== undefined) {
    flags |= HAS_QUALITY
    to.double(quality)
  }
  if (type !== undefined) {
    flags |= HAS_TYPE
    // Whatever string it is: JSON has a form for half of a character as well.
    to.text(JSON.stringify(type), 4)
  }
  if (method !== undefined) {
    flags |= HAS_METHOD
    to.text(method, 1)
  }
  if (similarity !== undefined) {
    flags |= HAS_SIMILARITY
    to.double(similarity)
  }
  return flags
}

/** What it has to do with others. */
function writeLinks(to: RowWriter, row: DocumentRow): number {
  const { cluster, centreDigest, orphaned, centre, spans, like, supersededBy, supersedes } = row
  let flags = row.possibleMiss ? POSSIBLE_MISS : 0
  if (cluster !== undefined) {
    flags |= HAS_CLUSTER
    to.key(cluster)
  }
  if (centreDigest !== undefined) {
    flags |= HAS_CENTRE_DIGEST
    to.bytes(centreDigest)
  }
  if (orphaned !== undefined) {
    flags |= HAS_ORPHANED
    to.number(orphaned, 6)
  }
  if (centre !== undefined) {
    flags |= HAS_CENTRE
    to.number(centre.byteLength, 4)
    to.bytes(centre)
  }
  if (spans !== undefined) {
    flags |= HAS_SPANS
    to.number(spans.length, 4)
    for (const [start, end, of] of spans) {
      to.number(start, 6)
      to.number(end, 6)
      to.key(of)
    }
  }
  if (like !== undefined) {
    flags |= HAS_LIKE
    to.key(like)
  }
  if (supersededBy !== undefined) {
    flags |= IS_SUPERSEDED_BY
    to.key(supersededBy)
  }
  if (supersedes !== undefined) {
    flags |= HAS_SUPERSEDED
    to.number(supersedes.length, 2)
    for (const one of supersedes) to.key(one)
  }
  return flags
}

/** Reads a row from its beginning to its end. Throws what Buffer throws where it is cut short. */
class RowReader {
  readonly #row: Buffer
  #at = 1

  constructor(row: Buffer) {
    this.#row = row
  }

  number(bytes: 1 | 2 | 4 | 6): number {
    const value = this.#row.readUIntBE(this.#at, bytes)
    this.#at += bytes
    return value
  }

  double(): number {
    const value = this.#row.readDoubleBE(this.#at)
    this.#at += 8
    return value
  }

  bytes(count: number): Buffer {
    const from = this.#at
    this.#at += count
    if (this.#at > this.#row.byteLength) throw new RangeError('cut short')
    return this.#row.subarray(from, this.#at)
  }

  key(): string {
    return this.bytes(KEY).toString('hex')
  }

  text(lengthBytes: 1 | 2 | 4): string {
    const length = this.number(lengthBytes)
    const from = this.#at
    this.#at += length
    if (this.#at > this.#row.byteLength) throw new RangeError('cut short')
    return this.#row.toString('utf8', from, this.#at)
  }

  document(): DocumentRow {
    const first = this.#row.readUInt8(0)
    const format = first & FORMAT_MASK
    const action = ACTIONS[first & ~FORMAT_MASK]
    const isKnown = format === FORMAT || format === FORMAT_WITHOUT_TIME
    if (!isKnown || action === undefined) throw new TypeError('another format')
    const flags = this.number(2)
    const digest = this.bytes(KEY)
    const bytes = this.number(6)
    const at = format === FORMAT ? this.number(6) : 0
    const rank = this.#list(this.number(1), () => this.double())
    const id = this.text(2)
    const source = this.text(1)
    const run = this.text(1)
    const session = flags & HAS_SESSION ? this.text(2) : run
    // Most documents are like no other.
    if (flags === HAS_CENTRE) {
      const centre = this.bytes(this.number(4))
      return { id, source, run, session, digest, bytes, at, rank, action, centre }
    }
    const row: Writable<DocumentRow> = {
      id,
      source,
      run,
      session,
      digest,
      bytes,
      at,
      rank,
      action,
    }
    this.#readWhatIs(row, flags)
    this.#readLinks(row, flags)
    return row
  }

  #readWhatIs(row: Writable<DocumentRow>, flags: number): void {
    if (flags & HAS_TIME) row.time = this.double()
    if (flags & HAS_QUALITY) row.quality = this.double()
    if (flags & HAS_TYPE) row.type = String(JSON.parse(this.text(4)))
    if (flags & HAS_METHOD) row.method = this.text(1)
    if (flags & HAS_SIMILARITY) row.similarity = this.double()
  }

  #readLinks(row: Writable<DocumentRow>, flags: number): void {
    if (flags & HAS_CLUSTER) row.cluster = this.key()
    if (flags & HAS_CENTRE_DIGEST) row.centreDigest = this.bytes(KEY)
    if (flags & HAS_ORPHANED) row.orphaned = this.number(6)
    if (flags & HAS_CENTRE) row.centre = this.bytes(this.number(4))
    if (flags & HAS_SPANS) row.spans = this.#list(this.number(4), () => this.#span())
    if (flags & HAS_LIKE) row.like = this.key()
    if (flags & IS_SUPERSEDED_BY) row.supersededBy = this.key()
    if (flags & HAS_SUPERSEDED) row.supersedes = this.#list(this.number(2), () => this.key())
    if (flags & POSSIBLE_MISS) row.possibleMiss = true
  }

  #span(): readonly [number, number, string] {
    return [this.number(6), this.number(6), this.key()]
  }

  #list<T>(count: number, one: () => T): T[] {
    const list: T[] = []
    for (let at = 0; at < count; at++) list.push(one())
    return list
  }
}
