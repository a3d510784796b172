/** What of the keys is listed, or deleted. */

import { concat, endOfPrefix } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { CallOptions } from './call-options.ts'
import { type StoreKey, keyBytes, refuseUnknown } from './prepare.ts'

/** Keys in byte order: those with a prefix, those from one key to another, or those that are both. */
export interface KeyRange {
  /** Only keys that start so. */
  readonly prefix?: StoreKey | undefined
  /** Only this key and those after it. */
  readonly start?: StoreKey | undefined
  /** Only keys before this one. */
  readonly end?: StoreKey | undefined
}

export interface ListOptions extends KeyRange, Omit<CallOptions, 'retriesMax'> {
  /** Only keys after this one: the last key of the page before. */
  readonly startAfter?: StoreKey | undefined
  /** At most so many keys. Default: all. */
  readonly limit?: number | undefined
}

export const RANGE_OPTIONS = ['prefix', 'start', 'end', 'limit', 'signal', 'timeoutMs'] as const

export function limitOf(options: ListOptions): number {
  refuseUnknown(options, [...RANGE_OPTIONS, 'startAfter'])
  return checkedLimit(options.limit)
}

export function checkedLimit(limit = Infinity): number {
  if (limit === Infinity || (Number.isInteger(limit) && limit >= 0)) return limit
  throw new PrestigeError('INVALID_OPTIONS', `limit is a whole number from 0 on, not ${limit}.`)
}

/** An empty key is before all others: as a prefix or a start it leaves nothing out. */
export function rangeOf({ prefix, start, end, startAfter }: ListOptions): {
  start?: Buffer
  end?: Buffer
} {
  const shared = bytesOf(prefix)
  const after = bytesOf(startAfter)
  const starts = [shared, bytesOf(start), after && concat(after, Buffer.of(0))]
  const ends = [shared && endOfPrefix(shared), end === undefined ? undefined : keyBytes(end)]
  const first = starts
    .filter((key) => key !== undefined)
    .toSorted(inByteOrder)
    .at(-1)
  const last = ends.filter((key) => key !== undefined).toSorted(inByteOrder)[0]
  // Not every engine takes a range that ends before it starts.
  const from = first && last && first.compare(last) > 0 ? last : first
  return { ...(from && { start: from }), ...(last && { end: last }) }
}

function inByteOrder(one: Buffer, other: Buffer): number {
  return one.compare(other)
}

function bytesOf(key: StoreKey | undefined): Buffer | undefined {
  return key === undefined || key.length === 0 ? undefined : keyBytes(key)
}
