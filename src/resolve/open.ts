/** Opens a resolver: reads the options, checks what it was written with, fills its tables. */

import { type Location, openAt } from '../backends/index.ts'
import { readOptions } from '../platform/options.ts'
import { type ResolverOptions, resolverOptions, withPreset } from './options.ts'
import { Resolver } from './resolver.ts'
import { resolverSpaces } from './rows.ts'
import { openSettings } from './settings.ts'

/**
 * Opens the resolver at a location: a directory (that of a store may be shared), `memory:`, `redis://…`,
 * `dynamodb://…`, or a backend of one's own, which brings its own namespace, clock and durability, and is closed with
 * the resolver.
 */
export async function openResolver(
  location: Location,
  input: ResolverOptions = {},
): Promise<Resolver> {
  const options = withPreset(readOptions(resolverOptions, input, 'Resolver options'))
  return openAt(location, resolverSpaces, options, async (backend) =>
    Resolver.open(backend, await openSettings(backend, options), options),
  )
}
