/** Kills backups and restores at random moments, and checks that what is left is whole and can be gone on with. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { seededRandom } from '../../src/exports/backend.ts'
import { checkBackup, listBackups, restoreBackup } from '../../src/exports/backup.ts'
import { openStore, PrestigeError } from '../../src/index.ts'
import { prestige } from '../children/cli.ts'

export interface BackupRounds {
  /** Backups and restores that were killed before they had ended. */
  killedBackups: number
  killedRestores: number
  /** Restores that left a store which could not be opened. */
  unfinished: number
}

/** One more each round, so that there is something new to write. */
const VALUES_A_ROUND = 60
const VALUE_BYTES = 200_000

export async function backupRounds(
  directory: string,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<BackupRounds> {
  const random = seededRandom(seed)
  const [store, target] = [join(directory, 'store'), join(directory, 'target')]
  const report: BackupRounds = { killedBackups: 0, killedRestores: 0, unfinished: 0 }
  for (let round = 0; round < rounds; round++) {
    await grow(store, round)
    const killed = await isKilled(['backup', target, '--store', store], 150 + random() * 500)
    if (killed) report.killedBackups++
    await requireSound(target)
    const { code, err } = await prestige(['backup', target, '-q', '--store', store])
    assert.equal(code, 0, err)
    await requireSound(target)
    const copy = join(directory, `copy-${round}`)
    if (await isKilled(['restore', target, '--store', copy], 150 + random() * 500)) {
      report.killedRestores++
      if (await isUnfinished(copy)) report.unfinished++
    }
    await restoreBackup(target, copy, { durability: 'os' })
    await requireSame(store, copy)
    await rm(copy, { recursive: true })
  }
  return report
}

async function grow(location: string, round: number): Promise<void> {
  await using store = await openStore(location, { durability: 'os' })
  for (let at = 0; at < VALUES_A_ROUND; at++)
    await store.put(`${round} ${at}`, randomBytes(VALUE_BYTES))
}

/** What is listed can be restored; before the first backup there may be nothing at all. */
async function requireSound(target: string): Promise<void> {
  const found = await listBackups(target).catch((error: unknown) => {
    if (error instanceof PrestigeError && error.code === 'BACKUP_NOT_FOUND') return undefined
    throw error
  })
  if (!found) return
  const { problems } = await checkBackup(target, { readData: true })
  assert.deepEqual(problems, [])
}

async function isUnfinished(location: string): Promise<boolean> {
  try {
    await (await openStore(location, { create: false })).close()
    return false
  } catch (error) {
    if (!(error instanceof PrestigeError)) throw error
    return error.code === 'RESTORE_UNFINISHED'
  }
}

async function requireSame(one: string, other: string): Promise<void> {
  await using first = await openStore(one, { durability: 'os' })
  await using second = await openStore(other, { durability: 'os' })
  assert.equal((await first.stats()).keys, (await second.stats()).keys)
  for await (const [key, value] of first.entries())
    assert.ok((await second.get(key))?.equals(value), `${key.toString()} is another value`)
  assert.deepEqual((await second.verify()).problems, [])
}

/** Whether it was killed before it had ended. */
async function isKilled(args: readonly string[], ms: number): Promise<boolean> {
  const run = await prestige(args, {
    meanwhile: async (child) => {
      await Promise.race([once(child, 'exit'), pause(ms)])
      child.kill('SIGKILL')
    },
  })
  return run.code === null
}
