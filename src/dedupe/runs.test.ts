/** Runs are kept whatever their size, and files count as done when their run is. */

import { describe, expect, it } from 'vitest'

import { MemoryBackend } from '../backends/memory/backend.ts'
import type { Shard } from '../input/index.ts'
import { readConfig } from './config/config.ts'
import { changeRun, findRun, keepNewRun, listRuns, type RunHead } from './runs.ts'
import { keepFiles, notDone } from './done-files.ts'

function shardOf(count: number): Shard {
  const files = Array.from({ length: count }, (_, at) => ({
    file: `/corpus/some/way/below/${at}.txt`,
    path: `some/way/below/${at}.txt`,
    fileBytes: at,
    modifiedMs: at,
  }))
  const [first = { file: '', path: '', fileBytes: 0, modifiedMs: 0 }] = files
  return {
    ...first,
    index: 0,
    format: 'files',
    compression: 'none',
    start: 0,
    end: count,
    bytes: 0,
    files,
  }
}

const runOf = (shard: Shard) => ({
  id: 'one',
  number: 1,
  status: 'deciding' as const,
  startedAt: 5,
  config: readConfig({}),
  fingerprint: 'f',
  out: '/out',
  shards: [shard],
  skipped: [],
})

describe('a run', () => {
  it('of more files than a row can hold is kept in pieces, and read back whole', async () => {
    const backend = new MemoryBackend()
    const shard = shardOf(40_000)
    const kept = (await keepNewRun(backend, runOf(shard)))!
    expect(kept.pieces).toBeGreaterThan(4)
    expect((await findRun(backend, 'one')).shards).toEqual([shard])
  })

  it('has done its files when it is finished, and not before', async () => {
    const backend = new MemoryBackend()
    const shard = shardOf(3000)
    const kept = (await keepNewRun(backend, runOf(shard)))!
    await keepFiles(backend, kept)
    const left = async () => (await notDone(backend, [shard], await listRuns(backend))).todo.length
    expect(await left()).toBe(1)
    await backend.run(changeRun, 'one', (run: RunHead) => ({ ...run, status: 'finished' as const }))
    expect(await left()).toBe(0)
  })
})
