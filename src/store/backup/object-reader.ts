/** Reads objects by their SHA-256, and checks them by it. A few packs are kept, because what was written together is
 * mostly read together. */

import { createHash } from 'node:crypto'

import { digestOfLarge } from '../../fingerprint/index.ts'
import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import type { PrestigeError } from '../../platform/errors.ts'
import { brokenBackup, decoded, LIST, type ObjectIndex, type Place, partsOf } from './objects.ts'
import type { BackupTarget } from './target.ts'

const PACKS_KEPT = 4

export class ObjectReader {
  readonly #target: BackupTarget
  readonly #objects: ObjectIndex
  /** The least lately used first. */
  readonly #packs = new Map<string, Buffer>()

  constructor(target: BackupTarget, objects: ObjectIndex) {
    this.#target = target
    this.#objects = objects
  }

  /** The bytes, whole and right, or BACKUP_BROKEN. */
  async read(digest: Bytes): Promise<Buffer> {
    const { id, place, body } = await this.#find(digest)
    if (place.codec !== LIST) return this.#plain(digest)
    const value = Buffer.allocUnsafe(place.bytes)
    let at = 0
    for (const part of partsOf(body)) {
      const bytes = await this.#plain(part)
      if (at + bytes.byteLength > value.byteLength) break
      at += bytes.copy(value, at)
    }
    if (at === place.bytes && equalBytes(await digestOfLarge(value), digest)) return value
    throw otherValue(digest, id)
  }

  /** The same a part at a time. Ends with BACKUP_BROKEN, behind the last part, where they are of another value. */
  async *readParts(digest: Bytes): AsyncGenerator<Bytes> {
    const { id, place, body } = await this.#find(digest)
    if (place.codec !== LIST) {
      yield await this.#plain(digest)
      return
    }
    const sha256 = createHash('sha256')
    for (const part of partsOf(body)) {
      const bytes = await this.#plain(part)
      sha256.update(bytes)
      yield bytes
    }
    if (!equalBytes(sha256.digest(), digest)) throw otherValue(digest, id)
  }

  async #plain(digest: Bytes): Promise<Buffer> {
    const { id, place, body } = await this.#find(digest)
    // A list of lists would have no end where one names itself.
    const bytes = place.codec === LIST ? undefined : decoded(place, body)
    if (bytes) return bytes
    throw brokenBackup(`object ${hex(digest)} in packs/${id}.pack has other bytes than it had`)
  }

  /** What a list names; nothing, if the object is none. */
  async partsOf(digest: Bytes): Promise<readonly Buffer[]> {
    const known = this.#objects.find(digest)
    if (known && known.place.codec !== LIST) return []
    return partsOf((await this.#find(digest)).body)
  }

  async #find(
    digest: Bytes,
  ): Promise<{ readonly id: string; readonly place: Place; readonly body: Buffer }> {
    const found = this.#objects.find(digest)
    if (!found) throw brokenBackup(`object ${hex(digest)} is missing`)
    const { id } = found.pack
    const { at, storedBytes } = found.place
    const pack = await this.#pack(id)
    return { id, place: found.place, body: pack.subarray(at, at + storedBytes) }
  }

  async #pack(id: string): Promise<Buffer> {
    const known = this.#packs.get(id)
    this.#packs.delete(id)
    const pack = known ?? (await this.#target.readPack(id))
    this.#packs.set(id, pack)
    const [oldest] = this.#packs.keys()
    if (this.#packs.size > PACKS_KEPT && oldest !== undefined) this.#packs.delete(oldest)
    return pack
  }
}

function otherValue(digest: Bytes, id: string): PrestigeError {
  return brokenBackup(`list ${hex(digest)} in packs/${id}.pack is of another value`)
}

function hex(digest: Bytes): string {
  return Buffer.from(digest).toString('hex')
}
