/**
 * Nothing that was reported as done is missing, and nothing was done twice, whatever the network and the server do:
 * counted in rows that are read and written again, in references, and in tallies.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { key, numbers, sums, suiteSpaces } from '../../src/backends/conformance/kit.ts'
import { describeBackend } from '../../src/backends/conformance/index.ts'
import {
  type Backend,
  cell,
  read,
  type Scope,
  type Transaction,
} from '../../src/backends/contract.ts'
import { openStore } from '../../src/store/open.ts'
import { storeSpaces } from '../../src/store/rows.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'
import { subject } from '../subjects.ts'
import { ALL_FAULTS, NO_FAULTS } from './faulty-client.ts'
import { newTable, openFaulty } from './kit.ts'

/** Reads a counter and adds one; adds one to a tally as well, and keeps a row of its own. */
function* count(scope: Scope, counter: string, own: string): Transaction<void> {
  const at = cell(numbers, key(counter))
  const [current = 0] = yield* read(at)
  scope.write(at, current + 1)
  scope.write(cell(numbers, key(own)), 1)
  scope.add(cell(sums, key('total')), 1)
}

/** Relies on nothing: only its token keeps it from being done twice. */
function* addOnly(scope: Scope): Transaction<void> {
  scope.add(cell(sums, key('blind')), 1)
}

function* countOne(scope: Scope, own: string): Transaction<void> {
  yield* count(scope, 'counter', own)
}

async function numbersOf(backend: Backend, names: readonly string[]): Promise<number> {
  const found = await backend.read(function* () {
    return yield* read(...names.map((name) => cell(numbers, key(name))))
  })
  return found.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

async function sumOf(backend: Backend, name: string): Promise<number> {
  const [sum = 0] = await backend.read(function* () {
    return yield* read(cell(sums, key(name)))
  })
  return sum
}

describe.skipIf(!dynamoIsHere())('a bad network, and a server under load', () => {
  let server: DynamoServer
  beforeAll(async () => {
    server = await startDynamo()
  })
  afterAll(() => server.stop())

  describeBackend(
    { describe, it },
    subject(
      'dynamodb with faults',
      () => newTable(server.location(), 2),
      async (location, options) => (await openFaulty(location, options, 7)).backend,
    ),
  )

  it.each([1, 2])('counts every transaction once, seed %i', async (seed) => {
    const location = await newTable(server.location())
    const options = { spaces: suiteSpaces }
    const workers = await Promise.all(
      [0, 1].map((worker) => openFaulty(location, options, seed * 10 + worker)),
    )
    const done = { counts: 0, adds: 0 }
    const rows: string[] = []
    await Promise.all(
      Array.from({ length: 160 }, async (_, at) => {
        const { backend } = workers[at % 2]!
        const own = `own ${at}`
        await backend.run(count, `counter ${at % 8}`, own)
        rows.push(own)
        done.counts++
        await backend.run(addOnly)
        done.adds++
      }),
    )
    await Promise.all(workers.map(({ client }) => client.settled()))
    const { backend } = await openFaulty(location, options, 1, NO_FAULTS)
    const counters = Array.from({ length: 8 }, (_, at) => `counter ${at}`)
    expect(done).toEqual({ counts: 160, adds: 160 })
    expect(await numbersOf(backend, counters)).toBe(160)
    expect(await numbersOf(backend, rows.slice(0, 100))).toBe(100)
    expect(await sumOf(backend, 'total')).toBe(160)
    expect(await sumOf(backend, 'blind')).toBe(160)
    for (const fault of Object.keys(ALL_FAULTS)) {
      const times = workers.map(({ client }) => client.happened.get(fault) ?? 0)
      expect(times[0]! + times[1]!, `${fault} has happened`).toBeGreaterThan(0)
    }
    await Promise.all(
      [backend, ...workers.map((worker) => worker.backend)].map((one) => one.close()),
    )
  })

  it('knows its own commit again where the server has forgotten the token', async () => {
    const location = await newTable(server.location())
    const faults = { ...NO_FAULTS, lostReply: 0.3 }
    const { backend, client } = await openFaulty(location, { spaces: suiteSpaces }, 5, faults)
    client.forgetsTokens = true
    for (let at = 0; at < 40; at++) await backend.run(count, 'counter', `own ${at}`)
    expect(client.happened.get('lostReply')).toBeGreaterThan(5)
    expect(await numbersOf(backend, ['counter'])).toBe(40)
    expect(await sumOf(backend, 'total')).toBe(40)
    await backend.close()
  })

  it('finds out what became of a commit that it had given up', async () => {
    const location = await newTable(server.location())
    const faults = { ...NO_FAULTS, lostReply: 0.85, late: 0.05 }
    const options = { spaces: suiteSpaces }
    const { backend, client } = await openFaulty(location, options, 3, faults)
    const ends = await Promise.allSettled(
      Array.from({ length: 24 }, (_, at) => backend.run(at % 2 ? addOnly : countOne, `own ${at}`)),
    )
    await client.settled()
    const done = (rest: number) =>
      ends.filter(({ status }, at) => at % 2 === rest && status === 'fulfilled').length
    const good = await openFaulty(location, options, 1, NO_FAULTS)
    expect(client.sent.get('TransactWriteItemsCommand')).toBeGreaterThan(12)
    expect([done(0), done(1)]).toEqual([12, 12])
    expect(await numbersOf(good.backend, ['counter'])).toBe(12)
    expect(await sumOf(good.backend, 'blind')).toBe(12)
    await Promise.all([backend.close(), good.backend.close()])
  })

  it('keeps a store whole: references, contents and tallies', async () => {
    const location = await newTable(server.location())
    const { backend, client } = await openFaulty(location, { spaces: storeSpaces }, 11)
    const store = await openStore(backend)
    const model = new Map<string, string>()
    const keys = Array.from({ length: 24 }, (_, at) => `schlüssel ${at}`)
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        keys.map(async (name, at) => {
          if ((at + round) % 5 === 0) {
            expect(await store.delete(name)).toBe(model.delete(name))
            return
          }
          const value = `मूल्य ${(at * 7 + round) % 9}`
          await store.put(name, value)
          model.set(name, value)
        }),
      )
    }
    await store.collect()
    await client.settled()
    const stats = await store.stats()
    expect(stats).toMatchObject({ keys: model.size, contents: new Set(model.values()).size })
    for (const [name, value] of model) expect(await store.getText(name)).toBe(value)
    expect((await store.verify()).problems).toEqual([])
    await store.close()
  })
})
