/** Opens a store: chooses the backend, reads the options, and checks what the store was written with. */

import type { Backend } from './backends/contract.ts'
import { openBackend } from './backends/open.ts'
import { PrestigeError } from './errors.ts'
import { readOptions } from './options.ts'
import { type StoreInput, storeOptions } from './store/options.ts'
import { storeSpaces } from './store/rows.ts'
import { openSettings } from './store/settings.ts'
import { Store } from './store/store.ts'

/**
 * Opens the store at a location: a directory, `memory:`, or a backend of one's own. A backend that is
 * given brings its own namespace, clock and durability, and is closed with the store.
 */
export async function openStore(
  location: string | Backend,
  input: StoreInput = {},
): Promise<Store> {
  const options = readStoreOptions(input)
  const backend = await backendOf(location, options)
  try {
    return new Store(backend, await openSettings(backend, options), options)
  } catch (error) {
    await backend.close()
    throw error
  }
}

async function backendOf(
  location: string | Backend,
  { namespace, clock, random, durability, create }: ReturnType<typeof readStoreOptions>,
): Promise<Backend> {
  if (typeof location === 'string') {
    return openBackend(location, {
      spaces: storeSpaces,
      namespace,
      clock,
      random,
      durability,
      create,
    })
  }
  if (typeof location === 'object' && location !== null && 'run' in location) return location
  throw new PrestigeError('INVALID_LOCATION', 'Give a directory, "memory:", or a backend.')
}

function readStoreOptions(input: StoreInput) {
  return readOptions(storeOptions, input, 'Store options')
}
