/** The same operations on every kind of store and on a plain Map: all must agree. */

import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { createClient } from '../src/client/index.ts'
import { openStore, type Store, type StoreOptions } from '../src/index.ts'
import type { TransactionOperation } from '../src/store/operations/transaction.ts'
import { canonicalProfile } from '../src/canonical/index.ts'
import { served } from './server-socket-kit.ts'
import { redisIsHere, type RedisServer, startRedis } from './servers/redis.ts'

const KEYS = ['a', 'a/b', 'ключ', '鍵', '🔑', 'e\u0301', 'é', '\0', 'z'.repeat(900)]
const VALUES = ['', 'x', 'X', ' x ', 'नमस्ते', 'e\u0301', 'é', '🎩', 'long '.repeat(300)]

/** What a key has to be: not there, or of this value. */
type Condition = { readonly absent: true } | { readonly value: string }

type Change =
  | { readonly op: 'put'; readonly key: string; readonly value: string; readonly if?: Condition }
  | { readonly op: 'delete'; readonly key: string; readonly if?: { readonly value: string } }
  | { readonly op: 'check'; readonly key: string; readonly if: Condition }

type Operation =
  | {
      readonly op: 'put'
      readonly key: string
      readonly value: string
      readonly ttlMs?: number
      readonly if?: Condition
    }
  | { readonly op: 'transaction'; readonly changes: readonly Change[] }
  | {
      readonly op: 'deleteRange'
      readonly prefix: string
      readonly start: string
      readonly end: string
      readonly limit: number
      readonly dryRun: boolean
    }
  | { readonly op: 'deleteIf'; readonly key: string; readonly if: { readonly value: string } }
  | { readonly op: 'delete' | 'get' | 'has' | 'explain'; readonly key: string }
  | { readonly op: 'list'; readonly prefix: string; readonly after: string; readonly limit: number }
  | { readonly op: 'collect' | 'stats' }
  | { readonly op: 'reopen' }
  | { readonly op: 'wait'; readonly ms: number }

const key = fc.constantFrom(...KEYS)
const value = fc.constantFrom(...VALUES)
const match = fc.record({ value })
const condition: fc.Arbitrary<Condition> = fc.oneof(fc.constant({ absent: true } as const), match)
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record(
    { op: fc.constant('put' as const), key, value, if: condition },
    { requiredKeys: ['op', 'key', 'value'] },
  ),
  fc.record(
    { op: fc.constant('delete' as const), key, if: match },
    { requiredKeys: ['op', 'key'] },
  ),
  fc.record({ op: fc.constant('check' as const), key, if: condition }),
)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('put' as const), key, value, if: condition }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('deleteIf' as const), key, if: match }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('transaction' as const),
      changes: fc.uniqueArray(change, { selector: ({ key }) => key, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('deleteRange' as const),
      prefix: fc.constantFrom('', '', 'a', 'e'),
      start: fc.constantFrom('\0', 'a', 'k'),
      end: fc.constantFrom('a/b', 'z', '🔒'),
      limit: fc.constantFrom(1, 2, 100),
      dryRun: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ op: fc.constant('put' as const), key, value }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('put' as const),
      key,
      value,
      ttlMs: fc.integer({ min: 1, max: 100 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constantFrom('delete', 'get', 'has', 'explain'), key }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('list' as const),
      prefix: fc.constantFrom('', 'a', 'e', 'k'),
      after: fc.constantFrom('', 'a', 'e\u0301', 'z'),
      limit: fc.constantFrom(1, 2, 100),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('collect', 'stats', 'reopen') }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 80 }) }),
  },
)

interface Kept {
  readonly shown: string
  readonly expiresAt: number
}

/** The plain thing: a Map, and for shared forms the value that came first. */
class Model {
  readonly rows = new Map<string, Kept>()
  readonly formOf: (value: string) => string
  readonly sharesForms: boolean

  constructor(options: StoreOptions) {
    const profile = canonicalProfile(options.canonical ?? 'none')
    this.formOf = (value) => Buffer.from(profile.canonicalise(Buffer.from(value))).toString()
    this.sharesForms = options.fidelity === 'representative'
  }

  live(key: string, now: number): Kept | undefined {
    const kept = this.rows.get(key)
    return kept && kept.expiresAt > now ? kept : undefined
  }

  identity(value: string): string {
    return this.sharesForms ? this.formOf(value) : value
  }

  /** What `get` will return for a put of this value now. */
  shown(value: string): string {
    const same = [...this.rows.values()].find(
      ({ shown }) => this.identity(shown) === this.identity(value),
    )
    return same ? same.shown : value
  }

  isMet(key: string, condition: Condition | undefined, now: number): boolean {
    const shown = this.live(key, now)?.shown
    if (condition === undefined) return true
    return 'absent' in condition ? shown === undefined : shown === condition.value
  }

  /** What a range of keys has, expired ones included, up to so many that are live. */
  inRange(start: string, end: string, prefix: string, limit: number, now: number) {
    const rows: { key: string; kept: Kept; isLive: boolean }[] = []
    let left = limit
    const isAfter = (key: string, other: string) =>
      Buffer.from(key).compare(Buffer.from(other)) >= 0
    for (const [key, kept] of [...this.rows].toSorted(([one], [other]) =>
      Buffer.from(one).compare(Buffer.from(other)),
    )) {
      if (!key.startsWith(prefix) || !isAfter(key, start) || isAfter(key, end)) continue
      const isLive = kept.expiresAt > now
      rows.push({ key, kept, isLive })
      if (isLive && --left === 0) break
    }
    return rows
  }

  collect(now: number): number {
    const expired = [...this.rows].filter(([, { expiresAt }]) => expiresAt <= now)
    for (const [key] of expired) this.rows.delete(key)
    return expired.length
  }

  stats() {
    const distinct = new Map(
      [...this.rows.values()].map(({ shown }) => [this.identity(shown), shown]),
    )
    const bytes = (values: Iterable<string>) =>
      [...values].reduce((sum, value) => sum + Buffer.byteLength(value), 0)
    return {
      keys: this.rows.size,
      keysWithExpiry: [...this.rows.values()].filter((kept) => kept.expiresAt < Infinity).length,
      valueBytes: bytes([...this.rows.values()].map(({ shown }) => shown)),
      contents: distinct.size,
      contentBytes: bytes(distinct.values()),
    }
  }
}

type Operable = Pick<
  Store,
  | 'put'
  | 'getText'
  | 'has'
  | 'head'
  | 'delete'
  | 'deleteRange'
  | 'transaction'
  | 'keys'
  | 'explain'
  | 'collect'
  | 'stats'
  | 'verify'
  | 'close'
>

interface Subject {
  readonly name: string
  readonly options: StoreOptions
  readonly runs: number
  /** Opens the same store on every call. */
  setUp(clock: { time: number }): Promise<{ open(): Promise<Operable>; tearDown(): Promise<void> }>
}

function inMemory(name: string, options: StoreOptions): Subject {
  return {
    name,
    options,
    runs: 150,
    async setUp(clock) {
      const engine = new MemoryEngine()
      const backend = () => new MemoryBackend({ clock: () => clock.time }, engine)
      return { open: () => openStore(backend(), options), tearDown: async () => {} }
    },
  }
}

function onDisk(
  name: string,
  options: StoreOptions,
  open: (directory: string, options: StoreOptions) => Promise<Operable> = openStore,
): Subject {
  return {
    name,
    options,
    runs: 25,
    async setUp(clock) {
      const directory = await mkdtemp(join(tmpdir(), 'prestige-model-'))
      const all = { ...options, durability: 'os', clock: () => clock.time } as const
      return {
        open: () => open(directory, all),
        tearDown: () => rm(directory, { recursive: true }),
      }
    },
  }
}

const simulated: Subject = {
  name: 'simulated, unicode',
  options: { canonical: 'unicode' },
  runs: 40,
  async setUp(clock) {
    const world = new SimulatedWorld(11, { conflict: 0.05, lostReply: 0.05, failure: 0.05 })
    Object.defineProperty(world, 'time', { get: () => clock.time })
    return {
      open: () => openStore(world.open('w'), { canonical: 'unicode' }),
      tearDown: async () => {},
    }
  },
}

/** The client of a running server. What it has no method for is done by a store beside the server, on the same directory. */
async function openBehindServer(directory: string, options: StoreOptions): Promise<Operable> {
  const { namespace, ...store } = options
  const server = await served(directory, { store })
  const beside = await openStore(directory, options)
  const post = async (path: string) => {
    const headers = namespace === undefined ? {} : { 'prestige-namespace': namespace }
    const response = await fetch(`${server.url}/api/v1/admin/${path}`, { method: 'POST', headers })
    expect(response.status, path).toBe(200)
    return JSON.parse(await response.text())
  }
  return Object.assign(createClient(server.url, { namespace }), {
    transaction: beside.transaction.bind(beside),
    deleteRange: beside.deleteRange.bind(beside),
    collect: () => post('collect'),
    verify: () => post('verify'),
    close: async () => {
      await beside.close()
      await server.close()
    },
  })
}

let server: Promise<RedisServer> | undefined
let prefixes = 0
afterAll(async () => (await server)?.stop())

function onRedis(name: string, options: StoreOptions): Subject {
  return {
    name,
    options,
    runs: 15,
    async setUp(clock) {
      const { url } = await (server ??= startRedis())
      const location = `${url}?prefix=model-${prefixes++}`
      const all = { ...options, clock: () => clock.time }
      return { open: () => openStore(location, all), tearDown: async () => {} }
    },
  }
}

const redis = redisIsHere()
  ? [
      onRedis('redis', {}),
      onRedis('redis, a namespace, unicode', { namespace: 'आ}{', canonical: 'unicode' }),
    ]
  : []

const subjects: readonly Subject[] = [
  inMemory('memory', {}),
  inMemory('memory, unicode', { canonical: 'unicode' }),
  inMemory('memory, unicode, representative', { canonical: 'unicode', fidelity: 'representative' }),
  onDisk('lmdb', {}),
  onDisk('lmdb, a namespace, ascii-case', { namespace: 'other', canonical: 'ascii-case' }),
  simulated,
  onDisk('a client of a server', {}, openBehindServer),
  onDisk(
    'a client of a server, a namespace, unicode',
    { namespace: 'other', canonical: 'unicode' },
    openBehindServer,
  ),
  ...redis,
]

async function compare(subject: Subject, operations: readonly Operation[]): Promise<void> {
  const clock = { time: 1_000 }
  const place = await subject.setUp(clock)
  const model = new Model(subject.options)
  let store = await place.open()
  try {
    for (const operation of operations) {
      if (operation.op === 'reopen') {
        await store.close()
        store = await place.open()
      } else await step(store, model, clock, operation)
    }
    for (const key of KEYS) await step(store, model, clock, { op: 'get', key })
    expect(await store.stats()).toMatchObject(model.stats())
    expect((await store.verify()).problems).toEqual([])
  } finally {
    await store.close()
    await place.tearDown()
  }
}

async function step(
  store: Operable,
  model: Model,
  clock: { time: number },
  operation: Exclude<Operation, { op: 'reopen' }>,
): Promise<void> {
  const { time } = clock
  switch (operation.op) {
    case 'put': {
      const { key, value, ttlMs } = operation
      const old = model.live(key, time)
      const shown = model.shown(value)
      const options = { ttlMs, ...optionsOf(operation.if) }
      if (!model.isMet(key, operation.if, time)) return failed(store.put(key, value, options))
      const receipt = await store.put(key, value, options)
      const isSame = old && model.identity(old.shown) === model.identity(value)
      expect(receipt.key).toBe(old ? (isSame ? 'unchanged' : 'replaced') : 'created')
      model.rows.set(key, { shown, expiresAt: ttlMs === undefined ? Infinity : time + ttlMs })
      return
    }
    case 'delete':
      expect(await store.delete(operation.key)).toBe(model.live(operation.key, time) !== undefined)
      model.rows.delete(operation.key)
      return
    case 'deleteIf': {
      const { key } = operation
      const work = store.delete(key, { ifMatch: digestOf(operation.if.value) })
      if (!model.isMet(key, operation.if, time)) return failed(work)
      expect(await work).toBe(true)
      model.rows.delete(key)
      return
    }
    case 'transaction':
      return transact(store, model, time, operation.changes)
    case 'deleteRange': {
      const { start, end, prefix, limit, dryRun } = operation
      const rows = model.inRange(start, end, prefix, limit, time)
      const live = rows.filter(({ isLive }) => isLive)
      expect(await store.deleteRange({ start, end, prefix, limit, dryRun })).toEqual({
        keys: live.length,
        valueBytes: live.reduce((sum, { kept }) => sum + Buffer.byteLength(kept.shown), 0),
      })
      if (!dryRun) for (const { key } of rows) model.rows.delete(key)
      return
    }
    case 'get': {
      const kept = model.live(operation.key, time)
      const head = await store.head(operation.key)
      expect(head?.digest).toBe(digestOf(kept?.shown))
      expect(head?.expiresAt ?? Infinity).toBe(kept?.expiresAt ?? Infinity)
      expect(await store.getText(operation.key)).toBe(kept?.shown)
      return
    }
    case 'has':
      expect(await store.has(operation.key)).toBe(model.live(operation.key, time) !== undefined)
      return
    case 'explain': {
      const found = await store.explain(operation.key)
      const kept = model.live(operation.key, time)
      expect(found?.bytes).toBe(kept && Buffer.byteLength(kept.shown))
      return
    }
    case 'list': {
      const { prefix, after, limit } = operation
      const found: string[] = []
      const options = { prefix, limit, ...(after !== '' && { startAfter: after }) }
      for await (const key of store.keys(options)) found.push(key.toString())
      expect(found).toEqual(listed(model, time, prefix, after).slice(0, limit))
      return
    }
    case 'collect':
      expect((await store.collect()).expiredKeys).toBe(model.collect(time))
      return
    case 'stats':
      expect(await store.stats()).toMatchObject(model.stats())
      return
    case 'wait':
      clock.time += operation.ms
  }
}

function digestOf(value: string): string
function digestOf(value: string | undefined): string | undefined
function digestOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : createHash('sha256').update(value).digest('hex')
}

function optionsOf(condition: Condition | undefined): { ifAbsent?: true; ifMatch?: string } {
  if (condition === undefined) return {}
  return 'absent' in condition ? { ifAbsent: true } : { ifMatch: digestOf(condition.value) }
}

async function failed(work: Promise<unknown>): Promise<void> {
  await expect(work).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
}

/** Conditions of all first, then puts, then deletes. */
async function transact(
  store: Operable,
  model: Model,
  time: number,
  changes: readonly Change[],
): Promise<void> {
  const operations = changes.map((change): TransactionOperation => {
    const { key } = change
    const options = optionsOf(change.if)
    if (change.op === 'put') return { put: key, value: change.value, ...options }
    return change.op === 'delete' ? { delete: key, ...options } : { check: key, ...options }
  })
  const work = store.transaction(operations)
  if (!changes.every(({ key, if: condition }) => model.isMet(key, condition, time))) {
    return failed(work)
  }
  const were = changes.map(({ key }) => model.live(key, time) !== undefined)
  const results = await work
  changes.forEach((change, at) => {
    const result = results[at]
    if (change.op !== 'put') expect(result).toBe(were[at])
    else expect(result).toMatchObject({ bytes: Buffer.byteLength(change.value) })
  })
  for (const change of changes) {
    if (change.op !== 'put') continue
    model.rows.set(change.key, { shown: model.shown(change.value), expiresAt: Infinity })
  }
  for (const change of changes) if (change.op === 'delete') model.rows.delete(change.key)
}

function listed(model: Model, time: number, prefix: string, after: string): string[] {
  return [...model.rows.keys()]
    .filter((key) => model.live(key, time) && key.startsWith(prefix))
    .map((key) => Buffer.from(key))
    .filter((key) => after === '' || key.compare(Buffer.from(after)) > 0)
    .toSorted((one, other) => one.compare(other))
    .map(String)
}

describe.each(subjects)('$name', (subject) => {
  it('agrees with a plain Map on any sequence of operations', async () => {
    const sequence = fc.array(operation, { minLength: 1, maxLength: 40 })
    const property = fc.asyncProperty(sequence, (operations) => compare(subject, operations))
    await fc.assert(property, { numRuns: subject.runs })
  }, 120_000)
})
