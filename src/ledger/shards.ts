/**
 * The shards of a run, for workers that share it: each is free, leased or done. A lease that is over may be taken by
 * anybody, with a greater token; whoever holds the smaller one is refused. Progress renews the lease, and can be
 * written in the very transaction that did the work.
 */

import {
  type Backend,
  cell,
  type Cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { checkLease, refuseUnknown, runName, shortText } from './names.ts'
import { shardKey, type ShardRow, shards, type ShardState } from './rows.ts'
import { requireRunning, runCell } from './runs.ts'

const LISTED_AT_ONCE = 64

export interface LeaseOptions {
  /** Names who leases it. */
  readonly worker: string
  /** Milliseconds until others may take the shard over; progress renews it for as long again. */
  readonly leaseMs: number
}

/** The right to work on a shard. */
export interface ShardLease {
  readonly run: string
  readonly shard: number
  readonly token: number
  readonly leaseUntil: number
  /** What the worker before has noted last. */
  readonly progress: unknown
}

export type Leased = ShardLease | 'none-free' | 'all-done'

/** What of a lease is needed to use it. */
export type HeldShard = Pick<ShardLease, 'run' | 'shard' | 'token'>

export interface Shard {
  readonly shard: number
  /** `leased` also when the lease is over and nobody took it yet. */
  readonly state: ShardState
  readonly worker?: string
  readonly leaseUntil?: number
  readonly progress?: unknown
  readonly result?: unknown
}

const LOOK_AT_ONCE = 32

export function checkLeaseOptions(options: LeaseOptions): void {
  refuseUnknown(options, ['worker', 'leaseMs'])
  shortText(options.worker, 'A worker')
  checkLease(options.leaseMs)
}

/** What a shard may keep: a value that JSON can say; empty is none. */
export function shardValue(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value)
}

export function readShardValue(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text)
}

export function shardCell(run: string, shard: number): Cell<ShardRow> {
  return cell(shards, shardKey(runName(run).key, shard))
}

/** Leases a shard that nobody has. Workers begin to look at different shards, so that they seldom want the same. */
export function* leaseShard(
  scope: Scope,
  run: string,
  { worker, leaseMs }: LeaseOptions,
): Transaction<Leased> {
  const { shards: count } = yield* requireRunning(run)
  if (count === 0) {
    throw new PrestigeError('INVALID_OPTIONS', 'This run has no shards. Divide it with openShards.')
  }
  const now = scope.now()
  const first = startOf(worker, count)
  let done = 0
  for (let from = 0; from < count; from += LOOK_AT_ONCE) {
    const length = Math.min(LOOK_AT_ONCE, count - from)
    const numbers = Array.from({ length }, (_, at) => (first + from + at) % count)
    const found = yield* glance(...numbers.map((shard) => shardCell(run, shard)))
    const at = found.findIndex((row) => isFree(row, now))
    const shard = numbers[at]
    if (shard !== undefined) return take(scope, run, shard, found[at], worker, leaseMs)
    done += found.filter((row) => row?.state === 'done').length
  }
  return done === count ? 'all-done' : 'none-free'
}

/** Leases this very shard, unless somebody has it or it is done. */
export function* leaseOne(
  scope: Scope,
  run: string,
  shard: number,
  { worker, leaseMs }: LeaseOptions,
): Transaction<ShardLease | 'held' | 'done'> {
  yield* requireRunning(run)
  const [found] = yield* read(shardCell(run, shard))
  if (found?.state === 'done') return 'done'
  if (!isFree(found, scope.now())) return 'held'
  return take(scope, run, shard, found, worker, leaseMs)
}

function take(
  scope: Scope,
  run: string,
  shard: number,
  old: ShardRow | undefined,
  worker: string,
  leaseMs: number,
): ShardLease {
  const now = scope.now()
  const token = (old?.token ?? 0) + 1
  const leaseUntil = now + Math.ceil(leaseMs)
  const value = old?.value ?? ''
  const place = shardCell(run, shard)
  // Of all the shards it looked at, a lease rests on its own alone.
  scope.rely(place)
  scope.write(place, {
    state: 'leased',
    token,
    leaseUntil,
    leaseMs: Math.ceil(leaseMs),
    worker,
    value,
  })
  return { run, shard, token, leaseUntil, progress: readShardValue(value) }
}

export function isFree(row: ShardRow | undefined, now: number): boolean {
  return !row || row.state === 'free' || (row.state === 'leased' && row.leaseUntil <= now)
}

function startOf(worker: string, count: number): number {
  let sum = 0
  for (const character of worker) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521
  return sum % count
}

/** Notes how far the work is and renews the lease; refused if another has the shard. `value` is JSON (`shardValue`). */
export function* noteProgress(scope: Scope, held: HeldShard, value: string): Transaction<number> {
  const old = yield* requireHeld(held)
  const leaseUntil = scope.now() + old.leaseMs
  scope.write(shardCell(held.run, held.shard), { ...old, leaseUntil, value })
  return leaseUntil
}

/** The shard's work is done. Said again after a lost answer, it is the same once. */
export function* finishShard(scope: Scope, held: HeldShard, value: string): Transaction<void> {
  const place = shardCell(held.run, held.shard)
  const [found] = yield* read(place)
  if (found?.state === 'done' && found.token === held.token) return
  const old = yield* requireHeld(held)
  scope.write(place, { ...old, state: 'done', value })
}

/** Renews the lease and leaves the progress as it is. */
export function* renewShard(scope: Scope, held: HeldShard): Transaction<void> {
  const old = yield* requireHeld(held)
  scope.write(shardCell(held.run, held.shard), { ...old, leaseUntil: scope.now() + old.leaseMs })
}

/** Gives a shard back, with its progress. */
export function* releaseShard(scope: Scope, held: HeldShard): Transaction<void> {
  const old = yield* requireHeld(held)
  scope.write(shardCell(held.run, held.shard), { ...old, state: 'free' })
}

function* requireHeld({ run, shard, token }: HeldShard): Transaction<ShardRow> {
  const place = shardCell(run, shard)
  const [found] = yield* read(place)
  if (found?.state === 'leased' && found.token === token) return found
  throw new PrestigeError(
    'CLAIM_LOST',
    `The lease of shard ${shard} of run ${JSON.stringify(run)} is lost: it was over, and another took it.`,
  )
}

/** A lease as its holder names it. */
export function held(run: string, shard: number, token: number): HeldShard {
  const isWhole = Number.isInteger(shard) && shard >= 0 && Number.isInteger(token)
  if (isWhole) return { run: runName(run).text, shard, token }
  throw new PrestigeError('INVALID_VALUE', 'Give the shard and the token that lease() returned.')
}

export async function* listShards(backend: Backend, run: string): AsyncGenerator<Shard> {
  for (let from = 0; ; from += LISTED_AT_ONCE) {
    const page = await backend.read(shardsOf, run, from, from + LISTED_AT_ONCE)
    yield* page
    if (page.length < LISTED_AT_ONCE) return
  }
}

function* shardsOf(_scope: ReadScope, run: string, from: number, to: number): Transaction<Shard[]> {
  const [found] = yield* read(runCell(run))
  const last = Math.min(to, found?.shards ?? 0)
  const numbers = Array.from({ length: Math.max(0, last - from) }, (_, at) => from + at)
  const rows = yield* read(...numbers.map((shard) => shardCell(run, shard)))
  return rows.map((row, at) => shardOf(from + at, row))
}

function shardOf(shard: number, row: ShardRow | undefined): Shard {
  if (!row) return { shard, state: 'free' }
  const { state, worker, leaseUntil } = row
  const value = readShardValue(row.value)
  return {
    shard,
    state,
    worker,
    ...(state === 'leased' && { leaseUntil }),
    ...(value !== undefined && (state === 'done' ? { result: value } : { progress: value })),
  }
}
