/** What callers can do about the life of keys: pin, touch, expire, persist, evict, prune. */

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { StoreCore } from '../core.ts'
import { keyBytes, refuseUnknown, type StoreKey, ttlOf } from '../prepare.ts'
import { entries, expiryKey } from '../rows.ts'
import type { Evicted } from './evict.ts'
import { changeExpiry, type ExpiryChange } from './expiry.ts'
import { type GoneOptions, prune as pruneKeys, type PruneOptions } from './prune.ts'
import { pins, recency, uses } from './rows.ts'
import { moveUse } from './tracking.ts'

export interface EvictOptions extends GoneOptions {
  /** Until contents take at most so many bytes. */
  readonly toBytes?: number | undefined
  /** Until there are at most so many keys. */
  readonly toKeys?: number | undefined
}

export interface ExpireOptions {
  /** Reads extend it from now on, or do not. Default: as it was. */
  readonly sliding?: boolean | undefined
}

/** Everything here writes. */
function writing<T>(core: StoreCore, work: () => Promise<T>): Promise<T> {
  return core.gate.pass(async () => {
    if (core.isOld) await core.raise()
    return work()
  })
}

export async function pin(core: StoreCore, key: StoreKey, isPinned: boolean): Promise<boolean> {
  const bytes = keyBytes(key)
  return writing(core, async () => {
    if (isPinned) await core.lifecycle.keepPins()
    return core.backend.run(setPin, bytes, isPinned)
  })
}

/** Whether the key is there; of unpinning, whether it was pinned. Pinned keys are not in the order of uses. */
function* setPin(scope: Scope, key: Bytes, isPinned: boolean): Transaction<boolean> {
  const [entry, usedAt, pinned] = yield* read(cell(entries, key), cell(uses, key), cell(pins, key))
  if (!entry?.isLive(scope.now())) return false
  if (!isPinned) {
    if (!pinned) return false
    scope.remove(cell(pins, key))
    if (usedAt !== undefined) moveUse(scope, key, usedAt, usedAt, false)
    return true
  }
  if (!pinned) scope.write(cell(pins, key), Buffer.alloc(0))
  if (usedAt !== undefined) scope.remove(cell(recency, expiryKey(usedAt, key)))
  return true
}

export function touch(core: StoreCore, key: StoreKey, ttlMs?: number): Promise<boolean> {
  const kept = ttlMs === undefined ? 'keep' : ttlOf(ttlMs)
  return change(core, key, { ttlMs: kept, isUse: true })
}

export function expire(
  core: StoreCore,
  key: StoreKey,
  ttlMs: number,
  options: ExpireOptions = {},
): Promise<boolean> {
  refuseUnknown(options, ['sliding'])
  if (ttlMs === undefined) throw refused('expire needs ttlMs. To let a key stay, use persist.')
  return change(core, key, { ttlMs: ttlOf(ttlMs), sliding: options.sliding, isUse: false })
}

export function persist(core: StoreCore, key: StoreKey): Promise<boolean> {
  return change(core, key, { ttlMs: undefined, sliding: false, isUse: false })
}

async function change(
  core: StoreCore,
  key: StoreKey,
  wanted: Pick<ExpiryChange, 'ttlMs' | 'sliding' | 'isUse'>,
): Promise<boolean> {
  const bytes = keyBytes(key)
  const { lifecycle } = core
  return writing(core, async () => {
    if (wanted.sliding) await lifecycle.keepSliding()
    return core.backend.run(changeExpiry, { ...wanted, key: bytes, tracking: lifecycle.tracking })
  })
}

export async function prune(core: StoreCore, options: PruneOptions): Promise<Evicted> {
  const work = () => pruneKeys(core, options)
  return options.dryRun ? core.gate.pass(work) : writing(core, work)
}

/** A store that has recorded no uses begins to, unless in a dry run, and takes the time a key was put for its last use. */
export async function evict(core: StoreCore, options: EvictOptions): Promise<Evicted> {
  refuseUnknown(options, ['toBytes', 'toKeys', 'dryRun', 'onKey', 'signal'])
  const { toBytes, toKeys, dryRun: isDryRun = false, onKey, signal } = options
  if (toBytes === undefined && toKeys === undefined) {
    throw refused('evict needs toBytes or toKeys: how small the store is to be.')
  }
  const to = {
    ...(toBytes !== undefined && { bytes: boundOf(toBytes, 'toBytes') }),
    ...(toKeys !== undefined && { keys: boundOf(toKeys, 'toKeys') }),
  }
  const work = () => core.lifecycle.evict({ to, isDryRun, onKey, signal })
  return isDryRun ? core.gate.pass(work) : writing(core, work)
}

function boundOf(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw refused(`${name} is a whole number from 0 on, not ${String(value)}.`)
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
