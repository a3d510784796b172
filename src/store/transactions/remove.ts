/** The transactions that take a key away: `delete`, and the collector's removal of an expired key. */

import type { Bytes } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { ChangeFeed } from '../changes/feed.ts'
import { trackRemoval } from '../lifecycle/tracking.ts'
import { type Condition, digestOfEntry, requireMet } from './condition.ts'
import { forgetReference, type Gc, type Keeping, release, type Swept } from './release.ts'
import { entries, type Entry, expiries, expiryKey, refKey, refs } from '../rows.ts'
import { count } from '../tallies.ts'

export interface RemoveEnd {
  /** The key was there, as far as a reader could see: an expired one was not. */
  readonly existed: boolean
  /** Length of the value that the key had. */
  readonly bytes: number
  readonly released: Buffer | undefined
  /** Its content, where that is gone. */
  readonly swept: Swept | undefined
}

const NOTHING: RemoveEnd = { existed: false, bytes: 0, released: undefined, swept: undefined }

export interface Removal {
  readonly key: Bytes
  readonly gc: Gc
  readonly keeping: Keeping
  /** What the key has to be for it to be removed. */
  readonly condition?: Condition | undefined
  /** Why a key goes that has not expired. Default: `delete`. */
  readonly why?: 'delete' | 'evict'
}

export function* removeKey(scope: Scope, removal: Removal): Transaction<RemoveEnd> {
  const { key, condition } = removal
  const [entry] = yield* read(cell(entries, key))
  if (condition !== undefined) requireMet(condition, key, entry, scope.now())
  return entry ? yield* removeEntry(scope, entry, removal) : NOTHING
}

/** Removes the key if it is (still) expired. */
export function* removeExpired(scope: Scope, removal: Removal): Transaction<RemoveEnd> {
  const [entry] = yield* read(cell(entries, removal.key))
  if (!entry || entry.isLive(scope.now())) return NOTHING
  return { ...(yield* removeEntry(scope, entry, removal)), existed: true }
}

export function* removeEntry(
  scope: Scope,
  entry: Entry,
  { key, gc, keeping, why = 'delete' }: Removal,
): Transaction<RemoveEnd> {
  const { expiresAt } = entry
  const isLive = entry.isLive(scope.now())
  scope.remove(cell(entries, key))
  if (keeping.changes)
    yield* recordRemoval(scope, keeping.changes, key, entry, isLive ? why : 'expire')
  if (keeping.tracking?.isOn) yield* trackRemoval(scope, keeping.tracking, key, entry)
  if (keeping.semantic) yield* forgetReference(scope, entry.id, key, keeping.semantic)
  scope.remove(cell(refs, refKey(entry.id, key)))
  if (expiresAt !== undefined) scope.remove(cell(expiries, expiryKey(expiresAt, key)))
  count(scope, {
    keys: -1,
    keysWithExpiry: expiresAt === undefined ? 0 : -1,
    valueBytes: -entry.bytes,
  })
  const end = yield* release(scope, entry, gc, keeping)
  return {
    existed: isLive,
    bytes: entry.bytes,
    released: end === 'released' ? entry.digest : undefined,
    swept: typeof end === 'object' ? end : undefined,
  }
}

/** Of a key that is gone. */
export function recordRemoval(
  scope: Scope,
  changes: ChangeFeed,
  key: Bytes,
  entry: Entry,
  kind: 'delete' | 'evict' | 'expire',
): Transaction<void> {
  const digest = digestOfEntry(entry)
  return changes.record(scope, { kind, key, digest, bytes: entry.bytes, previous: undefined })
}
