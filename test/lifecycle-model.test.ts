/** Random puts, reads, evictions, prunings and expiries on every engine and on a plain Map: all must agree. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { openStore, type Store, type StoreOptions } from '../src/index.ts'
import { amount } from './amount.ts'
import { catchUp, type Replica, requireReplay } from './changes-kit.ts'
import { newTable } from './dynamodb/kit.ts'
import { LifecycleModel } from './lifecycle/model.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from './servers/dynamodb.ts'
import { redisIsHere, type RedisServer, startRedis } from './servers/redis.ts'

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
/** Few, so that keys share them; one is in parts on the simulated engine. */
const VALUES = ['', 'x', 'yy'.repeat(20), 'long '.repeat(300)]

const key = fc.constantFrom(...KEYS)
const value = fc.constantFrom(...VALUES)
const ms = fc.integer({ min: 1, max: 120 })
const operation = fc.oneof(
  { weight: 8, arbitrary: fc.record({ op: fc.constant('put' as const), key, value }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('put' as const),
      key,
      value,
      ttlMs: ms,
      sliding: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('get' as const), key }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constantFrom('delete', 'pin', 'unpin', 'touch', 'persist'),
      key,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('expire' as const), key, ttlMs: ms }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('evict' as const), toKeys: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('shrink' as const), toBytes: fc.nat(1600) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('prune' as const),
      olderThanMs: fc.option(ms, { nil: undefined }),
      idleForMs: ms,
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('collect' as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('reopen' as const) }) },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('wait' as const), ms }) },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

interface Place {
  open(options: StoreOptions): Promise<Store>
  tearDown(): Promise<void>
}

interface Subject {
  readonly name: string
  readonly runs: number
  setUp(clock: { time: number }): Promise<Place>
}

const nothing = async () => {}
let redis: Promise<RedisServer> | undefined
let dynamo: Promise<DynamoServer> | undefined
let table: Promise<string> | undefined
let places = 0
afterAll(async () => {
  await (await redis)?.stop()
  await (await dynamo)?.stop()
})

const memory: Subject = {
  name: 'memory',
  runs: amount(80, 3000),
  async setUp(clock) {
    const engine = new MemoryEngine()
    const backend = () => new MemoryBackend({ clock: () => clock.time }, engine)
    return { open: (options) => openStore(backend(), options), tearDown: nothing }
  },
}

const simulated: Subject = {
  name: 'simulated',
  runs: amount(12, 500),
  async setUp(clock) {
    const world = new SimulatedWorld(7, { conflict: 0.05, lostReply: 0.05, failure: 0 })
    Object.defineProperty(world, 'time', { get: () => clock.time })
    return { open: (options) => openStore(world.open('w'), options), tearDown: nothing }
  },
}

const lmdb: Subject = {
  name: 'lmdb',
  runs: amount(8, 100),
  async setUp(clock) {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-lifecycle-'))
    const clocked = { clock: () => clock.time, durability: 'os' } as const
    return {
      open: (options) => openStore(directory, { ...options, ...clocked }),
      tearDown: () => rm(directory, { recursive: true }),
    }
  },
}

const onRedis: Subject = {
  name: 'redis',
  runs: amount(6, 100),
  async setUp(clock) {
    const { url } = await (redis ??= startRedis())
    const location = `${url}?prefix=lifecycle-${places++}`
    const clocked = { clock: () => clock.time }
    return { open: (options) => openStore(location, { ...options, ...clocked }), tearDown: nothing }
  },
}

const onDynamo: Subject = {
  name: 'dynamodb',
  runs: amount(2, 40),
  async setUp(clock) {
    const server = await (dynamo ??= startDynamo())
    const location = await (table ??= newTable(server.location(), 1))
    const clocked = { clock: () => clock.time, namespace: `lifecycle-${places++}` }
    return { open: (options) => openStore(location, { ...options, ...clocked }), tearDown: nothing }
  },
}

async function keysOf(store: Store): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const one of store.keys()) found.add(one.toString())
  return found
}

class Comparison {
  readonly clock = { time: 1000 }
  readonly #options: StoreOptions
  readonly #model: LifecycleModel
  readonly #replica: Replica = new Map()
  #cursor: string | undefined

  constructor(options: StoreOptions & { readonly recencyMs: number }) {
    this.#options = options
    this.#model = new LifecycleModel(options.recencyMs)
  }

  async run(subject: Subject, operations: readonly Operation[]): Promise<void> {
    const place = await subject.setUp(this.clock)
    let store = await place.open({ ...this.#options, changes: true })
    try {
      for (const one of operations) {
        if (one.op === 'reopen') {
          this.#cursor = await catchUp(store, this.#replica, this.#cursor)
          await store.close()
          store = await place.open(this.#options)
        } else await this.#step(store, one)
        const { time } = this.clock
        const live = KEYS.filter((name) => this.#model.live(name, time))
        expect([...(await keysOf(store))]).toEqual(live)
      }
      await this.#finish(store)
    } finally {
      await store.close()
      await place.tearDown()
    }
  }

  async #finish(store: Store): Promise<void> {
    await store.collect()
    this.#model.collect(this.clock.time)
    const { keys, contentBytes, keysWithExpiry } = await store.stats()
    const timed = [...this.#model.rows.values()].filter(({ expiresAt }) => expiresAt < Infinity)
    expect([keys, contentBytes, keysWithExpiry]).toEqual([
      this.#model.rows.size,
      this.#model.bytes(),
      timed.length,
    ])
    expect((await store.verify()).problems).toEqual([])
    await catchUp(store, this.#replica, this.#cursor)
    await requireReplay(store, this.#replica)
    const whole: Replica = new Map()
    await catchUp(store, whole)
    expect(whole).toEqual(this.#replica)
  }

  async #step(store: Store, one: Exclude<Operation, { op: 'reopen' }>): Promise<void> {
    const { time } = this.clock
    const kept = 'key' in one ? this.#model.live(one.key, time) : undefined
    const isThere = kept !== undefined
    switch (one.op) {
      case 'put':
        return this.#put(store, one)
      case 'get':
        expect(await store.getText(one.key)).toBe(this.#model.get(one.key, time))
        return
      case 'delete':
        expect(await store.delete(one.key)).toBe(isThere)
        this.#model.rows.delete(one.key)
        return
      case 'pin':
        expect(await store.pin(one.key)).toBe(isThere)
        if (kept) kept.isPinned = true
        return
      case 'unpin':
        expect(await store.unpin(one.key)).toBe(kept?.isPinned ?? false)
        if (kept) kept.isPinned = false
        return
      case 'touch':
        expect(await store.touch(one.key)).toBe(isThere)
        if (!kept) return
        kept.usedAt = time
        if (kept.slidingMs !== undefined) kept.expiresAt = time + kept.slidingMs
        return
      case 'persist':
        expect(await store.persist(one.key)).toBe(isThere)
        if (kept) Object.assign(kept, { expiresAt: Infinity, slidingMs: undefined })
        return
      case 'expire':
        expect(await store.expire(one.key, one.ttlMs)).toBe(isThere)
        if (!kept) return
        kept.expiresAt = time + one.ttlMs
        if (kept.slidingMs !== undefined) kept.slidingMs = one.ttlMs
        return
      case 'evict':
        return this.#evict(store, { toKeys: one.toKeys })
      case 'shrink':
        return this.#evict(store, { toBytes: one.toBytes })
      case 'prune':
        return this.#prune(store, one)
      case 'collect':
        await store.collect()
        this.#model.collect(time)
        return
      case 'wait':
        this.clock.time += one.ms
    }
  }

  async #put(store: Store, one: Operation & { readonly op: 'put' }): Promise<void> {
    const { key: name, value: bytes } = one
    const options = 'ttlMs' in one ? { ttlMs: one.ttlMs, sliding: one.sliding } : {}
    const { time } = this.clock
    await store.put(name, bytes, options)
    this.#model.put(name, bytes, options, time)
    const isOver = !this.#isWithin()
    const there = await keysOf(store)
    const gone = this.#model.evicted(there, time, name)
    if (!isOver) expect(gone).toEqual([])
    const others = [...this.#model.rows].filter(([at, kept]) => at !== name && !kept.isPinned)
    if (isOver && others.length > 0) expect(this.#isWithin()).toBe(true)
  }

  #isWithin(): boolean {
    const { maxKeys = Infinity, maxBytes = Infinity } = this.#options
    return this.#model.rows.size <= maxKeys && this.#model.bytes() <= maxBytes
  }

  async #evict(store: Store, to: { toKeys?: number; toBytes?: number }): Promise<void> {
    const { time } = this.clock
    await store.collect()
    this.#model.collect(time)
    const before = this.#model.bytes()
    const planned: string[] = []
    const plan = await store.evict({ ...to, dryRun: true, onKey: (at) => planned.push(String(at)) })
    const evicted = await store.evict(to)
    expect(evicted).toEqual(plan)
    const gone = this.#model.evicted(await keysOf(store), time)
    expect(planned.toSorted()).toEqual(gone.toSorted())
    expect([evicted.keys, evicted.bytes]).toEqual([gone.length, before - this.#model.bytes()])
    if ([...this.#model.rows.values()].every(({ isPinned }) => isPinned)) return
    const { toKeys = Infinity, toBytes = Infinity } = to
    expect(this.#model.rows.size).toBeLessThanOrEqual(toKeys)
    expect(this.#model.bytes()).toBeLessThanOrEqual(toBytes)
  }

  async #prune(
    store: Store,
    how: { readonly olderThanMs: number | undefined; readonly idleForMs: number },
  ): Promise<void> {
    const { time } = this.clock
    const { olderThanMs, idleForMs } = how
    const planned: string[] = []
    await store.prune({
      olderThanMs,
      idleForMs,
      dryRun: true,
      onKey: (at) => planned.push(String(at)),
    })
    const { keys } = await store.prune({ olderThanMs, idleForMs })
    const there = await keysOf(store)
    let count = 0
    for (const [name, kept] of this.#model.rows) {
      if (kept.expiresAt <= time) continue
      const wanted = this.#model.isPruned(kept, { olderThanMs, idleForMs }, time)
      if (wanted !== undefined) expect([name, there.has(name)]).toEqual([name, !wanted])
      expect(planned.includes(name)).toBe(!there.has(name))
      if (there.has(name)) continue
      this.#model.rows.delete(name)
      count++
    }
    expect(keys).toBe(count)
  }
}

const options = fc.record(
  {
    maxKeys: fc.integer({ min: 2, max: 5 }),
    maxBytes: fc.integer({ min: 40, max: 2000 }),
    evictTo: fc.constantFrom(0.5, 0.9, 1),
    recencyMs: fc.constantFrom(0, 50),
  },
  { requiredKeys: ['recencyMs', 'evictTo'] },
)

const subjects = [
  memory,
  simulated,
  lmdb,
  ...(redisIsHere() ? [onRedis] : []),
  ...(dynamoIsHere() ? [onDynamo] : []),
]

describe.each(subjects)('$name', (subject) => {
  it('evicts, prunes and expires as a plain Map does', async () => {
    const sequence = fc.array(operation, { minLength: 1, maxLength: 60, size: 'max' })
    const property = fc.asyncProperty(options, sequence, (how, operations) =>
      new Comparison(how).run(subject, operations),
    )
    await fc.assert(property, { numRuns: subject.runs })
  }, 180_000)
})
