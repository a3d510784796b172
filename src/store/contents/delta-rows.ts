/**
 * Contents that are kept as what differs from another one, their base. The base is a content in one row, never a delta
 * itself, so whoever reads a delta reads two rows.
 *
 * The coding is raw deflate with a part of the base as its preset dictionary. Deflate looks back 32 KiB, so a value is
 * coded in segments, each with that part of the base that lies around the same place.
 */

import * as zlib from 'node:zlib'

import { type Bytes, concat, EMPTY } from '../../platform/bytes.ts'
import { RowReader, RowWriter, unreadable } from '../../platform/rows.ts'
import { type Codec, rows, type Space } from '../../backends/index.ts'
import { crc32, limitOf } from './compression.ts'

const ID = 16
const HEAD_BYTES = 1 + ID + 8
const SEGMENT_BYTES = 16 * 1024
/** What is inserted or left out before a segment may move its text by so much. */
const BEFORE_BYTES = 8 * 1024
const AFTER_BYTES = 7 * 1024 + 512
const LEVEL = 6

/** Shorter contents are not worth a row that names their base. */
export const DELTA_BYTES_MIN = 256
/** Longer ones take too long while others wait for the writer. */
export const DELTA_BYTES_MAX = 64 * 1024
/** What a delta costs besides its row: the row by which its base is kept. */
const REVERSE_BYTES = 2 * ID
/** A delta takes at most half of what the content would take without. */
const PAYS_SHARE = 0.5

/**
 * A content as it is kept in `deltas`.
 *
 * `10` base (16) length of the content (4) CRC-32 of its bytes (4), then the segments, each but the last behind its
 * length (2).
 */
export interface Delta {
  readonly base: Buffer
  readonly bytes: number
  readonly sum: number
  readonly body: Buffer
}

/** Nothing where a row cannot have been written by `deltaRow`. */
export function deltaIn(row: Bytes | undefined): Delta | undefined {
  if (!row || row.byteLength < HEAD_BYTES || row[0] !== 0x10) return undefined
  const reader = new RowReader('deltas', row)
  const head = { base: reader.bytes(ID), bytes: reader.number(4), sum: reader.number(4) }
  return { ...head, body: reader.rest() }
}

export function deltaRow(
  base: { readonly id: Bytes; readonly value: Bytes },
  value: Bytes,
): Buffer {
  const pieces: Buffer[] = []
  for (let start = 0; start < value.byteLength; start += SEGMENT_BYTES) {
    const segment = value.subarray(start, start + SEGMENT_BYTES)
    const coded = zlib.deflateRawSync(segment, optionsOf(base.value, start, segment.byteLength))
    const isLast = start + SEGMENT_BYTES >= value.byteLength
    pieces.push(isLast ? coded : concat(lengthOf(coded), coded))
  }
  const head = new RowWriter(0, HEAD_BYTES - 1).bytes(base.id)
  head.number(value.byteLength, 4).number(crc32(value), 4)
  return Buffer.concat([head.whole(), ...pieces])
}

/** The bytes of a delta; an error unless they are those that were coded. */
export function valueOf({ bytes, sum, body }: Delta, base: Bytes): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (let start = 0; start < bytes; start += SEGMENT_BYTES) {
    const isLast = start + SEGMENT_BYTES >= bytes
    const length = isLast ? body.byteLength - from : body.readUInt16BE(from)
    if (!isLast) from += 2
    const wanted = Math.min(SEGMENT_BYTES, bytes - start)
    const options = { ...limitOf(wanted), ...optionsOf(base, start, wanted) }
    pieces.push(zlib.inflateRawSync(body.subarray(from, from + length), options))
    from += length
  }
  const value = Buffer.concat(pieces)
  if (value.byteLength !== bytes || crc32(value) !== sum) throw unreadable('deltas')
  return value
}

/** The same; nothing where they cannot be read. */
export function readableDelta(delta: Delta, base: Bytes): Buffer | undefined {
  try {
    return valueOf(delta, base)
  } catch {
    return undefined
  }
}

function lengthOf({ byteLength }: Buffer): Buffer {
  const length = Buffer.allocUnsafe(2)
  length.writeUInt16BE(byteLength)
  return length
}

function optionsOf(base: Bytes, start: number, bytes: number): zlib.ZlibOptions {
  const end = start + SEGMENT_BYTES + AFTER_BYTES
  const dictionary = base.subarray(Math.max(0, start - BEFORE_BYTES), end)
  const chunkSize = Math.max(1024, bytes)
  return { level: LEVEL, chunkSize, ...(dictionary.byteLength > 0 && { dictionary }) }
}

/** A value that may be kept as a delta: coded once for a base, however often its transaction is run. */
export class DeltaCoding {
  readonly #value: Buffer
  /** The row it is kept in otherwise. */
  readonly #whole: () => Buffer
  #base: Buffer = EMPTY
  #row: Buffer | undefined

  constructor(value: Buffer, whole: () => Buffer) {
    this.#value = value
    this.#whole = whole
  }

  /** It was coded against this base, or found not to pay. */
  isReady(id: Bytes): boolean {
    return this.#base.equals(id)
  }

  /** Nothing where it does not pay. `base`: its bytes. */
  against(id: Buffer, base: Bytes): Buffer | undefined {
    if (this.isReady(id)) return this.#row
    const row = deltaRow({ id, value: base }, this.#value)
    this.#base = id
    this.#row = this.#pays(row.byteLength + REVERSE_BYTES) ? row : undefined
    return this.#row
  }

  #pays(bytes: number): boolean {
    if (bytes > this.#value.byteLength * PAYS_SHARE) return false
    // Text seldom compresses to less than a fifth: then nothing has to be compressed to know.
    return bytes <= this.#value.byteLength / 10 || bytes <= this.#whole().byteLength * PAYS_SHARE
  }
}

const raw: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

/** Content id → its delta. It has no row in `contents`; when it gets one, it is read from there. */
export const deltas: Space<Bytes> = rows('deltas', raw, { ordered: true })
/** Content id of a base and of a delta → nothing: as long as there is one, the base keeps its row. */
export const deltaBases: Space<Bytes> = rows('delta.bases', raw, { ordered: true, gatherBytes: ID })
/** Content id of a base that is no content any more → its length (4): it goes when no delta needs it. */
export const heldBases: Space<Bytes> = rows('delta.held', raw, { ordered: true })

export const deltaSpaces: readonly Space<unknown>[] = [deltas, deltaBases, heldBases]

export function heldRow(bytes: number): Buffer {
  const row = Buffer.allocUnsafe(4)
  row.writeUInt32BE(bytes)
  return row
}

/** How many bytes the content had; nothing where the row cannot be read. */
export function heldBytes(row: Bytes): number | undefined {
  return row.byteLength === 4 ? Buffer.from(row).readUInt32BE() : undefined
}

export function reverseKey(base: Bytes, id: Bytes): Buffer {
  return concat(base, id)
}
