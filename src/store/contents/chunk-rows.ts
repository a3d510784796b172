/**
 * Rows of long contents. A content is cut into chunks where its bytes say so; a recipe lists them; chunks that were new
 * together are kept together, compressed as one, in a pack. A chunk is there once in a namespace, whatever contents it
 * is part of. No row counts who refers to a chunk: the collector finds that out (collect-chunks.ts).
 */

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import { RowReader, RowWriter, unreadable } from '../../platform/rows.ts'
import { type Codec, hasFormat, rows, sealed, type Space } from '../../backends/index.ts'
import { digestOf } from '../../fingerprint/index.ts'
import { type Compressed, crc32, decompress, HINT, PLAIN } from './compression.ts'

const ID = 16
const DIGEST = 32
const MARKED = 1
const FORMAT_MASK = 0xf0

/**
 * Where a chunk is, under its SHA-256. The mark is a collector's nonce: "about to be swept, unless somebody needs it".
 *
 * `1f` pack id (16) offset in the pack's chunks (4) bytes (4) [mark (16)]; flags: 1 marked.
 */
export interface ChunkRow {
  readonly pack: Buffer
  readonly offset: number
  readonly bytes: number
  readonly mark: Buffer | undefined
}

const chunkCodec: Codec<ChunkRow> = {
  encode({ pack, offset, bytes, mark }) {
    const row = new RowWriter(mark ? MARKED : 0, ID + 8 + (mark ? ID : 0))
    row.bytes(pack).number(offset, 4).number(bytes, 4)
    return (mark ? row.bytes(mark) : row).whole()
  },
  decode(bytes) {
    const row = reader('chunks', bytes)
    const place = { pack: row.bytes(ID), offset: row.number(4), bytes: row.number(4) }
    return { ...place, mark: row.has(MARKED) ? row.bytes(ID) : undefined }
  },
}

/** Sealed or not: a row's first byte says which. */
function reader(what: string, bytes: Bytes): RowReader {
  if (!hasFormat(bytes)) throw unreadable(what, HINT)
  return new RowReader(what, bytes, HINT, (bytes[0] ?? 0) & FORMAT_MASK)
}

/** One chunk of a content. */
export interface ChunkRef {
  readonly digest: Buffer
  readonly bytes: number
}

/**
 * A part of a content: chunks one after another, and where the first of them begins.
 *
 * `10` offset of its first byte in the content (6) bytes that were there before (4), then of each chunk its digest (32)
 * and length (4).
 */
export interface RecipePart {
  readonly offset: number
  /** Bytes of its chunks that did not have to be stored. */
  readonly sharedBytes: number
  readonly chunks: readonly ChunkRef[]
}

export const REF_BYTES = DIGEST + 4
/** Of a row with its checksum, besides its chunks. */
export const RECIPE_HEAD_BYTES = 11 + 4

const recipeCodec: Codec<RecipePart> = {
  encode({ offset, sharedBytes, chunks }) {
    const row = new RowWriter(0, 10 + chunks.length * REF_BYTES)
    row.number(offset, 6).number(sharedBytes, 4)
    for (const { digest, bytes } of chunks) row.bytes(digest).number(bytes, 4)
    return row.whole()
  },
  decode(bytes) {
    const count = (bytes.byteLength - 11) / REF_BYTES
    if (!Number.isInteger(count) || count < 0) throw unreadable('recipes', HINT)
    const row = reader('recipes', bytes)
    const place = { offset: row.number(6), sharedBytes: row.number(4) }
    const one = () => ({ digest: row.bytes(DIGEST), bytes: row.number(4) })
    return { ...place, chunks: row.list(count, one) }
  },
}

export function endOf({ offset, chunks }: RecipePart): number {
  return chunks.reduce((end, { bytes }) => end + bytes, offset)
}

/**
 * Chunks that were new together. Never changed; removed when no `chunks` row points into it.
 *
 * `1c` checksum of what follows (4) number of chunks (2) length of each (4), then all of them, as codec c says.
 */
const rawCodec: Codec<Bytes> = { encode: (row) => row, decode: (row) => row }
const PACK_HEAD_BYTES = 7

/** A chunk's pack has at most so many: whoever rewrites it touches all their rows. */
export const PACK_CHUNKS_MAX = 32
/** Of the row of a pack, besides its chunks. */
export const PACK_HEAD_BYTES_MAX = PACK_HEAD_BYTES + PACK_CHUNKS_MAX * 4

/** `made`: how they were compressed; absent: as they are. `room`: where the row is made. */
export function packOf(
  chunks: readonly Bytes[],
  raw: Bytes,
  made: Compressed | undefined,
  room?: { take(bytes: number): Buffer },
): Buffer {
  const { codec, body } = made ?? { codec: PLAIN, body: raw }
  const headBytes = PACK_HEAD_BYTES + chunks.length * 4
  const rowBytes = headBytes + body.byteLength
  const row = room?.take(rowBytes) ?? Buffer.allocUnsafe(rowBytes)
  row[0] = codec
  row.writeUInt16BE(chunks.length, 5)
  chunks.forEach(({ byteLength }, at) => row.writeUInt32BE(byteLength, PACK_HEAD_BYTES + at * 4))
  row.set(body, headBytes)
  row.writeUInt32BE(sumOf(row), 1)
  return row
}

function sumOf(row: Buffer): number {
  return crc32(row.subarray(5))
}

/** Whether the row is as it was written. Far quicker than inflating it. */
export function isWholePack(bytes: Bytes): boolean {
  const row = asBuffer(bytes)
  return row.byteLength >= PACK_HEAD_BYTES && row.readUInt32BE(1) === sumOf(row)
}

/** Lengths of the chunks in a pack; an error where it cannot be read. */
export function lengthsIn(bytes: Bytes): number[] {
  const row = asBuffer(bytes)
  const count = row.byteLength < PACK_HEAD_BYTES ? Infinity : row.readUInt16BE(5)
  if (row.byteLength < PACK_HEAD_BYTES + count * 4) throw unreadable('packs', HINT)
  return Array.from({ length: count }, (_, at) => row.readUInt32BE(PACK_HEAD_BYTES + at * 4))
}

/** All chunks of a pack, one after another. */
export function rawOf(bytes: Bytes): Bytes {
  const lengths = lengthsIn(bytes)
  const raw = lengths.reduce((sum, length) => sum + length, 0)
  const body = bytes.subarray(PACK_HEAD_BYTES + lengths.length * 4)
  return decompress(bytes[0] ?? 0, body, raw)
}

export interface PackedChunk {
  readonly digest: Buffer
  readonly offset: number
  readonly value: Bytes
}

/** What is in a pack, by the bytes themselves. */
export function chunksIn(bytes: Bytes): PackedChunk[] {
  const raw = rawOf(bytes)
  let offset = 0
  return lengthsIn(bytes).map((length) => {
    const value = raw.subarray(offset, offset + length)
    const chunk = { digest: digestOf(value), offset, value }
    offset += length
    return chunk
  })
}

/** The same; nothing where it cannot be read. */
export function readableChunks(bytes: Bytes): PackedChunk[] | undefined {
  try {
    return chunksIn(bytes)
  } catch {
    return undefined
  }
}

/** SHA-256 of a chunk → where it is. */
export const chunks: Space<ChunkRow> = rows('chunks', sealed('chunks', chunkCodec), {
  ordered: true,
})
/** Content id and part (4) → its chunks. */
export const recipes: Space<RecipePart> = rows('recipes', sealed('recipes', recipeCodec), {
  ordered: true,
  gatherBytes: ID,
})
/** Pack id → chunks that were new together. */
export const packs: Space<Bytes> = rows('packs', rawCodec, { ordered: true, immutable: true })

/** Pack id → nonce: a chunk is not read from this pack any more; a collector should look whether others are. */
export const leftPacks: Space<Bytes> = rows('packs.left', rawCodec, { ordered: true })

export const chunkSpaces: readonly Space<unknown>[] = [chunks, recipes, packs, leftPacks]

export function recipeKey(id: Bytes, part: number): Buffer {
  const number = Buffer.allocUnsafe(4)
  number.writeUInt32BE(part)
  return concat(id, number)
}
