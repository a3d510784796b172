/**
 * One schedule of a store with everything that takes away or moves what is stored: some workers put, stream, overwrite,
 * read, pin, delete, evict, prune, expire, collect, back up and compact the same few keys, beside background collectors,
 * interleaved at every transaction by a seed, with crashes; on an optimistic engine with conflicts and lost replies, in
 * memory, and in a directory.
 *
 * After every commit: every invariant of a store; each row about the use of a key belongs to one that is there; no
 * pinned key has gone; two keys that are put by one transaction have one value.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Backend } from '../../src/backends/contract.ts'
import { openLmdb } from '../../src/backends/lmdb/index.ts'
import { MemoryBackend, MemoryEngine } from '../../src/backends/memory/backend.ts'
import { NO_FAULTS, SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { Layout } from '../../src/store/contents/layout.ts'
import { pins, recency, sliding, uses } from '../../src/store/lifecycle/rows.ts'
import { openStore } from '../../src/store/open.ts'
import { entries, type Entry, storeSpaces } from '../../src/store/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { BackupOracle } from './backup-oracle.ts'
import { CollectorWorker } from './collector-workers.ts'
import { History } from './history.ts'
import { checkInvariants, checkNothingLeft, fail, type RowSource, table } from './invariants.ts'
import { KEYS, PAIR, takeStep } from './lifecycle-steps.ts'
import { CHUNKS, crashes, pick, stalled, WORKERS } from './schedule.ts'
import { SerialWorld } from './serial-world.ts'

export type LifecycleEngine = 'optimistic' | 'memory' | 'lmdb'

const OPERATIONS = 6
const COLLECTORS = ['g0', 'g1']
const STEPS_MAX = 250
const HOW = {
  layout: new Layout({ chunks: CHUNKS }),
  canonicalise: (bytes: Uint8Array) => bytes,
  sharesForms: false,
}

export interface LifecycleReport {
  readonly steps: number
  readonly crashes: number
  /** Keys that evictions and prunings have said they took. */
  readonly gone: number
  readonly backups: number
  readonly collectorPasses: number
  readonly trace: string
}

export class Schedule {
  readonly world: SimulatedWorld
  readonly options
  readonly history = new History()
  readonly stores = new Map<string, Store>()
  readonly collectors = new Map<string, CollectorWorker>()
  readonly finished = new Set<string>()
  readonly crashed = new Set<string>()
  /** Keys that somebody is deleting. */
  readonly deleting = new Map<string, number>()
  readonly backups: BackupOracle | undefined
  readonly canCompact: boolean
  readonly trace: string[] = []
  broken: Error | undefined
  gone = 0
  /** The two keys of the pair go together. */
  isPaired = true
  readonly #serial: SerialWorld | undefined
  #before = new Map<string, Entry>()
  #pinned = new Set<string>()

  constructor(seed: number, directory: string, engine?: Backend, memory?: MemoryEngine) {
    this.world = new SimulatedWorld(seed)
    const { world } = this
    this.options = {
      chunks: CHUNKS,
      // Compressing is done on threads, whose time no seed decides on.
      compression: 'none' as const,
      gc: pick(world, ['immediate', 'manual'] as const),
      recencyMs: pick(world, [0, 100]),
      evictTo: 1,
      changes: seed % 2 === 0,
      ...(world.random() < 0.7 && { maxKeys: PAIR.length + pick(world, [1, 2, 3]) }),
    }
    if (world.random() < 0.4) {
      this.backups = new BackupOracle(directory, () => world.time)
      world.waitsForFiles = true
    }
    this.canCompact = engine?.file !== undefined
    const check = (rows: RowSource) => this.#checked(rows)
    this.#serial = engine && new SerialWorld(world, engine, check, memory)
    world.onChange = () => check(world)
  }

  open(worker: string): Backend {
    return this.#serial?.open(worker) ?? this.world.open(worker)
  }

  async rows(): Promise<RowSource> {
    return (await this.#serial?.rows()) ?? this.world
  }

  #checked(rows: RowSource): void {
    try {
      checkInvariants(rows, HOW)
      this.#check(rows)
    } catch (error) {
      this.broken ??= error as Error
    }
  }

  #check(rows: RowSource): void {
    const entryOf = table(rows, entries)
    const pinned = new Set(table(rows, pins).keys())
    const usedAt = table(rows, uses)
    const order = table(rows, recency)
    for (const [key, time] of usedAt) {
      if (!entryOf.has(key)) fail(`${key} has a use and is not there`)
      const row = Buffer.alloc(6)
      row.writeUIntBE(time, 0, 6)
      const isListed = order.delete(row.toString('latin1') + key)
      if (isListed === pinned.has(key))
        fail(`${key} is ${isListed ? '' : 'not '}in the order of uses`)
    }
    if (order.size > 0) fail('a use that is not recorded is in the order of uses')
    for (const key of entryOf.keys()) if (!usedAt.has(key)) fail(`${key} has no use`)
    for (const key of pinned) if (!entryOf.has(key)) fail(`${key} is pinned and is not there`)
    for (const [key, { expiresAt }] of table(rows, sliding)) {
      if (entryOf.get(key)?.expiresAt !== expiresAt) fail(`${key} slides with another expiry`)
    }
    for (const [key, entry] of this.#before) {
      const isExpected =
        entryOf.has(key) || !entry.isLive(this.world.time) || this.deleting.has(key)
      if (!isExpected && this.#pinned.has(key)) fail(`${key} was pinned, and has gone`)
    }
    const [p, q] = PAIR.map((key) => entryOf.get(key)?.digest.toString('hex'))
    if (p !== q && this.isPaired) fail('a transaction of two keys was applied in part')
    this.#before = entryOf
    this.#pinned = pinned
    this.world.time++
    this.backups?.note(entryOf, this.world.time)
  }
}

export async function runLifecycleSchedule(
  seed: number,
  engine: LifecycleEngine = 'optimistic',
): Promise<LifecycleReport> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-schedule-'))
  const clock = () => run.world.time
  const random = (count: number) => Buffer.alloc(count, seed)
  const own = { clock, random, spaces: storeSpaces, durability: 'os' as const }
  const memory = engine === 'memory' ? new MemoryEngine() : undefined
  const lmdb = engine === 'lmdb' ? await openLmdb(join(directory, 'store'), own) : undefined
  const backend = memory ? new MemoryBackend(own, memory) : lmdb
  const run: Schedule = new Schedule(seed, join(directory, 'backups'), backend, memory)
  try {
    return await runAll(run)
  } finally {
    // Calls of workers that have crashed never end, and an engine waits for them: only the files go.
    if (run.crashed.size === 0) await backend?.close()
    await rm(directory, { recursive: true })
  }
}

async function runAll(run: Schedule): Promise<LifecycleReport> {
  const { world } = run
  await prepare(run)
  const rate = () => (world.random() < 0.5 ? 0 : world.random() * 0.15)
  world.faults = { conflict: rate(), lostReply: rate(), failure: 0 }
  const work = WORKERS.map((worker) => runWorker(run, worker))
  const ending = Promise.all([...work, crashes(run, STEPS_MAX), crashCollector(run)])
  await Promise.race([ending, stalled(run)])
  for (const [name, collector] of run.collectors) if (!run.crashed.has(name)) await collector.stop()
  if (run.broken) throw run.broken
  await finish(run)
  const collectorPasses = [...run.collectors.values()].reduce((sum, { passes }) => sum + passes, 0)
  const { crashed, gone, backups } = run
  const trace = run.trace.join('\n')
  const sums = { gone, backups: backups?.taken ?? 0, collectorPasses }
  return { steps: world.steps, crashes: crashed.size, ...sums, trace }
}

async function prepare(run: Schedule): Promise<void> {
  const { world } = run
  const first = await openStore(run.open('first'), run.options)
  // Others learn of pins and sliding expiries when they open a store.
  await first.put('first', 'a', { ttlMs: 1, sliding: true })
  await first.pin('first')
  run.deleting.set('first', 1)
  await first.delete('first')
  const [p, q] = PAIR
  await first.transaction([
    { put: p, value: 'a' },
    { put: q, value: 'a' },
  ])
  for (const key of PAIR) await first.pin(key)
  for (const worker of WORKERS)
    run.stores.set(worker, await openStore(run.open(worker), run.options))
  if (world.random() < 0.4) return
  for (const worker of COLLECTORS) await startCollector(run, worker, pick(world, [0, 200]))
}

async function startCollector(run: Schedule, worker: string, graceMs: number): Promise<void> {
  const onError = (error: unknown) => {
    run.broken ??= error as Error
  }
  const how = { graceMs, onError }
  run.collectors.set(worker, await CollectorWorker.start(run.world, worker, run.open(worker), how))
}

async function runWorker(run: Schedule, worker: string): Promise<void> {
  const store = run.stores.get(worker)
  for (let count = 0; store && count < OPERATIONS && !run.broken; count++) {
    await run.world.pause(worker)
    const what = await takeStep(run, store, worker)
    run.trace.push(`${run.world.steps} ${worker} ${what}`)
  }
  run.finished.add(worker)
}

/** Its lease runs out, and the other one goes on. */
async function crashCollector(run: Schedule): Promise<void> {
  const { world } = run
  if (run.collectors.size === 0 || world.random() < 0.5) return
  const at = world.steps + Math.floor(world.random() * STEPS_MAX)
  const isOver = () => WORKERS.every((one) => run.finished.has(one) || run.crashed.has(one))
  while (world.steps < at && !isOver() && !run.broken) await world.pause('clock')
  // Whoever stops the collectors waits for those that are alive.
  if (isOver() || run.broken) return
  const worker = pick(world, COLLECTORS)
  world.crash(worker)
  run.crashed.add(worker)
}

/** Every key can be put again, the bound holds, and nothing is left of what went. */
async function finish(run: Schedule): Promise<void> {
  const { world } = run
  world.faults = NO_FAULTS
  const store = await openStore(run.open('last'), run.options)
  world.time += 2 * 60 * 60 * 1000
  await collectAll(run, store)
  if (run.broken) throw run.broken
  checkNothingLeft(await run.rows())
  if (run.backups) {
    await run.backups.take(store)
    await run.backups.check()
  }
  run.isPaired = false
  for (const key of [...KEYS, ...PAIR]) {
    await store.unpin(key)
    world.time++
    await store.put(key, 'again')
    if ((await store.getText(key)) !== 'again') fail(`${key} cannot be put again`)
  }
  const { maxKeys = KEYS.length + PAIR.length } = run.options
  const { keys } = await store.stats()
  if (keys > maxKeys) fail(`there are ${keys} keys of at most ${maxKeys}`)
  const { problems } = await store.verify()
  if (problems.length > 0) fail(JSON.stringify(problems[0]))
  await store.evict({ toKeys: 0 })
  await store.collect()
  const { keys: left, contentBytes, garbageBytes } = await store.stats()
  if (left !== 0 || contentBytes !== 0) fail('evicted keys are still counted')
  if (garbageBytes !== 0) fail('there is garbage behind a collection')
  if (run.broken) throw run.broken
}

/** By a call, or by collectors in the background alone: both leave nothing. */
async function collectAll(run: Schedule, store: Store): Promise<void> {
  if (run.world.random() < 0.5) {
    await store.collect()
    await store.collect()
    return
  }
  for (const worker of ['g2', 'g3']) {
    await startCollector(run, worker, 0)
    const collector = run.collectors.get(worker)
    while (collector && collector.passes === 0 && !run.broken) await run.world.pause('clock')
    await collector?.stop()
  }
}
