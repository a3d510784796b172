/** The short form of `npm run race`. */

import { afterAll, describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { sharedEngine, type SharedEngine } from './race/engines.ts'
import { race } from './race/race.ts'
import { dynamoIsHere } from './servers/dynamodb.ts'
import { redisIsHere } from './servers/redis.ts'

const values = amount(8, 12)
const copies = amount(4, 6)
const SHORT = { values, copies, clusters: values, members: copies, redelivered: 0.2 }
const engines: SharedEngine[] = []

afterAll(() => Promise.all(engines.map((engine) => engine.stop())))

/** Of an engine that runs bodies one after another, a whole transaction is one step. */
const RACED = [
  ['lmdb', 0.04],
  ...(redisIsHere() ? ([['redis', 0.02]] as const) : []),
  ...(dynamoIsHere() ? ([['dynamodb', 0.01]] as const) : []),
] as const

describe.each(RACED)('processes that race on %s, and die', (name, crashes) => {
  it('store nothing twice, lose nothing, and never accept two near duplicates', async () => {
    const engine = await sharedEngine(name)
    engines.push(engine)
    const { location } = engine
    const report = await race({
      ...SHORT,
      location,
      processes: 3,
      inFlight: 8,
      crashes,
      seed: 5,
    })
    expect(report).toMatchObject({
      errors: [],
      distinctValues: values,
      storedTwice: 0,
      lost: 0,
      wrongReferences: 0,
      distinctTexts: values * copies,
      unresolved: 0,
      bothAccepted: 0,
      wronglyMatched: 0,
    })
    expect(report.crashes).toBeGreaterThan(0)
  }, 240_000)
})

describe.runIf(redisIsHere())('a race on an engine that checks nothing', () => {
  it('is seen to store twice, or to refer to nothing', async () => {
    const engine = await sharedEngine('redis')
    engines.push(engine)
    const { location } = engine
    const given = { ...SHORT, location, processes: 3, inFlight: 16, crashes: 0, seed: 6 }
    const { storedTwice, wrongReferences, bothAccepted, wronglyMatched } = await race({
      ...given,
      redelivered: 1,
      unchecked: true,
    })
    expect(storedTwice + wrongReferences + bothAccepted + wronglyMatched).toBeGreaterThan(0)
  }, 120_000)
})
