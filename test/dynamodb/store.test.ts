/** What is built on backends, on DynamoDB: stores, ledgers, resolvers; large values; what can go wrong at opening. */

import { randomBytes } from 'node:crypto'

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createTables, openDynamo, tablesTemplate } from '../../src/backends/dynamodb/index.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openResolver } from '../../src/resolve/open.ts'
import { openStore } from '../../src/store/open.ts'
import { amount } from '../amount.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'
import { codeOf, describeOperations } from '../operations-kit.ts'
import { hurriedSleep, newTable } from './kit.ts'

const operation = fc.oneof(
  fc.record({ verb: fc.constant('put' as const), key: fc.nat(6), value: fc.nat(4) }),
  fc.record({ verb: fc.constant('delete' as const), key: fc.nat(6), value: fc.constant(0) }),
)

const KEYS = ['a', 'a\0', 'ключ', '键', 'مفتاح', '🗝', 'e\u0301']
const VALUES = ['', 'x', 'मूल्य', 'one and the same', '🎉'.repeat(50)]

describe.skipIf(!dynamoIsHere())('on DynamoDB', () => {
  let server: DynamoServer
  beforeAll(async () => {
    server = await startDynamo()
  })
  afterAll(() => server.stop())

  describe('what a store promises of single operations', () => {
    let stores = 0
    let table: Promise<string> | undefined
    const open = async (clock: () => number) => {
      table ??= newTable(server.location(), 4)
      return openStore(await table, { clock, namespace: `store ${stores++}` })
    }
    describeOperations(open)

    it('a transaction has so many rows at most, and values of more bytes than it takes at once', async () => {
      await using store = await open(Date.now)
      const short = Array.from({ length: 40 }, (_, at) => ({ put: `k${at}`, value: `v${at}` }))
      await expect(store.transaction(short)).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('40 operations are too many') as string,
      })
      const value = (at: number) => Buffer.alloc(300_000, `value ${at} `)
      const long = Array.from({ length: 12 }, (_, at) => ({ put: `l${at}`, value: value(at) }))
      expect((await store.transaction(long)).map(({ content }) => content)).toEqual(
        long.map(() => 'new'),
      )
      expect((await store.get('l7'))?.equals(value(7))).toBe(true)
      expect(await store.stats()).toMatchObject({ keys: 12, contents: 12 })
      expect((await store.verify()).problems).toEqual([])
    })

    it('a contended transaction is given up after retriesMax', async () => {
      await using store = await open(Date.now)
      const codes = await Promise.all(
        Array.from({ length: 12 }, (_, at) => codeOf(store.put('k', `v${at}`, { retriesMax: 0 }))),
      )
      expect(codes.filter((code) => code !== 'none' && code !== 'CONTENDED')).toEqual([])
      expect(codes).toContain('CONTENDED')
      expect(codes).toContain('none')
    })
  })

  it('a store agrees with a plain map', async () => {
    const location = await newTable(server.location(), 4)
    let runs = 0
    const property = fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (steps) => {
      const store = await openStore(location, { namespace: `run ${runs++}` })
      const model = new Map<string, string>()
      for (const { verb, key, value } of steps) {
        const name = KEYS[key]!
        if (verb === 'delete') expect(await store.delete(name)).toBe(model.delete(name))
        else {
          const receipt = await store.put(name, VALUES[value]!)
          const isThere = [...model.values()].includes(VALUES[value]!)
          expect(receipt.content).toBe(isThere ? 'duplicate' : 'new')
          model.set(name, VALUES[value]!)
        }
      }
      const bytes = [...model.keys()].map((name) => Buffer.from(name))
      const listed: Buffer[] = []
      for await (const key of store.keys()) listed.push(key)
      expect(listed).toEqual(bytes.toSorted((one, other) => one.compare(other)))
      for (const name of KEYS) expect(await store.getText(name)).toBe(model.get(name))
      const contents = new Set(model.values()).size
      expect(await store.stats()).toMatchObject({ keys: model.size, contents })
      expect((await store.verify()).problems).toEqual([])
      await store.close()
    })
    await fc.assert(property, { numRuns: 8, seed: 42 })
  })

  it('keeps a large value in parts, shares it, and takes it away', async () => {
    const store = await openStore(await newTable(server.location()))
    const large = randomBytes(amount(2, 5) * 1024 * 1024 + 17)
    expect((await store.put('large', large)).content).toBe('new')
    expect((await store.put('again', large)).content).toBe('duplicate')
    expect((await store.get('again'))?.equals(large)).toBe(true)
    expect(store.settings.chunks?.fromBytes).toBeLessThan(400 * 1024)
    expect((await store.verify()).problems).toEqual([])
    await store.delete('large')
    await store.delete('again')
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 0, contentBytes: 0 })
    expect((await store.verify()).problems).toEqual([])
    await store.close()
  })

  it('lists keys in byte order, page by page', async () => {
    const store = await openStore(await newTable(server.location()))
    const names = Array.from({ length: 400 }, (_, at) => `k${String((at * 7919) % 400)}`)
    await store.putMany(names.map((key) => ({ key, value: `value ${key.length}` })))
    const sorted = names.toSorted()
    const listed: string[] = []
    for await (const key of store.keys()) listed.push(key.toString())
    expect(listed).toEqual(sorted)
    const some: string[] = []
    for await (const key of store.keys({ prefix: 'k2', startAfter: 'k20', limit: 30 })) {
      some.push(key.toString())
    }
    const expected = sorted.filter((name) => name.startsWith('k2') && name > 'k20').slice(0, 30)
    expect(some).toEqual(expected)
    await store.close()
  })

  it('identical bytes from many callers and two stores are one content', async () => {
    const location = await newTable(server.location())
    const stores = await Promise.all([openStore(location), openStore(location)])
    const receipts = await Promise.all(
      Array.from({ length: 60 }, (_, at) => stores[at % 2]!.put(`key ${at}`, `text ${at % 5}`)),
    )
    expect(receipts.filter(({ content }) => content === 'new')).toHaveLength(5)
    expect(await stores[0].stats()).toMatchObject({ keys: 60, contents: 5 })
    expect((await stores[1].verify()).problems).toEqual([])
    await Promise.all(stores.map((store) => store.close()))
  })

  it('links near duplicates', async () => {
    const location = await newTable(server.location())
    const store = await openStore(location, { dedup: 'near' })
    await store.put('a', 'the quick brown fox jumps over the lazy dog')
    const linked = await store.put('b', 'the quick brown fox jumps over the lazy dogs')
    expect(linked.content).toBe('linked')
    expect(await store.stats()).toMatchObject({ near: { links: 1 } })
    await store.delete('a')
    expect(await store.getText('b')).toBe('the quick brown fox jumps over the lazy dogs')
    expect((await store.verify()).problems).toEqual([])
    await store.close()
  })

  it('resolves texts', async () => {
    const resolver = await openResolver(await newTable(server.location()), { threshold: 0.8 })
    const first = await resolver.resolve('titles', 'A fine day for a walk in the park')
    const second = await resolver.resolve('titles', 'a fine day for a walk in the park!')
    const other = await resolver.resolve('titles', '公园里散步的好日子，天气晴朗，大家都很高兴')
    expect([second.status, second.id]).toEqual(['match', first.id])
    expect(other.id).not.toBe(first.id)
    const again = await resolver.resolve('titles', 'A fine day for a walk in the park')
    expect([again.status, again.id]).toEqual(['exact', first.id])
    await resolver.close()
  })

  it('keeps a ledger', async () => {
    const location = await newTable(server.location())
    const workers = await Promise.all([openLedger(location), openLedger(location)])
    await workers[0].startRun({ id: 'run' })
    const options = { leaseMs: 60_000, source: 'web', run: 'run' }
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, at) => workers[at % 2]!.claim(`page ${at % 20}`, options)),
    )
    const won = claims.filter((claim) => claim.ok)
    expect(won).toHaveLength(20)
    await Promise.all(won.map((claim) => workers[1].commit(claim, { status: 'accepted' })))
    let lines = 0
    for await (const { status } of workers[0].bySource('web')) {
      expect(status).toBe('accepted')
      lines++
    }
    expect(lines).toBe(20)
    await Promise.all(workers.map((ledger) => ledger.close()))
  })

  describe('says what is wrong', () => {
    const wrong = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error: unknown) => error,
      )

    it('without a table', async () => {
      const location = server.location('nothing-here')
      expect(await wrong(openStore(location))).toMatchObject({
        code: 'STORE_NOT_FOUND',
        message: expect.stringContaining(`prestige dynamodb create-tables '${location}'`),
      })
    })

    it('with a table of somebody else', async () => {
      const { CreateTableCommand, DynamoDBClient } = await import('@aws-sdk/client-dynamodb')
      const endpoint = `http://127.0.0.1:${server.port}`
      const client = new DynamoDBClient({ region: 'us-east-1', endpoint })
      await client.send(
        new CreateTableCommand({
          TableName: 'theirs-rows',
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        }),
      )
      client.destroy()
      for (const work of [openStore, createTables]) {
        expect(await wrong(work(server.location('theirs')))).toMatchObject({
          code: 'FORMAT_UNSUPPORTED',
          message: expect.stringContaining('id (HASH, S)'),
        })
      }
    })

    it('where nobody listens, or nobody may', async () => {
      const location = 'dynamodb://us-east-1/x?endpoint=http://127.0.0.1:9'
      const options = { spaces: [], sleep: hurriedSleep }
      expect(await wrong(openDynamo(location, options))).toMatchObject({
        code: 'BACKEND_UNAVAILABLE',
        cause: expect.anything(),
      })
      const failing = (name: string, message: string) => ({
        send: () => Promise.reject(Object.assign(new Error(message), { name })),
        destroy: () => {},
      })
      for (const [name, message] of [
        ['AccessDeniedException', 'User is not authorized to perform: dynamodb:DescribeTable'],
        ['CredentialsProviderError', 'Could not load credentials from any providers'],
        ['UnrecognizedClientException', 'The security token included in the request is invalid.'],
      ] as const) {
        const client = failing(name, message)
        expect(await wrong(openDynamo(location, { ...options, client }))).toMatchObject({
          code: 'ACCESS_DENIED',
        })
      }
    })

    it.each([
      'dynamodb:',
      'dynamodb://us-east-1',
      'dynamodb://us-east-1/',
      'dynamodb://us-east-1/a/b',
      'dynamodb://us-east-1/a b',
      'dynamodb://us-east-1:80/a',
      'dynamodb://me:secret@us-east-1/a',
      'dynamodb://us-east-1/a?shards=3',
      'dynamodb://us-east-1/a?endpoint=localhost',
    ])('about location %s', async (location) => {
      expect(await wrong(openStore(location))).toMatchObject({ code: 'INVALID_LOCATION' })
    })

    it('about durability, which nobody needs to ask for', async () => {
      const location = await newTable(server.location())
      for (const durability of ['fsync', 'os'] as const) {
        const error = await wrong(openStore(location, { durability }))
        expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
      }
    })

    it('about a store that is not there, and is not to be made', async () => {
      const location = await newTable(server.location())
      const error = await wrong(openStore(location, { create: false }))
      expect(error).toMatchObject({ code: 'STORE_NOT_FOUND' })
    })

    it('about a transaction of more bytes than DynamoDB takes, before it is sent', async () => {
      const { blobs, suiteSpaces, key } = await import('../../src/backends/conformance/kit.ts')
      const location = await newTable(server.location())
      const backend = await openDynamo(location, { spaces: suiteSpaces })
      const bytes = Buffer.alloc(backend.limits.valueBytesMax)
      const work = backend.run(function* (scope) {
        for (let at = 0; at < 12; at++) scope.write({ space: blobs, key: key(`${at}`) }, bytes)
      })
      expect(await wrong(work)).toMatchObject({ code: 'INVALID_VALUE' })
      await backend.close()
    })
  })

  describe('makes its table', () => {
    it('as often as it is asked to, and keeps to its shards', async () => {
      const location = server.location()
      expect(await createTables(location, { shards: 3 })).toMatchObject({
        created: true,
        shards: 3,
      })
      expect(await createTables(location)).toMatchObject({ created: false, shards: 3 })
      await expect(createTables(location, { shards: 4 })).rejects.toMatchObject({
        code: 'SETTINGS_MISMATCH',
      })
      await expect(createTables(location, { shards: 65 })).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
      })
    })

    it('the same as CloudFormation would', async () => {
      const template = tablesTemplate('dynamodb://eu-central-1/corpus')
      expect(template).toMatchObject({
        Resources: {
          PrestigeRows: {
            Type: 'AWS::DynamoDB::Table',
            Properties: { TableName: 'corpus-rows', BillingMode: 'PAY_PER_REQUEST' },
          },
        },
      })
    })
  })
})
