import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { newTable } from '../../../test/dynamodb/kit.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../../../test/servers/dynamodb.ts'
import { redisIsHere, type RedisServer, startRedis } from '../../../test/servers/redis.ts'
import { subject } from '../../../test/subjects.ts'
import { openStore } from '../../index.ts'
import { storeSpaces } from '../../store/index.ts'
import { RowCache } from './cached.ts'
import { describeBackend } from '../conformance/index.ts'
import { type Cell, cell, rows, type Space } from '../contract.ts'
import { openDynamo } from '../dynamodb/index.ts'
import type { OptimisticEngine, Versioned } from './optimistic.ts'

const codec = { encode: (text: string) => Buffer.from(text), decode: String }
const stones: Space<string> = rows('stones', codec, { immutable: true })
const texts: Space<string> = rows('texts', codec)
const row = (text: string, version = 'v'): Versioned => ({ bytes: Buffer.from(text), version })

/** An engine that tells what it was asked. */
function engineOf(kept: Map<string, Versioned>) {
  const asked: string[] = []
  const nameOf = ({ space, key }: Cell<unknown>) => `${space.name}/${String(key)}`
  const engine: OptimisticEngine = {
    fetchIsAtomic: true,
    async fetch(cells) {
      asked.push(...cells.map(nameOf))
      return cells.map((one) => kept.get(nameOf(one)))
    },
    async commit() {
      return { applied: true }
    },
  }
  return { engine, asked }
}

const stone = (name: string) => cell(stones, Buffer.from(name))
const text = (name: string) => cell(texts, Buffer.from(name))

describe('a cache of rows', () => {
  it('asks once for what never changes, and every time for all else', async () => {
    const kept = new Map([
      ['stones/a', row('A')],
      ['texts/a', row('1')],
    ])
    const { engine, asked } = engineOf(kept)
    const cached = new RowCache({ bytesMax: 10_000 }).before(engine)
    expect(await cached.fetch([text('a'), stone('a'), stone('none')])).toEqual([
      row('1'),
      row('A'),
      undefined,
    ])
    kept.set('texts/a', row('2'))
    expect(await cached.fetch([stone('a'), text('a'), stone('none')])).toEqual([
      row('A'),
      row('2'),
      undefined,
    ])
    expect(asked).toEqual(['texts/a', 'stones/a', 'stones/none', 'texts/a', 'stones/none'])
  })

  it('forgets the least lately used beyond its size, and what was removed', async () => {
    const kept = new Map(
      Array.from({ length: 20 }, (_, at) => [`stones/${at}`, row('x'.repeat(300))] as const),
    )
    const { engine, asked } = engineOf(kept)
    const cached = new RowCache({ bytesMax: 4000 }).before(engine)
    for (let at = 0; at < 20; at++) await cached.fetch([stone(String(at)), stone('0')])
    asked.length = 0
    await cached.fetch([stone('0'), stone('19'), stone('1')])
    expect(asked).toEqual(['stones/1'])
    const { space, key } = stone('0')
    await cached.commit({
      version: 'w',
      checks: [],
      additions: [],
      writes: [{ space, key, bytes: undefined }],
    })
    asked.length = 0
    await cached.fetch([stone('0')])
    expect(asked).toEqual(['stones/0'])
  })
})

describe.skipIf(!dynamoIsHere() || !redisIsHere())('before DynamoDB', () => {
  let server: DynamoServer
  let redis: RedisServer
  beforeAll(async () => {
    ;[server, redis] = await Promise.all([
      startDynamo(),
      startRedis({ args: ['--maxmemory', '20mb', '--maxmemory-policy', 'allkeys-lru'] }),
    ])
  })
  afterAll(() => Promise.all([server.stop(), redis.stop()]))

  const cachedPlace = async () => {
    const location = await newTable(server.location())
    return `${location}&cacheBytes=100000&cache=${encodeURIComponent(`${redis.url}?timeoutMs=2000`)}`
  }
  describe('of this process and of machines', () => {
    describeBackend({ describe, it }, subject('dynamodb, cached', cachedPlace, openDynamo))
  })

  it('refuses a location that it does not understand', async () => {
    const location = await newTable(server.location())
    for (const more of ['&cacheBytes=much', '&cache=redis://localhost', '&cacheSize=1']) {
      const opened = openDynamo(`${location}${more}`, { spaces: storeSpaces })
      await expect(opened).rejects.toMatchObject({ code: 'INVALID_LOCATION' })
    }
  })

  it('gives every process the bytes that were put, with Redis or after it is gone', async () => {
    const location = await cachedPlace()
    const one = await openStore(location)
    for (let at = 0; at < 20; at++) await one.put(`k${at}`, `value ${at} ключ 键`)
    for (let at = 0; at < 20; at++) expect(await one.getText(`k${at}`)).toBe(`value ${at} ключ 键`)
    const other = await openStore(location)
    for (let at = 0; at < 20; at++)
      expect(await other.getText(`k${at}`)).toBe(`value ${at} ключ 键`)
    await one.put('k3', 'another')
    expect(await other.getText('k3')).toBe('another')
    await one.delete('k4')
    expect(await other.get('k4')).toBeUndefined()
    await redis.kill()
    expect(await other.getText('k5')).toBe('value 5 ключ 键')
    await one.put('k6', 'without a cache')
    expect(await other.getText('k6')).toBe('without a cache')
    await one.close()
    await other.close()
  })
})
