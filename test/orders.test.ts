/** Order-independent runs: a sample of all orders, workers, bounds of memory and engines. `npm run long -- orders` has all. */

import { afterAll, describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import {
  everyCase,
  type OrderCase,
  OrderRounds,
  ORDERS,
  sampledCases,
  STATES,
  WORKERS,
} from './orders/order-rounds.ts'
import { dynamoIsHere } from './servers/dynamodb.ts'
import { redisIsHere } from './servers/redis.ts'

const SEED = 1
const rounds = new OrderRounds()
afterAll(() => rounds.stop())

const servers = { redis: redisIsHere(), dynamodb: dynamoIsHere() }
const canRun = ({ state }: OrderCase) => Reflect.get(servers, state) !== false
/** The first ones of a state have every number of workers. */
const isAmongFirst = ({ state, order }: OrderCase, _: number, all: readonly OrderCase[]) =>
  all.filter((one) => one.state === state).findIndex((one) => one.order === order) < amount(4, 20)

describe('with orderIndependent', () => {
  it('the same documents are kept for every order, number of workers, memory and engine', async () => {
    const cases = sampledCases(SEED).filter(canRun).filter(isAmongFirst)
    const first = await rounds.run({ order: 0, workers: 1, state: 'lmdb' })
    expect(first.kept.split(' ').length).toBeGreaterThan(150)
    const different: unknown[] = []
    let pages = 0
    for (const one of cases) {
      const found = await rounds.run(one)
      pages += found.pages
      if (found.kept !== first.kept) different.push(one)
    }
    expect(different).toEqual([])
    // Memory was too small for the index.
    expect(pages).toBeGreaterThan(0)
  }, 300_000)

  it.each([1, 2, 3])('a sample has every order, number of workers and state: seed %i', (seed) => {
    const cases = sampledCases(seed)
    expect(new Set(cases.map(({ order }) => order)).size).toBe(ORDERS)
    expect(new Set(cases.map(({ workers }) => workers)).size).toBe(WORKERS.length)
    expect(new Set(cases.map(({ state }) => state)).size).toBe(STATES.length)
    expect(everyCase()).toHaveLength(ORDERS * WORKERS.length * STATES.length)
  })
})
