/** Chooses a backend by the name of its location. Concrete backends are loaded only when chosen. */

import { PrestigeError } from '../platform/errors.ts'
import type { Backend, BackendOptions } from './contract.ts'
import type { Durability } from './lmdb/index.ts'
import type { Tappable } from './kit/optimistic.ts'
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
  if (location === 'memory:') {
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
  if (location === '' || /^[a-z][a-z0-9+.-]+:/i.test(location)) {
    throw new PrestigeError(
      'INVALID_LOCATION',
      `${JSON.stringify(withoutSecrets(location))} is not a location this prestige knows. Give a directory, 'memory:', 'redis://host:port', or 'dynamodb://region/table-prefix'.`,
    )
  }
  if (options.readOnly) {
    const { openReadOnly } = await import('./lmdb/index.ts')
    return openReadOnly(location, options)
  }
  const { openLmdb } = await import('./lmdb/index.ts')
  return openLmdb(location, options)
}
