import { describe, expect, it } from 'vitest'

import { runSchedule } from './simulation/schedule.ts'

describe('interleaved schedules of put, overwrite, delete, expire and collect', () => {
  it('keep every invariant after every commit (short form of npm run simulate)', async () => {
    let crashes = 0
    for (let seed = 1; seed <= 1000; seed++) crashes += (await runSchedule(seed)).crashes
    expect(crashes).toBeGreaterThan(30)
  }, 120_000)

  it('keep those of near duplicates as well', async () => {
    let crashes = 0
    for (let seed = 1; seed <= 200; seed++) crashes += (await runSchedule(seed, 'near')).crashes
    expect(crashes).toBeGreaterThan(8)
  }, 120_000)

  it('keep those of chunks as well', async () => {
    let crashes = 0
    for (let seed = 1; seed <= 500; seed++) crashes += (await runSchedule(seed, 'chunks')).crashes
    expect(crashes).toBeGreaterThan(15)
  }, 120_000)

  it('are decided by the seed alone', async () => {
    for (const seed of [7, 77, 777]) {
      expect(await runSchedule(seed)).toEqual(await runSchedule(seed))
      expect(await runSchedule(seed, 'near')).toEqual(await runSchedule(seed, 'near'))
    }
  })
})
