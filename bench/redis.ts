/**
 * What does a put over Redis cost, client and server together, against a script written by hand for it?
 *
 * The reference does the same work in one request a put, pipelined by its client: it looks up key and digest, writes
 * content, digest row, entry and reference with their order, and counts, in hashes and sorted sets as ours. What it
 * lacks is what is general about ours: bodies in TypeScript that run on any engine, checks, repetition after a lost
 * answer. The server's CPU is what it says of itself.
 *
 * `hot`: every tenth put stores one and the same value.
 *
 * Vectors are resolved, not put: all of them new, and so near each other that their buckets have several pages. Beside
 * them is the same in memory, with tables instead of buckets.
 */

import { createHash } from 'node:crypto'

import { Redis } from 'ioredis'
import { openResolver, openStore } from 'prestige-dedup'
import { storeSpaces } from 'prestige-dedup/backend'
import { openRedis } from 'prestige-dedup/redis'

import { redisIsHere, startRedis } from '../test/servers/redis.ts'
import type { Bench, Case, Limits, Place, Sample } from './harness/bench.ts'
import { hashedKeys, noise, randomNumbers, scaled, values } from './harness/data.ts'
import { inFlight, type Latencies, measure } from './harness/measure.ts'

const FLIGHT = 64

type Kind = 'half' | 'none' | 'hot'

interface RedisCase {
  readonly name: string
  readonly bytes: number
  readonly kind: Kind
  readonly limits?: Limits
}

interface Load {
  readonly keys: readonly Buffer[]
  readonly values: readonly Buffer[]
}

function loadOf({ bytes, kind }: RedisCase, count: number, seed: number): Load {
  const keys = hashedKeys(count, `user${seed}`)
  const all = values(count, bytes, kind === 'half' ? 'half' : 'none', seed)
  if (kind !== 'hot') return { keys, values: all }
  const hot = noise(bytes, 77)
  return { keys, values: all.map((value, at) => (at % 10 === 0 ? hot : value)) }
}

interface Putting {
  put(key: Buffer, value: Buffer): Promise<unknown>
  conflicts(): number
  close(): Promise<void>
}

async function serverUse(client: Redis): Promise<{ cpuMicros: number; bytes: number }> {
  const info = await client.info('all')
  const of = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0)
  const seconds = of('used_cpu_user') + of('used_cpu_sys')
  return { cpuMicros: seconds * 1e6, bytes: of('used_memory') }
}

async function measured(
  one: RedisCase,
  place: Place,
  open: (port: number) => Promise<Putting>,
): Promise<Sample> {
  const server = await startRedis()
  const client = new Redis({ port: server.port, host: '127.0.0.1' })
  const putting = await open(server.port)
  const run = ({ keys, values: all }: Load, latencies?: Latencies) =>
    inFlight(FLIGHT, keys.length, (at) => {
      const put = () => putting.put(keys[at]!, all[at]!)
      return latencies ? latencies.time(at, put) : put()
    })
  await run(loadOf(one, scaled(20_000, place.scale), 2))
  const load = loadOf(one, scaled(40_000, place.scale), 1)
  const before = await serverUse(client)
  const conflictsBefore = putting.conflicts()
  const sample = await measure({ ops: load.keys.length, place }, (latencies) =>
    run(load, latencies),
  )
  const after = await serverUse(client)
  const conflicts = putting.conflicts() - conflictsBefore
  await putting.close()
  client.disconnect()
  await server.stop()
  const serverCpuMicros = after.cpuMicros - before.cpuMicros
  return {
    ...sample,
    cpuMicros: sample.cpuMicros + serverCpuMicros,
    serverCpuMicros,
    serverBytes: after.bytes - before.bytes,
    conflicts,
  }
}

async function openOurs(port: number): Promise<Putting> {
  const backend = await openRedis(`redis://127.0.0.1:${port}`, { spaces: storeSpaces })
  const store = await openStore(backend)
  return {
    put: (key, value) => store.put(key, value),
    conflicts: () => backend.commits.refused,
    close: () => store.close(),
  }
}

const BY_HAND = `
local key, digest, id, value, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call = redis.call
local old = call('HGET', KEYS[1], key)
local known = call('HGET', KEYS[3], digest)
local isNew = not known
if isNew then
  call('HSET', KEYS[5], id, value)
  call('ZADD', KEYS[6], 0, id)
  call('HSET', KEYS[3], digest, id .. now .. key)
  call('ZADD', KEYS[4], 0, digest)
  call('HINCRBY', KEYS[9], 'contents', 1)
  call('HINCRBY', KEYS[9], 'contentBytes', #value)
else
  id = string.sub(known, 1, 16)
end
if old and string.sub(old, 1, 16) == id then return { 0, id } end
call('HSET', KEYS[1], key, id .. digest .. now)
if old then
  local ref = string.sub(old, 1, 16) .. key
  call('HDEL', KEYS[7], ref)
  call('ZREM', KEYS[8], ref)
else
  call('ZADD', KEYS[2], 0, key)
  call('HINCRBY', KEYS[9], 'keys', 1)
end
call('HSET', KEYS[7], id .. key, '')
call('ZADD', KEYS[8], 0, id .. key)
call('HINCRBY', KEYS[9], 'valueBytes', #value)
return { isNew and 1 or 0, id }
`

async function openReference(port: number): Promise<Putting> {
  // The method is there, its type is not; and `callBuffer` goes wrong with automatic pipelines.
  const client = new Redis({ port, host: '127.0.0.1', enableAutoPipelining: true }) as Redis & {
    evalshaBuffer(...args: unknown[]): Promise<unknown>
  }
  const sha = String(await client.script('LOAD', BY_HAND))
  const keys = ['=e', '<e', '=d', '<d', '=c', '<c', '=r', '<r', '+t'].map((key) => `{hand}${key}`)
  let ids = 0
  return {
    put(key, value) {
      const digest = createHash('sha256').update(value).digest()
      const id = Buffer.alloc(16)
      id.writeUInt32BE(ids++, 8)
      const now = Buffer.alloc(6)
      now.writeUIntBE(Date.now(), 0, 6)
      return client.evalshaBuffer(sha, keys.length, ...keys, key, digest, id, value, now)
    },
    conflicts: () => 0,
    close: async () => client.disconnect(),
  }
}

const cases: readonly RedisCase[] = [
  {
    name: '1 KiB, half duplicates, 64 in flight',
    bytes: 1024,
    kind: 'half',
    limits: { ratioMax: 1.7, conflictsPerOpMax: 0.02 },
  },
  { name: '1 KiB, all new, 64 in flight', bytes: 1024, kind: 'none', limits: { ratioMax: 1.7 } },
  {
    name: '1 KiB, every tenth the same value, 64 in flight',
    bytes: 1024,
    kind: 'hot',
    limits: { ratioMax: 1.7, conflictsPerOpMax: 0.02 },
  },
  { name: '100 B, all new, 64 in flight', bytes: 100, kind: 'none' },
]

function caseOf(one: RedisCase): Case {
  return {
    name: one.name,
    ours: { run: (place) => measured(one, place, openOurs) },
    reference: {
      name: 'a script by hand',
      run: (place) => measured(one, place, openReference),
    },
    ...(one.limits && { limits: one.limits }),
  }
}

const VECTORS = 900
const VECTORS_FLIGHT = 50
const DIMENSIONS = 384

function crowdedVectors(count: number): Float32Array[] {
  const pick = randomNumbers(23)
  const number = () => pick(2001) / 1000 - 1
  const middle = Float32Array.from({ length: DIMENSIONS }, number)
  return Array.from({ length: count }, () => middle.map((value) => value + number() / 2))
}

async function resolveVectors(place: Place, location: string): Promise<Sample> {
  const vector = { dimensions: DIMENSIONS, threshold: 0.95 }
  const resolver = await openResolver(location, { vector, cacheMax: 0 })
  const all = crowdedVectors(scaled(VECTORS, place.scale))
  const sample = await measure({ ops: all.length, place }, () =>
    inFlight(VECTORS_FLIGHT, all.length, (at) => resolver.resolve('bench', all[at]!)),
  )
  const { possibleMisses } = await resolver.stats('bench', { largest: 0 })
  await resolver.close()
  if (possibleMisses > 0) throw new Error(`${possibleMisses} vectors may have been missed.`)
  return sample
}

async function runVectors(place: Place): Promise<Sample> {
  const server = await startRedis()
  const client = new Redis({ port: server.port, host: '127.0.0.1' })
  const before = await serverUse(client)
  const sample = await resolveVectors(place, `redis://127.0.0.1:${server.port}`)
  const serverCpuMicros = (await serverUse(client)).cpuMicros - before.cpuMicros
  client.disconnect()
  await server.stop()
  return { ...sample, cpuMicros: sample.cpuMicros + serverCpuMicros, serverCpuMicros }
}

const vectors: Case = {
  name: '900 vectors resolved, 50 in flight',
  ours: { run: runVectors },
  reference: { name: 'in memory', run: (place) => resolveVectors(place, 'memory:') },
  // Three seconds in all.
  limits: { cpuMicrosMax: 3333 },
}

export const bench: Bench = {
  name: 'redis',
  question: 'What does a put over Redis cost, client and server, against a script written by hand?',
  skip: () => (redisIsHere() ? undefined : 'redis-server is not installed'),
  cases: [...cases.map(caseOf), vectors],
}
