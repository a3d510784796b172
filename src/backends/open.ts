/** Chooses a backend by the name of its location. Concrete backends are loaded only when chosen. */

import { PrestigeError } from '../platform/errors.ts'
import type { Backend, BackendOptions } from './contract.ts'
import type { Durability } from './lmdb/index.ts'
import type { Tappable } from './kit/optimistic.ts'
import { isDirectory, isMemory } from '../platform/location.ts'
import { withoutSecrets } from './kit/secrets.ts'

export interface LocationOptions extends BackendOptions, Tappable {
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
  if (/^rediss?(\+cluster)?:/i.test(location)) {
    const { openRedis } = await import('./redis/index.ts')
    return openRedis(location, options)
  }
  if (/^dynamodb:/i.test(location)) {
    const { openDynamo } = await import('./dynamodb/index.ts')
    return openDynamo(location, options)
  }
  if (!isDirectory(location)) throw notALocation(JSON.stringify(withoutSecrets(location)))
  if (options.readOnly) {
    const { openReadOnly } = await import('./lmdb/index.ts')
    return openReadOnly(location, options)
  }
  const { openLmdb } = await import('./lmdb/index.ts')
  return openLmdb(location, options)
}

/** Of anything that is no location, by what a message may show of it. */
export function notALocation(shown: string): PrestigeError {
  return new PrestigeError(
    'INVALID_LOCATION',
    `${shown} is not a location. Give a directory, 'memory:', 'redis://host:port', 'dynamodb://region/table-prefix', or a backend.`,
  )
}
