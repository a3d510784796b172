/** Opens a store: reads the options, and checks what the store was written with. */

import { join } from 'node:path'

import { type Backend, backendAt, type Location, openAt, withBackendAt } from '../backends/index.ts'
import type { ArchiveSource } from '../platform/archive-stream.ts'
import { requireRestored } from './backup/unfinished.ts'
import { isDirectory } from '../platform/location.ts'
import { readOptions } from '../platform/options.ts'
import { readArchive, writeArchive } from './archive.ts'
import { expiryOf } from './lifecycle/life.ts'
import { type StoreOptions, type CheckedStoreOptions, storeOptions } from './options.ts'
import type { Reembedded, ReembedOptions } from './semantic/reembed.ts'
import { type PutItem, refuseUnknown } from './prepare.ts'
import { storeSpaces } from './rows.ts'
import { openSettings } from './settings.ts'
import { Store } from './store.ts'

/**
 * Opens the store at a location: a directory, `memory:`, `redis://…`, `dynamodb://…`, or a backend of one's own. A
 * backend that is given brings its own namespace, clock and durability, and is closed with the store.
 */
export async function openStore(location: Location, input: StoreOptions = {}): Promise<Store> {
  const options = readOptions(storeOptions, input, 'Store options')
  return openAt(location, storeSpaces, options, (backend) => storeOn(backend, location, options))
}

/** The store on a backend that was opened for it. `restoring`: the backup of which it is being restored. */
export async function storeOn(
  backend: Backend,
  location: Location,
  options: CheckedStoreOptions,
  restoring?: string,
): Promise<Store> {
  await requireRestored(backend, restoring)
  const opened = await openSettings(backend, options)
  const path = opened.semantic && indexPath(location, options.namespace)
  return Store.open(backend, opened, options, path)
}

/** Gives a store that compares meanings another embedder. Its bytes and keys stay as they are. */
export async function reembedStore(
  location: Location,
  input: ReembedOptions & { readonly namespace?: string | undefined } = {},
): Promise<Reembedded> {
  const { namespace, ...wanted } = input
  refuseUnknown(wanted, ['namespace', 'embedder', 'threshold', 'signal', 'onProgress'])
  const isPlace = typeof location === 'string'
  const options = readOptions(
    storeOptions,
    { namespace, ...(isPlace && { create: false }) },
    'Store options',
  )
  const { reembed } = await import('./semantic/reembed.ts')
  return withBackendAt(location, storeSpaces, options, (backend) => reembed(backend, wanted))
}

/** Of meanings: beside the rows of a directory, one a namespace. What is elsewhere has no file. */
function indexPath(location: Location, namespace = ''): string | undefined {
  if (typeof location !== 'string' || !isDirectory(location)) return undefined
  const name = Buffer.from(namespace).toString('hex').slice(0, 128)
  return join(location, `prestige-semantic${name === '' ? '' : `-${name}`}.index`)
}

export interface Restored {
  /** Keys that were put. */
  readonly keys: number
  /** Keys that had expired since the archive was made. */
  readonly expired: number
}

/** A whole store as one stream of bytes, each content once: to carry it to another engine, or to put it aside. */
export async function* archiveStore(
  location: Location,
  input: Pick<StoreOptions, 'namespace' | 'clock'> = {},
): AsyncGenerator<Buffer> {
  const backend = await backendAt(
    location,
    storeSpaces,
    readOptions(storeOptions, { ...input, ...readingOf(location) }, 'Archive options'),
  )
  try {
    yield* writeArchive(
      backend,
      await openSettings(backend, readOptions(storeOptions, { create: false }, 'Archive options')),
    )
  } finally {
    if (typeof location === 'string') await backend.close()
  }
}

/** Nothing is written, so a directory may be on media that cannot be. */
function readingOf(location: Location): StoreOptions {
  if (typeof location !== 'string') return {}
  return { create: false, ...(isDirectory(location) && { readOnly: true }) }
}

/** Puts everything of an archive into a store, which may hold other keys already. */
export async function restoreStore(
  store: Store,
  archive: ArchiveSource,
  options: {
    readonly clock?: () => number
    readonly signal?: AbortSignal | undefined
    readonly onKey?: (bytes: number) => void
  } = {},
): Promise<Restored> {
  const { clock = Date.now, signal, onKey } = options
  let keys = 0
  let expired = 0
  const pinned: Buffer[] = []
  const items = async function* (): AsyncGenerator<PutItem> {
    for await (const { key, value, expiresAt, metadata, life } of readArchive(archive)) {
      if (life?.isPinned) pinned.push(key)
      if (expiresAt !== undefined && expiresAt <= clock()) expired++
      else yield { key, value, metadata, ...expiryOf(expiresAt, life) }
    }
  }
  for await (const outcome of store.putMany(items(), { signal })) {
    if (!outcome.ok) throw outcome.error
    keys++
    onKey?.(outcome.result.bytes)
  }
  for (const key of pinned) await store.pin(key)
  return { keys, expired }
}
