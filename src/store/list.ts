/** What of the keys is listed. */

import { concat, endOfPrefix } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type StoreKey, keyBytes, refuseUnknown } from './prepare.ts'

export interface ListOptions {
  /** Only keys that start so. */
  readonly prefix?: StoreKey | undefined
  /** Only keys after this one: the last key of the page before. */
  readonly startAfter?: StoreKey | undefined
  /** At most so many keys. Default: all. */
  readonly limit?: number | undefined
}

export function limitOf(options: ListOptions): number {
  refuseUnknown(options, ['prefix', 'startAfter', 'limit'])
  const { limit = Infinity } = options
  if (limit === Infinity || (Number.isInteger(limit) && limit >= 0)) return limit
  throw new PrestigeError('INVALID_OPTIONS', `limit is a whole number from 0 on, not ${limit}.`)
}

export function rangeOf({ prefix, startAfter }: ListOptions): {
  start?: Buffer
  end?: Buffer | undefined
} {
  const from = prefix === undefined || prefix.length === 0 ? undefined : keyBytes(prefix)
  const isFromStart = startAfter === undefined || startAfter.length === 0
  const after = isFromStart ? undefined : concat(keyBytes(startAfter), Buffer.of(0))
  const start = from && after && from.compare(after) > 0 ? from : (after ?? from)
  return { ...(start && { start }), end: from && endOfPrefix(from) }
}
