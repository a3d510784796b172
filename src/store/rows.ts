/**
 * What the store keeps, row by row. All stored formats of the store are in this file, next to the code
 * that reads and writes them. Numbers are big endian; times are milliseconds since 1970 in six bytes.
 *
 * Every row starts with a byte whose high half is the row's format (1) and whose low half holds flags.
 * A row of another format or of a wrong length is CONTENT_CORRUPT, never a guess.
 */

import { asBuffer, type Bytes, concat, EMPTY } from '../bytes.ts'
import { PrestigeError } from '../errors.ts'
import { type Codec, rows, type Space, tallies } from '../backends/contract.ts'
import { nearStoreSpaces } from './near-rows.ts'
import { semanticStoreSpaces } from './semantic-rows.ts'

const FORMAT = 0x10
const FORMAT_MASK = 0xf0
const ID = 16
const DIGEST = 32

export type ContentOutcome = 'new' | 'duplicate' | 'linked'
const OUTCOMES: readonly ContentOutcome[] = ['new', 'duplicate', 'linked']

/** `first` and `second`: how many bytes the row's lowest two flags add to its fixed part. */
function checked(what: string, bytes: Bytes, fixed: number, first: number, second = 0): Buffer {
  const row = asBuffer(bytes)
  const head = row[0] ?? 0
  const bytesMin = fixed + (head & 1 ? first : 0) + (head & 2 ? second : 0)
  if (row.byteLength >= bytesMin && (head & FORMAT_MASK) === FORMAT) return row
  throw new PrestigeError(
    'CONTENT_CORRUPT',
    `A row of ${what} cannot be read. Run verify on this store.`,
  )
}

/**
 * A user's key pointing at content.
 *
 * `1f` content id (16) digest (32) put at (6) bytes (6) [expires at (6)]; flags: 1 expires, 2-4 outcome.
 */
export class Entry {
  static readonly #FIXED = 1 + ID + DIGEST + 6 + 6
  readonly row: Buffer

  constructor(row: Bytes) {
    this.row = checked('entries', row, Entry.#FIXED, 6)
  }

  static of(entry: {
    id: Bytes
    digest: Bytes
    putAt: number
    bytes: number
    expiresAt: number | undefined
    outcome: ContentOutcome
  }): Entry {
    const expires = entry.expiresAt !== undefined
    const row = Buffer.allocUnsafe(Entry.#FIXED + (expires ? 6 : 0))
    row[0] = FORMAT | (expires ? 1 : 0) | (OUTCOMES.indexOf(entry.outcome) << 1)
    row.set(entry.id, 1)
    row.set(entry.digest, 17)
    row.writeUIntBE(entry.putAt, 49, 6)
    row.writeUIntBE(entry.bytes, 55, 6)
    if (entry.expiresAt !== undefined) row.writeUIntBE(entry.expiresAt, 61, 6)
    return new Entry(row)
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
    return OUTCOMES[(this.row.readUInt8(0) >> 1) & 3] ?? 'new'
  }

  pointsAt({ row }: Known): boolean {
    return this.row.compare(row, 1, 1 + ID, 1, 1 + ID) === 0
  }

  /** Expired means not found, from the very millisecond on. */
  isLive(now: number): boolean {
    return (this.row.readUInt8(0) & 1) === 0 || this.row.readUIntBE(61, 6) > now
  }
}

/**
 * What is known of a content, under its digest.
 *
 * `1f` content id (16) bytes (6) stored at (6) [form (32)] [mark (16)] first key; flags: 1 marked, 2 has form.
 * The mark is a collector's nonce: "about to be swept, unless somebody links to it".
 */
export class Known {
  static readonly #FIXED = 1 + ID + 6 + 6
  readonly row: Buffer

  constructor(row: Bytes) {
    this.row = checked('digests', row, Known.#FIXED, ID, DIGEST)
  }

  static of(known: {
    id: Bytes
    bytes: number
    storedAt: number
    form: Bytes | undefined
    mark?: Bytes | undefined
    firstKey: Bytes
  }): Known {
    const { form, mark, firstKey } = known
    const rest = (form ? DIGEST : 0) + (mark ? ID : 0) + firstKey.byteLength
    const row = Buffer.allocUnsafe(Known.#FIXED + rest)
    row[0] = FORMAT | (mark ? 1 : 0) | (form ? 2 : 0)
    row.set(known.id, 1)
    row.writeUIntBE(known.bytes, 17, 6)
    row.writeUIntBE(known.storedAt, 23, 6)
    if (form) row.set(form, Known.#FIXED)
    if (mark) row.set(mark, row.byteLength - firstKey.byteLength - ID)
    row.set(firstKey, row.byteLength - firstKey.byteLength)
    return new Known(row)
  }

  get id(): Buffer {
    return this.row.subarray(1, 17)
  }

  get bytes(): number {
    return this.row.readUIntBE(17, 6)
  }

  get storedAt(): number {
    return this.row.readUIntBE(23, 6)
  }

  /** The canonical digest this content shares with all that are the same after canonicalisation. */
  get form(): Buffer | undefined {
    return this.#hasForm ? this.row.subarray(29, 29 + DIGEST) : undefined
  }

  get mark(): Buffer | undefined {
    return this.#isMarked ? this.row.subarray(this.#keyAt - ID, this.#keyAt) : undefined
  }

  get firstKey(): Buffer {
    return this.row.subarray(this.#keyAt)
  }

  marked(mark: Bytes | undefined): Known {
    const { id, bytes, storedAt, form, firstKey } = this
    return Known.of({ id, bytes, storedAt, form, mark, firstKey })
  }

  get #isMarked(): boolean {
    return (this.row.readUInt8(0) & 1) !== 0
  }

  get #hasForm(): boolean {
    return (this.row.readUInt8(0) & 2) !== 0
  }

  get #keyAt(): number {
    return Known.#FIXED + (this.#hasForm ? DIGEST : 0) + (this.#isMarked ? ID : 0)
  }
}

/**
 * A canonical form, under its canonical digest: which of the contents that share it stands for all.
 *
 * `1f` representative's id (16) its digest (32) stored at (6) [mark (16)] its first key; flags: 1 marked.
 */
export class Form {
  static readonly #FIXED = 1 + ID + DIGEST + 6
  readonly row: Buffer

  constructor(row: Bytes) {
    this.row = checked('forms', row, Form.#FIXED, ID)
  }

  static of(form: {
    id: Bytes
    digest: Bytes
    storedAt: number
    mark?: Bytes | undefined
    firstKey: Bytes
  }): Form {
    const { mark = EMPTY } = form
    const head = Buffer.allocUnsafe(Form.#FIXED)
    head[0] = FORMAT | (mark.byteLength > 0 ? 1 : 0)
    head.set(form.id, 1)
    head.set(form.digest, 17)
    head.writeUIntBE(form.storedAt, 49, 6)
    return new Form(Buffer.concat([head, mark, form.firstKey]))
  }

  get id(): Buffer {
    return this.row.subarray(1, 17)
  }

  get digest(): Buffer {
    return this.row.subarray(17, 49)
  }

  get storedAt(): number {
    return this.row.readUIntBE(49, 6)
  }

  get mark(): Buffer | undefined {
    return this.#isMarked ? this.row.subarray(Form.#FIXED, Form.#FIXED + ID) : undefined
  }

  get firstKey(): Buffer {
    return this.row.subarray(Form.#FIXED + (this.#isMarked ? ID : 0))
  }

  marked(mark: Bytes | undefined): Form {
    const { id, digest, storedAt, firstKey } = this
    return Form.of({ id, digest, storedAt, mark, firstKey })
  }

  get #isMarked(): boolean {
    return (this.row.readUInt8(0) & 1) !== 0
  }
}

const raw: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

function rowCodec<R extends { readonly row: Buffer }>(Row: new (row: Bytes) => R): Codec<R> {
  return { encode: ({ row }) => row, decode: (bytes) => new Row(bytes) }
}

/**
 * Parts of a content that no digests row names: of a put that has not ended, or, buried, of one that
 * never will. Buried parts cannot become visible any more, and are removed one after another.
 *
 * `1f` number of parts (4); flags: 1 buried.
 */
export interface Staged {
  readonly parts: number
  readonly buried: boolean
}

const stagedCodec: Codec<Staged> = {
  encode({ parts, buried }) {
    const row = Buffer.allocUnsafe(5)
    row[0] = FORMAT | (buried ? 1 : 0)
    row.writeUInt32BE(parts, 1)
    return row
  },
  decode(bytes) {
    const row = checked('staged', bytes, 5, 0)
    return { parts: row.readUInt32BE(1), buried: (row.readUInt8(0) & 1) !== 0 }
  },
}

/** Key → Entry. */
export const entries: Space<Entry> = rows('entries', rowCodec(Entry), { ordered: true })
/** Digest → Known. */
export const digests: Space<Known> = rows('digests', rowCodec(Known), { ordered: true })
/** Content id, or content id and part number (4), → bytes. */
export const contents: Space<Bytes> = rows('contents', raw, { ordered: true, immutable: true })
/** Content id and key → nothing: one row a reference, so that no counter is ever fought over. */
export const refs: Space<Bytes> = rows('refs', raw, { ordered: true, gatherBytes: ID })
/** Canonical digest → Form. */
export const forms: Space<Form> = rows('forms', rowCodec(Form), { ordered: true })
/** Canonical digest and content id → that content's digest. */
export const members: Space<Bytes> = rows('members', raw, { ordered: true, gatherBytes: DIGEST })
/** Time (6) and key → nothing. */
export const expiries: Space<Bytes> = rows('expiries', raw, { ordered: true })
/** Digest → nonce: a reference to this content was dropped; a collector should look. */
export const released: Space<Bytes> = rows('released', raw, { ordered: true })
/** Content id → Staged: parts that are written but not visible (yet, or any more). */
export const staged: Space<Staged> = rows('staged', stagedCodec, { ordered: true })
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
  settings,
  storeTallies,
  ...nearStoreSpaces,
  ...semanticStoreSpaces,
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
