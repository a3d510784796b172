import { describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { runConditions } from './simulation/conditions-schedule.ts'
import { runLifecycleSchedule } from './simulation/lifecycle-schedule.ts'
import { runSchedule } from './simulation/schedule.ts'

describe('interleaved schedules of put, overwrite, delete, expire and collect', () => {
  it('keep every invariant after every commit (short form of npm run simulate)', async () => {
    let crashes = 0
    for (let seed = 1; seed <= amount(120, 5000); seed++)
      crashes += (await runSchedule(seed)).crashes
    expect(crashes).toBeGreaterThan(amount(3, 12))
  }, 600_000)

  it('keep those of near duplicates as well', async () => {
    let crashes = 0
    for (let seed = 1; seed <= amount(24, 1000); seed++)
      crashes += (await runSchedule(seed, 'near')).crashes
    expect(crashes).toBeGreaterThan(3)
  }, 600_000)

  it('keep those of chunks as well', async () => {
    let crashes = 0
    for (let seed = 1; seed <= amount(120, 1000); seed++)
      crashes += (await runSchedule(seed, 'chunks')).crashes
    expect(crashes).toBeGreaterThan(amount(3, 15))
  }, 600_000)

  it.each([
    ['an optimistic engine', 'optimistic', amount(20, 3000)],
    ['memory', 'memory', amount(20, 3000)],
    ['a directory, which is compacted meanwhile', 'lmdb', amount(15, 1000)],
  ] as const)(
    'keep those of bounded stores on %s, which evict, back up and collect in the background',
    async (_name, engine, schedules) => {
      const sum = { crashes: 0, gone: 0, backups: 0, collectorPasses: 0 }
      for (let seed = 1; seed <= schedules; seed++) {
        const report = await runLifecycleSchedule(seed, engine)
        sum.crashes += report.crashes
        sum.gone += report.gone
        sum.backups += report.backups
        sum.collectorPasses += report.collectorPasses
      }
      expect(sum.crashes).toBeGreaterThan(4)
      expect(sum.gone).toBeGreaterThan(8)
      expect(sum.backups).toBeGreaterThan(8)
      expect(sum.collectorPasses).toBeGreaterThan(15)
    },
    1_200_000,
  )

  it('are decided by the seed alone', async () => {
    for (const seed of amount([77], [7, 77, 777])) {
      expect(await runSchedule(seed)).toEqual(await runSchedule(seed))
      expect(await runSchedule(seed, 'near')).toEqual(await runSchedule(seed, 'near'))
      expect(await runLifecycleSchedule(seed)).toEqual(await runLifecycleSchedule(seed))
      const inMemory = await runLifecycleSchedule(seed, 'memory')
      expect(await runLifecycleSchedule(seed, 'memory')).toEqual(inMemory)
    }
  })
})

describe('interleaved conditions, updates and transactions', () => {
  it('have one winner each, lose no update, and are applied as a whole', async () => {
    let refused = 0
    let moved = 0
    for (let seed = 1; seed <= amount(80, 1000); seed++) {
      const tally = await runConditions(seed)
      refused += tally.refused
      moved += tally.moved
    }
    expect(refused).toBeGreaterThan(100)
    expect(moved).toBeGreaterThan(100)
  }, 120_000)
})
