/** Workers that share a run of the corpus job: on a simulated engine by a seed, and as real processes that are killed. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { openDedupe } from '../src/index.ts'
import { prestige } from './children/cli.ts'
import { corpus, jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'
import { runCorpusRound } from './crash/corpus-rounds.ts'
import { runCorpusSchedule } from './simulation/corpus-schedule.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-workers-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

describe('workers on an engine that validates, with crashes at any step', () => {
  it('end with the same whole result; where order does not matter, with that of one alone', async () => {
    const sums = { crashes: 0, takenOver: 0 }
    const modes = new Set<string>()
    for (let seed = 1; seed <= 12; seed++) {
      const { crashes, takenOver, trace } = await runCorpusSchedule(seed)
      sums.crashes += crashes
      sums.takenOver += takenOver
      modes.add(trace.split('\n')[0]!)
    }
    expect(modes.size).toBeGreaterThan(2)
    expect(sums.crashes).toBeGreaterThan(10)
    expect(sums.takenOver).toBeGreaterThan(5)
  })

  it('are decided by the seed alone', async () => {
    expect(await runCorpusSchedule(7)).toEqual(await runCorpusSchedule(7))
  })
})

describe('processes that share a directory and are killed', () => {
  const round = { workers: 4, documents: 3000, killsMax: 6, betweenMs: 600 }

  it('write what one alone writes, where order does not matter', async () => {
    const report = await runCorpusRound({ ...round, seed: 2, orderIndependent: true })
    expect(report.kills).toBeGreaterThan(0)
  })

  it('lose and double nothing, and keep one of each, as documents come', async () => {
    const report = await runCorpusRound({ ...round, seed: 3, orderIndependent: false })
    expect(report.kills).toBeGreaterThan(0)
  })
})
