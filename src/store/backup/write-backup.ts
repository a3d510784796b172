/**
 * Makes a backup of a store while others write to it. Where the engine holds a moment, all keys are as they were
 * at one; elsewhere each is as it was at some moment, with its own value, never torn.
 *
 * Only what the target does not have yet is read: an entry names the SHA-256 of its value.
 */

import { randomBytes } from 'node:crypto'

import type { Backend, Row } from '../../backends/index.ts'
import { digestOfLarge } from '../../fingerprint/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { entryAndValue } from '../archive.ts'
import { ContentCheck } from '../content-check.ts'
import { isStreamed, readChecked } from '../contents/read-content.ts'
import type { StoreCore } from '../core.ts'
import { refuseUnknown } from '../prepare.ts'
import { type Life, type LifeReader, lifeReader } from '../lifecycle/life.ts'
import { entries, type Entry } from '../rows.ts'
import { damaged, type Reading } from '../transactions/get.ts'
import { identityOf } from './identity.ts'
import { type Listed, ListingPiece } from './listing.ts'
import { ObjectWriter } from './object-writer.ts'
import { Running, waitForForgetting } from './running.ts'
import { BackupTarget } from './target.ts'

export interface BackupProgress {
  readonly keys: number
  /** Of the values of these keys. */
  readonly valueBytes: number
  /** Written so far. */
  readonly storedBytes: number
}

export interface BackupOptions {
  /** Ends it, and its reason is thrown; what was written is used by the next backup. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called after every some keys. Default: none. */
  readonly onProgress?: ((progress: BackupProgress) => void) | undefined
}

/** What a backup has done. */
export interface BackupReport {
  readonly id: string
  /** The moment, in milliseconds since 1970; where it is not one, when it began. */
  readonly at: number
  /** All keys are as they were at one moment. Otherwise each is as it was at some moment of the backup. */
  readonly isOneMoment: boolean
  readonly keys: number
  readonly valueBytes: number
  /** Bytes that were not in an earlier backup. */
  readonly newBytes: number
  /** Bytes that were written for them. */
  readonly storedBytes: number
}

const BATCH_KEYS = 64
const BATCH_BYTES = 16 * 1024 * 1024

export async function writeBackup(
  core: StoreCore,
  path: string,
  options: BackupOptions = {},
): Promise<BackupReport> {
  refuseUnknown(options, ['signal', 'onProgress'])
  options.signal?.throwIfAborted()
  const target = await BackupTarget.make(path)
  await using _running = await Running.begin(target, 'backup')
  await waitForForgetting(target, options.signal)
  await target.removeLeftovers()
  const store = await identityOf(core.backend)
  const objects = new ObjectWriter(target, await target.readIndexes())
  const snapshot = await core.backend.snapshot()
  try {
    const at = snapshot.now()
    const id = idOf(at)
    const copying = new Copying(core, snapshot, objects, options, await lifeReader(snapshot))
    const listing = await copying.all()
    await objects.end()
    const { keys, valueBytes } = copying
    const isOneMoment = snapshot.snapshots
    const { settings, namespace } = core
    const manifest = { id, at, namespace, store, settings, isOneMoment, keys, valueBytes, listing }
    await target.writeBackup(manifest, copying)
    const { bytes: newBytes, storedBytes } = objects
    return { id, at, isOneMoment, keys, valueBytes, newBytes, storedBytes }
  } finally {
    await objects.abort()
    await snapshot.close()
  }
}

/** In the order of time; the random part keeps apart what is made in one millisecond. */
function idOf(at: number): string {
  return `${new Date(at).toISOString().replace(/[-:.]/g, '')}-${randomBytes(4).toString('hex')}`
}

interface Found {
  readonly listed: Listed
  /** The bytes, where they are not there yet; or what to read them by, of long ones. */
  readonly value?: Buffer
  readonly streamed?: Entry
}

class Copying {
  keys = 0
  valueBytes = 0
  /** Of one of the keys at least. */
  hasMetadata = false
  /** One of the keys at least is pinned or slides. */
  hasLife = false
  readonly #snapshot: Backend
  readonly #objects: ObjectWriter
  readonly #options: BackupOptions
  readonly #lifeOf: LifeReader
  readonly #reading: Reading
  readonly #sharesForms: boolean
  readonly #piece = new ListingPiece()
  readonly #listing: string[] = []

  constructor(
    core: StoreCore,
    snapshot: Backend,
    objects: ObjectWriter,
    options: BackupOptions,
    lifeOf: LifeReader,
  ) {
    this.#lifeOf = lifeOf
    const { profile, sharesForms } = core.preparation
    this.#snapshot = snapshot
    this.#objects = objects
    this.#options = options
    this.#sharesForms = sharesForms
    this.#reading = { ...core.reading, check: new ContentCheck({ profile, sharesForms }) }
  }

  /** The digests of the objects that list the keys, in hex. */
  async all(): Promise<string[]> {
    let batch: Row<Entry>[] = []
    let bytes = 0
    for await (const row of this.#snapshot.scan(entries)) {
      if (!row.value.isLive(this.#snapshot.now())) continue
      batch.push(row)
      if (!this.#isThere(row.value)) bytes += row.value.bytes
      if (batch.length < BATCH_KEYS && bytes < BATCH_BYTES) continue
      await this.#keep(batch)
      batch = []
      bytes = 0
    }
    await this.#keep(batch)
    await this.#list(this.#piece.end())
    return this.#listing
  }

  async #keep(batch: readonly Row<Entry>[]): Promise<void> {
    this.#options.signal?.throwIfAborted()
    const found = await Promise.all(batch.map((row) => this.#find(row)))
    for (const one of found) {
      if (!one) continue
      if (one.value) await this.#objects.add(one.value, one.listed.digest)
      else if (one.streamed) await this.#stream(one.streamed, one.listed)
      await this.#list(this.#piece.add(one.listed))
      this.keys++
      this.valueBytes += one.listed.bytes
      this.hasMetadata ||= one.listed.metadata !== undefined
      this.hasLife ||= one.listed.life !== undefined
    }
    const { keys, valueBytes } = this
    this.#options.onProgress?.({ keys, valueBytes, storedBytes: this.#objects.storedBytes })
  }

  /** `undefined`: the key is gone by now, which a moment that is held rules out. */
  async #find({ key, value: entry }: Row<Entry>): Promise<Found | undefined> {
    const known = this.#digestIn(entry)
    const life = await this.#lifeOf(key)
    if (known && this.#objects.has(known)) return { listed: listedOf(key, entry, known, life) }
    if (known && this.#snapshot.snapshots && isStreamed(this.#reading.layout, entry.bytes))
      return { listed: listedOf(key, entry, known, life), streamed: entry }
    const found = await entryAndValue(this.#snapshot, key, undefined, this.#reading)
    if (!found?.value) return undefined
    const digest = this.#digestIn(found.entry) ?? (await digestOfLarge(found.value))
    return { listed: listedOf(key, found.entry, digest, life), value: found.value }
  }

  async #stream(entry: Entry, { key, digest }: Listed): Promise<void> {
    try {
      await this.#objects.addStream(readChecked(this.#snapshot, entry, digest), digest)
    } catch (error) {
      if (error instanceof PrestigeError && error.kind === 'corrupt') throw damaged(key)
      throw error
    }
  }

  #isThere(entry: Entry): boolean {
    const digest = this.#digestIn(entry)
    return digest !== undefined && this.#objects.has(digest)
  }

  /** Of the bytes. Rows of older versions have that of their canonical form alone. */
  #digestIn({ exact, digest }: Entry): Buffer | undefined {
    return exact ?? (this.#sharesForms ? undefined : digest)
  }

  async #list(piece: Buffer | undefined): Promise<void> {
    if (piece) this.#listing.push((await this.#objects.add(piece)).toString('hex'))
  }
}

function listedOf(
  key: Buffer,
  { bytes, expiresAt, metadata }: Entry,
  digest: Buffer,
  life: Life | undefined,
): Listed {
  return { key, digest, bytes, expiresAt, metadata, life }
}
