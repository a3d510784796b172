/**
 * The keys of a backup in byte order, as objects of some hundred keys each. Where one ends depends on its last key
 * alone, so two backups share all objects in which no key has changed.
 *
 * An object: `10`, then for each key: expires at (6; 0: never), length of the value (6), its SHA-256 (32), length of
 * the key (2), key. Of keys of which one has metadata: `11`, and behind each key the length of its metadata (2; 0: it has
 * none) and the metadata (../metadata.ts).
 */

import { checksumOf } from '../../backends/index.ts'
import { isMetadata } from '../metadata.ts'
import { brokenBackup } from './objects.ts'

const FORMAT = 0x10
const FORMAT_WITH_METADATA = 0x11
const FIXED = 6 + 6 + 32 + 2
/** On average one key in so many is the last of its object; a power of two. */
const KEYS_AVERAGE = 512
const PIECE_BYTES_MAX = 1024 * 1024

/** A key, as it was. */
export interface Listed {
  readonly key: Buffer
  readonly digest: Buffer
  readonly bytes: number
  readonly expiresAt: number | undefined
  /** As bytes. */
  readonly metadata: Buffer | undefined
}

/** Collects keys into objects. */
export class ListingPiece {
  #rows: Buffer[] = []
  /** Behind each row, where one of them has metadata. */
  #metadata: Buffer[] = []
  #hasMetadata = false
  #bytes = 1

  /** The object, if this key is its last. */
  add({ key, digest, bytes, expiresAt, metadata }: Listed): Buffer | undefined {
    const row = Buffer.allocUnsafe(FIXED + key.byteLength)
    row.writeUIntBE(expiresAt ?? 0, 0, 6)
    row.writeUIntBE(bytes, 6, 6)
    row.set(digest, 12)
    row.writeUInt16BE(key.byteLength, 44)
    row.set(key, FIXED)
    this.#rows.push(row)
    this.#metadata.push(metadata ? withLength(metadata) : NO_METADATA)
    this.#hasMetadata ||= metadata !== undefined
    this.#bytes += row.byteLength + (metadata?.byteLength ?? 0)
    const isEnd = checksumOf(key) % KEYS_AVERAGE === 0 || this.#bytes >= PIECE_BYTES_MAX
    return isEnd ? this.end() : undefined
  }

  /** What is left. */
  end(): Buffer | undefined {
    if (this.#rows.length === 0) return undefined
    const format = Buffer.of(this.#hasMetadata ? FORMAT_WITH_METADATA : FORMAT)
    const rows = this.#hasMetadata
      ? this.#rows.flatMap((row, at) => [row, this.#metadata[at] ?? NO_METADATA])
      : this.#rows
    const piece = Buffer.concat([format, ...rows])
    this.#rows = []
    this.#metadata = []
    this.#hasMetadata = false
    this.#bytes = 1
    return piece
  }
}

const NO_METADATA = Buffer.alloc(2)

function withLength(metadata: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(metadata.byteLength)
  return Buffer.concat([length, metadata])
}

export function* keysOf(piece: Buffer): Generator<Listed> {
  const hasMetadata = piece[0] === FORMAT_WITH_METADATA
  if (piece[0] !== FORMAT && !hasMetadata)
    throw brokenBackup('a list of keys has an unknown format')
  for (let at = 1; at < piece.byteLength;) {
    const keyEnd = behind(piece, at + 44, at + FIXED)
    const end = hasMetadata ? behind(piece, keyEnd, keyEnd + 2) : keyEnd
    yield {
      key: piece.subarray(at + FIXED, keyEnd),
      digest: piece.subarray(at + 12, at + 44),
      bytes: piece.readUIntBE(at + 6, 6),
      expiresAt: piece.readUIntBE(at, 6) || undefined,
      metadata: end > keyEnd + 2 ? metadataOf(piece.subarray(keyEnd + 2, end)) : undefined,
    }
    at = end
  }
}

/** Where what begins at `from` ends, whose length is at `lengthAt`. */
function behind(piece: Buffer, lengthAt: number, from: number): number {
  const end = from <= piece.byteLength ? from + piece.readUInt16BE(lengthAt) : Infinity
  if (end <= piece.byteLength) return end
  throw brokenBackup('a list of keys is cut short')
}

function metadataOf(bytes: Buffer): Buffer {
  if (isMetadata(bytes)) return bytes
  throw brokenBackup('metadata of a key cannot be read')
}
