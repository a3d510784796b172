/** Taking lines away: those of a run (undo), one document's, and those that are older than is to be remembered. */

import { cell, type Cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { countOfRun, isHeld, lineCell, placeLine, removeLine, runEntryCell } from './lines.ts'
import { NO_RUN, runKey } from './names.ts'
import { IN_FORCE, type Line, type RunEntry, type RunRow, runs, shardKey, shards } from './rows.ts'

export type TakenBack =
  /** It was the document's first line: there is none now. */
  | 'removed'
  /** The line before it is in force again. */
  | 'restored'
  /** A later run has replaced it, and must be undone first. */
  | 'replaced'
  /** It is not there any more. */
  | 'gone'

const DROPPED_AT_ONCE = 30
const CHAIN_MAX = 100_000

/** Takes a run's line back. Tokens go on growing, so that no claim on the line that goes can be committed. */
export function* takeBack(scope: Scope, run: string, key: Buffer): Transaction<TakenBack> {
  const own = runEntryCell(runKey(run), key)
  const [line, entry] = yield* read(lineCell(key), own)
  if (!entry) return 'gone'
  if (entry.replaced || line?.run !== run) return 'replaced'
  scope.remove(own)
  countOfRun(scope, run, line.status, -1)
  const before = yield* lineBefore(key, line)
  if (!before) {
    removeLine(scope, key, line)
    return 'removed'
  }
  const place = runEntryCell(runKey(before.run), key)
  if (before.run === undefined) scope.remove(place)
  else scope.write(place, IN_FORCE)
  placeLine(scope, key, line, { ...before, token: line.token + 1 })
  return 'restored'
}

function* lineBefore(key: Buffer, { previous }: Line): Transaction<Line | undefined> {
  if (!previous) return undefined
  const [entry] = yield* read(runEntryCell(previous, key))
  return entry?.replaced
}

export interface Dropped {
  readonly hasLine: boolean
  /** Lines that had been replaced. */
  readonly old: number
  /** There are more than one transaction takes. */
  readonly hasMore: boolean
}

/**
 * Drops a document's lines from before a time: the replaced ones first, then the one in force. A claim that is held
 * stays, unless `anyway`.
 */
export function* dropLines(
  scope: Scope,
  key: Buffer,
  before: number,
  anyway = false,
): Transaction<Dropped> {
  const [line] = yield* read(lineCell(key))
  if (!line) return { hasLine: false, old: 0, hasMore: false }
  const isKept = line.at >= before || (!anyway && isHeld(line, scope.now()))
  const cut = yield* cutHistory(scope, key, line, isKept ? before : Infinity)
  if (isKept || cut.rest) {
    if (cut.top !== line) scope.write(lineCell(key), cut.top)
    return { hasLine: false, old: cut.old, hasMore: cut.rest }
  }
  if (line.run !== undefined) {
    scope.remove(runEntryCell(runKey(line.run), key))
    countOfRun(scope, line.run, line.status, -1)
  }
  removeLine(scope, key, line)
  return { hasLine: true, old: cut.old, hasMore: false }
}

interface Cut {
  /** The line in force, pointing at what is left beneath it. */
  readonly top: Line
  readonly old: number
  /** Something older is left. */
  readonly rest: boolean
}

/** Of the lines beneath `top`, drops the first that is older and those beneath it. What is left stays reachable. */
function* cutHistory(scope: Scope, key: Buffer, top: Line, before: number): Transaction<Cut> {
  let above: { readonly place: Cell<RunEntry>; readonly line: Line } | undefined
  let next = top.previous
  let old = 0
  for (let steps = 0; next && old < DROPPED_AT_ONCE && steps < CHAIN_MAX; steps++) {
    const place: Cell<RunEntry> = runEntryCell(next, key)
    const [{ replaced: line } = IN_FORCE] = yield* read(place)
    if (line && old === 0 && line.at >= before) {
      above = { place, line }
    } else if (line) {
      scope.remove(place)
      if (!next.equals(NO_RUN)) countOfRun(scope, line.run, line.status, -1)
      old++
    }
    next = line?.previous
  }
  if (old === 0) return { top, old, rest: false }
  if (!above) return { top: { ...top, previous: next }, old, rest: next !== undefined }
  scope.write(above.place, { replaced: { ...above.line, previous: next } })
  return { top, old, rest: next !== undefined }
}

/** Forgets a run that has ended before a time and has no lines left. */
export function* dropRun(
  scope: Scope,
  key: Buffer,
  before: number,
): Transaction<RunRow | undefined> {
  const place = cell(runs, key)
  const [run] = yield* read(place)
  if (!run || !isOver(run, before)) return undefined
  scope.remove(place)
  return run
}

/** It ended before a time. */
export function isOver({ status, endedAt = 0 }: RunRow, before: number): boolean {
  return status !== 'running' && endedAt < before
}

export function* dropShards(
  scope: Scope,
  run: Buffer,
  from: number,
  to: number,
): Transaction<void> {
  for (let shard = from; shard < to; shard++) scope.remove(cell(shards, shardKey(run, shard)))
}
