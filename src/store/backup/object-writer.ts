/** Writes objects that are not there yet into packs of some megabytes, one of which is on its way at a time. */

import { randomBytes } from 'node:crypto'

import { chunkEnds, ContentChunker, digestOf, digestOfLarge } from '../../fingerprint/index.ts'
import { type Bytes, copyOf } from '../../platform/bytes.ts'
import {
  encoded,
  indexFile,
  LIST,
  type ObjectIndex,
  OBJECTS_A_PACK_MAX,
  PACK_MAGIC,
  type Place,
  readIndex,
} from './objects.ts'
import { type BackupTarget, sha256Of } from './target.ts'

const PACK_BYTES = 8 * 1024 * 1024
/** Longer values are cut where their bytes say so, and share what they have in common. */
const WHOLE_BYTES_MAX = 256 * 1024
const CHUNK_BYTES = 64 * 1024

export class ObjectWriter {
  readonly #target: BackupTarget
  readonly #objects: ObjectIndex
  /** Of the pack that is being filled, and of the one that is on its way. */
  readonly #fresh = new Set<string>()
  #pieces: Bytes[] = [PACK_MAGIC]
  #places: Place[] = []
  #at = PACK_MAGIC.byteLength
  #writing: Promise<void> = Promise.resolve()
  /** Objects and their bytes that were not there, and how many bytes were written for them. */
  objects = 0
  bytes = 0
  storedBytes = 0

  constructor(target: BackupTarget, objects: ObjectIndex) {
    this.#target = target
    this.#objects = objects
  }

  has(digest: Bytes): boolean {
    return this.#objects.has(digest) || this.#fresh.has(nameOf(digest))
  }

  /** Keeps bytes of any length; their SHA-256. */
  async add(bytes: Buffer, known?: Buffer): Promise<Buffer> {
    const digest = known ?? (await digestOfLarge(bytes))
    if (this.has(digest)) return digest
    const isWhole = bytes.byteLength <= WHOLE_BYTES_MAX
    const ends = isWhole ? [] : chunkEnds(bytes, { averageBytes: CHUNK_BYTES })
    // A value that cannot be cut is its only chunk, and has its digest.
    if (ends.length < 2) {
      await this.#putWhole(bytes, digest)
      return digest
    }
    const parts: Buffer[] = []
    let start = 0
    for (const end of ends) {
      parts.push(await this.#addPart(bytes.subarray(start, end)))
      start = end
    }
    await this.#put({ digest, codec: LIST, bytes: bytes.byteLength }, Buffer.concat(parts))
    return digest
  }

  /** Keeps bytes that are too many to hold. They must be those of the digest: whoever gives them checks that. */
  async addStream(pieces: AsyncIterable<Bytes>, digest: Buffer): Promise<void> {
    if (this.has(digest)) return
    const chunker = new ContentChunker({ averageBytes: CHUNK_BYTES })
    const parts: Buffer[] = []
    let bytes = 0
    const add = async (chunks: readonly Bytes[]) => {
      for (const chunk of chunks) {
        // A copy: what is not compressed stays in memory until its pack is written.
        parts.push(await this.#addPart(copyOf(chunk)))
        bytes += chunk.byteLength
      }
    }
    for await (const piece of pieces) await add(chunker.push(piece))
    await add(chunker.finish())
    await this.#put({ digest, codec: LIST, bytes }, Buffer.concat(parts))
  }

  async #addPart(bytes: Buffer): Promise<Buffer> {
    const digest = digestOf(bytes)
    if (!this.has(digest)) await this.#putWhole(bytes, digest)
    return digest
  }

  async #putWhole(bytes: Buffer, digest: Buffer): Promise<void> {
    const { codec, body } = await encoded(bytes)
    await this.#put({ digest, codec, bytes: bytes.byteLength }, body)
  }

  async #put(object: Pick<Place, 'digest' | 'codec' | 'bytes'>, body: Bytes): Promise<void> {
    // A copy: the digest may be part of a row, and the body of a value, that is much longer.
    const digest = Buffer.from(object.digest)
    this.#fresh.add(nameOf(digest))
    this.#pieces.push(body)
    this.#places.push({ ...object, digest, at: this.#at, storedBytes: body.byteLength })
    this.#at += body.byteLength
    this.objects++
    if (object.codec !== LIST) this.bytes += object.bytes
    if (this.#at >= PACK_BYTES || this.#places.length >= OBJECTS_A_PACK_MAX) await this.flush()
  }

  /** Starts to write what was collected, once the pack before it is there. */
  async flush(): Promise<void> {
    await this.#writing
    if (this.#places.length === 0) return
    const [pieces, places, bytes] = [this.#pieces, this.#places, this.#at]
    this.#pieces = [PACK_MAGIC]
    this.#places = []
    this.#at = PACK_MAGIC.byteLength
    this.#writing = this.#write(pieces, places, bytes)
    // Whoever flushes next hears of a failure.
    this.#writing.catch(() => {})
  }

  /** When it returns, everything that was added is there. */
  async end(): Promise<void> {
    await this.flush()
    await this.#writing
  }

  /** After a failure: nothing is on its way any more. */
  async abort(): Promise<void> {
    await this.#writing.catch(() => {})
  }

  async #write(pieces: readonly Bytes[], places: readonly Place[], bytes: number): Promise<void> {
    const id = randomBytes(16).toString('hex')
    const index = indexFile(sha256Of(pieces), bytes, places)
    await this.#target.writePack(id, pieces, index)
    this.storedBytes += bytes + index.byteLength
    this.#objects.add(readIndex(id, index))
    for (const { digest } of places) this.#fresh.delete(nameOf(digest))
  }
}

function nameOf(digest: Bytes): string {
  return Buffer.from(digest).toString('latin1')
}
