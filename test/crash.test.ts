import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { backupRounds } from './crash/backup-rounds.ts'
import { crashRounds } from './crash/crash-rounds.ts'

describe('a store whose writer is killed', () => {
  it('has every acknowledged write and nothing half-written (short form of npm run crash)', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-'))
    const report = await crashRounds(directory, { rounds: 4, seed: 20_261_115 })
    expect(report.acknowledged).toBeGreaterThan(100)
    await rm(directory, { recursive: true })
  }, 120_000)

  it('links near duplicates as if nothing had happened', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-near-'))
    const report = await crashRounds(directory, { rounds: 4, seed: 20_261_116, dedup: 'near' })
    expect(report.acknowledged).toBeGreaterThan(100)
    await rm(directory, { recursive: true })
  }, 120_000)
})

describe('a backup or a restore that is killed', () => {
  it('leaves backups that are whole, and goes on (short form of npm run crash -- --kind backup)', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-backup-'))
    const report = await backupRounds(directory, { rounds: 3, seed: 20_261_118 })
    expect(report.killedBackups + report.killedRestores).toBeGreaterThan(0)
    await rm(directory, { recursive: true })
  }, 120_000)
})
