/**
 * `npm run crash -- --rounds 50 --seed 1 [--dedup near]`: kills a writing process at random moments and checks what
 * is left; with `--kind collect`, `compact` or `rewrite`, while it collects in the background, compacts,
 * or loses what near duplicates are coded against. With
 * `--kind eviction` it writes to a bounded store, of which keys are evicted all the time. With
 * `--kind corpus [--documents N]` it is `prestige dedupe` that is killed, for every format and mode; with
 * `--kind backup`, backups and restores; with `--kind streams`, puts of streams; with `--kind second-run`, runs that change the outputs of earlier ones, and their undo.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { backupRounds } from '../test/crash/backup-rounds.ts'
import { corpusFormats, corpusRounds } from '../test/crash/corpus-rounds.ts'
import { crashRounds } from '../test/crash/crash-rounds.ts'
import { evictRounds } from '../test/crash/evict-rounds.ts'
import { secondRunRounds } from '../test/crash/second-run-rounds.ts'
import { streamRounds } from '../test/crash/stream-rounds.ts'

const { values } = parseArgs({
  options: {
    kind: { type: 'string', default: 'store' },
    rounds: { type: 'string' },
    dedup: { type: 'string', default: 'exact' },
    documents: { type: 'string', default: '6000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const seed = Number(values.seed)
console.log(`seed ${seed}`)
if (values.kind === 'backup') await killBackups(Number(values.rounds ?? 20))
else if (values.kind === 'second-run') await killSecondRuns(Number(values.rounds ?? 20))
else if (values.kind === 'eviction') await killEvictors(Number(values.rounds ?? 50))
else if (values.kind === 'streams') await killStreams(Number(values.rounds ?? 20))
else if (values.kind === 'corpus') await killCorpusJobs(Number(values.rounds ?? 20))
else await killWriters(Number(values.rounds ?? 50), values.kind)

async function killWriters(rounds: number, kind: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-'))
  const isRewriting = kind === 'rewrite'
  const dedup = values.dedup === 'near' || isRewriting ? 'near' : 'exact'
  const beside = kind === 'collect' || kind === 'compact' || isRewriting ? kind : 'nothing'
  const report = await crashRounds(directory, { rounds, seed, dedup, beside })
  console.log(JSON.stringify({ ...report, lost: 0, unsound: 0 }))
  await rm(directory, { recursive: true })
}

async function killEvictors(rounds: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-evict-'))
  const report = await evictRounds(directory, { rounds, seed })
  console.log(JSON.stringify({ ...report, unsound: 0 }))
  await rm(directory, { recursive: true })
}

async function killStreams(rounds: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-streams-'))
  console.log(JSON.stringify({ ...(await streamRounds(directory, { rounds, seed })), unsound: 0 }))
  await rm(directory, { recursive: true })
}

async function killBackups(rounds: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-backup-'))
  const report = await backupRounds(directory, { rounds, seed })
  console.log(JSON.stringify({ ...report, damaged: 0, differing: 0 }))
  await rm(directory, { recursive: true })
}

async function killCorpusJobs(rounds: number): Promise<void> {
  for (const format of corpusFormats) {
    for (const orderIndependent of [false, true]) {
      const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-corpus-'))
      // A file a document is synced one by one.
      const documents = Math.ceil(Number(values.documents) / (format === 'files' ? 4 : 1))
      const options = { rounds, seed, format, orderIndependent, documents }
      const report = await corpusRounds(directory, options)
      console.log(JSON.stringify({ format, orderIndependent, documents, ...report, differing: 0 }))
      await rm(directory, { recursive: true })
    }
  }
}

async function killSecondRuns(rounds: number): Promise<void> {
  for (const format of corpusFormats) {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-second-'))
    const documents = Math.ceil(Number(values.documents) / (format === 'files' ? 8 : 2))
    const report = await secondRunRounds(directory, { rounds, seed, format, documents })
    console.log(JSON.stringify({ format, documents, ...report, differing: 0 }))
    await rm(directory, { recursive: true })
  }
}
