/**
 * Lines, and the one way a line is replaced. Everything that changes a line goes through `putLine`, so that rows by
 * source, rows by run, history and tallies always agree with it.
 *
 * Invariant: every row under a run is reached from the document's line in force, by `run` and then by `previous`.
 */

import { concat } from '../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Cell,
  read,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  checkDetail,
  documentKey,
  NO_RUN,
  overallTallies,
  refuseUnknown,
  runKey,
  runName,
  shortText,
  sourceName,
} from './names.ts'
import {
  byRun,
  bySource,
  type FinalStatus,
  IN_FORCE,
  type Line,
  lines,
  type LineStatus,
  PRESENT,
  type RunEntry,
  STATUSES,
} from './rows.ts'
import { requireRunning } from './runs.ts'

/** What the ledger says of a document. */
export interface LedgerLine {
  readonly id: string
  readonly status: LineStatus
  /** Milliseconds since 1970: since when it has this status. */
  readonly at: number
  /** Grows with every claim; who holds an older one has lost it. */
  readonly token: number
  /** Of a claim. */
  readonly leaseUntil?: number
  readonly source?: string
  readonly run?: string
  readonly worker?: string
  /** The document it is a duplicate of, or that took its place. */
  readonly of?: string
  readonly detail?: string
  readonly language?: string
  /** What the fingerprints of the document were made with: `unicode-2/adaptive/128/f1-2c9b41d7`. */
  readonly fingerprintVersion?: string
}

/** A final line to be recorded: the work is done. */
export interface LineInput {
  readonly id: string
  readonly status: FinalStatus
  readonly source?: string | undefined
  readonly run?: string | undefined
  readonly worker?: string | undefined
  readonly of?: string | undefined
  readonly detail?: string | undefined
  readonly language?: string | undefined
  readonly fingerprintVersion?: string | undefined
}

/** Checked, with its key made: what bodies take. Made once, however often the body runs. */
export interface PreparedLine extends LineInput {
  readonly key: Buffer
}

export interface Recorded {
  readonly line: Line
  /** What it replaced. */
  readonly replaced: Line | undefined
}

const CHAIN_MAX = 100_000
const RECORDED_AT_ONCE = 256
const OUTCOME_OPTIONS = ['status', 'of', 'detail', 'language', 'fingerprintVersion']
const LINE_OPTIONS = ['id', 'source', 'run', 'worker', ...OUTCOME_OPTIONS]

export function prepareLine(input: LineInput): PreparedLine {
  if (typeof input !== 'object' || input === null) {
    throw new PrestigeError('INVALID_VALUE', 'A line is an object with an id and a status.')
  }
  checkOutcome(input, LINE_OPTIONS)
  if (input.source !== undefined) sourceName(input.source)
  if (input.run !== undefined) runName(input.run)
  if (input.worker !== undefined) shortText(input.worker, 'A worker')
  return { ...input, key: documentKey(input.id) }
}

/** How work can end. */
export function checkOutcome(
  outcome: Omit<Partial<LineInput>, 'status'> & { readonly status: unknown },
  names: readonly string[] = OUTCOME_OPTIONS,
): void {
  refuseUnknown(outcome, names)
  const { status, of, detail, language, fingerprintVersion } = outcome
  const isFinal = status !== 'claimed' && STATUSES.some((one) => one === status)
  if (!isFinal) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `A document ends as one of ${STATUSES.slice(1).join(', ')}; not as ${String(status)}.`,
    )
  }
  if (of !== undefined) documentKey(of)
  if (language !== undefined) shortText(language, 'A language')
  if (fingerprintVersion !== undefined) shortText(fingerprintVersion, 'A fingerprintVersion')
  checkDetail(detail)
}

export function lineCell(key: Buffer): Cell<Line> {
  return cell(lines, key)
}

export function runEntryCell(run: Buffer, key: Buffer): Cell<RunEntry> {
  return cell(byRun, concat(run, key))
}

/** Its work is done; failed is not, and claimed is not yet. */
export function isProcessed({ status }: { readonly status: LineStatus }): boolean {
  return status !== 'claimed' && status !== 'failed'
}

export function isHeld({ status, leaseUntil = 0 }: Line, now: number): boolean {
  return status === 'claimed' && leaseUntil > now
}

/** A line beyond retention is as good as none, but for a claim that is still held. */
export function isRemembered(line: Line, now: number, retentionMs: number): boolean {
  return line.at + retentionMs > now || isHeld(line, now)
}

export function ledgerLine(line: Line): LedgerLine {
  const { id, status, at, token, leaseUntil, source, run, worker, of, detail } = line
  const { language, fingerprintVersion } = line
  return {
    id,
    status,
    at,
    token,
    ...(status === 'claimed' && leaseUntil !== undefined && { leaseUntil }),
    ...(source !== undefined && { source }),
    ...(run !== undefined && { run }),
    ...(worker !== undefined && { worker }),
    ...(of !== undefined && { of }),
    ...(detail !== undefined && { detail }),
    ...(language !== undefined && { language }),
    ...(fingerprintVersion !== undefined && { fingerprintVersion }),
  }
}

/** The line in force, for bodies that decide by it. */
export function* lookLine(key: Buffer): Transaction<Line | undefined> {
  const [line] = yield* read(lineCell(key))
  return line
}

/**
 * Writes a final line inside the caller's own transaction. It replaces whatever line the document has; whoever holds a
 * claim on it has lost it.
 */
export function* recordLine(scope: Scope, prepared: PreparedLine): Transaction<Recorded> {
  const { key, id, status, source, run, worker, of, detail } = prepared
  const { language, fingerprintVersion } = prepared
  if (run !== undefined) yield* requireRunning(run)
  const [replaced] = yield* read(lineCell(key))
  const token = replaced ? replaced.token + 1 : 0
  const at = scope.now()
  const leaseUntil = undefined
  const previous = undefined
  const names = { id, source, run, worker, of, language, fingerprintVersion }
  const line = { ...names, status, token, at, leaseUntil, detail, previous }
  yield* putLine(scope, key, replaced, line)
  return { line, replaced }
}

export async function recordLines(
  backend: Backend,
  prepared: readonly PreparedLine[],
): Promise<(LedgerLine | undefined)[]> {
  const ended: PromiseSettledResult<Recorded>[] = []
  for (let from = 0; from < prepared.length; from += RECORDED_AT_ONCE) {
    const last = new Map<string, Promise<unknown>>()
    const begun = prepared.slice(from, from + RECORDED_AT_ONCE).map(async (line) => {
      const before = last.get(line.id)
      const recorded = before
        ? before.catch(() => {}).then(() => backend.run(recordLine, line))
        : backend.run(recordLine, line)
      last.set(line.id, recorded)
      return recorded
    })
    ended.push(...(await Promise.allSettled(begun)))
  }
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value.replaced && ledgerLine(one.value.replaced)
  })
}

/** Another document took this one's place. Only what was processed can be superseded; anything else is left alone. */
export function* supersedeLine(
  scope: Scope,
  key: Buffer,
  by: { readonly of: string; readonly run?: string | undefined; readonly detail?: string },
): Transaction<Line | undefined> {
  const { run } = by
  if (run !== undefined) yield* requireRunning(run)
  const [old] = yield* read(lineCell(key))
  if (!old || !isProcessed(old)) return undefined
  const { of, detail = old.detail } = by
  const at = scope.now()
  const line: Line = { ...old, status: 'superseded', at, of, detail, run: run ?? old.run }
  yield* putLine(scope, key, old, line)
  return line
}

/** Puts a line in the place of `old`, which is what was read there. `next.previous` is found here. */
export function* putLine(
  scope: Scope,
  key: Buffer,
  old: Line | undefined,
  next: Line,
): Transaction<void> {
  let previous = old?.previous
  if (!old || old.run !== next.run) {
    if (old) {
      const kept = yield* withoutRun(scope, key, old, runKey(next.run))
      scope.write(runEntryCell(runKey(old.run), key), { replaced: kept })
      previous = runKey(old.run)
    }
    if (next.run !== undefined) scope.write(runEntryCell(runKey(next.run), key), IN_FORCE)
    countOfRun(scope, next.run, next.status, 1)
  } else if (old.status !== next.status) {
    countOfRun(scope, next.run, old.status, -1)
    countOfRun(scope, next.run, next.status, 1)
  }
  placeLine(scope, key, old, { ...next, previous })
}

/**
 * The chain of lines beneath `top` without the one of this run, which is about to be on top of it again: two runs
 * took turns. Without this, the chain would be a circle.
 */
function* withoutRun(scope: Scope, key: Buffer, top: Line, run: Buffer): Transaction<Line> {
  if (!top.previous) return top
  const own = runEntryCell(run, key)
  const [entry] = yield* read(own)
  if (!entry?.replaced) return top
  const { status, previous } = entry.replaced
  if (run.equals(NO_RUN)) scope.remove(own)
  else countOfRun(scope, entry.replaced.run, status, -1)
  if (top.previous.equals(run)) return { ...top, previous }
  let above: Buffer | undefined = top.previous
  for (let steps = 0; above && steps < CHAIN_MAX; steps++) {
    const place: Cell<RunEntry> = runEntryCell(above, key)
    const [{ replaced } = IN_FORCE] = yield* read(place)
    if (replaced?.previous?.equals(run)) {
      scope.write(place, { replaced: { ...replaced, previous } })
      return top
    }
    above = replaced?.previous
  }
  return top
}

/** Writes the line in force, its row under its source, and what counts the lines in force. */
export function placeLine(scope: Scope, key: Buffer, old: Line | undefined, next: Line): void {
  scope.write(lineCell(key), next)
  moveSource(scope, key, old?.source, next.source)
  if (old) countInForce(scope, old.status, old.source, -1)
  countInForce(scope, next.status, next.source, 1)
}

/** Takes the line in force away; rows under runs are the caller's. */
export function removeLine(scope: Scope, key: Buffer, old: Line): void {
  scope.remove(lineCell(key))
  moveSource(scope, key, old.source, undefined)
  countInForce(scope, old.status, old.source, -1)
}

function moveSource(
  scope: Scope,
  key: Buffer,
  from: string | undefined,
  to: string | undefined,
): void {
  if (from === to) return
  if (from !== undefined) scope.remove(cell(bySource, concat(sourceName(from).key, key)))
  if (to !== undefined) scope.write(cell(bySource, concat(sourceName(to).key, key)), PRESENT)
}

export function countInForce(
  scope: Scope,
  status: LineStatus,
  source: string | undefined,
  delta: number,
): void {
  const number = STATUSES.indexOf(status)
  add(scope, overallTallies[number], delta)
  if (source !== undefined) add(scope, sourceName(source).tallies[number], delta)
}

/** Of a run is counted what it made of its documents, also when a later run replaced it. */
export function countOfRun(
  scope: Scope,
  run: string | undefined,
  status: LineStatus,
  delta: number,
): void {
  if (run !== undefined) add(scope, runName(run).tallies[STATUSES.indexOf(status)], delta)
}

function add(scope: Scope, tally: Cell<number> | undefined, delta: number): void {
  if (tally) scope.add(tally, delta)
}
