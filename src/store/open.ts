/** Opens a store: chooses the backend, reads the options, and checks what the store was written with. */

import { join } from 'node:path'

import { type Backend, openBackend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { readOptions } from '../platform/options.ts'
import { readArchive, writeArchive } from './archive.ts'
import { type StoreInput, type StoreOptions, storeOptions } from './options.ts'
import type { Reembedded, ReembedInput } from './semantic/reembed.ts'
import { type PutItem, refuseUnknown } from './prepare.ts'
import { storeSpaces } from './rows.ts'
import { openSettings } from './settings.ts'
import { Store } from './store.ts'

/**
 * Opens the store at a location: a directory, `memory:`, `redis://…`, or a backend of one's own. A backend that is
 * given brings its own namespace, clock and durability, and is closed with the store.
 */
export async function openStore(
  location: string | Backend,
  input: StoreInput = {},
): Promise<Store> {
  const options = readOptions(storeOptions, input, 'Store options')
  const backend = await backendOf(location, options)
  return storeOn(backend, location, options)
}

/** The store on a backend that was opened for it. */
export async function storeOn(
  backend: Backend,
  location: string | Backend,
  options: StoreOptions,
): Promise<Store> {
  try {
    const opened = await openSettings(backend, options)
    const path = opened.semantic && indexPath(location, options.namespace)
    return await Store.open(backend, opened, options, path)
  } catch (error) {
    // A backend that was given is not ours to close, and no failure to close may hide the reason.
    if (typeof location === 'string') await backend.close().catch(() => {})
    throw error
  }
}

/** Gives a store that compares meanings another embedder. Its bytes and keys stay as they are. */
export async function reembedStore(
  location: string | Backend,
  input: ReembedInput & { readonly namespace?: string | undefined } = {},
): Promise<Reembedded> {
  const { namespace, ...wanted } = input
  refuseUnknown(wanted, ['namespace', 'embedder', 'threshold', 'signal', 'onProgress'])
  const options = readOptions(storeOptions, { namespace, create: false }, 'Store options')
  const isPlace = typeof location === 'string'
  const backend = isPlace ? await backendOf(location, options) : location
  try {
    const { reembed } = await import('./semantic/reembed.ts')
    return await reembed(backend, wanted)
  } finally {
    if (isPlace) await backend.close()
  }
}

/** Not `memory:`, and not the URL of a server. */
export function isDirectory(location: string): boolean {
  return !/^[a-z][a-z0-9+.-]+:/i.test(location)
}

/** Of meanings: beside the rows of a directory, one a namespace. What is elsewhere has no file. */
function indexPath(location: string | Backend, namespace = ''): string | undefined {
  if (typeof location !== 'string' || !isDirectory(location)) return undefined
  const name = Buffer.from(namespace).toString('hex').slice(0, 128)
  return join(location, `prestige-semantic${name === '' ? '' : `-${name}`}.index`)
}

const OF_A_LOCATION = [
  'namespace',
  'clock',
  'random',
  'durability',
  'create',
  'readOnly',
  'timeoutMs',
] as const
const OF_A_DIRECTORY = ['durability', 'readOnly'] as const

export async function backendOf(
  location: string | Backend,
  options: StoreOptions,
): Promise<Backend> {
  if (typeof location === 'string') {
    if (location === 'memory:')
      refuse(options, [...OF_A_DIRECTORY, 'timeoutMs'], 'a store in memory has no directory')
    if (!isDirectory(location))
      refuse(options, ['readOnly'], 'only a directory can be opened for reading alone')
    if (options.readOnly) refuse(options, ['durability'], 'nothing is written with readOnly')
    const { namespace, clock, random, durability, create, readOnly, timeoutMs } = options
    const own = { namespace, clock, random, durability, create, readOnly, timeoutMs }
    return openBackend(location, { spaces: storeSpaces, ...own })
  }
  if (typeof location !== 'object' || location === null || !('run' in location)) {
    throw new PrestigeError(
      'INVALID_LOCATION',
      'Give a directory, "memory:", a redis:// location, or a backend.',
    )
  }
  refuse(options, OF_A_LOCATION, 'a backend that is given brings its own')
  return location
}

/** An option that would do nothing is refused, not ignored. */
function refuse(options: StoreOptions, names: readonly (keyof StoreOptions)[], why: string): void {
  const vain = names.filter((name) => options[name] !== undefined)
  if (vain.length === 0) return
  throw new PrestigeError('INVALID_OPTIONS', `${vain.join(', ')} cannot be used here: ${why}.`)
}

export interface Restored {
  /** Keys that were put. */
  readonly keys: number
  /** Keys that had expired since the archive was made. */
  readonly expired: number
}

/** A whole store as one stream of bytes, each content once: to carry it to another engine, or to put it aside. */
export async function* archiveStore(
  location: string | Backend,
  input: Pick<StoreInput, 'namespace' | 'clock'> = {},
): AsyncGenerator<Buffer> {
  // Nothing is written, so a directory may be on media that cannot be.
  const readOnly = typeof location === 'string' && isDirectory(location) ? true : undefined
  const options = readOptions(
    storeOptions,
    { ...input, create: false, readOnly },
    'Archive options',
  )
  const backend = typeof location === 'string' ? await backendOf(location, options) : location
  try {
    yield* writeArchive(backend, await openSettings(backend, { create: false }))
  } finally {
    if (typeof location === 'string') await backend.close()
  }
}

/** Puts everything of an archive into a store, which may hold other keys already. */
export async function restoreStore(
  store: Store,
  archive: AsyncIterable<Uint8Array>,
  options: {
    readonly clock?: () => number
    readonly signal?: AbortSignal | undefined
    readonly onKey?: (bytes: number) => void
  } = {},
): Promise<Restored> {
  const { clock = Date.now, signal, onKey } = options
  let keys = 0
  let expired = 0
  const items = async function* (): AsyncGenerator<PutItem> {
    for await (const { key, value, expiresAt } of readArchive(archive)) {
      const ttlMs = expiresAt === undefined ? undefined : expiresAt - clock()
      if (ttlMs !== undefined && ttlMs <= 0) expired++
      else yield { key, value, ttlMs }
    }
  }
  for await (const outcome of store.putMany(items(), { signal })) {
    if (!outcome.ok) throw outcome.error
    keys++
    onKey?.(outcome.result.bytes)
  }
  return { keys, expired }
}
