import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { Proxy } from '../../../test/servers/proxy.ts'
import {
  type RedisCluster,
  redisClient,
  redisIsHere,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../../test/servers/redis.ts'
import { increment, suiteSpaces } from '../conformance/kit.ts'
import { openBackend } from '../open.ts'
import { openRedis } from './index.ts'
import { parseLocation } from './location.ts'

const spaces = suiteSpaces
const open = (location: string, options: object = {}) => openRedis(location, { spaces, ...options })

async function failureOf(work: Promise<unknown>): Promise<Error & { code: string }> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(Error)
  return error as Error & { code: string }
}

describe('a location', () => {
  it('names server, login, database and prefix', () => {
    expect(parseLocation('rediss://me:p%40ss:word@[::1]:7000/3?prefix=my.app')).toMatchObject({
      nodes: [{ host: '::1', port: 7000 }],
      isCluster: false,
      tls: true,
      username: 'me',
      password: 'p@ss:word',
      db: 3,
      prefix: 'my.app',
    })
    expect(parseLocation('redis://localhost')).toMatchObject({
      nodes: [{ host: 'localhost', port: 6379 }],
      password: undefined,
      db: 0,
      prefix: 'prestige',
    })
    expect(parseLocation('redis+cluster://a:1,b:2/?waitReplicas=1')).toMatchObject({
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
      isCluster: true,
      waitReplicas: 1,
    })
    expect(parseLocation('redis://:secret@h?cluster=true')).toMatchObject({
      isCluster: true,
      username: undefined,
      password: 'secret',
    })
  })

  it.each([
    'redis://',
    'redis://h:0',
    'redis://h:65536',
    'redis://h:x',
    'redis://h/one',
    'redis://a,b',
    'redis+cluster://h/1',
    'redis://h?prefix=',
    'redis://h?prefix=a:b',
    'redis://h?prefix={a}',
    'redis://h?unknown=1',
    'redis://h?waitReplicas=-1',
    'redis://h?timeoutMs=soon',
    'redis://u:%@h',
    'redis:h',
  ])('%s is refused by name', async (location) => {
    const error = await failureOf(openBackend(location, { spaces }))
    expect(error.code).toBe('INVALID_LOCATION')
  })
})

describe.runIf(redisIsHere())('opening a server', () => {
  let server: RedisServer
  let cluster: RedisCluster
  beforeAll(async () => {
    ;[server, cluster] = await Promise.all([
      startRedis({ args: ['--repl-diskless-sync-delay', '0'] }),
      startRedisCluster(),
    ])
  }, 60_000)
  afterAll(async () => {
    await Promise.all([server?.stop(), cluster?.stop()])
  })

  const withClient = async (work: (client: ReturnType<typeof redisClient>) => Promise<void>) => {
    const client = redisClient(server.port)
    await work(client)
    client.disconnect()
  }

  it('tells what becomes of acknowledged writes', async () => {
    const backend = await open(server.url)
    expect(backend.durability).toMatchObject({
      appendOnly: false,
      snapshots: '',
      replicas: 0,
      survivesPowerFailure: false,
    })
    expect(backend.durability.text).toContain('a restart loses everything')
    await backend.close()
  })

  it('refuses fsync where it is not given, and takes it where it is', async () => {
    const error = await failureOf(open(server.url, { durability: 'fsync' }))
    expect(error.code).toBe('SERVER_UNFIT')
    expect(error.message).toContain('appendfsync always')
    await (await open(server.url, { durability: 'os' })).close()
    await withClient(async (client) => {
      await client.config('SET', 'appendonly', 'yes', 'appendfsync', 'always')
      const backend = await open(server.url, { durability: 'fsync' })
      expect(backend.durability.survivesPowerFailure).toBe(true)
      await backend.close()
      await client.config('SET', 'no-appendfsync-on-rewrite', 'yes')
      expect((await failureOf(open(server.url, { durability: 'fsync' }))).code).toBe('SERVER_UNFIT')
      await client.config('SET', 'appendonly', 'no', 'no-appendfsync-on-rewrite', 'no')
    })
  })

  it.each(['allkeys-lru', 'allkeys-random', 'volatile-ttl', 'volatile-lru'])(
    'refuses a server that evicts (%s)',
    async (policy) => {
      await withClient(async (client) => {
        await client.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', policy)
        const error = await failureOf(open(server.url))
        expect(error.code).toBe('SERVER_UNFIT')
        expect(error.message).toContain(policy)
        expect(error.message).toContain('noeviction')
        await client.config('SET', 'maxmemory', '0')
        await (await open(server.url)).close()
        await client.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'noeviction')
        await (await open(server.url)).close()
        await client.config('SET', 'maxmemory', '0')
      })
    },
  )

  it('reads what it can where CONFIG is forbidden, and says what it cannot', async () => {
    await withClient(async (client) => {
      await client.call('ACL', 'SETUSER', 'managed', 'on', '>pw', '~*', '+@all', '-config')
      const url = server.url.replace('//', '//managed:pw@')
      const backend = await open(url)
      expect(backend.durability).toMatchObject({ appendOnly: false, snapshots: undefined })
      expect(backend.durability.text).toContain('could not be read')
      await backend.close()
      await client.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru')
      expect((await failureOf(open(url))).code).toBe('SERVER_UNFIT')
      await client.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction')
      await client.call('ACL', 'SETUSER', 'poor', 'on', '>pw', '~*', '+@all', '-evalsha', '-eval')
      const poor = await open(server.url.replace('//', '//poor:pw@'))
      const error = await failureOf(poor.run(increment, 'a'))
      expect(error.code).toBe('ACCESS_DENIED')
      await poor.close()
    })
  })

  it('refuses a wrong login, and never shows it', async () => {
    for (const login of ['nobody:s3cret@', ':s3cret@']) {
      const url = server.url.replace('//', `//${login}`)
      if (login.startsWith(':')) {
        await withClient(
          async (client) => void (await client.config('SET', 'requirepass', 'right')),
        )
      }
      const error = await failureOf(open(url))
      expect(error.code).toBe('ACCESS_DENIED')
      const { inspect } = await import('node:util')
      expect(inspect(error, { depth: 10 })).not.toContain('s3cret')
    }
    expect((await failureOf(open(server.url))).code).toBe('ACCESS_DENIED')
    const backend = await open(server.url.replace('//', '//:right@'))
    await backend.close()
    const client = redisClient(server.port, 'right')
    await client.config('SET', 'requirepass', '')
    client.disconnect()
  })

  it('refuses a replica, and names its primary', async () => {
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(server.port)] })
    const error = await failureOf(open(replica.url))
    expect(error.code).toBe('SERVER_UNFIT')
    expect(error.message).toContain(`127.0.0.1:${server.port}`)
    await replica.stop()
  })

  it('refuses a node of a cluster as a server, and a server as a cluster', async () => {
    const asServer = await failureOf(open(cluster.nodes[0]!.url))
    expect(asServer.code).toBe('SERVER_UNFIT')
    expect(asServer.message).toContain('redis+cluster://')
    const asCluster = await failureOf(open(server.url.replace('redis:', 'redis+cluster:')))
    expect(asCluster.code).toBe('SERVER_UNFIT')
    expect(asCluster.message).toContain('redis://')
  })

  it('refuses keys of others where its own would be', async () => {
    await withClient(async (client) => void (await client.set('{foreign:}=suite-words', 'x')))
    const error = await failureOf(open(`${server.url}?prefix=foreign`))
    expect(error.code).toBe('INVALID_LOCATION')
    expect(error.message).toContain('{foreign:}=suite-words')
  })

  it('says that a server cannot be reached, and where', async () => {
    const gone = await startRedis()
    await gone.stop()
    const error = await failureOf(open(gone.url))
    expect(error.code).toBe('BACKEND_UNAVAILABLE')
    expect(error.message).toContain(gone.url)
    const silent = await Proxy.to(server.port)
    silent.delay(60_000)
    const late = await failureOf(open(`redis://127.0.0.1:${silent.port}?timeoutMs=150`))
    expect(late.code).toBe('BACKEND_UNAVAILABLE')
    await silent.close()
    expect((await failureOf(open('redis://no.such.host.invalid'))).code).toBe('BACKEND_UNAVAILABLE')
  })

  it('says that a server is still loading', async () => {
    const slow = await startRedis()
    const client = redisClient(slow.port)
    await client.mset(Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`k${at}`, 'v'])))
    await client.save()
    client.disconnect()
    await slow.kill()
    // In microseconds a key; it looks up from its work every kilobyte.
    const delay = ['--key-load-delay', '800', '--loading-process-events-interval-bytes', '1024']
    await slow.restart({ args: delay, noWait: true })
    let error = await failureOf(open(`${slow.url}?timeoutMs=400`))
    while (error.message.includes('ECONNREFUSED'))
      error = await failureOf(open(`${slow.url}?timeoutMs=400`))
    expect(error.code).toBe('BACKEND_UNAVAILABLE')
    expect(error.message).toContain('loading')
    const patient = await open(`${slow.url}?timeoutMs=30000`)
    expect(await patient.run(increment, 'a')).toBe(1)
    await patient.close()
    await slow.stop()
  }, 60_000)

  it('waits for replicas when asked to', async () => {
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(server.port)] })
    await withClient(async (client) => {
      while (!/state=online/.test(await client.info('replication'))) await client.ping()
    })
    const backend = await open(`${server.url}?prefix=waits&waitReplicas=1`)
    expect(backend.durability.replicas).toBe(1)
    for (let at = 1; at <= 5; at++) expect(await backend.run(increment, 'a')).toBe(at)
    const there = redisClient(replica.port)
    expect(await there.hlen('{waits:}=suite-numbers')).toBe(1)
    there.disconnect()
    await backend.close()
    const more = await open(`${server.url}?prefix=waits&timeoutMs=200`, { waitReplicas: 2 })
    const error = await failureOf(more.run(increment, 'a'))
    expect(error.code).toBe('BACKEND_UNAVAILABLE')
    expect(error.message).toContain('confirmed')
    await more.close()
    await replica.stop()
    const after = await open(`${server.url}?prefix=waits`)
    expect(await after.run(increment, 'a')).toBe(7)
    await after.close()
  }, 30_000)
})
