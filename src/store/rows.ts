/**
 * What the store keeps, row by row. All stored formats of the store are in this file, next to the code
 * that reads and writes them. Numbers are big endian; times are milliseconds since 1970 in six bytes.
 *
 * Every row starts with a byte whose high half is the row's format and whose low half holds flags. Format 2 is format 1
 * with a checksum at its end (../backends/sealed.ts), which also covers the row's key; what is written is format 2, and
 * format 1 is still read. A row of another format, of a wrong length or with a wrong checksum is CONTENT_CORRUPT, never
 * a guess. Contents have no checksum of their own: their digest is in the rows that name them. Rows without a value
 * (references, expiries) have none either: whatever they record is in another row as well, and verify compares them.
 */

import { type Bytes, concat, EMPTY } from '../platform/bytes.ts'
import { FORMAT, RowWriter } from '../platform/rows.ts'
import { type Codec, rows, sealed, type Space, tallies } from '../backends/index.ts'
import { changeSpaces } from './changes/rows.ts'
import { chunkSpaces } from './contents/chunk-rows.ts'
import { deltaSpaces } from './contents/delta-rows.ts'
import { lifecycleSpaces } from './lifecycle/rows.ts'
import { isMetadata } from './metadata.ts'
import { nearStoreSpaces } from './near/rows.ts'
import { checked, lengthOf, type Lengths, lengthsOf, unreadableRow } from './row-lengths.ts'
import { semanticStoreSpaces } from './semantic/rows.ts'

const ID = 16
const DIGEST = 32

export type ContentOutcome = 'new' | 'duplicate' | 'linked'
const OUTCOMES: readonly ContentOutcome[] = ['new', 'duplicate', 'linked']

const ENTRY_BYTES = 1 + ID + DIGEST + 6 + 6
/** Both bits of the outcome: the entry is an extended one. */
const EXTENDED = 6
const ENTRY_LENGTHS = lengthsOf(ENTRY_BYTES, [6, 0, 0, DIGEST]).map(
  (length, flags) => length + ((flags & EXTENDED) === EXTENDED ? 1 : 0),
)
const KNOWN_BYTES = 1 + ID + 6 + 6
const KNOWN_LENGTHS = lengthsOf(KNOWN_BYTES, [ID, DIGEST, DIGEST])
const FORM_BYTES = 1 + ID + DIGEST + 6
const FORM_LENGTHS = lengthsOf(FORM_BYTES, [ID])

/**
 * A user's key pointing at content. It and `Known` are read and written with every value, by hand: a RowWriter takes
 * half as long again.
 *
 * `1f` content id (16) digest (32) put at (6) bytes (6) [expires at (6)] [digest of the bytes (32)] [outcome (1)
 * metadata]; flags: 1 expires, 2-4 outcome, or 3 if the entry is extended: its outcome and metadata (./metadata.ts)
 * follow, 8 the digest is that of a canonical form, and the bytes have one of their own.
 */
export class Entry {
  readonly row: Buffer

  constructor(row: Bytes) {
    this.row = checked('entries', row, ENTRY_LENGTHS)
    const head = row[0] ?? 0
    const end = lengthOf(head, ENTRY_LENGTHS)
    const isExtended = (head & EXTENDED) === EXTENDED
    if (!isExtended && row.byteLength === end) return
    const isRight =
      isExtended && (row[end - 1] ?? 0) < OUTCOMES.length && isMetadata(this.row.subarray(end))
    if (!isRight) throw unreadableRow('entries')
  }

  static of(entry: {
    id: Bytes
    digest: Bytes
    putAt: number
    bytes: number
    expiresAt: number | undefined
    outcome: ContentOutcome
    exact?: Bytes | undefined
    metadata?: Bytes | undefined
  }): Entry {
    const { exact, metadata } = entry
    const outcome = OUTCOMES.indexOf(entry.outcome)
    const head =
      FORMAT |
      (entry.expiresAt === undefined ? 0 : 1) |
      (metadata ? EXTENDED : outcome << 1) |
      (exact ? 8 : 0)
    const end = lengthOf(head, ENTRY_LENGTHS)
    const row = Buffer.allocUnsafe(end + (metadata ? metadata.byteLength : 0))
    row[0] = head
    row.set(entry.id, 1)
    row.set(entry.digest, 17)
    row.writeUIntBE(entry.putAt, 49, 6)
    row.writeUIntBE(entry.bytes, 55, 6)
    if (entry.expiresAt !== undefined) row.writeUIntBE(entry.expiresAt, 61, 6)
    if (exact) row.set(exact, exactAt(head))
    if (metadata) {
      row[end - 1] = outcome
      row.set(metadata, end)
    }
    return new Entry(row)
  }

  /** The entry with some of its fields changed. */
  with(change: Partial<Parameters<typeof Entry.of>[0]>): Entry {
    const { id, digest, putAt, bytes, expiresAt, outcome, exact, metadata } = this
    return Entry.of({ id, digest, putAt, bytes, expiresAt, outcome, exact, metadata, ...change })
  }

  get #isExtended(): boolean {
    return (this.row.readUInt8(0) & EXTENDED) === EXTENDED
  }

  /** Where metadata begin, or the row ends. */
  get #end(): number {
    return lengthOf(this.row.readUInt8(0), ENTRY_LENGTHS)
  }

  get id(): Buffer {
    return this.row.subarray(1, 17)
  }

  get digest(): Buffer {
    return this.row.subarray(17, 49)
  }

  get putAt(): number {
    return this.row.readUIntBE(49, 6)
  }

  /** How long the value is that `get` returns. */
  get bytes(): number {
    return this.row.readUIntBE(55, 6)
  }

  get expiresAt(): number | undefined {
    return this.row.readUInt8(0) & 1 ? this.row.readUIntBE(61, 6) : undefined
  }

  get outcome(): ContentOutcome {
    const outcome = OUTCOMES[(this.row.readUInt8(0) >> 1) & 3]
    return outcome ?? OUTCOMES[this.row.readUInt8(this.#end - 1)] ?? 'new'
  }

  /** The digest of the bytes, where `digest` is that of their canonical form. */
  get exact(): Buffer | undefined {
    const head = this.row.readUInt8(0)
    return head & 8 ? this.row.subarray(exactAt(head), exactAt(head) + DIGEST) : undefined
  }

  /** As bytes (./metadata.ts); `undefined`: it has none. */
  get metadata(): Buffer | undefined {
    return this.#isExtended ? this.row.subarray(this.#end) : undefined
  }

  pointsAt({ row }: Known): boolean {
    return this.row.compare(row, 1, 1 + ID, 1, 1 + ID) === 0
  }

  /** Expired means not found, from the very millisecond on. */
  isLive(now: number): boolean {
    return (this.row.readUInt8(0) & 1) === 0 || this.row.readUIntBE(61, 6) > now
  }
}

function exactAt(head: number): number {
  return ENTRY_BYTES + (head & 1 ? 6 : 0)
}

/** A row that begins with an id, and ends with a first key that a mark may precede; flags: 1 marked. */
class MarkedRow {
  readonly row: Buffer
  readonly #keyAt: number

  constructor(what: string, row: Bytes, lengths: Lengths) {
    this.row = checked(what, row, lengths)
    this.#keyAt = lengthOf(row[0] ?? 0, lengths)
  }

  get id(): Buffer {
    return this.row.subarray(1, 1 + ID)
  }

  get mark(): Buffer | undefined {
    return this.has(1) ? this.row.subarray(this.#keyAt - ID, this.#keyAt) : undefined
  }

  get firstKey(): Buffer {
    return this.row.subarray(this.#keyAt)
  }

  protected has(flag: number): boolean {
    return (this.row.readUInt8(0) & flag) !== 0
  }
}

/**
 * What is known of a content, under its digest.
 *
 * `1f` content id (16) bytes (6) stored at (6) [form (32)] [digest of the bytes (32)] [mark (16)] first key; flags: 1
 * marked, 2 has form, 4 it is known by the digest of its form, and its bytes have one of their own.
 * The mark is a collector's nonce: "about to be swept, unless somebody links to it".
 */
export class Known extends MarkedRow {
  constructor(row: Bytes) {
    super('digests', row, KNOWN_LENGTHS)
  }

  static of(known: {
    id: Bytes
    bytes: number
    storedAt: number
    form: Bytes | undefined
    exact?: Bytes | undefined
    mark?: Bytes | undefined
    firstKey: Bytes
  }): Known {
    const { form, exact, mark, firstKey } = known
    const head = FORMAT | (mark ? 1 : 0) | (form ? 2 : 0) | (exact ? 4 : 0)
    const keyAt = lengthOf(head, KNOWN_LENGTHS)
    const row = Buffer.allocUnsafe(keyAt + firstKey.byteLength)
    row[0] = head
    row.set(known.id, 1)
    row.writeUIntBE(known.bytes, 17, 6)
    row.writeUIntBE(known.storedAt, 23, 6)
    if (form) row.set(form, KNOWN_BYTES)
    if (exact) row.set(exact, KNOWN_BYTES + (form ? DIGEST : 0))
    if (mark) row.set(mark, keyAt - ID)
    row.set(firstKey, keyAt)
    return new Known(row)
  }

  get bytes(): number {
    return this.row.readUIntBE(17, 6)
  }

  get storedAt(): number {
    return this.row.readUIntBE(23, 6)
  }

  /** The canonical digest this content shares with all that are the same after canonicalisation. */
  get form(): Buffer | undefined {
    return this.has(2) ? this.row.subarray(29, 29 + DIGEST) : undefined
  }

  /** The digest of the bytes, where the content is known by that of its canonical form. */
  get exact(): Buffer | undefined {
    if (!this.has(4)) return undefined
    const from = KNOWN_BYTES + (this.has(2) ? DIGEST : 0)
    return this.row.subarray(from, from + DIGEST)
  }

  marked(mark: Bytes | undefined): Known {
    const { id, bytes, storedAt, form, exact, firstKey } = this
    return Known.of({ id, bytes, storedAt, form, exact, mark, firstKey })
  }
}

/**
 * A canonical form, under its canonical digest: which of the contents that share it stands for all.
 *
 * `1f` representative's id (16) its digest (32) stored at (6) [mark (16)] its first key; flags: 1 marked.
 */
export class Form extends MarkedRow {
  constructor(row: Bytes) {
    super('forms', row, FORM_LENGTHS)
  }

  static of(form: {
    id: Bytes
    digest: Bytes
    storedAt: number
    mark?: Bytes | undefined
    firstKey: Bytes
  }): Form {
    const { mark = EMPTY } = form
    const flags = mark.byteLength > 0 ? 1 : 0
    const row = new RowWriter(flags, lengthOf(flags, FORM_LENGTHS) - 1 + form.firstKey.byteLength)
    row.bytes(form.id).bytes(form.digest).time(form.storedAt)
    return new Form(row.bytes(mark).bytes(form.firstKey).whole())
  }

  get digest(): Buffer {
    return this.row.subarray(17, 49)
  }

  get storedAt(): number {
    return this.row.readUIntBE(49, 6)
  }

  marked(mark: Bytes | undefined): Form {
    const { id, digest, storedAt, firstKey } = this
    return Form.of({ id, digest, storedAt, mark, firstKey })
  }
}

const raw: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

function rowCodec<R extends { readonly row: Buffer }>(
  name: string,
  Row: new (row: Bytes) => R,
): Codec<R> {
  return sealed(name, { encode: ({ row }) => row, decode: (bytes) => new Row(bytes) })
}

/**
 * Parts of a content that no digests row names: of a put that has not ended, or, buried, of one that
 * never will. Buried parts cannot become visible any more, and are removed one after another.
 *
 * `1f` number of parts (4) [last renewed at (6)]; flags: 1 buried, 2 the parts are in `recipes`, and were renewed then.
 */
export interface Staged {
  readonly parts: number
  readonly buried: boolean
  /** When its last part was written, of a content that is cut into chunks; absent: its parts are in `contents`. */
  readonly renewedAt?: number | undefined
}

const STAGED_LENGTHS = lengthsOf(5, [0, 6])

const stagedCodec: Codec<Staged> = {
  encode({ parts, buried, renewedAt }) {
    const flags = (buried ? 1 : 0) | (renewedAt === undefined ? 0 : 2)
    const row = new RowWriter(flags, renewedAt === undefined ? 4 : 10).number(parts, 4)
    return (renewedAt === undefined ? row : row.time(renewedAt)).whole()
  },
  decode(bytes) {
    const row = checked('staged', bytes, STAGED_LENGTHS)
    const head = row.readUInt8(0)
    const staging = { parts: row.readUInt32BE(1), buried: (head & 1) !== 0 }
    return head & 2 ? { ...staging, renewedAt: row.readUIntBE(5, 6) } : staging
  },
}

/** Key → Entry. */
export const entries: Space<Entry> = rows('entries', rowCodec('entries', Entry), { ordered: true })
/** Digest → Known. */
export const digests: Space<Known> = rows('digests', rowCodec('digests', Known), { ordered: true })
/** Content id, or content id and part number (4), → bytes, as the store's layout has them. */
export const contents: Space<Bytes> = rows('contents', raw, { ordered: true, immutable: true })
/** Content id and key → nothing: one row a reference, so that no counter is ever fought over. */
export const refs: Space<Bytes> = rows('refs', raw, { ordered: true, gatherBytes: ID })
/** Canonical digest → Form. */
export const forms: Space<Form> = rows('forms', rowCodec('forms', Form), { ordered: true })
/** Canonical digest and content id → that content's digest. */
export const members: Space<Bytes> = rows('members', raw, { ordered: true, gatherBytes: DIGEST })
/** Time (6) and key → nothing. */
export const expiries: Space<Bytes> = rows('expiries', raw, { ordered: true })
/** Digest → nonce: a reference to this content was dropped; a collector should look. */
export const released: Space<Bytes> = rows('released', raw, { ordered: true })
/** Content id → Staged: parts that are written but not visible (yet, or any more). */
export const staged: Space<Staged> = rows('staged', sealed('staged', stagedCodec), {
  ordered: true,
})
/** `gc` → `10` holder (16) until (6): who collects in the background. */
export const leases: Space<Bytes> = rows('leases', raw)
/** `store` → what the store was written with, as JSON. */
export const settings: Space<Bytes> = rows('settings', raw)
export const storeTallies: Space<number> = tallies('tallies')

export const storeSpaces: readonly Space<unknown>[] = [
  entries,
  digests,
  contents,
  refs,
  forms,
  members,
  expiries,
  released,
  staged,
  leases,
  settings,
  storeTallies,
  ...chunkSpaces,
  ...deltaSpaces,
  ...lifecycleSpaces,
  ...nearStoreSpaces,
  ...semanticStoreSpaces,
  ...changeSpaces,
]

export function refKey(id: Bytes, key: Bytes): Buffer {
  return concat(id, key)
}

export function memberKey(form: Bytes, id: Bytes): Buffer {
  return concat(form, id)
}

export function expiryKey(expiresAt: number, key: Bytes): Buffer {
  const row = Buffer.allocUnsafe(6 + key.byteLength)
  row.writeUIntBE(expiresAt, 0, 6)
  row.set(key, 6)
  return row
}

/** The first part has the content's own id, so that a small content is one row under its id. */
export function partKey(id: Bytes, part: number): Bytes {
  if (part === 0) return id
  const number = Buffer.allocUnsafe(4)
  number.writeUInt32BE(part)
  return concat(id, number)
}

export function partCount(bytes: number, partBytes: number): number {
  return Math.max(1, Math.ceil(bytes / partBytes))
}
