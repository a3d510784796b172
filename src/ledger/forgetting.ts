/** Undo and retention, in many small transactions: what a crash leaves of them is finished by the next call. */

import { endOfPrefix } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { isHeld } from './lines.ts'
import { type Name, refuseUnknown } from './names.ts'
import { byRun, KEY, lines, runs } from './rows.ts'
import { finishRun } from './runs.ts'
import { dropLines, dropRun, dropShards, isOver, takeBack } from './undo.ts'

export interface Forgotten {
  /** Documents that have no line any more. */
  readonly removed: number
  /** Documents whose line is again the one before. */
  readonly restored: number
  /** Lines that a later run has replaced, which stay. */
  readonly replaced: number
}

export interface PruneOptions {
  /** What is from before this time is removed. Default: what is beyond `retentionMs`. */
  readonly olderThan?: number | Date | undefined
  /** Remove nothing, only count. Default: `false`. */
  readonly dryRun?: boolean | undefined
}

export interface Pruned {
  readonly lines: number
  /** Lines that had been replaced, and were only kept for undo. */
  readonly oldLines: number
  readonly runs: number
}

const SHARDS_AT_ONCE = 50

/** What `prune` would remove. */
export async function wouldPrune(backend: Backend, olderThan: number): Promise<Pruned> {
  const sums = { lines: 0, oldLines: 0, runs: 0 }
  const used = new Set<string | undefined>()
  for await (const { value: line } of backend.scan(lines)) {
    if (line.at < olderThan && !isHeld(line, backend.now())) sums.lines++
    else used.add(line.run)
  }
  for await (const { value } of backend.scan(byRun)) {
    if (!value.replaced) continue
    if (value.replaced.at < olderThan) sums.oldLines++
    else used.add(value.replaced.run)
  }
  for await (const { value: run } of backend.scan(runs)) {
    if (isOver(run, olderThan) && !used.has(run.id)) sums.runs++
  }
  return sums
}

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

/** As asked for: by default, what is beyond retention. */
export function pruneAs(
  backend: Backend,
  options: PruneOptions,
  retentionMs: number,
): Promise<Pruned> {
  refuseUnknown(options, ['olderThan', 'dryRun'])
  const before = Number(options.olderThan ?? backend.now() - retentionMs)
  if (before >= 0) return options.dryRun ? wouldPrune(backend, before) : prune(backend, before)
  throw new PrestigeError('INVALID_OPTIONS', 'Give olderThan, a time, or open with retentionMs.')
}

async function prune(backend: Backend, olderThan: number): Promise<Pruned> {
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
