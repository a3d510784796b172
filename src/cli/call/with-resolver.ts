/** Opens the resolver a call names, and closes it whatever happens. */

import { judgementInput } from './judgement.ts'
import type { Resolver, ResolverOptions, VectorOptions } from '../../index.ts'
import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { unsaidDurability } from './location.ts'
import { readDuration } from '../print/units.ts'
import { type Access, choice, existingLocationOf, locationOf } from './with-store.ts'

/** Flags win over the environment, which wins over what the resolver was written with. */
export async function withResolver<T>(
  invocation: Invocation,
  { create }: Access,
  use: (resolver: Resolver) => Promise<T>,
): Promise<T> {
  const location = create ? locationOf(invocation) : existingLocationOf(invocation)
  const flags = await flagInput(invocation)
  const { openResolver, resolverOptionsFrom } = await import('../../index.ts')
  const base = resolverOptionsFrom(process.env)
  const vector = vectorInput(invocation, base.vector)
  // Nothing waits for the disk line by line: closing brings all of it there.
  const durability = choice(invocation, 'durability') ?? unsaidDurability(location, 'os')
  const resolver = await openResolver(location, {
    ...base,
    ...flags,
    ...(vector && { vector }),
    durability,
    create,
  })
  try {
    return await use(resolver)
  } finally {
    await resolver.close()
  }
}

export function groupOf(invocation: Invocation): string {
  return invocation.text('group') ?? 'default'
}

async function flagInput(invocation: Invocation): Promise<ResolverOptions> {
  const canonical = choice(invocation, 'canonical')
  const profile = invocation.text('profile')
  const ttl = invocation.text('ttl')
  const threshold = isOfVectors(invocation) ? undefined : invocation.share('threshold')
  return {
    namespace: invocation.text('namespace'),
    ...(canonical !== undefined && { canonical }),
    // safe: what is no profile is refused by name when the resolver opens
    ...(profile !== undefined && { profile: profile as NonNullable<ResolverOptions['profile']> }),
    ...(invocation.text('preset') === 'lsh' && { preset: 'lsh' }),
    ...(ttl !== undefined && { ttlMs: readDuration(ttl, 'ttl') }),
    ...(threshold !== undefined && { threshold }),
    ...(await judgementInput(invocation)),
  }
}

function isOfVectors(invocation: Invocation): boolean {
  return invocation.text('vector-field') !== undefined
}

/** With vectors, the threshold is of their cosine. */
function vectorInput(
  invocation: Invocation,
  base: VectorOptions | undefined,
): VectorOptions | undefined {
  if (!isOfVectors(invocation)) return undefined
  const dimensions = invocation.wholeNumber('dimensions') ?? base?.dimensions
  const threshold = invocation.share('threshold') ?? base?.threshold
  if (dimensions !== undefined && threshold !== undefined) return { ...base, dimensions, threshold }
  if (dimensions === undefined && threshold === undefined) return undefined
  throw usageFailure('Vectors are opened with both --dimensions N and --threshold X, or neither.')
}
