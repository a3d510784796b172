import { describe, expect, it } from 'vitest'

import { cell, glance, type Scope, type Transaction } from '../src/backends/contract.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { type PreparedLine, prepareLine, recordLine } from '../src/ledger/lines.ts'
import { settings } from '../src/ledger/rows.ts'
import { openLedger } from '../src/ledger/open.ts'
import { checkRows, rowsOfWorld } from './ledger/invariants.ts'
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
    const { crashes, takenOver } = await runMany(1, 150, false)
    expect(crashes).toBeGreaterThan(20)
    expect(takenOver).toBeGreaterThan(20)
  })

  it('keep all rows in agreement while others record, supersede, undo and prune', async () => {
    expect((await runMany(1000, 1220, true)).crashes).toBeGreaterThan(20)
  })

  it('agree also when lines are recorded in bodies that rely on little else', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const world = new SimulatedWorld(seed)
      await (await openLedger(world.open('first'))).startRun({ id: 'r' })
      const line = prepareLine({ id: 'a', status: 'accepted', source: 's', run: 'r' })
      const other = prepareLine({ id: 'a', status: 'rejected' })
      const own = cell(settings, Buffer.from('own'))
      const body = function* (scope: Scope, recorded: PreparedLine): Transaction<void> {
        yield* glance(own)
        yield* recordLine(scope, recorded)
      }
      const both = [line, other, line]
      await Promise.all(both.map((one, at) => world.open(`w${at}`).run(body, one)))
      checkRows(rowsOfWorld(world))
    }
  })

  it('are decided by the seed alone', async () => {
    expect(await runLedgerSchedule(77, true)).toEqual(await runLedgerSchedule(77, true))
  })
})
