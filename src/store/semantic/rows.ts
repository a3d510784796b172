/**
 * What the store keeps besides contents when texts of like meaning are linked. Numbers are big endian, those of
 * vectors singles in little endian; the first byte of a row holds its format (1) in the high half and flags in the
 * low one.
 *
 * Links and vectors are the truth. The journal only says which contents became representatives or ceased to be, so
 * that an index in memory, or a file of it, can catch up; whoever is too far behind reads all links.
 */

import { endianness } from 'node:os'

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Codec, hasFormat, rows, sealed, type Space, tallies } from '../../backends/index.ts'

const FORMAT = 0x10
const ID = 16
const DIGEST = 32
const SEQUENCE = 6

/** What a content is to those of like meaning. */
export interface Meant {
  /** Of the content itself: what it is listed under, and how long it is. */
  readonly digest: Buffer
  readonly bytes: number
  /** `alone`: nothing can be said of its meaning, and it is compared with nothing. */
  readonly role: 'representative' | 'linked' | 'alone'
  /** Of what is linked. */
  readonly to: MeantTo | undefined
}

export interface MeantTo {
  readonly id: Buffer
  readonly digest: Buffer
  readonly similarity: number
  /** A judge confirmed what is less similar than the threshold. */
  readonly isJudged: boolean
  readonly storedAt: number
  readonly firstKey: Buffer
}

const LINKED = 1
const JUDGED = 2
const ALONE = 4
const HEAD = 1 + DIGEST + 6
const TO = ID + DIGEST + 8 + 6

/** `1f` digest (32) bytes (6) [linked to (16) its digest (32) similarity (8) stored at (6) first key]. */
const meantCodec: Codec<Meant> = {
  encode({ digest, bytes, role, to }) {
    const row = Buffer.allocUnsafe(HEAD + (to ? TO + to.firstKey.byteLength : 0))
    row[0] =
      FORMAT | (to ? LINKED : 0) | (to?.isJudged ? JUDGED : 0) | (role === 'alone' ? ALONE : 0)
    row.set(digest, 1)
    row.writeUIntBE(bytes, 1 + DIGEST, 6)
    if (!to) return row
    row.set(to.id, HEAD)
    row.set(to.digest, HEAD + ID)
    row.writeDoubleBE(to.similarity, HEAD + ID + DIGEST)
    row.writeUIntBE(to.storedAt, HEAD + ID + DIGEST + 8, 6)
    row.set(to.firstKey, HEAD + TO)
    return row
  },
  decode(bytes) {
    const row = checked('links', bytes, HEAD)
    const flags = row.readUInt8(0)
    const own = { digest: row.subarray(1, 1 + DIGEST), bytes: row.readUIntBE(1 + DIGEST, 6) }
    if ((flags & LINKED) === 0) {
      return { ...own, role: flags & ALONE ? 'alone' : 'representative', to: undefined }
    }
    checked('links', bytes, HEAD + TO)
    const to = {
      id: row.subarray(HEAD, HEAD + ID),
      digest: row.subarray(HEAD + ID, HEAD + ID + DIGEST),
      similarity: row.readDoubleBE(HEAD + ID + DIGEST),
      isJudged: (flags & JUDGED) !== 0,
      storedAt: row.readUIntBE(HEAD + ID + DIGEST + 8, 6),
      firstKey: row.subarray(HEAD + TO),
    }
    return { ...own, role: 'linked', to }
  },
}

/** `10` number of windows of the whole text (2), the numbers of some of them. */
export interface VectorsRow {
  readonly windows: number
  readonly numbers: Float32Array
}

const vectorsCodec: Codec<VectorsRow> = {
  encode({ windows, numbers }) {
    const row = Buffer.allocUnsafe(3 + numbers.length * 4)
    row[0] = FORMAT
    row.writeUInt16BE(windows, 1)
    row.set(littleEndian(numbers), 3)
    return row
  },
  decode(bytes) {
    const row = checked('vectors', bytes, 7)
    if ((row.byteLength - 3) % 4 !== 0) throw unreadable('vectors')
    const numbers = new Float32Array((row.byteLength - 3) >> 2)
    const into = Buffer.from(numbers.buffer)
    row.copy(into, 0, 3)
    if (!IS_LITTLE_ENDIAN) into.swap32()
    return { windows: row.readUInt16BE(1), numbers }
  },
}

const IS_LITTLE_ENDIAN = endianness() === 'LE'

function littleEndian({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  return IS_LITTLE_ENDIAN ? bytes : Buffer.from(bytes).swap32()
}

/** `10` number of the last journal row (6) its nonce (16). */
export interface MeantHead {
  readonly sequence: number
  readonly nonce: Buffer
}

const headCodec: Codec<MeantHead> = {
  encode({ sequence, nonce }) {
    const row = Buffer.allocUnsafe(1 + SEQUENCE + ID)
    row[0] = FORMAT
    row.writeUIntBE(sequence, 1, SEQUENCE)
    row.set(nonce, 1 + SEQUENCE)
    return row
  },
  decode(bytes) {
    const row = checked('heads', bytes, 1 + SEQUENCE + ID)
    return { sequence: row.readUIntBE(1, SEQUENCE), nonce: row.subarray(1 + SEQUENCE) }
  },
}

/** `10` nonce (16) id (16): this content became a representative, or ceased to be one. */
export interface MeantChange {
  readonly nonce: Buffer
  readonly id: Buffer
}

const changeCodec: Codec<MeantChange> = {
  encode({ nonce, id }) {
    return Buffer.concat([Buffer.of(FORMAT), nonce, id])
  },
  decode(bytes) {
    const row = checked('journal', bytes, 1 + 2 * ID)
    return { nonce: row.subarray(1, 1 + ID), id: row.subarray(1 + ID) }
  },
}

const rawCodec: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

function checked(what: string, bytes: Bytes, bytesMin: number): Buffer {
  const row = asBuffer(bytes)
  if (row.byteLength >= bytesMin && hasFormat(row)) return row
  throw unreadable(what)
}

function unreadable(what: string): PrestigeError {
  const message = `A row of semantic.${what} cannot be read. Run verify on this store.`
  return new PrestigeError('CONTENT_CORRUPT', message)
}

/** Content id → Meant. */
export const meant: Space<Meant> = rows('semantic.links', sealed('semantic.links', meantCodec), {
  ordered: true,
})
/** Content id of a representative and of a content that is linked to it → the latter's digest. */
export const meantLinked: Space<Bytes> = rows('semantic.linked', rawCodec, { ordered: true })
/** Content id of a representative that is gone → nothing: those linked to it are to be re-evaluated. */
export const meantOrphaned: Space<Bytes> = rows('semantic.orphaned', rawCodec, { ordered: true })
/** Content id → its digest: it is to be decided about. */
export const meantPending: Space<Bytes> = rows('semantic.pending', rawCodec, { ordered: true })
/** Embedder (16), content id (16) or digest of a text that is not kept (32), number of the row (2) → VectorsRow. */
export const meantVectors: Space<VectorsRow> = rows('semantic.vectors', vectorsCodec, {
  ordered: true,
})
export const meantHeads: Space<MeantHead> = rows('semantic.heads', headCodec)
/** Number of the change → MeantChange. */
export const meantJournal: Space<MeantChange> = rows('semantic.journal', changeCodec, {
  ordered: true,
})
/** `links`: contents that are linked; `representatives`. */
export const meantTallies: Space<number> = tallies('semantic.tallies')

export const semanticStoreSpaces: readonly Space<unknown>[] = [
  meant,
  meantLinked,
  meantOrphaned,
  meantPending,
  meantVectors,
  meantHeads,
  meantJournal,
  meantTallies,
]

export function changeKey(sequence: number): Buffer {
  const key = Buffer.allocUnsafe(SEQUENCE)
  key.writeUIntBE(sequence, 0, SEQUENCE)
  return key
}

/**
 * What a key's reference records if it shares the bytes of what its text means: `11` similarity (8), and the SHA-256
 * of its own text (32), whose vectors are kept as long as the key.
 */
export interface MeantReference {
  readonly similarity: number
  readonly text: Buffer
}

const REFERENCE_BYTES = 1 + 8 + DIGEST

export function encodeReference({ similarity, text }: MeantReference): Buffer {
  const numbers = Buffer.allocUnsafe(9)
  numbers[0] = FORMAT | 1
  numbers.writeDoubleBE(similarity, 1)
  return concat(numbers, text)
}

export function decodeReference(bytes: Bytes | undefined): MeantReference | undefined {
  if (bytes?.byteLength !== REFERENCE_BYTES) return undefined
  const row = asBuffer(bytes)
  return { similarity: row.readDoubleBE(1), text: row.subarray(9) }
}
