import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { backupRounds } from './crash/backup-rounds.ts'
import { crashRounds } from './crash/crash-rounds.ts'
import { evictRounds } from './crash/evict-rounds.ts'
import { streamRounds } from './crash/stream-rounds.ts'

/** One on each durability. */
const ROUNDS = amount(2, 8)

describe('a store whose writer is killed', () => {
  it('has every acknowledged write and nothing half-written (short form of npm run crash)', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-'))
    const report = await crashRounds(directory, {
      rounds: ROUNDS,
      seed: 20_261_115,
      acknowledgedMin: 101,
    })
    expect(report.acknowledged).toBeGreaterThan(100)
    await rm(directory, { recursive: true })
  }, 300_000)

  it('is sound if it was evicting, and goes on', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-evict-'))
    const report = await evictRounds(directory, {
      rounds: ROUNDS,
      seed: 20_261_118,
      acknowledgedMin: 101,
      goneMin: 21,
    })
    expect(report.acknowledged).toBeGreaterThan(100)
    expect(report.gone).toBeGreaterThan(20)
    await rm(directory, { recursive: true })
  }, 300_000)

  it('shows and keeps nothing of the streams that it was putting', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-streams-'))
    const report = await streamRounds(directory, { rounds: ROUNDS, seed: 20_261_118 })
    expect(report.leftBytes).toBeGreaterThan(0)
    await rm(directory, { recursive: true })
  }, 120_000)

  it('while it collects in the background has lost nothing', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-collect-'))
    const options = {
      rounds: ROUNDS,
      seed: 20_261_117,
      beside: 'collect' as const,
      acknowledgedMin: 101,
    }
    const report = await crashRounds(directory, options)
    expect(report.acknowledged).toBeGreaterThan(100)
    await rm(directory, { recursive: true })
  }, 300_000)

  it('while it compacts has the old file or the new one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-compact-'))
    const options = {
      rounds: ROUNDS,
      seed: 20_261_118,
      beside: 'compact' as const,
      acknowledgedMin: 1,
    }
    const report = await crashRounds(directory, options)
    expect(report.acknowledged).toBeGreaterThan(0)
    await rm(directory, { recursive: true })
  }, 300_000)

  it('links near duplicates as if nothing had happened', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-near-'))
    const report = await crashRounds(directory, {
      rounds: ROUNDS,
      seed: 20_261_116,
      dedup: 'near',
      acknowledgedMin: 101,
    })
    expect(report.acknowledged).toBeGreaterThan(100)
    await rm(directory, { recursive: true })
  }, 300_000)

  it('while it writes deltas otherwise gives all bytes back, and frees what they were coded against', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-deltas-'))
    const report = await crashRounds(directory, {
      rounds: ROUNDS,
      seed: 20_261_118,
      dedup: 'near',
      beside: 'rewrite',
      cutRewritesMin: 1,
    })
    expect(report.cutRewrites).toBeGreaterThan(0)
    await rm(directory, { recursive: true })
  }, 300_000)
})

describe('a backup or a restore that is killed', () => {
  it('leaves backups that are whole, and goes on (short form of npm run crash -- --kind backup)', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-backup-'))
    const report = await backupRounds(directory, { rounds: ROUNDS, seed: 20_261_118 })
    expect(report.killedBackups + report.killedRestores).toBeGreaterThan(0)
    await rm(directory, { recursive: true })
  }, 300_000)
})
