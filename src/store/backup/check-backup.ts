/** Whether backups can be restored: that everything they refer to is there and, if asked for, has the bytes it had. */

import { digestOf } from '../../fingerprint/index.ts'
import { equalBytes, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { refuseUnknown } from '../prepare.ts'
import { keysOf, type Listed } from './listing.ts'
import { ObjectReader } from './object-reader.ts'
import { decoded, LIST, ObjectIndex, type PackIndex, type Place, placesOf } from './objects.ts'
import { BackupTarget } from './target.ts'

export interface CheckBackupOptions {
  /** Only this backup: its id, or how it begins. Default: all. */
  readonly backup?: string | undefined
  /** Read every pack, and compare every object with its SHA-256. Default: `false`. */
  readonly readData?: boolean | undefined
  /** Ends it, and its reason is thrown. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called after every pack that was read. Default: none. */
  readonly onProgress?:
    | ((progress: { readonly packs: number; readonly bytes: number }) => void)
    | undefined
}

export interface BackupProblem {
  /** The backup that is concerned, where it is known. */
  readonly backup?: string | undefined
  readonly message: string
}

export interface CheckedBackups {
  readonly backups: number
  readonly keys: number
  readonly packs: number
  readonly packBytes: number
  /** The first of them. */
  readonly problems: readonly BackupProblem[]
  readonly problemCount: number
  readonly isSound: boolean
}

const PROBLEMS_MAX = 100

export async function checkBackup(
  source: string,
  options: CheckBackupOptions = {},
): Promise<CheckedBackups> {
  refuseUnknown(options, ['backup', 'readData', 'signal', 'onProgress'])
  const target = await BackupTarget.open(source)
  const { backup } = options
  const ids =
    backup === undefined ? await target.backupIds() : [(await target.findBackup(backup)).id]
  return new Check(target, options).all(ids)
}

class Check {
  readonly #target: BackupTarget
  readonly #options: CheckBackupOptions
  readonly #problems: BackupProblem[] = []
  /** Objects of packs that are missing or cut, or that have other bytes. */
  readonly #lost = new Set<string>()
  #problemCount = 0
  #packs = 0
  #packBytes = 0

  constructor(target: BackupTarget, options: CheckBackupOptions) {
    this.#target = target
    this.#options = options
  }

  async all(ids: readonly string[]): Promise<CheckedBackups> {
    const objects = await this.#indexes()
    const reader = new ObjectReader(this.#target, objects)
    for (const pack of objects.packs) {
      this.#options.signal?.throwIfAborted()
      for (const { digest } of await this.#lostOf(pack, reader)) this.#lost.add(latin1(digest))
      this.#packs++
      this.#packBytes += pack.packBytes
      this.#options.onProgress?.({ packs: this.#packs, bytes: this.#packBytes })
    }
    let keys = 0
    for (const id of ids) keys += await this.#keysOf(id, objects)
    return {
      backups: ids.length,
      keys,
      packs: this.#packs,
      packBytes: this.#packBytes,
      problems: this.#problems,
      problemCount: this.#problemCount,
      isSound: this.#problemCount === 0,
    }
  }

  async #indexes(): Promise<ObjectIndex> {
    const objects = new ObjectIndex()
    for (const id of await this.#target.packIds()) {
      const index = await this.#tried(undefined, () => this.#target.readIndex(id))
      if (index) objects.add(index)
    }
    return objects
  }

  /** Objects of a pack that cannot be read from it. */
  async #lostOf(pack: PackIndex, reader: ObjectReader): Promise<readonly Place[]> {
    const { id, sha256, packBytes } = pack
    const places = [...placesOf(pack)]
    const found = await this.#target.packBytes(id)
    if (found !== packBytes) {
      const what =
        found === undefined ? 'is missing' : `has ${found} bytes in place of ${packBytes}`
      this.#report(undefined, `packs/${id}.pack ${what}`)
      return places
    }
    if (this.#options.readData !== true) return []
    const bytes = await this.#target.readPack(id)
    if (equalBytes(digestOf(bytes), sha256)) return []
    this.#report(undefined, `packs/${id}.pack has other bytes than it had`)
    const lost: Place[] = []
    for (const place of places) {
      const body = bytes.subarray(place.at, place.at + place.storedBytes)
      // Whether a list is right shows when the value is put together.
      const isRight =
        place.codec === LIST
          ? await reader.read(place.digest).catch(() => undefined)
          : decoded(place, body)
      if (!isRight) lost.push(place)
    }
    return lost
  }

  async #keysOf(id: string, objects: ObjectIndex): Promise<number> {
    const manifest = await this.#tried(id, () => this.#target.readBackup(id))
    if (!manifest) return 0
    const reader = new ObjectReader(this.#target, objects)
    let keys = 0
    for (const piece of manifest.listing) {
      this.#options.signal?.throwIfAborted()
      const listed = await this.#tried(id, async () => [
        ...keysOf(await reader.read(Buffer.from(piece, 'hex'))),
      ])
      keys += listed?.length ?? 0
      for (const one of listed ?? []) await this.#checkKey(id, one, objects, reader)
    }
    if (keys !== manifest.keys && this.#problemCount === 0)
      this.#report(id, `it lists ${keys} keys in place of ${manifest.keys}`)
    return keys
  }

  async #checkKey(
    id: string,
    { key, digest }: Listed,
    objects: ObjectIndex,
    reader: ObjectReader,
  ): Promise<void> {
    const isThere = (one: Buffer) => objects.has(one) && !this.#lost.has(latin1(one))
    const isWhole =
      isThere(digest) &&
      (await this.#tried(id, async () => (await reader.partsOf(digest)).every(isThere)))
    if (isWhole) return
    this.#report(id, `the value of ${JSON.stringify(key.toString())} is damaged or missing`)
  }

  /** `undefined` where the backup is damaged, which is reported. */
  async #tried<T>(backup: string | undefined, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof PrestigeError) || error.kind !== 'corrupt') throw error
      this.#report(backup, error.message)
      return undefined
    }
  }

  #report(backup: string | undefined, message: string): void {
    this.#problemCount++
    if (this.#problems.length < PROBLEMS_MAX)
      this.#problems.push({ ...(backup && { backup }), message })
  }
}
