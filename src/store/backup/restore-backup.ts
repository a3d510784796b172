/**
 * Restores a backup at a location, on whatever engine: every key with its bytes and its expiry.
 *
 * Invariant: until all keys are there, a row says so, and the store cannot be opened. Restoring the same backup again
 * goes on; keys that are there already are not read again.
 */

import { type Backend, type Location, openAt } from '../../backends/index.ts'
import { equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { readOptions } from '../../platform/options.ts'
import { storeOn } from '../open.ts'
import { storeOptions, type StoreOptions } from '../options.ts'
import { WHOLE_BYTES_MAX } from '../contents/read-content.ts'
import { expiryOf } from '../lifecycle/life.ts'
import { decodeMetadata, isSameMetadata } from '../metadata.ts'
import { type PutItem, refuseUnknown } from '../prepare.ts'
import { entries, type Entry, storeSpaces } from '../rows.ts'
import { restoreSettings } from '../settings.ts'
import type { Store } from '../store.ts'
import { findEntry } from '../transactions/get.ts'
import { restoreIdentity } from './identity.ts'
import { keysOf, type Listed } from './listing.ts'
import { ObjectReader } from './object-reader.ts'
import { BackupTarget, type Manifest } from './target.ts'
import { finishRestore, isRestoring, requireRestored, startRestore } from './unfinished.ts'

export interface RestoreOptions extends Pick<
  StoreOptions,
  'namespace' | 'durability' | 'canonical' | 'semantic' | 'clock'
> {
  /** The id of a backup, or how it begins. Default: the newest of the namespace, if all are of one store. */
  readonly backup?: string | undefined
  /** Restore into a store that has other keys, or other values under the same keys, which are replaced. Default: `false`. */
  readonly overwrite?: boolean | undefined
  /** Ends it, and its reason is thrown; the same call again goes on. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called after every key. Default: none. */
  readonly onProgress?:
    | ((progress: { readonly keys: number; readonly valueBytes: number }) => void)
    | undefined
}

export interface RestoredBackup {
  /** The id of the backup. */
  readonly backup: string
  /** Keys that are there as they were. */
  readonly keys: number
  /** Keys of the backup that have expired since. */
  readonly expired: number
}

const OPTIONS = [
  'namespace',
  'durability',
  'canonical',
  'semantic',
  'clock',
  'backup',
  'overwrite',
  'signal',
  'onProgress',
]

export async function restoreBackup(
  source: string,
  location: Location,
  input: RestoreOptions = {},
): Promise<RestoredBackup> {
  refuseUnknown(input, OPTIONS)
  const { backup: wanted, overwrite: _overwrite, signal, onProgress: _onProgress, ...place } = input
  signal?.throwIfAborted()
  const target = await BackupTarget.open(source)
  const manifest =
    wanted === undefined
      ? await target.newestBackup(place.namespace ?? '')
      : await target.findBackup(wanted)
  const reader = new ObjectReader(target, await target.readIndexes())
  if (place.canonical === undefined) refuseFunction(manifest)
  // Whatever a store has taken it takes again.
  const given = { ...place, onUnreadable: 'bytes' as const }
  const options = readOptions(storeOptions, given, 'Restore options')
  return openAt(location, storeSpaces, options, async (backend) => {
    // One that was cut off goes on.
    if (!input.overwrite && !(await isRestoring(backend, manifest.id)))
      await requireRoom(backend, reader, manifest)
    await requireRestored(backend, manifest.id)
    await restoreSettings(backend, manifest.settings)
    await restoreIdentity(backend, manifest.store)
    await startRestore(backend, manifest.id)
    const store = await storeOn(backend, location, options, manifest.id)
    const restored = await new Restoring(store, backend, reader, input).all(manifest)
    await finishRestore(backend)
    if (typeof location === 'string') await store.close()
    return restored
  })
}

function refuseFunction({ settings: { canonical } }: Manifest): void {
  if (!canonical.name.startsWith('function:')) return
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    `The store was written with the canonical function ${JSON.stringify(canonical.name)}. Give it as canonical.`,
  )
}

async function* listedIn(reader: ObjectReader, { listing }: Manifest): AsyncGenerator<Listed> {
  for (const digest of listing) yield* keysOf(await reader.read(Buffer.from(digest, 'hex')))
}

/** Whatever keys are there must be those of this backup, as they are in it. */
async function requireRoom(
  backend: Backend,
  reader: ObjectReader,
  manifest: Manifest,
): Promise<void> {
  const all = listedIn(reader, manifest)
  let listed = await nextOf(all, undefined)
  for await (const { key, value: entry } of backend.scan(entries)) {
    if (!entry.isLive(backend.now())) continue
    listed = await nextOf(all, key, listed)
    if (listed?.key.equals(key) && isSame(entry, listed)) continue
    throw new PrestigeError(
      'TARGET_NOT_EMPTY',
      `There is a store with other keys, such as ${JSON.stringify(key.toString())}. Restore into a place or a namespace of its own, or say overwrite (--overwrite) to keep its other keys and replace those of the backup.`,
    )
  }
}

/** The first that is not before `key`. */
async function nextOf(
  all: AsyncGenerator<Listed>,
  key: Buffer | undefined,
  from?: Listed,
): Promise<Listed | undefined> {
  if (from && key && from.key.compare(key) >= 0) return from
  for (;;) {
    const step = await all.next()
    if (step.done) return undefined
    if (!key || step.value.key.compare(key) >= 0) return step.value
  }
}

function isSame(entry: Entry, { digest, bytes, expiresAt, metadata }: Listed): boolean {
  if (entry.expiresAt !== expiresAt || !isSameMetadata(entry.metadata, metadata)) return false
  return entry.bytes === bytes && equalBytes(entry.exact ?? entry.digest, digest)
}

class Restoring {
  #keys = 0
  #valueBytes = 0
  #expired = 0
  readonly #pinned: Buffer[] = []
  readonly #store: Store
  readonly #backend: Backend
  readonly #reader: ObjectReader
  readonly #options: RestoreOptions

  constructor(store: Store, backend: Backend, reader: ObjectReader, options: RestoreOptions) {
    this.#store = store
    this.#backend = backend
    this.#reader = reader
    this.#options = options
  }

  async all(manifest: Manifest): Promise<RestoredBackup> {
    const { signal } = this.#options
    const hasKeys = (await this.#store.stats()).keys > 0
    for await (const outcome of this.#store.putMany(this.#items(manifest, hasKeys), { signal })) {
      if (!outcome.ok) throw outcome.error
      this.#count(outcome.result.bytes)
    }
    for (const key of this.#pinned) await this.#store.pin(key)
    return { backup: manifest.id, keys: this.#keys, expired: this.#expired }
  }

  async *#items(manifest: Manifest, hasKeys: boolean): AsyncGenerator<PutItem> {
    let last: { readonly digest: Buffer; readonly value: Buffer } | undefined
    for await (const listed of listedIn(this.#reader, manifest)) {
      const { key, digest, bytes, expiresAt } = listed
      const metadata = listed.metadata && decodeMetadata(listed.metadata)
      const expiry = expiryOf(expiresAt, listed.life)
      if (listed.life?.isPinned) this.#pinned.push(key)
      if (expiresAt !== undefined && expiresAt <= this.#backend.now()) {
        this.#expired++
        continue
      }
      const there = hasKeys ? await this.#backend.read(findEntry, key) : undefined
      if (there && isSame(there, listed)) {
        this.#count(bytes)
        continue
      }
      if (bytes > WHOLE_BYTES_MAX) {
        const { signal } = this.#options
        await this.#store.put(key, this.#reader.readParts(digest), { ...expiry, metadata, signal })
        this.#count(bytes)
        continue
      }
      if (!last || !equalBytes(last.digest, digest))
        last = { digest, value: await this.#reader.read(digest) }
      yield { key, value: last.value, ...expiry, metadata }
    }
  }

  #count(bytes: number): void {
    this.#keys++
    this.#valueBytes += bytes
    this.#options.onProgress?.({ keys: this.#keys, valueBytes: this.#valueBytes })
  }
}
