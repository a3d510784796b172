/** The short form of `npm run race`. */

import { afterAll, describe, expect, it } from 'vitest'

import { sharedEngine, type SharedEngine } from './race/engines.ts'
import { race } from './race/race.ts'

const SHORT = { values: 15, copies: 6, clusters: 15, members: 6, redelivered: 0.2 }
const engines: SharedEngine[] = []

afterAll(() => Promise.all(engines.map((engine) => engine.stop())))

/** Of an engine that runs bodies one after another, a whole transaction is one step. */
const RACED = [['lmdb', 0.1]] as const

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
      distinctValues: 15,
      storedTwice: 0,
      lost: 0,
      wrongReferences: 0,
      distinctTexts: 90,
      unresolved: 0,
      bothAccepted: 0,
      wronglyMatched: 0,
    })
    expect(report.crashes).toBeGreaterThan(0)
  }, 120_000)
})
