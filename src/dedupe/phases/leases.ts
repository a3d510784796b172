/**
 * How workers share a run. Its shards, the deciding in the order of rank and the publishing are leased: each is done
 * by one worker at a time, and by another if that one is not heard of any more.
 *
 * A lease is over when it was not renewed in time. Whoever takes it over gets a greater token, and everything that is
 * written under a lease checks the token in the same transaction: a worker that was only slow can write nothing more.
 */

import { setTimeout } from 'node:timers/promises'

import { type Backend, glance, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  checkLeaseOptions,
  type HeldShard,
  isFree,
  leaseOne,
  releaseShard,
  renewShard,
  requireRunning,
  shardCell,
  type ShardLease,
  type ShardRow,
} from '../../ledger/index.ts'
import { editionOf } from '../runs.ts'
import { endWorker, isGone, newWorker } from './worker-name.ts'

export interface Timers {
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** Does something again and again, until the function returned is called. */
  every(ms: number, work: () => void): () => void
}

export interface WorkerOptions {
  /** Milliseconds without a sign of life after which others take over what a worker has begun (30,000). */
  readonly leaseMs?: number | undefined
  /** Names the worker; else machine and process do. */
  readonly worker?: string | undefined
  /** How it waits, for tests. Default: the system's timers. */
  readonly timers?: Timers | undefined
}

/** The right to do a piece of a run. */
export class Held implements HeldShard {
  readonly run: string
  readonly shard: number
  readonly token: number
  /** Of the run: another run of the same name has another. */
  readonly edition: string
  /** What the worker before has noted last. */
  readonly progress: unknown
  /** Of a shard: the file that it is of. */
  path?: string
  /** Another has it. */
  isLost = false

  constructor({ run, shard, token, progress }: ShardLease, edition: string) {
    this.edition = edition
    this.run = run
    this.shard = shard
    this.token = token
    this.progress = progress
  }
}

const LEASE_MS = 30_000
const LOOK_AT_ONCE = 32
const WAIT_MS = 20
const WAIT_MS_MAX = 1000

const systemTimers: Timers = {
  wait: (ms, signal) => setTimeout(ms, undefined, { signal }),
  every(ms, work) {
    const timer = setInterval(work, ms)
    timer.unref()
    return () => clearInterval(timer)
  },
}

function isLost(error: unknown): boolean {
  return error instanceof PrestigeError && error.code === 'CLAIM_LOST'
}

/** The shards of a run, and behind them its other pieces of work. */
export function deciding(shards: number): number {
  return shards
}

export function publishing(shards: number): number {
  return shards + 1
}

/** What is leased of a run. */
export interface LeasedRun {
  readonly id: string
  readonly number: number
  readonly shards: readonly unknown[]
}

/** Refused once the run has ended, also if another has its name now. */
export function* requireSameRun(_scope: unknown, run: LeasedRun): Transaction<void> {
  const { configDigest } = yield* requireRunning(run.id)
  if (configDigest !== editionOf(run)) {
    throw new PrestigeError('RUN_ENDED', `Run ${run.id} has ended.`)
  }
}

/** The run goes on, and is the one that the lease is of: a name may be used again once a run was undone. */
export function* requireGoingOn({ run, edition }: Held): Transaction<void> {
  const { configDigest } = yield* requireRunning(run)
  if (configDigest === edition) return
  throw new PrestigeError('CLAIM_LOST', `Run ${run} was undone, and is another one by now.`)
}

export class Leases {
  readonly #backend: Backend
  readonly #run: string
  readonly #edition: string
  readonly #worker: string
  readonly #leaseMs: number
  readonly #timers: Timers
  readonly #held = new Set<Held>()
  readonly #done = new Set<number>()
  readonly #stop: () => void
  /** All shards before this one are done. */
  #doneBelow = 0
  #waitMs = WAIT_MS

  constructor(
    backend: Backend,
    run: LeasedRun,
    { worker, leaseMs = LEASE_MS, timers }: WorkerOptions = {},
  ) {
    this.#backend = backend
    this.#run = run.id
    this.#edition = editionOf(run)
    this.#worker = worker ?? newWorker()
    this.#leaseMs = leaseMs
    checkLeaseOptions({ worker: this.#worker, leaseMs })
    this.#timers = timers ?? systemTimers
    this.#stop = this.#timers.every(Math.ceil(leaseMs / 3), () => void this.#renewAll())
  }

  /** The first shard that nobody has. `onDone` is called for shards that are done, once each. */
  async free(
    shards: number,
    onDone: (shard: number) => void = () => {},
  ): Promise<Held | 'none-free' | 'all-done'> {
    let isAllDone = true
    for (let from = this.#doneBelow; from < shards; from += LOOK_AT_ONCE) {
      const rows = await this.#look(from, Math.min(LOOK_AT_ONCE, shards - from))
      for (const [at, row] of rows.entries()) {
        const shard = from + at
        if (row?.state === 'done') {
          this.#noteDone(shard, onDone)
          continue
        }
        isAllDone = false
        const taken = await this.#takeIfFree(shard, row)
        if (typeof taken !== 'string') return taken
      }
    }
    return isAllDone ? 'all-done' : 'none-free'
  }

  /** This very piece of work. */
  async take(shard: number): Promise<Held | 'held' | 'done'> {
    const [row] = await this.#look(shard, 1)
    return row?.state === 'done' ? 'done' : this.#takeIfFree(shard, row)
  }

  /** Until something may have changed: at first soon, then less often. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.#waitMs
    this.#waitMs = Math.min(ms * 2, WAIT_MS_MAX, Math.ceil(this.#leaseMs / 10))
    await this.#timers.wait(ms, signal)
  }

  /** Whether it is still held, and so for as long again. */
  async renew(held: Held): Promise<boolean> {
    try {
      if (!held.isLost) await this.#backend.run(renewShard, held)
    } catch (error) {
      if (!isLost(error)) throw error
      this.lose(held)
    }
    return !held.isLost
  }

  /** Works under a lease. Once it is lost, whatever becomes of the work is dropped: whoever has it now does it. */
  async use<T>(held: Held, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (isLost(error)) this.lose(held)
      else if (await this.renew(held).catch(() => true)) throw error
      return undefined
    }
  }

  /** Its work is done, or another has it. */
  lose(held: Held): void {
    held.isLost = true
    this.#held.delete(held)
  }

  async release(held: Held): Promise<void> {
    if (held.isLost) return
    this.lose(held)
    await this.#giveBack(held)
  }

  /** Everything that is still held is given back, so that others need not wait. */
  async close(): Promise<void> {
    this.#stop()
    endWorker(this.#worker)
    // What cannot be given back is over when its time is.
    await Promise.allSettled([...this.#held].map((held) => this.release(held)))
  }

  /** For plans, which others never see: whatever others hold is free. */
  async takeAllBack(shards: number): Promise<void> {
    const leased = publishing(shards) + 1
    for (let from = 0; from < leased; from += LOOK_AT_ONCE) {
      const rows = await this.#look(from, Math.min(LOOK_AT_ONCE, leased - from))
      for (const [at, row] of rows.entries()) {
        if (row?.state === 'leased') await this.#giveBack(this.#pieceOf(from + at, row))
      }
    }
  }

  async #takeIfFree(shard: number, row: ShardRow | undefined): Promise<Held | 'held' | 'done'> {
    if (!isFree(row, this.#backend.now())) {
      if (!row || !isGone(row.worker)) return 'held'
      await this.#giveBack(this.#pieceOf(shard, row))
    }
    const options = { worker: this.#worker, leaseMs: this.#leaseMs }
    const leased = await this.#backend.run(leaseOne, this.#run, shard, options)
    if (typeof leased === 'string') return leased
    const held = new Held(leased, this.#edition)
    this.#held.add(held)
    this.#waitMs = WAIT_MS
    return held
  }

  #pieceOf(shard: number, { token }: ShardRow): HeldShard {
    return { run: this.#run, shard, token }
  }

  async #giveBack(piece: HeldShard): Promise<void> {
    try {
      await this.#backend.run(releaseShard, piece)
    } catch (error) {
      // Another was faster.
      if (!isLost(error)) throw error
    }
  }

  #look(from: number, length: number): Promise<readonly (ShardRow | undefined)[]> {
    return this.#backend.read(rowsFrom, this.#run, from, length)
  }

  #noteDone(shard: number, onDone: (shard: number) => void): void {
    if (shard < this.#doneBelow || this.#done.has(shard)) return
    this.#done.add(shard)
    onDone(shard)
    while (this.#done.delete(this.#doneBelow)) this.#doneBelow++
  }

  /** What fails here is noticed by whoever writes under the lease. */
  async #renewAll(): Promise<void> {
    await Promise.allSettled([...this.#held].map((held) => this.renew(held)))
  }
}

/** Only to look where to begin: a lease that is taken is read again, so nothing is relied on here. */
function* rowsFrom(
  _scope: unknown,
  run: string,
  from: number,
  length: number,
): Transaction<readonly (ShardRow | undefined)[]> {
  return yield* glance(...Array.from({ length }, (_, at) => shardCell(run, from + at)))
}
