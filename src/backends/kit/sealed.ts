/**
 * Rows that end in a checksum of their space, their key and their bytes, so that a damaged byte in a row, or a row
 * found under a key that is not its own, is an error and never other data.
 *
 * A plain row starts with a byte whose high half is 1. Sealed, that half is 2, and a CRC-32 (4, big endian) follows
 * the row. Plain rows of older versions are still read. The first byte goes into the checksum last: so a plain row can
 * be tested, at the cost of a few steps, for being a sealed one whose first byte was damaged.
 */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Codec } from '../contract.ts'

const PLAIN = 0x10
const SEALED = 0x20
const FORMAT_MASK = 0xf0
const FLAGS_MASK = 0x0f
const SUM_BYTES = 4

/** Whether a row starts as rows of ours do, sealed or not. */
export function hasFormat(row: Bytes): boolean {
  const format = (row[0] ?? 0) & FORMAT_MASK
  return format === PLAIN || format === SEALED
}

export interface SealedCodec<V> extends Codec<V> {
  /** The row without its checksum. Of a damaged row, one that no codec can read. */
  plain(bytes: Bytes, key: Bytes): Bytes
}

/** `codec` writes plain rows, and reads them by `hasFormat`. Rows without a byte stay as they are. */
export function sealed<V>(name: string, codec: Codec<V>): SealedCodec<V> {
  const spaceSum = crc32(Buffer.from(`${name}\0`), 0, -1)
  return {
    encode(value, key) {
      const plain = codec.encode(value, key)
      if (plain.byteLength === 0) return plain
      const bytes = plain.byteLength
      const row = Buffer.allocUnsafe(bytes + SUM_BYTES)
      row.set(plain)
      const head = SEALED | ((plain[0] ?? 0) & FLAGS_MASK)
      row[0] = head
      row.writeInt32BE(step(sumOf(spaceSum, key, row, bytes), head), bytes)
      return row
    },
    decode(bytes, key) {
      const row = asBuffer(bytes)
      const end = row.byteLength - SUM_BYTES
      if (!isIntact(row, end, key, spaceSum)) throw damagedRow(name, key)
      try {
        const isSealed = ((row[0] ?? 0) & FORMAT_MASK) === SEALED
        return codec.decode(isSealed ? row.subarray(0, end) : row, key)
      } catch (error) {
        throw damagedRow(name, key, error)
      }
    },
    plain(bytes, key) {
      const row = Buffer.from(bytes)
      if (row.byteLength === 0) return row
      const head = row.readUInt8(0)
      const end = row.byteLength - SUM_BYTES
      const isWhole = isIntact(row, end, key, spaceSum)
      row[0] = (isWhole ? PLAIN : 0) | (head & FLAGS_MASK)
      if ((head & FORMAT_MASK) === SEALED) return row.subarray(0, Math.max(0, end))
      return isWhole ? asBuffer(bytes) : row
    },
  }
}

function isIntact(row: Buffer, end: number, key: Bytes | undefined, spaceSum: number): boolean {
  const head = row[0] ?? 0
  const format = head & FORMAT_MASK
  if (format === SEALED) {
    if (end < 1) return false
    return key === undefined || step(sumOf(spaceSum, key, row, end), head) === row.readInt32BE(end)
  }
  if (end < 1 || key === undefined) return true
  const written = row.readInt32BE(end)
  const sum = sumOf(spaceSum, key, row, end)
  for (let flags = 0; flags <= FLAGS_MASK; flags++) {
    if (step(sum, SEALED | flags) === written) return false
  }
  return true
}

/** Of everything but the first byte. */
function sumOf(spaceSum: number, key: Bytes | undefined, row: Buffer, end: number): number {
  return crc32(row, 1, key ? crc32(key, 0, spaceSum) : spaceSum, end)
}

const TABLE = new Int32Array(256).map((_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  return sum
})

function step(sum: number, byte: number): number {
  return (TABLE[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8)
}

/** Without the usual inversion at the end. For rows as short as these a call into C takes longer. */
function crc32(bytes: Bytes, from: number, start: number, end = bytes.byteLength): number {
  let sum = start
  for (let at = from; at < end; at++) sum = step(sum, bytes[at] ?? 0)
  return sum
}

/** Of bytes that are kept without a row's first byte. */
export function checksumOf(bytes: Bytes): number {
  return ~crc32(bytes, 0, -1) >>> 0
}

function damagedRow(name: string, key: Bytes | undefined, cause?: unknown): PrestigeError {
  const row = key === undefined ? 'A row' : `Row ${shown(key)}`
  const message = `${row} of ${name} is damaged. Run prestige verify --repair on this store.`
  return new PrestigeError('CONTENT_CORRUPT', message, { cause })
}

/** Keys of users are mostly text, all others are not. */
function shown(key: Bytes): string {
  const text = asBuffer(key).toString('utf8')
  const isText = /^[^\p{C}\ufffd]+$/u.test(text)
  return isText ? JSON.stringify(text) : asBuffer(key).toString('hex')
}
