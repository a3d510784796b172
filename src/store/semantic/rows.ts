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
import { type Codec, hasFormat, rows, type Space } from '../../backends/index.ts'
import {
  type Head,
  type Link,
  type LinkFields,
  type LinkSpaces,
  linkSpaces,
  linkSpacesOf,
  type LinkTarget,
  nearSpaces,
  rawCodec,
} from '../../match/index.ts'

const FORMAT = 0x10
const ID = 16
const DIGEST = 32

/** What a content is to those of like meaning. */
export interface SemanticLink extends Link {
  /** Of the content itself: what it is listed under, and how long it is. */
  readonly digest: Buffer
  readonly bytes: number
  /** `alone`: nothing can be said of its meaning, and it is compared with nothing. */
  readonly role: 'representative' | 'linked' | 'alone'
  /** Of what is linked. */
  readonly to: SemanticTarget | undefined
}

export interface SemanticTarget extends LinkTarget {
  /** A judge confirmed what is less similar than the threshold. */
  readonly isJudged: boolean
}

const JUDGED = 2
const ALONE = 4

/** The row begins with its digest (32) and its length (6); flags: 2 judged, 4 alone. */
const semanticFields: LinkFields<SemanticLink> = {
  bytes: DIGEST + 6,
  flagsOf: ({ role, to }) => (to?.isJudged ? JUDGED : 0) | (role === 'alone' ? ALONE : 0),
  encode({ digest, bytes }) {
    const fields = Buffer.allocUnsafe(DIGEST + 6)
    fields.set(digest)
    fields.writeUIntBE(bytes, DIGEST, 6)
    return fields
  },
  decode(fields, to, flags) {
    const own = { digest: fields.subarray(0, DIGEST), bytes: fields.readUIntBE(DIGEST, 6) }
    if (to) return { ...own, role: 'linked', to: { ...to, isJudged: (flags & JUDGED) !== 0 } }
    return { ...own, role: flags & ALONE ? 'alone' : 'representative', to: undefined }
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

/** `10` nonce (16) id (16): this content became a representative, or ceased to be one. */
export interface SemanticChange {
  readonly nonce: Buffer
  readonly id: Buffer
}

const changeCodec: Codec<SemanticChange> = {
  encode({ nonce, id }) {
    return Buffer.concat([Buffer.of(FORMAT), nonce, id])
  },
  decode(bytes) {
    const row = checked('journal', bytes, 1 + 2 * ID)
    return { nonce: row.subarray(1, 1 + ID), id: row.subarray(1 + ID) }
  },
}

function checked(what: string, bytes: Bytes, bytesMin: number): Buffer {
  const row = asBuffer(bytes)
  if (row.byteLength >= bytesMin && hasFormat(row)) return row
  throw unreadable(what)
}

function unreadable(what: string): PrestigeError {
  const message = `A row of semantic.${what} cannot be read. Run verify on this store.`
  return new PrestigeError('CONTENT_CORRUPT', message)
}

export const semanticLinks: LinkSpaces<SemanticLink> = linkSpaces('semantic', semanticFields)
/** Content id → its digest: it is to be decided about. */
export const semanticPending: Space<Bytes> = rows('semantic.pending', rawCodec, { ordered: true })
/** Embedder (16), content id (16) or digest of a text that is not kept (32), number of the row (2) → VectorsRow. */
export const semanticVectors: Space<VectorsRow> = rows('semantic.vectors', vectorsCodec, {
  ordered: true,
})
export const semanticHeads: Space<Head> = nearSpaces('semantic').heads
/** Number of the change → SemanticChange. */
export const semanticJournal: Space<SemanticChange> = rows('semantic.journal', changeCodec, {
  ordered: true,
})

export const semanticStoreSpaces: readonly Space<unknown>[] = [
  ...linkSpacesOf(semanticLinks),
  semanticPending,
  semanticVectors,
  semanticHeads,
  semanticJournal,
]

/**
 * What a key's reference records if it shares the bytes of what its text means: `11` similarity (8), and the SHA-256
 * of its own text (32), whose vectors are kept as long as the key.
 */
export interface SemanticReference {
  readonly similarity: number
  readonly text: Buffer
}

const REFERENCE_BYTES = 1 + 8 + DIGEST

export function encodeReference({ similarity, text }: SemanticReference): Buffer {
  const numbers = Buffer.allocUnsafe(9)
  numbers[0] = FORMAT | 1
  numbers.writeDoubleBE(similarity, 1)
  return concat(numbers, text)
}

export function decodeReference(bytes: Bytes | undefined): SemanticReference | undefined {
  if (bytes?.byteLength !== REFERENCE_BYTES) return undefined
  const row = asBuffer(bytes)
  return { similarity: row.readDoubleBE(1), text: row.subarray(9) }
}
