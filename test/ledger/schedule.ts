/**
 * One schedule: workers on a simulated engine claim, renew, commit, give up and crash on the same few documents, and
 * share the shards of a run, interleaved at every read and commit by a seed, with conflicts, failures and lost
 * replies. In the mixed form they also record, supersede, undo and prune.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { PrestigeError } from '../../src/platform/errors.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type Line, lines, shards } from '../../src/ledger/rows.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { NO_FAULTS, SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { checkRows, rowsOfWorld } from './invariants.ts'

const IDS = ['a', 'b', 'ключ']
const RUNS = ['r1', 'r2']
const WORKERS = ['w0', 'w1', 'w2']
const LEASE_MS = 100
const SHARDS = 2

export interface LedgerReport {
  readonly steps: number
  readonly crashes: number
  readonly takenOver: number
}

class Schedule {
  readonly world: SimulatedWorld
  readonly isMixed: boolean
  readonly ledgers = new Map<string, Ledger>()
  readonly gone = new Set<string>()
  /** Tokens under which a commit of a document was acknowledged. */
  readonly committed = new Map<string, number>()
  /** Tokens under which a shard's end was acknowledged. */
  readonly doneShards = new Map<number, number>()
  readonly #seen = new Map<string, Line>()
  readonly #tokensOfShards = new Map<string, number>()
  crashes = 0
  takenOver = 0
  broken: unknown

  constructor(seed: number, isMixed: boolean) {
    this.world = new SimulatedWorld(seed)
    this.isMixed = isMixed
  }

  async begin(): Promise<void> {
    for (const worker of WORKERS)
      this.ledgers.set(worker, await openLedger(this.world.open(worker)))
    const first = this.ledger('w0')
    for (const id of RUNS) await first.startRun({ id })
    await first.openShards('r1', SHARDS)
    const rate = () => (this.world.random() < 0.5 ? 0 : this.world.random() * 0.15)
    this.world.faults = { conflict: rate(), lostReply: rate(), failure: rate() }
    this.world.onChange = () => this.#watch()
  }

  ledger(worker: string): Ledger {
    return this.ledgers.get(worker)!
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.world.random() * choices.length)]!
  }

  /** After every commit: rows agree, what was done stays done, and tokens only grow. */
  #watch(): void {
    try {
      checkRows(rowsOfWorld(this.world))
      const now = new Map(
        this.world.rows(lines).map((row) => [row.key.toString('latin1'), row.bytes]),
      )
      for (const [key, bytes] of now) {
        const line = lines.codec.decode(Buffer.from(bytes))
        const before = this.#seen.get(key)
        this.#seen.set(key, line)
        if (!before) continue
        if (before.status === 'claimed' && line.token > before.token) this.takenOver++
        if (this.isMixed) continue
        if (line.token < before.token) throw new Error(`the token of ${line.id} shrank`)
        const wasDone = before.status === 'accepted'
        if (wasDone && line.token !== before.token) throw new Error(`${line.id} was done twice`)
        if (wasDone && line.status !== 'accepted') throw new Error(`${line.id} was undone`)
      }
      for (const { key, bytes } of this.world.rows(shards)) {
        const { token } = shards.codec.decode(Buffer.from(bytes))
        const name = key.toString('latin1')
        if (token < (this.#tokensOfShards.get(name) ?? 0)) throw new Error('a shard token shrank')
        this.#tokensOfShards.set(name, token)
      }
    } catch (error) {
      this.broken ??= error
    }
  }

  passTime(): void {
    const dice = this.world.random()
    if (dice < 0.3) this.world.time += Math.floor(this.world.random() * 60)
    else if (dice < 0.4) this.world.time += 2 * LEASE_MS
  }

  async work(worker: string): Promise<void> {
    for (let count = 0; count < 5; count++) {
      await this.world.pause(worker)
      await this.expected(() => this.attempt(worker))
      this.passTime()
    }
    this.gone.add(worker)
  }

  /** The network may fail for good, and a claim may be lost; anything else is a fault of ours. */
  async expected(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const codes = [
        'BACKEND_UNAVAILABLE',
        'CLAIM_LOST',
        ...(this.isMixed ? ['RUN_ENDED', 'RUN_NOT_FOUND'] : []),
      ]
      if (!(error instanceof PrestigeError) || !codes.includes(error.code)) this.broken ??= error
    }
  }

  attempt(worker: string): Promise<void> {
    const dice = this.world.random()
    if (dice < 0.25) return this.shard(worker)
    if (this.isMixed && dice < 0.7) return this.mix(worker)
    return this.claim(worker)
  }

  async claim(worker: string): Promise<void> {
    const ledger = this.ledger(worker)
    const id = this.pick(IDS)
    const run = this.pick([undefined, ...RUNS])
    const claimed = await ledger.claim(id, { leaseMs: LEASE_MS, run, source: 's', worker })
    if (!claimed.ok) return
    this.passTime()
    const dice = this.world.random()
    if (dice < 0.15) await ledger.renew(claimed, LEASE_MS)
    if (dice < 0.3) return void (await ledger.abort(claimed, { reason: 'no' }))
    if (dice < 0.4) return
    await ledger.commit(claimed, { status: 'accepted' })
    const other = this.committed.get(id)
    if (!this.isMixed && other !== undefined && other !== claimed.token) {
      throw new Error(`${id} was committed under two tokens`)
    }
    this.committed.set(id, claimed.token)
  }

  async shard(worker: string): Promise<void> {
    const ledger = this.ledger(worker)
    const leased = await ledger.lease('r1', { worker, leaseMs: LEASE_MS })
    if (typeof leased === 'string') return
    this.passTime()
    const { shard, token } = leased
    await ledger.progress('r1', shard, token, { by: worker })
    this.passTime()
    if (this.world.random() < 0.3) return
    await ledger.done('r1', shard, token)
    const other = this.doneShards.get(shard)
    if (other !== undefined && other !== token) throw new Error('a shard was done twice')
    this.doneShards.set(shard, token)
  }

  async mix(worker: string): Promise<void> {
    const ledger = this.ledger(worker)
    const dice = this.world.random()
    const id = this.pick(IDS)
    const run = this.pick([undefined, 'r2'])
    if (dice < 0.5) {
      const source = this.pick([undefined, 's', 't'])
      await ledger.record([{ id, status: this.pick(['accepted', 'failed']), run, source }])
    } else if (dice < 0.65) await ledger.supersede(id, 'other', { run })
    else if (dice < 0.8) await ledger.forgetRun('r2')
    else if (dice < 0.9) await ledger.prune({ olderThan: this.world.time - LEASE_MS })
    else await ledger.forget(id)
  }

  async crash(): Promise<void> {
    const turns = Math.floor(this.world.random() * 200)
    const wanted = this.world.random() < 0.5
    for (let turn = 0; turn < turns; turn++) await nextTurn()
    const victim = this.pick(WORKERS)
    if (!wanted || this.gone.has(victim)) return
    this.world.crash(victim)
    this.gone.add(victim)
    this.crashes++
  }

  async untilGone(): Promise<void> {
    while (WORKERS.some((worker) => !this.gone.has(worker))) await nextTurn()
  }

  /** Whoever comes after a crash can finish everything: nothing is lost, and nothing done is done again. */
  async finish(): Promise<void> {
    this.world.faults = NO_FAULTS
    this.world.time += 10 * LEASE_MS
    const ledger = await openLedger(this.world.open('late'))
    for (const id of IDS) {
      const result = await ledger.withClaim(id, { leaseMs: 1e9 }, async () => {})
      const token = this.committed.get(id)
      if (this.isMixed || token === undefined) continue
      if (result.ok || result.line.token !== token) throw new Error(`${id} was lost`)
    }
    const all = await ledger.wasProcessedMany(IDS)
    if (!all.every(Boolean)) throw new Error('a document cannot be finished')
    for (;;) {
      const leased = await ledger.lease('r1', { worker: 'late', leaseMs: 1e9 })
      if (leased === 'all-done') break
      if (leased === 'none-free') throw new Error('a shard cannot be finished')
      if (this.doneShards.has(leased.shard)) throw new Error('a shard that was done is leased')
      await ledger.done('r1', leased.shard, leased.token)
    }
    checkRows(rowsOfWorld(this.world))
  }
}

export async function runLedgerSchedule(seed: number, isMixed: boolean): Promise<LedgerReport> {
  const schedule = new Schedule(seed, isMixed)
  await schedule.begin()
  const work = WORKERS.map((worker) => schedule.work(worker))
  await Promise.race([Promise.all([...work, schedule.crash()]), schedule.untilGone()])
  if (!schedule.broken) await schedule.finish()
  if (schedule.broken) throw new Error(`seed ${seed}`, { cause: schedule.broken })
  return {
    steps: schedule.world.steps,
    crashes: schedule.crashes,
    takenOver: schedule.takenOver,
  }
}
