/**
 * How a store keeps contents in rows, decided when it is made.
 *
 * Stores of formats 1 and 2: the bytes as they are, longer ones in parts. From format 3 on: up to `rowBytes` one row,
 * compressed where that pays, with a first byte that names the codec; longer ones are cut into chunks (chunk-rows.ts).
 *
 * Whoever reads a row of `contents` reads it by `valueIn`, and by nothing else. From format 4 on what is like another
 * content may be kept as a delta of it, and then has no such row (deltas.ts).
 */

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import { unreadable } from '../../platform/rows.ts'
import {
  type Compressed,
  compress,
  type Compression,
  COMPRESSED_BYTES_MIN,
  decompress,
  HEAD_BYTES,
  PLAIN,
} from './compression.ts'
import { DELTA_BYTES_MAX, DELTA_BYTES_MIN } from './delta-rows.ts'

/** Longer contents are cut into chunks of about this length. */
export interface ChunkSettings {
  readonly fromBytes: number
  readonly averageBytes: number
}

export class Layout {
  /** The longest content that is one row; of stores without chunks, the length of a part. */
  readonly rowBytes: number
  /** Absent: contents are kept as they are, and longer ones in parts. */
  readonly chunks: ChunkSettings | undefined
  readonly compression: Compression
  /** What is linked to another content may be kept as a delta of it. */
  readonly deltas: boolean

  constructor(
    {
      partBytes,
      chunks,
      deltas,
    }: {
      partBytes?: number | undefined
      chunks?: ChunkSettings | undefined
      deltas?: boolean | undefined
    },
    compression: Compression = 'none',
  ) {
    this.deltas = deltas === true && chunks !== undefined
    this.chunks = chunks
    this.rowBytes = chunks?.fromBytes ?? partBytes ?? 0
    this.compression = chunks ? compression : 'none'
  }

  isLong(bytes: number): boolean {
    return bytes > this.rowBytes
  }

  /** A content of this length may be a delta, or the base of one. */
  mayBeDelta(bytes: number): boolean {
    if (!this.deltas || this.isLong(bytes)) return false
    return bytes >= DELTA_BYTES_MIN && bytes <= DELTA_BYTES_MAX
  }

  /** Such a value is compressed before its transaction, or made sure of. */
  compresses(bytes: number): boolean {
    return this.compression !== 'none' && bytes >= COMPRESSED_BYTES_MIN && !this.isLong(bytes)
  }

  /** The row of a content. `value` is one that was made by `roomFor`. */
  rowOf(value: Buffer): Buffer {
    return this.chunks ? Buffer.from(value.buffer, value.byteOffset - 1, value.length + 1) : value
  }

  /** The bytes in a row; where they cannot be read, an error. */
  valueIn(row: Bytes): Bytes {
    if (!this.chunks) return row
    if (row[0] === PLAIN) return row.subarray(1)
    if (row.byteLength < HEAD_BYTES) throw unreadable('contents')
    return decompress(row[0] ?? 0, row.subarray(HEAD_BYTES), rawBytesOf(row))
  }

  /** The same; nothing where they cannot be read. */
  readable(row: Bytes | undefined): Bytes | undefined {
    try {
      return row && this.valueIn(row)
    } catch {
      return undefined
    }
  }

  /** Bytes that compressing saved; the first byte of a row is not counted. */
  savedBy(row: Bytes | undefined, bytes: number): number {
    return !this.chunks || !row || row[0] === PLAIN ? 0 : bytes - row.byteLength
  }

  compressed(value: Buffer): Buffer {
    const made = compress(value, this.compression)
    return made ? compressedRow(value.byteLength, made) : this.rowOf(value)
  }
}

function rawBytesOf(row: Bytes): number {
  return asBuffer(row).readUInt32BE(1)
}

function compressedRow(bytes: number, { codec, body }: Compressed): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  head[0] = codec
  head.writeUInt32BE(bytes, 1)
  return concat(head, body)
}

/** All rooms are as long as the longest value of one row: of shorter values, too much of one would be unused. */
const REUSED_BYTES_MIN = 32_768
const REUSED_BYTES_MAX = 65_536
const REUSED_ROOMS_MAX = 64
const rooms: ArrayBuffer[] = []

/**
 * Memory of a value that nobody uses any more, for another one. Asking the system for that of every put takes as long as
 * writing it, and makes the garbage collector run more often.
 */
export function reuseRoom({ buffer }: Buffer): void {
  if (buffer.byteLength !== REUSED_BYTES_MAX + 1 || rooms.length >= REUSED_ROOMS_MAX) return
  // safe: whatever is so long was made by `roomFor`, or is of nobody else
  rooms.push(buffer as ArrayBuffer)
}

/** Memory for a value, with its first byte in front: so the row of a value costs no second copy. */
export function roomFor(bytes: number): Buffer {
  const isReused = bytes >= REUSED_BYTES_MIN && bytes <= REUSED_BYTES_MAX
  const room = isReused
    ? Buffer.from(rooms.pop() ?? new ArrayBuffer(REUSED_BYTES_MAX + 1), 0, bytes + 1)
    : Buffer.allocUnsafe(bytes + 1)
  room[0] = PLAIN
  return room.subarray(1)
}

/** The row of a value that is not long. */
export function rowOf(value: {
  readonly value: Buffer
  readonly layout: Layout
  readonly packed: PackedValue | undefined
}): Buffer {
  return value.packed ? value.packed.row() : value.layout.rowOf(value.value)
}

/** A value that is to be kept in one compressed row, made ready once, if it turns out to be new. */
export class PackedValue {
  readonly #layout: Layout
  readonly #value: Buffer
  #row: Buffer | undefined

  constructor(layout: Layout, value: Buffer) {
    this.#layout = layout
    this.#value = value
  }

  row(): Buffer {
    return (this.#row ??= this.#layout.compressed(this.#value))
  }
}
