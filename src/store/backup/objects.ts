/**
 * Objects of backups: bytes, known by their SHA-256, many in one pack. Every number is big endian.
 *
 * packs/ID.pack: `prestige pack 1` and a newline, then the objects, one after another.
 *
 * packs/ID.index: `prestige pack index 1` and a newline, the SHA-256 of the pack (32), its length (6), a row for each
 * object: SHA-256 of its bytes (32), codec (1), place in the pack (4), stored length (4), length (6); then the SHA-256
 * of all before it (32). It is written after its pack: a pack without an index is one that was never completed.
 *
 * Codecs: `10` the bytes, `11` raw deflate, `13` a list: the bytes are those of other objects, each named by its
 * SHA-256 (32), one after another.
 */

import { deflateRaw, deflateRawSync } from 'node:zlib'
import { promisify } from 'node:util'

import { digestOf } from '../../fingerprint/index.ts'
import { asBuffer, type Bytes, equalBytes, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { decompress, DEFLATED, PLAIN } from '../contents/compression.ts'

export const LIST = 0x13

export const PACK_MAGIC: Buffer = Buffer.from('prestige pack 1\n')
const INDEX_MAGIC = Buffer.from('prestige pack index 1\n')
const DIGEST = 32
const ROW = DIGEST + 1 + 4 + 4 + 6
const HEAD = INDEX_MAGIC.byteLength + DIGEST + 6
export const OBJECTS_A_PACK_MAX = 65_536

/** Where an object is, and how it is kept. */
export interface Place {
  readonly digest: Buffer
  readonly codec: number
  readonly at: number
  readonly storedBytes: number
  readonly bytes: number
}

export interface PackIndex {
  readonly id: string
  /** Of the pack. */
  readonly sha256: Buffer
  readonly packBytes: number
  readonly rows: Buffer
}

export function indexFile(sha256: Bytes, packBytes: number, places: readonly Place[]): Buffer {
  const head = Buffer.alloc(6)
  head.writeUIntBE(packBytes, 0, 6)
  const all = Buffer.concat([INDEX_MAGIC, sha256, head, ...places.map(rowOf)])
  return Buffer.concat([all, digestOf(all)])
}

function rowOf({ digest, codec, at, storedBytes, bytes }: Place): Buffer {
  const row = Buffer.alloc(ROW)
  row.set(digest)
  row[DIGEST] = codec
  row.writeUInt32BE(at, 33)
  row.writeUInt32BE(storedBytes, 37)
  row.writeUIntBE(bytes, 41, 6)
  return row
}

export function readIndex(id: string, file: Buffer): PackIndex {
  const end = file.byteLength - DIGEST
  const isWhole =
    end >= HEAD &&
    (end - HEAD) % ROW === 0 &&
    equalBytes(file.subarray(0, INDEX_MAGIC.byteLength), INDEX_MAGIC) &&
    equalBytes(digestOf(file.subarray(0, end)), file.subarray(end))
  if (!isWhole) throw brokenBackup(`packs/${id}.index is damaged`)
  const at = INDEX_MAGIC.byteLength
  return {
    id,
    sha256: file.subarray(at, at + DIGEST),
    packBytes: file.readUIntBE(at + DIGEST, 6),
    rows: file.subarray(HEAD, end),
  }
}

export function* placesOf({ rows }: PackIndex): Generator<Place> {
  for (let at = 0; at < rows.byteLength; at += ROW) yield placeAt(rows, at)
}

function placeAt(rows: Buffer, at: number): Place {
  return {
    digest: rows.subarray(at, at + DIGEST),
    codec: rows.readUInt8(at + DIGEST),
    at: rows.readUInt32BE(at + 33),
    storedBytes: rows.readUInt32BE(at + 37),
    bytes: rows.readUIntBE(at + 41, 6),
  }
}

/** All objects that are known, in about 150 bytes each. */
export class ObjectIndex {
  readonly packs: PackIndex[] = []
  readonly #rows = new Map<string, number>()

  get size(): number {
    return this.#rows.size
  }

  add(index: PackIndex): void {
    const first = this.packs.length * OBJECTS_A_PACK_MAX
    this.packs.push(index)
    let row = 0
    for (const { digest } of placesOf(index)) this.#rows.set(latin1(digest), first + row++)
  }

  has(digest: Bytes): boolean {
    return this.#rows.has(latin1(digest))
  }

  find(digest: Bytes): { readonly pack: PackIndex; readonly place: Place } | undefined {
    const row = this.#rows.get(latin1(digest))
    if (row === undefined) return undefined
    const pack = this.packs[Math.floor(row / OBJECTS_A_PACK_MAX)]
    return pack && { pack, place: placeAt(pack.rows, (row % OBJECTS_A_PACK_MAX) * ROW) }
  }
}

const deflate = promisify<Bytes, { level: number }, Buffer>(deflateRaw)
const COMPRESSED_BYTES_MIN = 256
const LEVEL = 4
const AT_ONCE_BYTES_MAX = 4096

/** Compressed where that saves at least an eighth. */
export async function encoded(
  bytes: Bytes,
): Promise<{ readonly codec: number; readonly body: Bytes }> {
  if (bytes.byteLength < COMPRESSED_BYTES_MIN) return { codec: PLAIN, body: bytes }
  // Another thread costs more than a short value takes, and so does memory for a long one.
  const body =
    bytes.byteLength <= AT_ONCE_BYTES_MAX
      ? deflateRawSync(bytes, { level: LEVEL, windowBits: 12, memLevel: 4, chunkSize: 4096 })
      : await deflate(bytes, { level: LEVEL })
  const isSmaller = body.byteLength <= bytes.byteLength - bytes.byteLength / 8
  return isSmaller ? { codec: DEFLATED, body } : { codec: PLAIN, body: bytes }
}

/** The bytes of an object that is no list, or `undefined` where they are not what their SHA-256 says. */
export function decoded({ digest, codec, bytes }: Place, body: Buffer): Buffer | undefined {
  try {
    const whole = decompress(codec, body, bytes)
    return equalBytes(digestOf(whole), digest) ? asBuffer(whole) : undefined
  } catch {
    return undefined
  }
}

/** Digests of the objects that a list is made of. */
export function partsOf(list: Buffer): Buffer[] {
  const count = Math.floor(list.byteLength / DIGEST)
  return Array.from({ length: count }, (_, at) => list.subarray(at * DIGEST, (at + 1) * DIGEST))
}

export function brokenBackup(how: string, cause?: unknown): PrestigeError {
  return new PrestigeError(
    'BACKUP_BROKEN',
    `The backup is damaged: ${how}. See prestige check-backup for all that is wrong, and make another backup.`,
    { cause },
  )
}
