/**
 * What a monitor asks of a store: how much there is, what waits to be collected, and when contents were stored. Costs
 * the same however large the store is: tallies, the first rows of a few spaces, and fifty lookups.
 */

import {
  type Backend,
  idTime,
  type Range,
  type ReadScope,
  rowsOf,
  type Space,
  type Transaction,
} from '../backends/index.ts'
import { expiries, expiryKey, refs, released } from './rows.ts'
import type { StoreStats } from './stats.ts'

/** No more are counted. */
const COUNTED_MAX = 1000
/** No id is of a later time. */
const TIME_MAX = 2 ** 47

export interface StoreHealth {
  readonly totalKeys: number
  /** Distinct contents. */
  readonly totalObjects: number
  /** Of all distinct contents. */
  readonly totalBytes: number
  /** Bytes of all values divided by bytes of contents; 1 for an empty store. */
  readonly dedupRatio: number
  /** Keys that have expired and wait for `collect`. 1000: so many or more. */
  readonly expiredKeys: number
  /** Contents that have lost a key and wait for `collect`. 1000: so many or more. */
  readonly orphanedObjects: number
  /** How long ago the oldest content was stored. Not in an empty store, and not on Redis and DynamoDB. */
  readonly oldestObjectAgeMs?: number
  /** How long ago the newest content was stored. Likewise. */
  readonly newestObjectAgeMs?: number
}

export async function healthOf(
  backend: Backend,
  { keys, contents, contentBytes, dedupRatio }: StoreStats,
): Promise<StoreHealth> {
  const now = Math.floor(backend.now())
  const times = backend.serial ? await backend.read(findTimes) : undefined
  return {
    totalKeys: keys,
    totalObjects: contents,
    totalBytes: contentBytes,
    dedupRatio,
    expiredKeys: await countRows(backend, expiries, { end: expiryKey(now + 1, Buffer.alloc(0)) }),
    orphanedObjects: await countRows(backend, released, {}),
    ...(times && {
      oldestObjectAgeMs: Math.max(0, now - times.oldest),
      newestObjectAgeMs: Math.max(0, now - times.newest),
    }),
  }
}

async function countRows(backend: Backend, space: Space<unknown>, range: Range): Promise<number> {
  let count = 0
  for await (const _row of backend.scan(space, { ...range, limit: COUNTED_MAX })) count++
  return count
}

/** Ids are ordered by time, and references by ids. Rows can be asked for from a time on, but not from the end. */
function* findTimes(
  _scope: ReadScope,
): Transaction<{ readonly oldest: number; readonly newest: number } | undefined> {
  const oldest = yield* firstSince(0)
  if (oldest === undefined) return undefined
  let newest = oldest
  let end = TIME_MAX + 1
  while (end - newest > 1) {
    const middle = newest + Math.floor((end - newest) / 2)
    const found = yield* firstSince(middle)
    if (found === undefined) end = middle
    else newest = found
  }
  return { oldest, newest }
}

function* firstSince(time: number): Transaction<number | undefined> {
  const start = expiryKey(time, Buffer.alloc(0))
  const [row] = yield* rowsOf(refs, { start, limit: 1 })
  return row && idTime(row.key)
}
