/**
 * Opens the backend of a store, a resolver, a ledger or a job state: at a location, or one that is given. All of them
 * accept the same locations and options, and refuse all others in the same words.
 */

import { PrestigeError } from '../platform/errors.ts'
import { isDirectory, isMemory } from '../platform/location.ts'
import type { Backend, BackendOptions, Space } from './contract.ts'
import { withoutSecrets } from './kit/secrets.ts'
import { type LocationOptions, notALocation, openBackend } from './open.ts'

export type Location = string | Backend

/** What says where and how a location is opened. A backend that is given brings its own. */
export type OpenAtOptions = Omit<LocationOptions, 'spaces' | 'tap'>

const NAMES = [
  'namespace',
  'clock',
  'random',
  'durability',
  'create',
  'readOnly',
  'timeoutMs',
  'retriesMax',
] as const satisfies readonly (keyof OpenAtOptions)[]
const VERBS = ['read', 'run', 'scan', 'snapshot', 'close'] as const

/** What `use` makes of the backend. If that fails, a backend that was opened here is closed. */
export async function openAt<T>(
  location: Location,
  spaces: readonly Space<unknown>[],
  options: OpenAtOptions,
  use: (backend: Backend) => Promise<T>,
): Promise<T> {
  const backend = await backendAt(location, spaces, options)
  try {
    return await use(backend)
  } catch (error) {
    // A backend that was given is not ours to close, and no failure to close may hide the reason.
    if (typeof location === 'string') await backend.close().catch(() => {})
    throw error
  }
}

/** As `openAt`, but a backend that was opened here is closed in any case. */
export async function withBackendAt<T>(
  location: Location,
  spaces: readonly Space<unknown>[],
  options: OpenAtOptions,
  use: (backend: Backend) => Promise<T>,
): Promise<T> {
  return openAt(location, spaces, options, async (backend) => {
    const result = await use(backend)
    if (typeof location === 'string') await backend.close()
    return result
  })
}

export async function backendAt(
  location: Location,
  spaces: readonly Space<unknown>[],
  options: OpenAtOptions,
): Promise<Backend> {
  if (typeof location !== 'string') {
    if (!isBackend(location)) throw notALocation(shownOf(location))
    refuse(options, NAMES, 'a backend that is given brings its own')
    return location
  }
  if (location === '' || location.includes('\0')) throw notALocation(shownOf(location))
  if (isMemory(location))
    refuse(options, ['durability', 'readOnly', 'timeoutMs'], 'memory has no directory')
  if (isMemory(location) || isDirectory(location))
    refuse(
      options,
      ['retriesMax'],
      'transactions run one after another here, and none is run again',
    )
  if (!isDirectory(location))
    refuse(options, ['readOnly'], 'only a directory can be opened for reading alone')
  if (options.readOnly) refuse(options, ['durability'], 'nothing is written with readOnly')
  return openBackend(location, { spaces, ...pick(options) })
}

function isBackend(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return VERBS.every((verb) => typeof Reflect.get(value, verb) === 'function')
}

function shownOf(location: unknown): string {
  if (typeof location === 'string') return JSON.stringify(withoutSecrets(location))
  if (typeof location !== 'object' || location === null)
    return typeof location === 'function' ? 'A function' : String(location)
  return `An object without ${VERBS.map((verb) => `${verb}()`).join(', ')}`
}

/** An option that would do nothing is refused, not ignored. */
function refuse(
  options: OpenAtOptions,
  names: readonly (keyof OpenAtOptions)[],
  why: string,
): void {
  const without = names.filter((name) => options[name] !== undefined)
  if (without.length === 0) return
  throw new PrestigeError('INVALID_OPTIONS', `${without.join(', ')} cannot be used here: ${why}.`)
}

function pick(options: OpenAtOptions): Omit<BackendOptions, 'spaces'> & OpenAtOptions {
  const { namespace, clock, random, durability, create, readOnly, timeoutMs, retriesMax } = options
  return { namespace, clock, random, durability, create, readOnly, timeoutMs, retriesMax }
}
