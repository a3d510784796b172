/** Opens a resolver: chooses the backend, reads the options, checks what it was written with, fills its tables. */

import { type Backend, openBackend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { readOptions } from '../platform/options.ts'
import { type ResolverInput, resolverOptions, type ResolverOptions, withPreset } from './options.ts'
import { Resolver } from './resolver.ts'
import { resolverSpaces } from './rows.ts'
import { openSettings } from './settings.ts'

/**
 * Opens the resolver at a location: a directory (that of a store may be shared), `memory:`, or a backend of one's
 * own, which brings its own namespace, clock and durability, and is closed with the resolver.
 */
export async function openResolver(
  location: string | Backend,
  input: ResolverInput = {},
): Promise<Resolver> {
  const options = withPreset(readOptions(resolverOptions, input, 'Resolver options'))
  const backend = await backendOf(location, options)
  try {
    return await Resolver.open(backend, await openSettings(backend, options), options)
  } catch (error) {
    if (typeof location === 'string') await backend.close().catch(() => {})
    throw error
  }
}

async function backendOf(location: string | Backend, options: ResolverOptions): Promise<Backend> {
  if (typeof location !== 'string') return location
  const { namespace, clock, random, durability, create } = options
  if (location === 'memory:' && durability !== undefined) {
    throw new PrestigeError('INVALID_OPTIONS', 'durability cannot be used here: memory has none.')
  }
  return openBackend(location, {
    spaces: resolverSpaces,
    namespace,
    clock,
    random,
    durability,
    create,
  })
}
