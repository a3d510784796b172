/** Chooses a backend by the name of its location. Concrete backends are loaded only when chosen. */

import { PrestigeError } from '../platform/errors.ts'
import type { Backend, BackendOptions } from './contract.ts'
import type { DynamoBackend } from './dynamodb/index.ts'
import type { Durability } from './lmdb/index.ts'
import type { RedisBackend } from './redis/index.ts'
import type { Retrying, Tappable } from './kit/optimistic.ts'
import { isDirectory, isMemory } from '../platform/location.ts'
import { withoutSecrets } from './kit/secrets.ts'

export interface LocationOptions extends BackendOptions, Tappable, Retrying {
  readonly durability?: Durability | undefined
  readonly create?: boolean | undefined
  /** Of a directory: read it without writing anything, also on media that cannot be written. */
  readonly readOnly?: boolean | undefined
  /** How long one operation may wait for others, in milliseconds. */
  readonly timeoutMs?: number | undefined
}

export async function openBackend(location: string, options: LocationOptions): Promise<Backend> {
  if (isMemory(location)) {
    if (options.create === false) {
      throw new PrestigeError(
        'STORE_NOT_FOUND',
        'A store in memory begins empty: there is none yet.',
      )
    }
    const { MemoryBackend } = await import('./memory/index.ts')
    return new MemoryBackend(options)
  }
  const server = await openServer(location, options)
  if (server) return server
  if (!isDirectory(location)) throw notALocation(JSON.stringify(withoutSecrets(location)))
  if (options.readOnly) {
    const { openReadOnly } = await import('./lmdb/index.ts')
    return openReadOnly(location, options)
  }
  const { openLmdb } = await import('./lmdb/index.ts')
  return openLmdb(location, options)
}

/** `undefined`: it is no location of a server that is known here. */
async function openServer(
  location: string,
  options: LocationOptions,
): Promise<RedisBackend | DynamoBackend | undefined> {
  if (/^rediss?(\+cluster)?:/i.test(location)) {
    const { openRedis } = await import('./redis/index.ts')
    return openRedis(location, options)
  }
  if (!/^dynamodb:/i.test(location)) return undefined
  const { openDynamo } = await import('./dynamodb/index.ts')
  return openDynamo(location, options)
}

/** Of these spaces, those that have rows at a location, by namespace. */
export async function namespacesAt(
  location: string,
  spaces: readonly string[],
  timeoutMs?: number,
): Promise<Map<string, Set<string>>> {
  if (isDirectory(location)) {
    const { namespacesOf } = await import('./lmdb/index.ts')
    return namespacesOf(location, spaces, timeoutMs)
  }
  const backend = await openServer(location, { spaces: [], create: false, timeoutMs })
  if (!backend) {
    if (!isMemory(location)) throw notALocation(JSON.stringify(withoutSecrets(location)))
    throw new PrestigeError('STORE_NOT_FOUND', 'Memory begins empty: nothing is there yet.')
  }
  try {
    return await backend.namespaces()
  } finally {
    await backend.close()
  }
}

/** Of anything that is no location, by what a message may show of it. */
export function notALocation(shown: string): PrestigeError {
  return new PrestigeError(
    'INVALID_LOCATION',
    `${shown} is not a location. Give a directory, 'memory:', 'redis://host:port', 'dynamodb://region/table-prefix', or a backend.`,
  )
}
