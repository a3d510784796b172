/**
 * Segments of the near-duplicate index, as they are kept: sealed parts of the journal, from one row to another, whose
 * band keys lie sorted in pages (fingerprint/band-segment.ts). They are in the space of snapshots, and are as little
 * needed: whoever finds none, or none that can be used, reads the journal.
 *
 * Invariant: the list counts only as far as the journal has the last row of a segment, under its nonce. Pages of a
 * segment never change, and are removed only when the list does not name it any more.
 *
 * An entry of a page is the key of a band and the number of a journal row, counted from the row the segment begins
 * after. The journal has the id and the signature; of a representative that has gone, it has none, so entries of those
 * are not removed.
 *
 * | Key | Value |
 * | `list` | `10` id of the list (16) length of the shape (2) shape of the tables, segments |
 * | `claim` | id of the segment that is being written (16) |
 * | `page`, id (16), number (4) | entries |
 * | `rest`, id (16), number (4) | SHA-256 (32), memory of the segment |
 *
 * A segment in the list: id (16), row before its first (6), last row (6), removals in it (6), bytes of its memory (6),
 * nonce of its last row (16). In the list, the shape comes before the segments.
 */

import { asBuffer, type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import { cell, type Cell, first, read, rowsOf, type Transaction } from '../../backends/index.ts'
import { BandSegment, digestOf } from '../../fingerprint/index.ts'
import { readChange } from '../journal.ts'
import { ID_BYTES, type NearSpaces } from '../rows.ts'

const FORMAT = 0x10
const LIST_KEY = Buffer.from('list')
const CLAIM_KEY = Buffer.from('claim')
const PAGE_PREFIX = Buffer.from('page')
const REST_PREFIX = Buffer.from('rest')
const NUMBER_BYTES = 6
const ENTRY_BYTES = 2 * ID_BYTES + 4 * NUMBER_BYTES
const DIGEST_BYTES = 32
const PARTS_TOGETHER = 16

/** A segment as the list has it. */
export interface SegmentHead {
  readonly id: Buffer
  /** Journal rows after `from`, up to `to`. */
  readonly from: number
  readonly to: number
  readonly nonce: Buffer
  /** Rows of removals among them: at most so many entries of this and earlier segments are of what has gone. */
  readonly removals: number
  readonly bytes: number
}

export interface SegmentList {
  /** Empty where there is no list. */
  readonly id: Buffer
  readonly heads: readonly SegmentHead[]
}

export interface Segment extends SegmentHead {
  readonly entries: BandSegment
}

export const NO_SEGMENTS: SegmentList = { id: EMPTY, heads: [] }

export function listCell({ snapshots }: NearSpaces): Cell<Bytes> {
  return cell(snapshots, LIST_KEY)
}

export function claimCell({ snapshots }: NearSpaces): Cell<Bytes> {
  return cell(snapshots, CLAIM_KEY)
}

export function pageCell({ snapshots }: NearSpaces, id: Bytes, page: number): Cell<Bytes> {
  return cell(snapshots, numbered(PAGE_PREFIX, id, page))
}

export function restCell({ snapshots }: NearSpaces, id: Bytes, part: number): Cell<Bytes> {
  return cell(snapshots, numbered(REST_PREFIX, id, part))
}

function numbered(prefix: Buffer, id: Bytes, number: number): Buffer {
  const key = Buffer.allocUnsafe(prefix.byteLength + ID_BYTES + 4)
  key.set(prefix)
  key.set(id, prefix.byteLength)
  key.writeUInt32BE(number, prefix.byteLength + ID_BYTES)
  return key
}

export function encodeList({ id, heads }: SegmentList, shape: string): Buffer {
  const name = Buffer.from(shape)
  const fixed = Buffer.alloc(1 + ID_BYTES + 2)
  fixed[0] = FORMAT
  fixed.set(id, 1)
  fixed.writeUInt16BE(name.byteLength, 1 + ID_BYTES)
  return Buffer.concat([fixed, name, ...heads.map(encodeHead)])
}

function encodeHead({ id, from, to, nonce, removals, bytes }: SegmentHead): Buffer {
  const row = Buffer.alloc(ENTRY_BYTES)
  row.set(id)
  let at = ID_BYTES
  for (const number of [from, to, removals, bytes]) at = row.writeUIntBE(number, at, NUMBER_BYTES)
  row.set(nonce, at)
  return row
}

/** None if it is of another format or of other tables. */
function decodeList(bytes: Bytes | undefined, shape: string): SegmentList {
  const shapeAt = 1 + ID_BYTES + 2
  if (!bytes || bytes[0] !== FORMAT || bytes.byteLength < shapeAt) return NO_SEGMENTS
  const row = asBuffer(bytes)
  const headsAt = shapeAt + row.readUInt16BE(1 + ID_BYTES)
  const id = row.subarray(1, 1 + ID_BYTES)
  const isOther = row.toString('utf8', shapeAt, headsAt) !== shape
  if (isOther || (row.byteLength - headsAt) % ENTRY_BYTES !== 0) return { id, heads: [] }
  const heads: SegmentHead[] = []
  for (let at = headsAt; at < row.byteLength; at += ENTRY_BYTES) {
    heads.push(decodeHead(row.subarray(at, at + ENTRY_BYTES)))
  }
  return { id, heads }
}

function decodeHead(row: Buffer): SegmentHead {
  const [from = 0, to = 0, removals = 0, bytes = 0] = [0, 1, 2, 3].map((number) =>
    row.readUIntBE(ID_BYTES + number * NUMBER_BYTES, NUMBER_BYTES),
  )
  const nonce = row.subarray(ID_BYTES + 4 * NUMBER_BYTES)
  return { id: row.subarray(0, ID_BYTES), from, to, removals, bytes, nonce }
}

/** The list there is, as it is. */
export function* readList(spaces: NearSpaces, shape: string): Transaction<SegmentList> {
  const [bytes] = yield* read(listCell(spaces))
  return decodeList(bytes, shape)
}

/**
 * The segments of a list that this journal has the last rows of. If it has one, it has all before. Those that are
 * known already need not be read.
 */
export function* loadSegments(
  spaces: NearSpaces,
  { heads }: SegmentList,
  known: readonly Segment[],
): Transaction<readonly Segment[]> {
  let count = heads.length
  for (; count > 0; count--) {
    const last = heads[count - 1]
    if (last && (yield* isInJournal(spaces, last))) break
  }
  const segments: Segment[] = []
  for (const head of heads.slice(0, count)) {
    const old = known.find(({ id }) => equalBytes(id, head.id))
    const segment: Segment | undefined = old ?? (yield* loadSegment(spaces, head))
    // What comes after one that is damaged is of no use: the journal is read from there on.
    if (!segment) break
    segments.push(segment)
  }
  return segments
}

export function* isInJournal(
  spaces: NearSpaces,
  { to, nonce }: Pick<SegmentHead, 'to' | 'nonce'>,
): Transaction<boolean> {
  const row = yield* readChange(spaces, to)
  return row !== undefined && equalBytes(row.nonce, nonce)
}

/** `undefined` if it is not whole. */
function* loadSegment(spaces: NearSpaces, head: SegmentHead): Transaction<Segment | undefined> {
  const memory = new Uint8Array(head.bytes)
  let filled = 0
  for (let part = 0; filled < memory.byteLength; part += PARTS_TOGETHER) {
    const cells = Array.from({ length: PARTS_TOGETHER }, (_, at) =>
      restCell(spaces, head.id, part + at),
    )
    for (const bytes of yield* read(...cells)) {
      if (filled === memory.byteLength) break
      const body = bytes?.subarray(DIGEST_BYTES)
      if (!bytes || !body || body.byteLength === 0) return undefined
      if (body.byteLength > memory.byteLength - filled) return undefined
      if (!equalBytes(bytes.subarray(0, DIGEST_BYTES), digestOf(body))) return undefined
      memory.set(body, filled)
      filled += body.byteLength
    }
  }
  const entries = BandSegment.of(new Uint32Array(memory.buffer))
  return entries && { ...head, entries }
}

/** Keys of segments that the list does not name, nor the claim: a few of them. */
export function* leftovers(spaces: NearSpaces, most: number): Transaction<readonly Buffer[]> {
  const [list, claim] = yield* read(listCell(spaces), claimCell(spaces))
  const named = namedBy(list)
  if (claim) named.push(asBuffer(claim))
  const keys: Buffer[] = []
  for (const prefix of [PAGE_PREFIX, REST_PREFIX]) {
    let start = yield* first(spaces.snapshots, prefix)
    while (start && keys.length < most) {
      const found = yield* keysFrom(spaces, start, prefix, named, most - keys.length)
      keys.push(...found.keys)
      start = found.next
    }
  }
  return keys
}

/** Those of one segment, or none of one that is named; and where the next one begins. */
function* keysFrom(
  { snapshots }: NearSpaces,
  start: Buffer,
  prefix: Buffer,
  named: readonly Buffer[],
  most: number,
): Transaction<{ readonly keys: readonly Buffer[]; readonly next: Buffer | undefined }> {
  const id = start.subarray(prefix.byteLength, prefix.byteLength + ID_BYTES)
  const end = numbered(prefix, id, 0xffff_ffff)
  const isNamed = named.some((one) => equalBytes(one, id))
  const found = isNamed ? [] : yield* rowsOf(snapshots, { start, end, limit: most })
  if (found.length === most) return { keys: found.map(({ key }) => key), next: undefined }
  const [next] = yield* rowsOf(snapshots, { start: end, limit: 1 })
  const isOfPrefix = next?.key.subarray(0, prefix.byteLength).equals(prefix)
  return { keys: found.map(({ key }) => key), next: isOfPrefix ? next?.key : undefined }
}

/** Whatever tables they are of. */
function namedBy(list: Bytes | undefined): Buffer[] {
  const shapeAt = 1 + ID_BYTES + 2
  if (!list || list[0] !== FORMAT || list.byteLength < shapeAt) return []
  const length = asBuffer(list).readUInt16BE(1 + ID_BYTES)
  const shape = asBuffer(list).toString('utf8', shapeAt, shapeAt + length)
  return decodeList(list, shape).heads.map(({ id }) => id)
}
