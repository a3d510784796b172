/** Pruning: keys go that were put, or last used, too long ago. */

import { PrestigeError } from '../../platform/errors.ts'
import type { StoreCore } from '../core.ts'
import { rangeOf } from '../list.ts'
import { refuseUnknown, type StoreKey } from '../prepare.ts'
import { entries, expiryKey } from '../rows.ts'
import { addGone, type Evicted, finishAll } from './evict.ts'
import { recency } from './rows.ts'
import { type Candidate, findCandidates, keyOfUse, References, takeAway } from './victims.ts'

const KEYS_AT_ONCE = 32

export interface GoneOptions {
  /** Change nothing, and only say what would go. Default: `false`. */
  readonly dryRun?: boolean | undefined
  /** Called with every key that goes, and the bytes that this frees: none as long as another key shares its content. */
  readonly onKey?: ((key: Buffer, freedBytes: number) => void) | undefined
  /** Stops between two slices when it is aborted, with its reason. */
  readonly signal?: AbortSignal | undefined
}

export interface PruneOptions extends GoneOptions {
  /** Only keys that were put longer ago than this, in milliseconds. Putting the same value again is no other put. */
  readonly olderThanMs?: number | undefined
  /** Only keys that were not used for longer than this, as precisely as `recencyMs`. The store must record uses. */
  readonly idleForMs?: number | undefined
  /** Only keys that start so. */
  readonly prefix?: StoreKey | undefined
}

interface Limits {
  readonly putUntil: number | undefined
  readonly usedUntil: number | undefined
}

export async function prune(core: StoreCore, options: PruneOptions): Promise<Evicted> {
  const { backend } = core
  const { olderThanMs, idleForMs, dryRun = false, onKey, signal } = options
  refuseUnknown(options, ['olderThanMs', 'idleForMs', 'prefix', 'dryRun', 'onKey', 'signal'])
  const now = backend.now()
  const putUntil = timeBefore(now, olderThanMs, 'olderThanMs')
  const usedUntil = timeBefore(now, idleForMs, 'idleForMs')
  if (putUntil === undefined && usedUntil === undefined) {
    throw refused('prune needs olderThanMs or idleForMs: which keys are to go.')
  }
  if (usedUntil !== undefined) await requireUses(core, dryRun)
  const limits = { putUntil, usedUntil }
  const pruned = { keys: 0, contents: 0, bytes: 0 }
  const references = new References(backend)
  for await (const keys of slicesOf(core, options, limits)) {
    signal?.throwIfAborted()
    const found = await backend.read(findCandidates, keys)
    const chosen = found.filter((candidate) => isOld(candidate, limits))
    const freed = dryRun ? await planned(chosen, references) : await takeAll(core, chosen, limits)
    for (const { key, bytes } of freed) {
      addGone(pruned, bytes)
      onKey?.(key, bytes ?? 0)
    }
  }
  if (!dryRun) core.observer?.count('prestige.prune.deleted_total', pruned.keys)
  return pruned
}

function timeBefore(now: number, ms: number | undefined, name: string): number | undefined {
  if (ms === undefined) return undefined
  if (Number.isFinite(ms) && ms >= 0) return Math.max(0, Math.floor(now - ms))
  throw refused(`${name} is a number of milliseconds from 0 on, not ${String(ms)}.`)
}

async function requireUses({ lifecycle }: StoreCore, dryRun: boolean): Promise<void> {
  const { tracking } = lifecycle
  if (!tracking.keepsRecency) {
    throw refused(
      'idleForMs needs a store that records when keys are used, and this one does not. Open it with maxBytes, maxKeys or recencyMs once; or prune by olderThanMs.',
    )
  }
  await lifecycle.writeNotes()
  if (!tracking.isFilled && !dryRun) await lifecycle.recordAllPuts()
}

/** Where only the last use matters, those used later are never looked at. */
async function* slicesOf(
  { backend, lifecycle }: StoreCore,
  { prefix, olderThanMs }: PruneOptions,
  { usedUntil }: Limits,
): AsyncGenerator<Buffer[]> {
  const isByUse =
    usedUntil !== undefined &&
    lifecycle.tracking.isFilled &&
    olderThanMs === undefined &&
    (prefix === undefined || prefix.length === 0)
  const rows = isByUse
    ? backend.scan(recency, { end: expiryKey(usedUntil + 1, Buffer.alloc(0)) })
    : backend.scan(entries, rangeOf({ prefix }))
  let slice: Buffer[] = []
  for await (const { key } of rows) {
    slice.push(isByUse ? keyOfUse(key) : key)
    if (slice.length < KEYS_AT_ONCE) continue
    yield slice
    slice = []
  }
  if (slice.length > 0) yield slice
}

/** A key whose use nobody recorded was used when it was put. */
function isOld({ entry, usedAt }: Candidate, { putUntil, usedUntil }: Limits): boolean {
  if (putUntil !== undefined && entry.putAt > putUntil) return false
  return usedUntil === undefined || Math.max(entry.putAt, usedAt ?? 0) <= usedUntil
}

interface Freed {
  readonly key: Buffer
  /** Absent: another key shares its content. */
  readonly bytes: number | undefined
}

async function planned(chosen: readonly Candidate[], references: References): Promise<Freed[]> {
  const freed: Freed[] = []
  for (const { key, entry } of chosen) freed.push({ key, bytes: await references.drop(entry) })
  return freed
}

async function takeAll(
  core: StoreCore,
  chosen: readonly Candidate[],
  limits: Limits,
): Promise<Freed[]> {
  const { keeping, gc: own } = core.preparation
  const gc = own === 'never' ? own : 'immediate'
  const how = { gc, why: 'evict', keeping, ...limits } as const
  const gone = await Promise.all(
    chosen.map(({ key }) => core.backend.run(takeAway, { key, ...how })),
  )
  const bytes = await finishAll(core, gone)
  return chosen.flatMap(({ key }, at) => (gone[at] ? [{ key, bytes: bytes[at] }] : []))
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
