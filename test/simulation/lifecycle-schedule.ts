/**
 * One schedule of a bounded store: some workers put, overwrite, read, pin, delete, evict, prune, expire and collect the
 * same few keys, interleaved at every read and commit by a seed, with conflicts, lost replies and crashes. After every
 * commit, each row about the use of a key belongs to one that is there, and no key that is pinned or was used since it
 * was chosen has gone.
 */

import { PrestigeError } from '../../src/platform/errors.ts'
import { Layout } from '../../src/store/contents/layout.ts'
import { openStore } from '../../src/store/open.ts'
import { NO_FAULTS, SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { pins, recency, sliding, uses } from '../../src/store/lifecycle/rows.ts'
import { entries, type Entry } from '../../src/store/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { History } from './history.ts'
import { checkInvariants, checkNothingLeft, fail, table } from './invariants.ts'
import { crashes, pick, stalled, WORKERS } from './schedule.ts'

const KEYS = ['k0', 'k1', 'k2', 'k3']
const VALUES = ['a', 'b', '', 'a long value in parts '.repeat(60)]
const OPERATIONS = 6
const HOW = {
  layout: new Layout({ chunks: { fromBytes: 4000, averageBytes: 1024 } }),
  canonicalise: (bytes: Uint8Array) => bytes,
  sharesForms: false,
}

export interface LifecycleReport {
  readonly crashes: number
  /** Keys that evictions and prunings have said they took. */
  readonly gone: number
}

class Schedule {
  readonly world: SimulatedWorld
  readonly options
  readonly history = new History()
  readonly stores = new Map<string, Store>()
  readonly finished = new Set<string>()
  readonly crashed = new Set<string>()
  /** Keys that somebody is deleting. */
  readonly deleting = new Map<string, number>()
  broken: Error | undefined
  gone = 0
  #before = new Map<string, Entry>()
  #pinned = new Set<string>()

  constructor(seed: number) {
    this.world = new SimulatedWorld(seed)
    const { world } = this
    this.options = {
      gc: pick(world, ['immediate', 'manual'] as const),
      recencyMs: pick(world, [0, 100]),
      evictTo: 1,
      changes: seed % 2 === 0,
      ...(world.random() < 0.7 && { maxKeys: pick(world, [1, 2, 3]) }),
    }
    world.onChange = () => {
      try {
        checkInvariants(world, HOW)
        this.#check()
      } catch (error) {
        this.broken ??= error as Error
      }
    }
  }

  #check(): void {
    const entryOf = table(this.world, entries)
    const pinned = new Set(table(this.world, pins).keys())
    const usedAt = table(this.world, uses)
    const order = table(this.world, recency)
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
    for (const [key, { expiresAt }] of table(this.world, sliding)) {
      if (entryOf.get(key)?.expiresAt !== expiresAt) fail(`${key} slides with another expiry`)
    }
    for (const [key, entry] of this.#before) {
      const isExpected =
        entryOf.has(key) || !entry.isLive(this.world.time) || this.deleting.has(key)
      if (!isExpected && this.#pinned.has(key)) fail(`${key} was pinned, and has gone`)
    }
    this.#before = entryOf
    this.#pinned = pinned
  }
}

export async function runLifecycleSchedule(seed: number): Promise<LifecycleReport> {
  const run = new Schedule(seed)
  const { world } = run
  for (const worker of WORKERS) {
    run.stores.set(worker, await openStore(world.open(worker), run.options))
  }
  // Others learn of pins and sliding expiries when they open a store.
  const first = run.stores.get('w0')!
  await first.put('first', 'a', { ttlMs: 1, sliding: true })
  await first.pin('first')
  run.deleting.set('first', 1)
  await first.delete('first')
  for (const worker of WORKERS) {
    run.stores.set(worker, await openStore(world.open(worker), run.options))
  }
  const rate = () => (world.random() < 0.5 ? 0 : world.random() * 0.15)
  world.faults = { conflict: rate(), lostReply: rate(), failure: 0 }
  const work = WORKERS.map((worker) => runWorker(run, worker))
  await Promise.race([Promise.all([...work, crashes(run, 150)]), stalled(run)])
  if (run.broken) throw run.broken
  await finish(run)
  return { crashes: run.crashed.size, gone: run.gone }
}

async function runWorker(run: Schedule, worker: string): Promise<void> {
  const store = run.stores.get(worker)!
  for (let count = 0; count < OPERATIONS; count++) {
    await run.world.pause(worker)
    try {
      await attempt(run, store)
    } catch (error) {
      const isFault = error instanceof PrestigeError && error.code === 'BACKEND_UNAVAILABLE'
      if (!isFault) run.broken ??= error as Error
    }
    run.world.time += Math.floor(run.world.random() * 80)
  }
  run.finished.add(worker)
}

async function attempt(run: Schedule, store: Store): Promise<void> {
  const { world } = run
  const dice = world.random()
  const key = pick(world, KEYS)
  if (dice < 0.3) return put(run, store, key)
  if (dice < 0.5) return look(run, store, key)
  if (dice < 0.58) return remove(run, store, key)
  if (dice < 0.64) return void (await store.pin(key))
  if (dice < 0.7) return void (await store.unpin(key))
  if (dice < 0.75) return void (await store.touch(key))
  if (dice < 0.8) return void (await store.expire(key, 1 + Math.floor(world.random() * 200)))
  if (dice < 0.86) {
    run.gone += (await store.evict({ toKeys: pick(world, [0, 1, 2]) })).keys
    return
  }
  if (dice < 0.94) {
    const ms = Math.floor(world.random() * 100)
    const how = pick(world, [{ idleForMs: ms }, { olderThanMs: ms }])
    run.gone += (await store.prune(how)).keys
    return
  }
  await store.collect()
}

async function put(run: Schedule, store: Store, key: string): Promise<void> {
  const value = pick(run.world, VALUES)
  const ttlMs = run.world.random() < 0.4 ? 1 + Math.floor(run.world.random() * 300) : undefined
  const at = { start: run.world.steps, expiresEarliest: 0, expiresLatest: Infinity }
  const happening = run.history.begin({ key, kind: 'put', value, ...at })
  const sliding = ttlMs !== undefined && run.world.random() < 0.5
  await store.put(key, value, { ttlMs, sliding })
  happening.end = run.world.steps
}

async function remove(run: Schedule, store: Store, key: string): Promise<void> {
  const at = { start: run.world.steps, expiresEarliest: Infinity, expiresLatest: Infinity }
  const happening = run.history.begin({ key, kind: 'delete', ...at })
  run.deleting.set(key, (run.deleting.get(key) ?? 0) + 1)
  await store.delete(key)
  const left = (run.deleting.get(key) ?? 1) - 1
  if (left > 0) run.deleting.set(key, left)
  else run.deleting.delete(key)
  happening.end = run.world.steps
}

/** A key may have gone at any time, so nothing has to be there; what is there must be what was put last. */
async function look(run: Schedule, store: Store, key: string): Promise<void> {
  const start = run.world.steps
  const timeAtStart = run.world.time
  const value = await store.getText(key)
  if (value === undefined) return
  const span = { start, end: run.world.steps, timeAtStart, timeAtEnd: run.world.time }
  run.history.judge({ key, value, ...span })
  // Nothing goes, but what was read is recorded before.
  if (run.world.random() < 0.7) await store.evict({ toKeys: KEYS.length })
}

/** Every key can be put again, the bound holds, and nothing is left of what went. */
async function finish(run: Schedule): Promise<void> {
  run.world.faults = NO_FAULTS
  const store = await openStore(run.world.open('last'), run.options)
  run.world.time += 2 * 60 * 60 * 1000
  await store.collect()
  await store.collect()
  if (run.broken) throw run.broken
  checkNothingLeft(run.world)
  for (const key of KEYS) {
    await store.unpin(key)
    run.world.time++
    await store.put(key, `again ${key}`)
    if ((await store.getText(key)) !== `again ${key}`) fail(`${key} cannot be put again`)
  }
  const { maxKeys = KEYS.length } = run.options
  const { keys } = await store.stats()
  if (keys > maxKeys) fail(`there are ${keys} keys of at most ${maxKeys}`)
  await store.evict({ toKeys: 0 })
  await store.collect()
  const { keys: left, contentBytes } = await store.stats()
  if (left !== 0 || contentBytes !== 0) fail('evicted keys are still counted')
  if (run.broken) throw run.broken
}
