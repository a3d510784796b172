/** Stores, ledgers and resolvers on a real Redis, alone and as a cluster; several processes; the command line. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openCache } from '../src/cache/index.ts'
import { openLedger, openResolver, openStore } from '../src/index.ts'
import { amount } from './amount.ts'
import { inProcess as prestige } from './children/cli.ts'
import { wordEmbedder } from './children/word-embedder.mjs'
import { crashRounds } from './crash/crash-rounds.ts'
import { codeOf, describeOperations } from './operations-kit.ts'
import { Proxy } from './servers/proxy.ts'
import {
  type RedisCluster,
  redisClient,
  redisIsHere,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from './servers/redis.ts'
import { textOf } from './texts/near-texts.ts'

const WRITER = fileURLToPath(new URL('./children/sharing-writer.mjs', import.meta.url))
const SPEAKER = fileURLToPath(new URL('./children/meaning-writer.mjs', import.meta.url))
let server: RedisServer
let cluster: RedisCluster
let directory: string
let prefixes = 0

const place = (base = server.url) => `${base}?prefix=store-${prefixes++}`

async function write(location: string, seed: number, operations: number, dedup = 'exact') {
  const args = [WRITER, location, String(seed), String(operations), dedup]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
}

interface Said {
  readonly name: number
  readonly thing: number
  readonly text: string
  readonly id: string
}

async function say(location: string, name: number, things: number): Promise<Said[]> {
  const args = [SPEAKER, location, String(name), String(things)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const said: Said[] = []
  for await (const line of createInterface({ input: child.stdout })) said.push(JSON.parse(line))
  expect((await exited)[0]).toBe(0)
  return said
}

describe.runIf(redisIsHere())('on Redis', () => {
  beforeAll(async () => {
    ;[server, cluster] = await Promise.all([startRedis(), startRedisCluster()])
    directory = await mkdtemp(join(tmpdir(), 'prestige-redis-test-'))
  }, 60_000)
  afterAll(async () => {
    await Promise.all([server?.stop(), cluster?.stop()])
    await rm(directory, { recursive: true, force: true })
  })

  describe.each([
    ['one server', () => server.url],
    ['a cluster', () => cluster.url],
  ] as const)('%s', (_, base) => {
    describeOperations((clock) => openStore(place(base()), { clock }))

    it('gives up a contended transaction after retriesMax, of a store or of a call', async () => {
      const location = place(base())
      await using store = await openStore(location)
      await using impatient = await openStore(location, { retriesMax: 0 })
      const lost = async (work: (at: number) => Promise<unknown>) => {
        const codes = await Promise.all(Array.from({ length: 20 }, (_, at) => codeOf(work(at))))
        expect(codes.filter((code) => code !== 'none' && code !== 'CONTENDED')).toEqual([])
        return codes.filter((code) => code === 'CONTENDED').length
      }
      expect(await lost((at) => store.put('k', `a${at}`))).toBe(0)
      expect(await lost((at) => store.put('k', `b${at}`, { retriesMax: 0 }))).toBeGreaterThan(0)
      expect(await lost((at) => impatient.put('k', `c${at}`))).toBeGreaterThan(0)
      expect((await store.verify()).problems).toEqual([])
    })

    it('three processes keep identical bytes once, lose nothing and leave a sound store', async () => {
      const location = place(base())
      await Promise.all([1, 2, 3].map((seed) => write(location, seed, amount(100, 200))))
      await using store = await openStore(location)
      const distinct = new Set<string>()
      let keys = 0
      for await (const [, value] of store.entries()) {
        keys++
        distinct.add(value.toString('latin1'))
      }
      await store.collect()
      const stats = await store.stats()
      expect(stats.keys).toBe(keys)
      expect(stats.contents).toBe(distinct.size)
      const report = await store.verify()
      expect(report.problems).toEqual([])
      expect(report.contents).toBe(distinct.size)
    })

    it('keeps values larger than a row in parts, and gives them back', async () => {
      await using store = await openStore(place(base()))
      const large = Buffer.alloc(3_500_000, 'large ')
      expect(await store.put('a', large)).toMatchObject({ content: 'new' })
      expect(await store.put('b', large)).toMatchObject({ content: 'duplicate' })
      expect((await store.get('b'))?.equals(large)).toBe(true)
      await store.delete('a')
      await store.delete('b')
      await store.collect()
      expect(await store.stats()).toMatchObject({ keys: 0, contents: 0, contentBytes: 0 })
      expect((await store.verify()).problems).toEqual([])
    })

    it('namespaces of one location never see each other', async () => {
      const location = place(base())
      const names = ['', 'a', 'ab', 'मेरा', '}{', '{x}']
      const stores = await Promise.all(names.map((namespace) => openStore(location, { namespace })))
      await Promise.all(stores.map((store, at) => store.put('key', `value ${at}`)))
      for (const [at, store] of stores.entries()) {
        expect(await store.getText('key')).toBe(`value ${at}`)
        expect((await store.stats()).keys).toBe(1)
        await store.close()
      }
    })
  })

  it('three processes never take two near duplicates for new', async () => {
    const location = place()
    await Promise.all([1, 2, 3].map((seed) => write(location, seed, amount(50, 80), 'near')))
    await using store = await openStore(location)
    const representatives = new Set<string>()
    const kinds = new Set<string>()
    for await (const [, value] of store.entries()) {
      const text = value.toString()
      kinds.add(/k(\d)w/.exec(text)?.[1] ?? 'none')
      for (const { content } of await store.similar(text)) representatives.add(content)
    }
    expect(kinds.size).toBe(5)
    expect(representatives.size).toBe(kinds.size)
    await store.collect()
    expect((await store.verify()).problems).toEqual([])
  })

  it('three processes that say the same in other words share clusters and answers, and lose no body', async () => {
    const location = place()
    const things = 13
    const printed = await Promise.all([0, 1, 2].map((name) => say(location, name, things)))
    const said = printed.flat()
    expect(said).toHaveLength(3 * things)
    const ids = (thing: number) => said.filter((one) => one.thing === thing).map(({ id }) => id)
    for (let thing = 0; thing < things; thing++) expect(new Set(ids(thing)).size).toBe(1)
    expect(new Set(said.map(({ id }) => id)).size).toBe(things)
    const embedder = wordEmbedder(256)
    await using store = await openStore(location, { namespace: 'store' })
    await using cache = await openCache(location, {
      namespace: 'cache',
      model: embedder,
      threshold: 0.85,
      guards: false,
    })
    for (const { name, thing, text } of said) {
      expect(await store.getText(`${name}/${thing}`)).toBe(text)
      expect(await cache.get(text)).toMatchObject({ answer: `answer ${thing}` })
    }
    expect(await store.stats()).toMatchObject({
      keys: 3 * things,
      contents: 3 * things,
      semantic: { representatives: things, links: 2 * things },
    })
    expect((await store.verify()).problems).toEqual([])
  }, 60_000)

  it('has everything acknowledged when the client is killed again and again', async () => {
    const safe = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    const report = await crashRounds(directory, {
      rounds: amount(2, 6),
      acknowledgedMin: 11,
      seed: 7,
      location: safe.url,
    })
    expect(report.acknowledged).toBeGreaterThan(10)
    await safe.stop()
  }, 60_000)

  it('a store goes on over a line that fails', async () => {
    const proxy = await Proxy.to(server.port)
    const location = `redis://127.0.0.1:${proxy.port}/0?prefix=store-${prefixes++}`
    const store = await openStore(location)
    const values = Array.from({ length: 300 }, (_, at) => `value ${at % 100}`)
    const trouble = setInterval(() => proxy.loseReplies(), 25)
    await Promise.all(values.map((value, at) => store.put(`key ${at}`, value)))
    clearInterval(trouble)
    expect(await store.stats()).toMatchObject({ keys: 300, contents: 100 })
    expect((await store.verify()).problems).toEqual([])
    await store.close()
    await proxy.close()
  })

  it('a ledger gives a document to one of many who claim it', async () => {
    const location = place()
    const ledgers = await Promise.all([openLedger(location), openLedger(location)])
    for (const id of ['one', 'دو', '三']) {
      const claims = await Promise.all(
        Array.from({ length: 16 }, (_, at) => ledgers[at % 2]!.claim(id, { leaseMs: 60_000 })),
      )
      const [won, ...others] = claims.filter(({ ok }) => ok)
      expect(others).toEqual([])
      if (won?.ok) await ledgers[0].commit(won, { status: 'accepted' })
      expect(await ledgers[1].wasProcessed(id)).toBe(true)
    }
    for (const ledger of ledgers) await ledger.close()
  })

  it('a resolver gives near duplicates one id, in every process', async () => {
    const location = place()
    const [one, other] = await Promise.all([
      openResolver(location, { threshold: 0.8 }),
      openResolver(location, { threshold: 0.8 }),
    ])
    const text = 'A fine day for a walk in the park'
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? one : other).resolve('titles', `${text}${'!'.repeat(at % 4)}`),
      ),
    )
    expect(new Set(ends.map(({ id }) => id)).size).toBe(1)
    await one.close()
    await other.close()
  })

  describe('the command line', () => {
    it('takes a location of Redis for a store, with every command', async () => {
      const store = place()
      const run = (...args: string[]) => prestige(args, { store })
      expect((await run('get', 'a')).code).toBe(3)
      expect((await run('put', 'a', 'hello')).text).toBe('created "a": new content, 5 B\n')
      expect((await run('put', 'b', 'hello')).text).toContain('duplicate of "a"')
      expect((await run('get', 'b')).text).toBe('hello')
      expect((await run('keys')).text).toBe('a\nb\n')
      expect((await run('count')).text).toBe('2\n')
      expect((await run('stats', '--json')).json).toMatchObject({ keys: 2, contents: 1 })
      expect((await run('explain', 'b')).code).toBe(0)
      expect((await run('verify')).code).toBe(0)
      expect((await run('export', join(directory, 'out'))).code).toBe(0)
      expect((await run('import', join(directory, 'out'), '--prefix', 'x/')).code).toBe(0)
      expect((await run('del', 'a')).code).toBe(0)
      expect((await run('collect')).code).toBe(0)
      const resolved = await prestige(['resolve', '-'], {
        store,
        input: '{"id":"1","text":"a text"}',
      })
      expect(resolved.code).toBe(0)
      expect((await run('has', 'a')).code).not.toBe(0)
    })

    it('refuses what the server does not give, and never shows a password', async () => {
      const client = redisClient(server.port)
      await client.call('ACL', 'SETUSER', 'cli', 'on', '>s3cret', '~*', '+@all')
      client.disconnect()
      const login = (password: string) => place().replace('//', `//cli:${password}@`)
      const fsync = await prestige(['put', 'a', 'b', '--durability', 'fsync'], {
        store: login('s3cret'),
      })
      expect(fsync.code).toBe(2)
      expect(fsync.err).toContain('appendfsync always')
      const wrong = await prestige(['put', 'a', 'b'], { store: login('wr0ng') })
      expect(wrong.code).toBe(2)
      const typo = await prestige(['put', 'a', 'b'], { store: 'redsi://cli:s3cret@host' })
      expect(typo.code).toBe(2)
      const gone = await prestige(['put', 'a', 'b'], { store: 'redis://cli:s3cret@127.0.0.1:1' })
      expect(gone.code).toBe(1)
      for (const { err, text } of [fsync, wrong, typo, gone]) {
        expect(err + text).not.toMatch(/s3cret|wr0ng/)
        expect(err).toContain('***')
      }
    })
  })
})

describe.runIf(redisIsHere())('on a Redis whose memory is full', () => {
  it.each([{}, { gc: 'manual' }, { dedup: 'near', gc: 'manual' }] as const)(
    'keys are deleted, and collect frees memory: %j',
    async (input) => {
      const full = await startRedis()
      const client = redisClient(full.port)
      let time = Date.now()
      const store = await openStore(full.url, { ...input, clock: () => time })
      const text = (at: number) => textOf(at + 1, 60)
      for (let at = 0; at < 20; at++) {
        await store.put(`old ${at}`, text(at % 15), { ttlMs: 1000 })
        await store.put(`kept ${at}`, text(100 + at))
      }
      await client.config('SET', 'maxmemory', '1mb')
      time += 1000
      await expect(store.put('more', 'x'.repeat(10_000))).rejects.toMatchObject({
        code: 'BACKEND_FULL',
      })
      expect(await store.delete('kept 3')).toBe(true)
      expect(await store.collect()).toMatchObject({ expiredKeys: 20 })
      expect(await store.stats()).toMatchObject({ keys: 19, contents: 19 })
      await client.config('SET', 'maxmemory', '0')
      expect((await store.verify()).problems).toEqual([])
      client.disconnect()
      await store.close()
      await full.stop()
    },
  )
})
