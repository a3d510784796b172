/**
 * The keys of a backup in byte order, as objects of some hundred keys each. Where one ends depends on its last key
 * alone, so two backups share all objects in which no key has changed.
 *
 * An object: `10`, then for each key: expires at (6; 0: never), length of the value (6), its SHA-256 (32), length of
 * the key (2), key.
 */

import { checksumOf } from '../../backends/index.ts'
import { brokenBackup } from './objects.ts'

const FORMAT = 0x10
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
}

/** Collects keys into objects. */
export class ListingPiece {
  #rows: Buffer[] = [Buffer.of(FORMAT)]
  #bytes = 1

  /** The object, if this key is its last. */
  add({ key, digest, bytes, expiresAt }: Listed): Buffer | undefined {
    const row = Buffer.allocUnsafe(FIXED + key.byteLength)
    row.writeUIntBE(expiresAt ?? 0, 0, 6)
    row.writeUIntBE(bytes, 6, 6)
    row.set(digest, 12)
    row.writeUInt16BE(key.byteLength, 44)
    row.set(key, FIXED)
    this.#rows.push(row)
    this.#bytes += row.byteLength
    const isEnd = checksumOf(key) % KEYS_AVERAGE === 0 || this.#bytes >= PIECE_BYTES_MAX
    return isEnd ? this.end() : undefined
  }

  /** What is left. */
  end(): Buffer | undefined {
    if (this.#rows.length === 1) return undefined
    const piece = Buffer.concat(this.#rows)
    this.#rows = [Buffer.of(FORMAT)]
    this.#bytes = 1
    return piece
  }
}

export function* keysOf(piece: Buffer): Generator<Listed> {
  if (piece[0] !== FORMAT) throw brokenBackup('a list of keys has an unknown format')
  for (let at = 1; at < piece.byteLength;) {
    const end = at + FIXED <= piece.byteLength ? at + FIXED + piece.readUInt16BE(at + 44) : Infinity
    if (end > piece.byteLength) throw brokenBackup('a list of keys is cut short')
    yield {
      key: piece.subarray(at + FIXED, end),
      digest: piece.subarray(at + 12, at + 44),
      bytes: piece.readUIntBE(at + 6, 6),
      expiresAt: piece.readUIntBE(at, 6) || undefined,
    }
    at = end
  }
}
