import { describe, expect, it } from 'vitest'

import { runLedgerSchedule } from './ledger/schedule.ts'

async function runMany(from: number, to: number, isMixed: boolean) {
  const sums = { crashes: 0, takenOver: 0 }
  for (let seed = from; seed <= to; seed++) {
    const { crashes, takenOver } = await runLedgerSchedule(seed, isMixed)
    sums.crashes += crashes
    sums.takenOver += takenOver
  }
  return sums
}

describe('workers that claim, commit, give up and crash', () => {
  it('do every document once, lose none, and keep all rows in agreement', async () => {
    const { crashes, takenOver } = await runMany(1, 250, false)
    expect(crashes).toBeGreaterThan(20)
    expect(takenOver).toBeGreaterThan(20)
  })

  it('keep all rows in agreement while others record, supersede, undo and prune', async () => {
    expect((await runMany(1000, 1250, true)).crashes).toBeGreaterThan(20)
  })

  it('are decided by the seed alone', async () => {
    expect(await runLedgerSchedule(77, true)).toEqual(await runLedgerSchedule(77, true))
  })
})
