/** Opens the store a call names, and closes it whatever happens. The only place that loads a store. */

import { judgementInput } from './judgement.ts'
import type { Store, StoreOptions } from '../../index.ts'
import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { isDirectory } from '../../platform/location.ts'
import { countGiven } from './count-given.ts'
import { sizeGiven } from './size-given.ts'
import { stateWithin, unsaidDurability } from './location.ts'

export interface Access {
  /** Only commands that put something make a store; to all others a missing one is an error. */
  readonly create: boolean
  /** What is meant where nothing is said; closing the store brings it to the disk in any case. */
  readonly durability?: 'fsync' | 'os'
  /** A directory is only read, so that it may be on media that cannot be written, and damage cannot end the process. */
  readonly readOnly?: true
  /** What the command itself decides. */
  readonly more?: Pick<StoreOptions, 'changes' | 'evictTo'>
}

/** How commands that change nothing open a store. */
export const READING: Access = { create: false, readOnly: true }

export async function withStore<T>(
  invocation: Invocation,
  { create, durability, readOnly, more }: Access,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const location = create ? locationOf(invocation) : existingLocationOf(invocation)
  const { openStore } = await import('../../store/index.ts')
  const how =
    readOnly && isDirectory(location)
      ? { readOnly }
      : { durability: choice(invocation, 'durability') ?? unsaidDurability(location, durability) }
  const input = { ...(await storeInput(invocation)), ...how, ...more, create }
  const store = await openStore(location, input)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

export function locationOf(invocation: Invocation): string {
  const location = invocation.text('store') ?? process.env['PRESTIGE_STORE']
  if (location) return location
  throw usageFailure('No store is given: use --store LOCATION, or set PRESTIGE_STORE.')
}

/** Of commands that make nothing: the directory of a run's outputs is that of its state, too. */
export function existingLocationOf(invocation: Invocation): string {
  return stateWithin(locationOf(invocation))
}

export async function storeInput(invocation: Invocation): Promise<StoreOptions> {
  // To `similar` it says what is asked for, not what the store is to be.
  const isAsked = invocation.command === 'similar'
  const threshold = isAsked ? undefined : invocation.share('threshold')
  const near = {
    ...(threshold !== undefined && { threshold }),
    ...(await judgementInput(invocation)),
  }
  return {
    namespace: invocation.text('namespace'),
    dedup: choice(invocation, 'dedup'),
    ...(Object.keys(near).length > 0 && { near }),
    semantic: semanticInput(invocation),
    canonical: choice(invocation, 'canonical'),
    fidelity: choice(invocation, 'fidelity'),
    onUnreadable: choice(invocation, 'on-unreadable'),
    gc: choice(invocation, 'gc'),
    maxBytes: maxBytesGiven(invocation),
    maxKeys: countGiven(invocation, 'max-keys', 1),
    compression: choice(invocation, 'compression'),
    chunks: chunksInput(invocation),
    ...(invocation.flag('no-deltas') && { deltas: false }),
  }
}

function maxBytesGiven(invocation: Invocation): number | undefined {
  const bytes = sizeGiven(invocation, 'max-bytes')
  if (bytes !== 0) return bytes
  throw usageFailure('--max-bytes must be 1 or more. To delete all keys: prestige clear.')
}

/** `--chunk-from none` keeps in one row what fits into one. */
function chunksInput(invocation: Invocation): StoreOptions['chunks'] {
  const from = invocation.text('chunk-from')
  const average = invocation.text('chunk-size')
  if (from === 'none') return false
  if (from === undefined && average === undefined) return undefined
  const averageBytes = countGiven(invocation, 'chunk-size', 256, 1_048_576)
  if (averageBytes !== undefined && !Number.isInteger(Math.log2(averageBytes))) {
    throw usageFailure(`--chunk-size ${averageBytes}: must be a power of two: 4096, 16384, 65536.`)
  }
  return {
    ...(from !== undefined && { fromBytes: countGiven(invocation, 'chunk-from', 64) }),
    ...(average !== undefined && { averageBytes }),
  }
}

function semanticInput(invocation: Invocation): StoreOptions['semantic'] {
  const embedder = invocation.text('model')
  const threshold = invocation.share('semantic-threshold')
  const isNew = ['semantic', 'hybrid'].includes(invocation.text('dedup') ?? '')
  if (embedder === undefined && threshold === undefined && !isNew) return undefined
  return { embedder, threshold }
}

interface Choices {
  readonly dedup: NonNullable<StoreOptions['dedup']>
  readonly canonical: Extract<StoreOptions['canonical'], string>
  readonly fidelity: NonNullable<StoreOptions['fidelity']>
  readonly 'on-unreadable': NonNullable<StoreOptions['onUnreadable']>
  readonly gc: NonNullable<StoreOptions['gc']>
  readonly compression: NonNullable<StoreOptions['compression']>
  readonly durability: NonNullable<StoreOptions['durability']>
}

export function choice<K extends keyof Choices>(
  invocation: Invocation,
  name: K,
): Choices[K] | undefined {
  // safe: arguments.ts refuses all but the choices of commands.ts, which the compiler checks against StoreOptions
  return invocation.text(name) as Choices[K] | undefined
}
