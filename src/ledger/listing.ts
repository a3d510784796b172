/** Lines in a stable order, that of their keys: neither time nor later changes move a line to another place. */

import { concat, EMPTY, endOfPrefix } from '../platform/bytes.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { isProcessed, isRemembered, type LedgerLine, lineCell, ledgerLine } from './lines.ts'
import { documentKey, type Name, overallTallies, refuseUnknown, runName } from './names.ts'
import {
  byRun,
  bySource,
  KEY,
  type Line,
  lines,
  type LineStatus,
  type RunEntry,
  type RunRow,
  runs as runSpace,
  STATUSES,
} from './rows.ts'

export interface LinesOptions {
  /** Only lines after this one, the last of the page before; or after those of this id. */
  readonly startAfter?: string | LedgerLine | undefined
  /** At most so many lines. Default: all. */
  readonly limit?: number | undefined
  /** Only lines that have their status since this time, or later. Default: from the first on. */
  readonly since?: number | Date | undefined
  /** Only lines that have their status since before this time. Default: up to the last. */
  readonly until?: number | Date | undefined
  /** Only lines of this status. Default: of all. */
  readonly status?: LineStatus | undefined
}

/** Which lines are listed: of a source, or of a run, or all. */
export interface ListOptions extends LinesOptions {
  /** Only lines of this source. Default: of all. */
  readonly source?: string | undefined
  /** Only lines of this run. Default: of all. */
  readonly run?: string | undefined
}

/** Options of a listing, checked. */
export interface Wanted {
  readonly limit: number
  matches(line: Pick<LedgerLine, 'at' | 'status'>): boolean
}

export type LineCounts = Readonly<Record<LineStatus, number>> & { readonly total: number }

export interface LedgerRun extends RunRow {
  /** What the run made of its documents, also of those that a later run processed again. */
  readonly counts: LineCounts
}

/** A line of a run. */
export interface RunLine extends LedgerLine {
  /** A later run has replaced it; this is what it was before. */
  readonly isReplaced?: true
}

/** Twice as many cells are read at once, which every engine can. */
const PAGE = 40

export function wantedOf(options: LinesOptions): Wanted {
  refuseUnknown(options, ['startAfter', 'limit', 'since', 'until', 'status'])
  const { limit = Infinity, status: wanted } = options
  const since = timeOf(options.since, 'since') ?? -Infinity
  const until = timeOf(options.until, 'until') ?? Infinity
  if (limit !== Infinity && !(Number.isInteger(limit) && limit >= 0)) {
    throw new PrestigeError('INVALID_OPTIONS', `limit is a whole number from 0 on, not ${limit}.`)
  }
  if (wanted !== undefined && !STATUSES.includes(wanted)) {
    const known = STATUSES.join(', ')
    throw new PrestigeError('INVALID_OPTIONS', `status is one of ${known}, not ${wanted}.`)
  }
  return {
    limit,
    matches: ({ at, status }) =>
      at >= since && at < until && (wanted === undefined || wanted === status),
  }
}

function timeOf(time: number | Date | undefined, name: string): number | undefined {
  if (time === undefined || Number.isFinite(Number(time))) return time && Number(time)
  throw new PrestigeError('INVALID_OPTIONS', `${name} is a time: milliseconds, or a Date.`)
}

function rangeOf(prefix: Buffer, { startAfter }: LinesOptions) {
  const end = endOfPrefix(prefix)
  if (startAfter === undefined) return { start: prefix, end }
  const id = typeof startAfter === 'string' ? startAfter : startAfter.id
  return { start: Buffer.concat([prefix, documentKey(id), Buffer.of(0)]), end }
}

export function* linesOf(
  _scope: ReadScope,
  keys: readonly Buffer[],
): Transaction<(Line | undefined)[]> {
  return yield* read(...keys.map(lineCell))
}

/** Which documents are done, in the order of their keys here. */
export async function areProcessed(
  backend: Backend,
  keys: readonly Buffer[],
  retentionMs: number,
): Promise<boolean[]> {
  const answers: boolean[] = []
  for (let from = 0; from < keys.length; from += PAGE) {
    const found = await backend.read(linesOf, keys.slice(from, from + PAGE))
    const now = backend.now()
    for (const line of found) {
      answers.push(line !== undefined && isProcessed(line) && isRemembered(line, now, retentionMs))
    }
  }
  return answers
}

/** Items in pages, so that lines are read some at a time and never all. */
export async function* pages<T>(items: AsyncIterable<T>, size = PAGE): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const item of items) {
    page.push(item)
    if (page.length < size) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

export async function* listSource(
  backend: Backend,
  source: Name,
  options: LinesOptions,
  retentionMs: number,
): AsyncGenerator<LedgerLine> {
  const wanted = wantedOf(options)
  let left = wanted.limit
  if (left === 0) return
  const found = backend.scan(bySource, rangeOf(source.key, options))
  for await (const page of pages(found, Math.min(PAGE, left))) {
    const now = backend.now()
    for (const line of await backend.read(linesOf, documentsOf(page))) {
      // It may have gone, or gone elsewhere, since the page was read.
      if (line?.source !== source.text || !isRemembered(line, now, retentionMs)) continue
      if (!wanted.matches(line)) continue
      yield ledgerLine(line)
      if (--left === 0) return
    }
  }
}

/** All lines. There is no index by time: every line is read, whatever times are wanted. */
export async function* listAll(
  backend: Backend,
  options: LinesOptions,
  retentionMs: number,
): AsyncGenerator<LedgerLine> {
  const wanted = wantedOf(options)
  let left = wanted.limit
  if (left === 0) return
  const { start } = rangeOf(EMPTY, options)
  for await (const { value: line } of backend.scan(lines, { start })) {
    if (!isRemembered(line, backend.now(), retentionMs) || !wanted.matches(line)) continue
    yield ledgerLine(line)
    if (--left === 0) return
  }
}

export async function* listRun(
  backend: Backend,
  run: Name,
  options: LinesOptions,
): AsyncGenerator<RunLine> {
  const wanted = wantedOf(options)
  let left = wanted.limit
  if (left === 0) return
  const found = backend.scan(byRun, rangeOf(run.key, options))
  for await (const page of pages(found, Math.min(PAGE, left))) {
    for (const line of await backend.read(runLinesOf, run, documentsOf(page))) {
      if (!line || !wanted.matches(line)) continue
      yield line
      if (--left === 0) return
    }
  }
}

/** A run's lines, be they in force or replaced: both are read in one moment, so none slips between. */
function* runLinesOf(
  _scope: ReadScope,
  run: Name,
  keys: readonly Buffer[],
): Transaction<(RunLine | undefined)[]> {
  const lines = yield* read(...keys.map(lineCell))
  const entries = yield* read(...keys.map((key) => cell(byRun, concat(run.key, key))))
  return keys.map((_, at) => runLine(run, lines[at], entries[at]))
}

function runLine(run: Name, line: Line | undefined, entry: RunEntry | undefined) {
  if (entry?.replaced) return { ...ledgerLine(entry.replaced), isReplaced: true } as const
  return entry && line?.run === run.text ? ledgerLine(line) : undefined
}

function documentsOf(rows: readonly { readonly key: Buffer }[]): Buffer[] {
  return rows.map(({ key }) => key.subarray(KEY))
}

export function* countsOf(_scope: ReadScope, name: Name | undefined): Transaction<LineCounts> {
  const found = yield* read(...(name?.tallies ?? overallTallies))
  const counts = { claimed: 0, accepted: 0, rejected: 0, duplicate: 0, superseded: 0, failed: 0 }
  let total = 0
  STATUSES.forEach((status, at) => {
    counts[status] = found[at] ?? 0
    total += counts[status]
  })
  return { ...counts, total }
}

export async function* listRuns(backend: Backend): AsyncGenerator<LedgerRun> {
  const found: RunRow[] = []
  for await (const { value } of backend.scan(runSpace)) found.push(value)
  found.sort((one, other) => one.startedAt - other.startedAt || (one.id < other.id ? -1 : 1))
  for (const { job: _job, ...run } of found) {
    yield { ...run, counts: await backend.read(countsOf, runName(run.id)) }
  }
}
