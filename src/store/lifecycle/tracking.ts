/**
 * Rows about the use of keys, written in the transactions that put and remove them. A store that has none of these rows
 * pays one comparison.
 */

import { type Bytes, EMPTY } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { type Entry, expiryKey, settings } from '../rows.ts'
import { pins, recency, sliding, uses } from './rows.ts'

/** That a store has such rows, beside its settings. */
export const SLIDING = cell(settings, Buffer.from('sliding'))
export const PINS = cell(settings, Buffer.from('pins'))
/** `10`: uses are recorded. `11`: and keys that were there before have a use as well, the time they were put. */
export const RECENCY = cell(settings, Buffer.from('recency'))
export const ON = Buffer.of(0x10)
export const FILLED = Buffer.of(0x11)

/** Which of these rows a store has, as far as this process knows. It only ever gets more. */
export class Tracking {
  keepsRecency = false
  hasSliding = false
  hasPins = false
  /** Keys that were there before uses were recorded have one by now. */
  isFilled = false

  get isOn(): boolean {
    return this.keepsRecency || this.hasSliding || this.hasPins
  }
}

/** Records when a key was used last. */
export function moveUse(
  scope: Scope,
  key: Bytes,
  from: number | undefined,
  to: number,
  isPinned: boolean,
): void {
  if (from !== undefined) scope.remove(cell(recency, expiryKey(from, key)))
  scope.write(cell(uses, key), to)
  if (!isPinned) scope.write(cell(recency, expiryKey(to, key)), EMPTY)
}

/** How a key is put, as far as it matters here. */
export interface TrackedPut {
  readonly key: Bytes
  readonly ttlMs: number | undefined
  readonly sliding: boolean
}

/** A put is a use at the very time, whatever it was before: what was just put is never the next to go. */
export function* trackPut(
  scope: Scope,
  tracking: Tracking,
  { key, ttlMs, sliding: slides }: TrackedPut,
  before: Entry | undefined,
  expiresAt: number | undefined,
): Transaction<void> {
  const now = scope.now()
  if (tracking.keepsRecency || tracking.hasPins) {
    const [usedAt, pin] = yield* read(cell(uses, key), cell(pins, key))
    // A key that has expired is gone, and so is its pin.
    const isNew = before === undefined || !before.isLive(now)
    if (pin && isNew) scope.remove(cell(pins, key))
    if (tracking.keepsRecency) moveUse(scope, key, usedAt, now, pin !== undefined && !isNew)
  }
  if (slides && ttlMs !== undefined && expiresAt !== undefined)
    scope.write(cell(sliding, key), { ttlMs, expiresAt })
  else if (tracking.hasSliding && before?.expiresAt !== undefined) scope.remove(cell(sliding, key))
}

/** Nothing that was recorded of a key is left behind. */
export function* trackRemoval(
  scope: Scope,
  tracking: Tracking,
  key: Bytes,
  { expiresAt }: Entry,
): Transaction<void> {
  if (tracking.hasPins) scope.remove(cell(pins, key))
  if (tracking.hasSliding && expiresAt !== undefined) scope.remove(cell(sliding, key))
  if (!tracking.keepsRecency) return
  const [usedAt] = yield* read(cell(uses, key))
  if (usedAt === undefined) return
  scope.remove(cell(uses, key))
  scope.remove(cell(recency, expiryKey(usedAt, key)))
}
