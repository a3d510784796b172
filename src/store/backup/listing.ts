/**
 * The keys of a backup in byte order, as objects of some hundred keys each. Where one ends depends on its last key
 * alone, so two backups share all objects in which no key has changed.
 *
 * An object: `10`, then for each key: expires at (6; 0: never), length of the value (6), its SHA-256 (32), length of
 * the key (2), key. Of keys of which one has metadata: `11`, and behind each key the length of its metadata (2; 0: it has
 * none) and the metadata (../metadata.ts). Of keys of which one is pinned or slides: `12`, and that (../lifecycle/life.ts)
 * behind the metadata of each.
 */

import { checksumOf } from '../../backends/index.ts'
import { decodeLife, encodeLife, type Life, LIFE_BYTES, NO_LIFE } from '../lifecycle/life.ts'
import { isMetadata } from '../metadata.ts'
import { brokenBackup } from './objects.ts'

const FORMAT = 0x10
const FORMAT_WITH_METADATA = 0x11
const FORMAT_WITH_LIFE = 0x12
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
  readonly life: Life | undefined
}

/** Collects keys into objects. */
export class ListingPiece {
  #rows: Buffer[] = []
  /** Behind each row, where one of them has metadata, or is pinned or slides. */
  #metadata: Buffer[] = []
  #lives: Buffer[] = []
  #format = FORMAT
  #bytes = 1

  /** The object, if this key is its last. */
  add({ key, digest, bytes, expiresAt, metadata, life }: Listed): Buffer | undefined {
    const row = Buffer.allocUnsafe(FIXED + key.byteLength)
    row.writeUIntBE(expiresAt ?? 0, 0, 6)
    row.writeUIntBE(bytes, 6, 6)
    row.set(digest, 12)
    row.writeUInt16BE(key.byteLength, 44)
    row.set(key, FIXED)
    this.#rows.push(row)
    this.#metadata.push(metadata ? withLength(metadata) : NO_METADATA)
    this.#lives.push(encodeLife(life ?? NO_LIFE))
    const needed = life ? FORMAT_WITH_LIFE : metadata ? FORMAT_WITH_METADATA : FORMAT
    this.#format = Math.max(this.#format, needed)
    this.#bytes += row.byteLength + (metadata?.byteLength ?? 0)
    const isEnd = checksumOf(key) % KEYS_AVERAGE === 0 || this.#bytes >= PIECE_BYTES_MAX
    return isEnd ? this.end() : undefined
  }

  /** What is left. */
  end(): Buffer | undefined {
    if (this.#rows.length === 0) return undefined
    const parts: Buffer[] = [Buffer.of(this.#format)]
    for (const [at, row] of this.#rows.entries()) {
      parts.push(row)
      if (this.#format >= FORMAT_WITH_METADATA) parts.push(this.#metadata[at] ?? NO_METADATA)
      if (this.#format >= FORMAT_WITH_LIFE) parts.push(this.#lives[at] ?? encodeLife(NO_LIFE))
    }
    const piece = Buffer.concat(parts)
    this.#rows = []
    this.#metadata = []
    this.#lives = []
    this.#format = FORMAT
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
  const format = piece[0] ?? 0
  if (format < FORMAT || format > FORMAT_WITH_LIFE)
    throw brokenBackup('a list of keys has an unknown format')
  const hasMetadata = format >= FORMAT_WITH_METADATA
  const lifeBytes = format >= FORMAT_WITH_LIFE ? LIFE_BYTES : 0
  for (let at = 1; at < piece.byteLength;) {
    const keyEnd = behind(piece, at + 44, at + FIXED)
    const end = hasMetadata ? behind(piece, keyEnd, keyEnd + 2) : keyEnd
    yield {
      key: piece.subarray(at + FIXED, keyEnd),
      digest: piece.subarray(at + 12, at + 44),
      bytes: piece.readUIntBE(at + 6, 6),
      expiresAt: piece.readUIntBE(at, 6) || undefined,
      metadata: end > keyEnd + 2 ? metadataOf(piece.subarray(keyEnd + 2, end)) : undefined,
      life: lifeBytes > 0 ? lifeOf(piece.subarray(end, end + lifeBytes)) : undefined,
    }
    at = end + lifeBytes
  }
}

/** Where what begins at `from` ends, whose length is at `lengthAt`. */
function behind(piece: Buffer, lengthAt: number, from: number): number {
  const end = from <= piece.byteLength ? from + piece.readUInt16BE(lengthAt) : Infinity
  if (end <= piece.byteLength) return end
  throw brokenBackup('a list of keys is cut short')
}

function lifeOf(bytes: Buffer): Life {
  const life = decodeLife(bytes)
  if (life) return life
  throw brokenBackup('what was kept of the life of a key cannot be read')
}

function metadataOf(bytes: Buffer): Buffer {
  if (isMetadata(bytes)) return bytes
  throw brokenBackup('metadata of a key cannot be read')
}
