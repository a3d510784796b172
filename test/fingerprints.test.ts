/** Stores of fingerprints over memory, LMDB, the simulated engine, Redis and DynamoDB. */

import { mkdtemp, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createTables } from '../src/backends/dynamodb/index.ts'
import { type Backend } from '../src/backends/index.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/index.ts'
import { hashVersion, simHashOf, sketchOf } from '../src/fingerprint/index.ts'
import {
  archiveLocation,
  type Fingerprints,
  type FingerprintsOptions,
  listLocation,
  openFingerprints,
  restoreLocation,
  verifyLocation,
} from '../src/index.ts'
import { textMaker } from './corpus-kit.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from './servers/dynamodb.ts'
import { redisIsHere, type RedisServer, startRedis } from './servers/redis.ts'
import { FAULTS } from './subjects.ts'

let directory = ''
let redis: RedisServer | undefined
let dynamo: DynamoServer | undefined
let places = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-fingerprints-'))
  if (redisIsHere()) redis = await startRedis()
  if (dynamoIsHere()) dynamo = await startDynamo()
}, 60_000)
afterAll(async () => {
  await Promise.all([redis?.stop(), dynamo?.stop()])
  await rm(directory, { recursive: true })
})

/** Every call opens the same place. */
type Place = () => string | Backend

const engines: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const engine = new MemoryEngine()
    return () => new MemoryBackend({}, engine)
  },
  // 1024 bytes a value, 100 cells a transaction: chunks are added in lists.
  simulated: async () => {
    const world = new SimulatedWorld(places++)
    return () => world.open(`worker ${places++}`, { clock: Date.now })
  },
  lmdb: async () => {
    const path = join(directory, `place-${places++}`)
    return () => path
  },
  ...(redisIsHere() && {
    redis: async () => {
      const location = `${redis!.url}?prefix=place-${places++}`
      return () => location
    },
  }),
  ...(dynamoIsHere() && {
    dynamodb: async () => {
      const location = dynamo!.location(`place-${places++}`)
      await createTables(location, { shards: 2 })
      return () => location
    },
  }),
}

const make = textMaker(17)
const TEXT = make(120)
const OTHER = make(120)
/** One word of many differs. */
const NEAR = `${TEXT} finally`

function methodsOf({ matches }: { matches: readonly { method: string; id: string }[] }): string[] {
  return matches.map(({ method, id }) => `${method} ${id}`)
}

async function isSound(place: Place): Promise<void> {
  const reports = await verifyLocation(place())
  expect(reports.map(({ kind, problems }) => [kind, problems])).toEqual([['fingerprints', []]])
}

describe.each(Object.keys(engines))('fingerprints on %s', (name) => {
  const newPlace = () => engines[name]!()

  it('are found by canonical form, SimHash, MinHash and chunks', async () => {
    await using store = await openFingerprints((await newPlace())())
    const labels = { source: 'web', language: 'en' }
    expect(await store.add({ id: 'a', text: TEXT, ...labels })).toMatchObject({ status: 'added' })
    const same = await store.query({ text: TEXT.toUpperCase() })
    expect(methodsOf(same)).toEqual(['canonical a', 'simhash a', 'minhash a', 'chunks a'])
    expect(same.matches[0]).toMatchObject({ ...labels, similarity: 1 })
    expect(same.chunks.known).toBe(same.chunks.total)
    const near = await store.query({ text: NEAR })
    expect(methodsOf(near)).toContain('minhash a')
    expect(near.matches.some(({ method }) => method === 'canonical')).toBe(false)
    const byMinHash = near.matches.find(({ method }) => method === 'minhash')!
    expect(byMinHash.similarity).toBeGreaterThan(0.8)
    expect(byMinHash.similarity).toBeLessThanOrEqual(1)
    expect(await store.query({ text: OTHER })).toMatchObject({
      matches: [],
      chunks: { known: 0 },
    })
  })

  it('find values that were computed elsewhere, and keep them apart from those of texts', async () => {
    await using store = await openFingerprints((await newPlace())())
    const simhash = 0xfeed_beef_0123_4567n
    const minhash = Uint32Array.from({ length: 128 }, (_, at) => (at * 2_654_435_761) >>> 0)
    const chunks = ['c0ffee', 'decaf']
    await store.add({ id: 'given', simhash, minhash, chunks, source: 'elsewhere' })
    const [hit] = (await store.query({ simhash: simhash ^ 0b101n })).matches
    expect(hit).toMatchObject({ id: 'given', method: 'simhash', distance: 2, similarity: 62 / 64 })
    expect((await store.query({ simhash: simhash ^ 0b1111n })).matches).toEqual([])
    const changed = minhash.map((value, at) => (at < 13 ? value + 1 : value))
    const [near] = (await store.query({ minhash: changed })).matches
    expect(near).toMatchObject({ id: 'given', method: 'minhash', similarity: 115 / 128 })
    const halved = await store.query({ chunks: ['c0ffee', 'tea'] })
    expect(halved.chunks).toEqual({ total: 2, known: 1 })
    expect(halved.matches).toMatchObject([{ method: 'chunks', shared: 1, similarity: 0.5 }])
    // The SimHash of a text as a number is of unknown origin.
    const { low, high } = simHashOf(Buffer.from('whatever'), 'chars-3')
    await store.add({ id: 'number', simhash: (BigInt(high) << 32n) | BigInt(low) })
    expect((await store.query({ simhash: simHashOf('whatever', 'chars-3') })).matches).toEqual([])
    const sketch = sketchOf(Buffer.from(TEXT.toLowerCase()))
    await store.add({ id: 'sketched', minhash: sketch })
    expect(methodsOf(await store.query({ minhash: sketch }))).toEqual(['minhash sketched'])
  })

  it('call the same content new once, whoever asks at the same time', async () => {
    const place = await newPlace()
    const stores = await openMany(place, 2)
    const texts = Array.from({ length: 6 }, () => make(60))
    const verdicts = await Promise.all(
      texts.flatMap((text, at) =>
        stores.map((store, worker) => store.addIfNew({ id: `${at}/${worker}`, text })),
      ),
    )
    for (let at = 0; at < texts.length; at++) {
      const two = verdicts.slice(2 * at, 2 * at + 2)
      expect(two.map(({ status }) => status).toSorted()).toEqual(['duplicate', 'new'])
      const winner = two.findIndex(({ isNew }) => isNew)
      expect(two[1 - winner]!.match).toMatchObject({ id: `${at}/${winner}`, method: 'canonical' })
    }
    expect(await stores[0]!.count()).toBe(texts.length)
    for (const store of stores) await store.close()
    await isSound(place)
  })

  it('say which chunk came first exactly once, whoever asks at the same time', async () => {
    const place = await newPlace()
    const stores = await openMany(place, 2)
    // More than one transaction of the smallest engine takes.
    const chunks = Array.from({ length: 150 }, (_, at) => `chunk ${at}`)
    const added = await Promise.all(
      stores.map((store, at) => store.add({ id: String(at), chunks })),
    )
    expect(added.reduce((sum, { chunks: { known } }) => sum + known, 0)).toBe(150)
    for (const store of stores) await store.close()
    await isSound(place)
  })

  it('are the same when the same document comes again, and others when it has changed', async () => {
    const place = await newPlace()
    await using store = await openFingerprints(place())
    const first = await store.addIfNew({ id: 'a', text: TEXT })
    expect([first.isNew, first.status]).toEqual([true, 'new'])
    expect(await store.addIfNew({ id: 'a', text: TEXT })).toMatchObject({ status: 'known' })
    expect(await store.addIfNew({ id: 'b', text: NEAR })).toMatchObject({ isNew: false })
    expect(await store.get('b')).toBeUndefined()
    expect(await store.add({ id: 'a', text: OTHER })).toMatchObject({ status: 'replaced' })
    expect((await store.query({ text: TEXT })).matches).toEqual([])
    expect(methodsOf(await store.query({ text: OTHER }))).toContain('canonical a')
    expect(await store.addIfNew({ id: 'b', text: NEAR })).toMatchObject({ isNew: true })
    expect(await store.count()).toBe(2)
    await isSound(place)
  })

  it('leave nothing behind when they are removed, and nothing of others goes with them', async () => {
    const place = await newPlace()
    const store = await openFingerprints(place())
    const long = Array.from({ length: 6 }, () => TEXT).join(' ')
    await store.add({ id: 'a', text: long })
    await store.add({ id: 'b', text: long, source: 'mirror' })
    expect(await store.remove('a')).toBe(true)
    expect(await store.remove('a')).toBe(false)
    const left = await store.query({ text: long })
    expect(methodsOf(left)).toEqual(['canonical b', 'simhash b', 'minhash b', 'chunks b'])
    expect(await store.remove('b')).toBe(true)
    expect(await store.query({ text: long })).toMatchObject({ matches: [], chunks: { known: 0 } })
    expect(await store.count()).toBe(0)
    await store.close()
    await isSound(place)
  })

  it('are refused with other settings than they were made with', async () => {
    const place = await newPlace()
    await (await openFingerprints(place(), { threshold: 0.7 })).close()
    await expect(openFingerprints(place(), { threshold: 0.9 })).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining('threshold is 0.7 there, and 0.9 was asked for'),
    })
    await using again = await openFingerprints(place())
    expect(again.version).toMatch(/^unicode-\d+\/adaptive\/128\//)
    expect(again.version.endsWith(hashVersion())).toBe(true)
  })
})

async function openMany(place: Place, count: number): Promise<Fingerprints[]> {
  const stores: Fingerprints[] = []
  for (let at = 0; at < count; at++) stores.push(await openFingerprints(place()))
  return stores
}

describe('fingerprints', () => {
  it('are found after they were carried to another engine', async () => {
    const from = await engines['lmdb']!()
    const to = await engines['simulated']!()
    const options = { chunkBytes: 256 }
    await using store = await openFingerprints(from(), options)
    await store.add({ id: 'a', text: Array.from({ length: 4 }, () => TEXT).join(' ') })
    await store.add({ id: 'b', text: OTHER })
    const parts: Buffer[] = []
    for await (const part of archiveLocation(from())) parts.push(part)
    await restoreLocation(to(), Readable.from(parts))
    await isSound(to)
    await using copy = await openFingerprints(to())
    expect(methodsOf(await copy.query({ text: OTHER }))).toContain('minhash b')
    expect(await listLocation(from() as string)).toMatchObject([
      { kind: 'fingerprints', format: 1, counts: { documents: 2 } },
    ])
  })

  it('older than the retention do not match, and prune removes them', async () => {
    let now = 1_000_000
    const engine = new MemoryEngine()
    const place = () => new MemoryBackend({ clock: () => now }, engine)
    await using store = await openFingerprints(place(), { retentionMs: 1000 })
    await store.add({ id: 'old', text: TEXT })
    await store.add({ id: 'renewed', text: OTHER })
    now += 800
    await store.add({ id: 'renewed', text: OTHER })
    now += 300
    expect((await store.query({ text: TEXT })).matches).toEqual([])
    expect(methodsOf(await store.query({ text: OTHER }))).toContain('canonical renewed')
    expect(await store.prune({ dryRun: true })).toEqual({ documents: 1 })
    expect(await store.count()).toBe(2)
    expect(await store.prune()).toEqual({ documents: 1 })
    expect(await store.count()).toBe(1)
    expect(await store.addIfNew({ id: 'again', text: TEXT })).toMatchObject({ isNew: true })
    await isSound(place)
  })

  it('that were half removed are removed by the next prune', async () => {
    const world = new SimulatedWorld(5)
    const place = () => world.open(`worker ${places++}`)
    const store = await openFingerprints(place())
    const chunks = Array.from({ length: 200 }, (_, at) => `chunk ${at}`)
    await store.add({ id: 'a', text: TEXT, chunks })
    const dying = place()
    let runs = 0
    const failing: Backend = {
      limits: dying.limits,
      serial: dying.serial,
      snapshots: dying.snapshots,
      now: () => dying.now(),
      read: (...work) => dying.read(...work),
      scan: (...range) => dying.scan(...range),
      snapshot: () => dying.snapshot(),
      close: () => dying.close(),
      async run(...work) {
        if (++runs > 3) throw new Error('killed')
        return dying.run(...work)
      },
    }
    const other = await openFingerprints(failing)
    await expect(other.remove('a')).rejects.toThrow('killed')
    expect(await store.query({ text: TEXT, chunks })).toMatchObject({ matches: [] })
    expect(await store.count()).toBe(0)
    await store.prune({ olderThan: 0 })
    expect((await store.query({ chunks })).chunks.known).toBe(0)
    await isSound(place)
  })

  it('stay in agreement, and call content new once, in every schedule with faults', async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const world = new SimulatedWorld(seed, FAULTS)
      const texts = [TEXT, NEAR, OTHER]
      const worker = async (number: number) => {
        const store = await openFingerprints(world.open(`worker ${number}`))
        let news = 0
        for (const [at, text] of texts.entries()) {
          const verdict = await store.addIfNew({ id: `${number}-${at}`, text }).catch(() => {})
          // A reply that was lost is asked for again, and the document is known then.
          const again =
            verdict ?? (await settled(() => store.addIfNew({ id: `${number}-${at}`, text })))
          if (again.status !== 'duplicate') news++
        }
        return news
      }
      const all = await Promise.all([settled(() => worker(1)), settled(() => worker(2))])
      const place = () => world.open(`checker ${places++}`)
      world.faults = { conflict: 0, lostReply: 0, failure: 0 }
      await isSound(place)
      const store = await openFingerprints(place())
      // Nothing that is there matches anything else that is there.
      for (const text of texts) {
        const ids = new Set((await store.query({ text })).matches.map(({ id }) => id))
        expect(ids.size).toBeLessThanOrEqual(1)
      }
      expect(all.length).toBe(2)
    }
  })

  it('refuse what they cannot use, by name', async () => {
    await using store = await openFingerprints('memory:')
    const refused: [unknown, string][] = [
      [{ id: 'a' }, 'Give a text, a simhash, a minhash or chunks'],
      [{ id: 'a', text: '  ' }, 'canonical form of the text is empty'],
      [{ id: 'a', text: 'x', sorce: 'y' }, 'has no sorce'],
      [{ id: '', text: 'x' }, '1 to 900 bytes'],
      [{ id: 'a', simhash: 1n << 64n }, 'from 0 to 2^64 - 1'],
      [{ id: 'a', simhash: 12 }, 'a bigint'],
      [{ id: 'a', minhash: [1, 2, 3] }, '128 numbers here; this one has 3'],
      [{ id: 'a', minhash: Array.from({ length: 128 }, () => 0.5) }, 'whole numbers only'],
      [{ id: 'a', minhash: { ...sketchOf('a text'), hashVersion: 'f0-0' } }, 'Make it again'],
      [{ id: 'a', chunks: [''] }, 'A chunk hash'],
    ]
    for (const [input, message] of refused) {
      await expect(store.add(input as never), message).rejects.toThrow(message)
    }
    await expect(store.query({ text: 'x' }, { limit: 0 })).rejects.toThrow('limit')
    await expect(store.prune()).rejects.toThrow('olderThan')
    const bad = { treshold: 0.5 } as FingerprintsOptions
    await expect(openFingerprints('memory:', bad)).rejects.toThrow('Did you mean threshold')
    await expect(openFingerprints('memory:', { chunkBytes: 1000 })).rejects.toThrow('chunkBytes')
    await expect(openFingerprints('memory:', { create: false })).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
    })
  })

  it('count their calls, latencies and matches', async () => {
    const counted: Record<string, number> = {}
    const add = (name: string, delta: number, labels: Readonly<Record<string, string>> = {}) => {
      if (!name.startsWith('prestige.fingerprints.')) return
      const key = [name.replace('prestige.fingerprints.', ''), ...Object.values(labels)].join(' ')
      counted[key] = (counted[key] ?? 0) + delta
    }
    const metrics = { counter: add, gauge: () => {}, histogram: (name: string) => add(name, 1) }
    await using store = await openFingerprints('memory:', { metrics })
    await store.addIfNew({ id: 'a', text: TEXT })
    await store.addIfNew({ id: 'b', text: TEXT })
    await store.query({ simhash: 'x' as never }).catch(() => {})
    expect(counted).toEqual({
      'calls addIfNew ok': 2,
      'calls query INVALID_VALUE': 1,
      'matches canonical': 1,
      latency_us: 3,
    })
  })
})

/** Until it succeeds. */
async function settled<T>(work: () => Promise<T>): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    try {
      return await work()
    } catch (error) {
      if (attempts > 50) throw error
    }
  }
}
