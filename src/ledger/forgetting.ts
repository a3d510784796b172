/** Undo and retention, in many small transactions: what a crash leaves of them is finished by the next call. */

import { endOfPrefix } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import type { Name } from './names.ts'
import { byRun, KEY, lines, runs } from './rows.ts'
import { finishRun } from './runs.ts'
import { dropLines, dropRun, dropShards, takeBack } from './undo.ts'

export interface Forgotten {
  /** Documents that have no line any more. */
  readonly removed: number
  /** Documents whose line is again the one before. */
  readonly restored: number
  /** Lines that a later run has replaced, which stay. */
  readonly replaced: number
}

export interface Pruned {
  readonly lines: number
  /** Lines that had been replaced, and were only kept for undo. */
  readonly oldLines: number
  readonly runs: number
}

const SHARDS_AT_ONCE = 50

/** A run is ended first, so no line of it can come after the scan. */
export async function forgetRun(backend: Backend, run: Name): Promise<Forgotten> {
  await backend.run(finishRun, run.text, 'undone')
  const sums = { removed: 0, restored: 0, replaced: 0, gone: 0 }
  const range = { start: run.key, end: endOfPrefix(run.key) }
  for await (const { key } of backend.scan(byRun, range)) {
    sums[await backend.run(takeBack, run.text, key.subarray(KEY))]++
  }
  const { gone: _gone, ...forgotten } = sums
  return forgotten
}

export async function prune(backend: Backend, olderThan: number): Promise<Pruned> {
  const sums = { lines: 0, oldLines: 0, runs: 0 }
  for await (const { key, value } of backend.scan(lines)) {
    if (value.at >= olderThan && !value.previous) continue
    for (let hasMore = true; hasMore;) {
      const dropped = await backend.run(dropLines, key, olderThan)
      sums.lines += dropped.hasLine ? 1 : 0
      sums.oldLines += dropped.old
      ;({ hasMore } = dropped)
    }
  }
  for await (const { key } of backend.scan(runs)) {
    if (await hasLines(backend, key)) continue
    const run = await backend.run(dropRun, key, olderThan)
    if (!run) continue
    sums.runs++
    for (let from = 0; from < run.shards; from += SHARDS_AT_ONCE) {
      const to = Math.min(run.shards, from + SHARDS_AT_ONCE)
      await backend.run(dropShards, key, from, to)
    }
  }
  return sums
}

async function hasLines(backend: Backend, run: Buffer): Promise<boolean> {
  const range = { start: run, end: endOfPrefix(run), limit: 1 }
  for await (const _row of backend.scan(byRun, range)) return true
  return false
}
