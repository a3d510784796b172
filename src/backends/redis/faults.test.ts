/** Lines that break, answers that get lost, servers that die: what was reported done is there, once. */

import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

import { Proxy } from '../../../test/servers/proxy.ts'
import {
  type RedisCluster,
  redisClient,
  redisIsHere,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../../test/servers/redis.ts'
import {
  blind,
  get,
  increment,
  key,
  names,
  numbers,
  suiteSpaces,
  sums,
  words,
} from '../conformance/kit.ts'
import { type Backend, cell } from '../contract.ts'
import { openRedis } from './index.ts'

const spaces = suiteSpaces
let server: RedisServer
let proxy: Proxy
let prefix = 0

/** Adds blindly, so that nothing but the version tells a repetition; and counts a row up, by reading it. */
async function work(backend: Backend, at: number): Promise<void> {
  await backend.run(
    blind((scope) => {
      scope.add(cell(sums, key('total')), 1)
      scope.write(cell(words, key(`row ${at}`)), String(at))
    }),
  )
  await backend.run(increment, `count ${at % 7}`)
}

/** All of it was reported done; each must be there once. */
async function expectAllOnce(backend: Backend, count: number): Promise<void> {
  expect(await get(backend, sums, 'total')).toEqual([count])
  expect(await names(backend)).toHaveLength(count)
  const counts = await get(backend, numbers, ...Array.from({ length: 7 }, (_, at) => `count ${at}`))
  expect(counts.reduce<number>((sum, one) => sum + (one ?? 0), 0)).toBe(count)
}

async function workInFlight(backend: Backend, count: number, flight: number): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(backend, next++)
  }
  await Promise.all(Array.from({ length: flight }, worker))
}

describe.runIf(redisIsHere())('a line that fails', () => {
  beforeAll(async () => {
    server = await startRedis()
    proxy = await Proxy.to(server.port)
  }, 60_000)
  afterAll(async () => {
    await proxy?.close()
    await server?.stop()
  })
  afterEach(() => {
    proxy.delay(0)
    proxy.refuse(false)
  })

  const open = (query = '') =>
    openRedis(`redis://127.0.0.1:${proxy.port}/0?prefix=faults-${prefix++}${query}`, { spaces })

  it('loses no reported commit and applies none twice when answers get lost', async () => {
    const backend = await open()
    const lost = proxy.repliesLost
    let isDone = false
    const trouble = (async () => {
      while (!isDone) {
        proxy.loseReplies()
        await pause(25)
      }
    })()
    await workInFlight(backend, 400, 32)
    isDone = true
    await trouble
    expect(proxy.repliesLost - lost).toBeGreaterThan(3)
    await expectAllOnce(backend, 400)
    await backend.close()
  })

  it('loses no reported commit and applies none twice when lines are cut', async () => {
    const backend = await open()
    const made = proxy.linesMade
    let isDone = false
    const trouble = (async () => {
      while (!isDone) {
        proxy.cut()
        await pause(25)
      }
    })()
    await workInFlight(backend, 400, 32)
    isDone = true
    await trouble
    expect(proxy.linesMade - made).toBeGreaterThan(3)
    await expectAllOnce(backend, 400)
    await backend.close()
  })

  it('scans on when the line breaks between pages and within them', async () => {
    const backend = await open()
    const all = Array.from({ length: 1000 }, (_, at) => `row ${String(at).padStart(4, '0')}`)
    await backend.run(
      blind((scope) => {
        for (const name of all) scope.write(cell(words, key(name)), name)
      }),
    )
    const found: string[] = []
    for await (const row of backend.scan(words)) {
      if (found.length % 200 === 0) proxy.loseReplies()
      found.push(row.value)
    }
    expect(found).toEqual(all)
    await backend.close()
  })

  it('says what it cannot know when the server stays away, and why', async () => {
    const backend = await open('&timeoutMs=500')
    await backend.run(increment, 'a')
    proxy.refuse(true)
    const failed = await backend.run(increment, 'a').then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failed).toMatchObject({ code: 'BACKEND_UNAVAILABLE', retryable: true })
    expect((failed as Error).cause).toBeInstanceOf(Error)
    proxy.refuse(false)
    expect(await backend.run(increment, 'a')).toBe(2)
    await backend.close()
  })

  it('does not wait for ever for a server that is silent', async () => {
    const backend = await open('&timeoutMs=400')
    proxy.delay(60_000)
    await expect(backend.run(increment, 'a')).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    proxy.delay(0)
    proxy.cut()
    expect(await backend.run(increment, 'a')).toBe(1)
    await backend.close()
  })

  it('knows a version again although another has been heard of since', async () => {
    const backend = await open()
    const add = () => backend.run(blind((scope) => scope.add(cell(sums, key('total')), 1)))
    for (let round = 0; round < 20; round++) {
      proxy.loseReplies()
      await Promise.all([add(), add(), add()])
      await add()
    }
    expect(await get(backend, sums, 'total')).toEqual([80])
    await backend.close()
  })

  it('leaves nothing of a session behind but rows', async () => {
    const at = prefix
    const backend = await open()
    await workInFlight(backend, 50, 8)
    const client = redisClient(server.port)
    const sessions = () => client.keys(`{faults-${at}:}!*`)
    const [session] = await sessions()
    expect(session).toBeDefined()
    // What was heard of is forgotten: at most the last turn's are remembered.
    expect(await client.scard(session!)).toBeLessThan(20)
    expect(await client.pttl(session!)).toBeGreaterThan(0)
    await backend.close()
    expect(await sessions()).toEqual([])
    await client.quit()
  })

  it('stays remembered after it closed, while something it sent may still arrive', async () => {
    const at = prefix
    const backend = await open()
    proxy.loseReplies()
    await workInFlight(backend, 20, 4)
    await backend.close()
    const client = redisClient(server.port)
    const [session] = await client.keys(`{faults-${at}:}!*`)
    expect(session).toBeDefined()
    expect(await client.pttl(session!)).toBeGreaterThan(0)
    await client.quit()
  })

  it('goes on when the server has forgotten its scripts', async () => {
    const backend = await open()
    await backend.run(increment, 'a')
    const client = redisClient(server.port)
    await client.script('FLUSH')
    await client.quit()
    expect(await backend.run(increment, 'a')).toBe(2)
    await backend.close()
  })

  it('waits while the server is busy with the script of another', async () => {
    const backend = await open()
    const client = redisClient(server.port)
    await client.config('SET', 'busy-reply-threshold', '10')
    const busy = client.eval(
      "local t = redis.call('TIME'); repeat local n = redis.call('TIME') until (n[1]-t[1])*1e6 + (n[2]-t[2]) > 60000",
      0,
    )
    expect(await backend.run(increment, 'a')).toBe(1)
    await busy
    await client.quit()
    await backend.close()
  })
})

describe.runIf(redisIsHere())('a server that is killed', () => {
  it('has everything acknowledged when it syncs always, and is used again when it is back', async () => {
    const always = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    const backend = await openRedis(always.url, { spaces, durability: 'fsync' })
    let done = 0
    let next = 0
    const worker = async () => {
      while (next < 600) {
        const at = next++
        await work(backend, at)
        done++
      }
    }
    const all = Promise.all(Array.from({ length: 16 }, worker))
    for (const share of [0.2, 0.5, 0.8]) {
      while (done < 600 * share) await pause(2)
      await always.kill()
      await always.restart()
    }
    await all
    await expectAllOnce(backend, 600)
    await backend.close()
    await always.stop()
  }, 60_000)

  it('is an error by name when its memory is full, and nothing is half written', async () => {
    const small = await startRedis({ args: ['--maxmemory', '3mb'] })
    const backend = await openRedis(small.url, { spaces })
    const write = (at: number) =>
      backend.run(
        blind((scope) => {
          scope.write(cell(words, key(`row ${at}`)), 'x'.repeat(20_000))
          scope.add(cell(sums, key('total')), 1)
        }),
      )
    let written = 0
    const failed = await (async () => {
      for (;;) {
        try {
          await write(written)
          written++
        } catch (error) {
          return error
        }
      }
    })()
    expect(failed).toMatchObject({ code: 'BACKEND_FULL', kind: 'unavailable' })
    expect(await get(backend, sums, 'total')).toEqual([written])
    expect(await names(backend)).toHaveLength(written)
    // Removing goes on, also beside writes that are refused.
    const [refused, ...removed] = await Promise.allSettled([
      write(written),
      ...[0, 1, 2].map((at) =>
        backend.run(
          blind((scope) => {
            scope.remove(cell(words, key(`row ${at}`)))
            scope.add(cell(sums, key('total')), -1)
          }),
        ),
      ),
    ])
    expect(removed.map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'))
    const left = written - 3 + (refused.status === 'fulfilled' ? 1 : 0)
    expect(await get(backend, sums, 'total')).toEqual([left])
    expect(await names(backend)).toHaveLength(left)
    await backend.close()
    await small.stop()
  })
})

describe.runIf(redisIsHere())('a cluster whose slots move', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster()
  }, 60_000)
  afterAll(async () => {
    await cluster?.stop()
  })

  it('follows a namespace to another node while it works, losing and doubling nothing', async () => {
    const backend = await openRedis(cluster.url, { spaces, namespace: 'moving' })
    await workInFlight(backend, 50, 8)
    const clients = cluster.nodes.map(({ port }) => redisClient(port))
    const slot = await clients[0]!.cluster('KEYSLOT', '{prestige:moving}=suite-words')
    const ids = await Promise.all(clients.map((client) => client.cluster('MYID')))
    const from = Math.floor((slot * 3) / 16_384)
    const to = (from + 1) % 3
    const more = workInFlight(backend, 600, 16)
    await clients[to]!.cluster('SETSLOT', slot, 'IMPORTING', ids[from] as string)
    await clients[from]!.cluster('SETSLOT', slot, 'MIGRATING', ids[to] as string)
    for (;;) {
      const keys = await clients[from]!.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)
      if ((keys as string[]).length === 0) break
      const target = cluster.nodes[to]!.port
      await clients[from]!.call(
        'MIGRATE',
        '127.0.0.1',
        target,
        '',
        0,
        5000,
        'KEYS',
        ...(keys as string[]),
      )
    }
    for (const client of [clients[to]!, clients[from]!, clients[3 - from - to]!]) {
      await client.cluster('SETSLOT', slot, 'NODE', ids[to] as string)
    }
    await more
    expect(await get(backend, sums, 'total')).toEqual([650])
    expect(await names(backend)).toHaveLength(600)
    for (const client of clients) client.disconnect()
    await backend.close()
  }, 60_000)
})
