import { describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { runResolverSchedule } from './simulation/resolver-schedule.ts'

describe('interleaved schedules of resolve, lookup, forget and collect', () => {
  it('keep every invariant after every commit (short form of npm run simulate -- --of resolver)', async () => {
    let crashes = 0
    let merged = 0
    for (let seed = 1; seed <= amount(100, 2000); seed++) {
      const report = await runResolverSchedule(seed).catch((error: unknown) => {
        throw new Error(`Seed ${seed}: ${String(error)}`, { cause: error })
      })
      crashes += report.crashes
      merged += report.merged
    }
    expect(crashes).toBeGreaterThan(5)
    expect(merged).toBeGreaterThan(5)
  }, 600_000)

  it('are decided by the seed alone', async () => {
    for (const seed of [7, 77]) {
      expect(await runResolverSchedule(seed)).toEqual(await runResolverSchedule(seed))
    }
  })
})
