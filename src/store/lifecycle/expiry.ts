/**
 * The transactions that change when a key expires and leave its value alone.
 *
 * A sliding expiry is extended by a read only once an eighth of the time to live has passed since it was set: so a key
 * that is read all the time is written eight times in each time to live, and one that was just read lives for at least
 * seven eighths of it.
 */

import { type Bytes, EMPTY } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { entries, type Entry, expiries, expiryKey } from '../rows.ts'
import { count } from '../tallies.ts'
import { pins, type Sliding, sliding, uses } from './rows.ts'
import { moveUse, type Tracking } from './tracking.ts'

const STEPS = 8

/** The sliding expiry of an entry; `undefined` where reads do not extend it. */
export function slidingOf(entry: Entry | undefined, row: Sliding | undefined): Sliding | undefined {
  return row && row.expiresAt === entry?.expiresAt ? row : undefined
}

/** Whether a read extends it. */
export function isDue({ ttlMs, expiresAt }: Sliding, now: number): boolean {
  return now - (expiresAt - ttlMs) >= ttlMs / STEPS
}

export interface ExpiryChange {
  readonly key: Bytes
  readonly tracking: Tracking
  /** `undefined`: it never expires. `keep`: a sliding one is extended, another stays. */
  readonly ttlMs: number | undefined | 'keep'
  /** Whether reads extend it. Absent: as it was. */
  readonly sliding?: boolean | undefined
  readonly isUse: boolean
}

/** Whether the key is there. */
export function* changeExpiry(scope: Scope, change: ExpiryChange): Transaction<boolean> {
  const { key, tracking, isUse } = change
  const [entry, row] = yield* read(cell(entries, key), cell(sliding, key))
  const now = scope.now()
  if (!entry?.isLive(now)) return false
  const before = slidingOf(entry, row)
  const ttlMs = change.ttlMs === 'keep' ? before?.ttlMs : change.ttlMs
  if (change.ttlMs !== 'keep' || before) {
    const slides = change.sliding ?? before !== undefined
    setExpiry(scope, key, entry, ttlMs === undefined ? undefined : now + ttlMs)
    if (slides && ttlMs !== undefined)
      scope.write(cell(sliding, key), { ttlMs, expiresAt: now + ttlMs })
    else if (row) scope.remove(cell(sliding, key))
  }
  if (isUse && tracking.keepsRecency) {
    const [usedAt, pin] = yield* read(cell(uses, key), cell(pins, key))
    moveUse(scope, key, usedAt, now, pin !== undefined)
  }
  return true
}

/** Extends a sliding expiry, if it is still due. */
export function* extend(scope: Scope, key: Bytes): Transaction<void> {
  const [entry, row] = yield* read(cell(entries, key), cell(sliding, key))
  const now = scope.now()
  const slides = slidingOf(entry, row)
  if (!entry?.isLive(now) || !slides || !isDue(slides, now)) return
  const expiresAt = now + slides.ttlMs
  setExpiry(scope, key, entry, expiresAt)
  scope.write(cell(sliding, key), { ttlMs: slides.ttlMs, expiresAt })
}

function setExpiry(scope: Scope, key: Bytes, entry: Entry, expiresAt: number | undefined): void {
  const { expiresAt: before } = entry
  if (before !== undefined) scope.remove(cell(expiries, expiryKey(before, key)))
  if (expiresAt !== undefined) scope.write(cell(expiries, expiryKey(expiresAt, key)), EMPTY)
  scope.write(cell(entries, key), entry.with({ expiresAt }))
  const isTimed = expiresAt === undefined ? 0 : 1
  count(scope, { keysWithExpiry: isTimed - (before === undefined ? 0 : 1) })
}
