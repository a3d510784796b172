/**
 * Runs: what was asked for, and how far it came. A run is a row of the ledger's runs; what only the job knows of it is in
 * that row too.
 */

import { createHash, randomBytes } from 'node:crypto'

import { type Backend, cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { runCell, type RunRow as LedgerRun, runs as ledgerRuns } from '../ledger/index.ts'
import type { ListingInput, ReadingInput, Shard } from '../input/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { states } from './rows.ts'

/** See `ListingInput.sources`. */
export type SourceRule = NonNullable<ListingInput['sources']>

/** `superseded`: a later run has decided about its inputs again. */
export type RunStatus =
  | 'deciding'
  | 'publishing'
  | 'stopped'
  | 'finished'
  | 'undoing'
  | 'undone'
  | 'superseded'

/** A run without its inputs. */
export interface RunHead {
  readonly id: string
  /** In the order in which runs began. */
  readonly number: number
  readonly status: RunStatus
  readonly startedAt: number
  readonly finishedAt?: number
  readonly config: DedupeConfig
  /** Of config, inputs and output: the same means the same run. */
  readonly fingerprint: string
  readonly out: string
  /** Why it was taken back by itself. */
  readonly refused?: string
  /** What was typed to begin it, without secrets. */
  readonly command?: string
  /** Fields that its inputs were read by. */
  readonly fields?: ReadingInput['fields']
  /** Earlier runs whose inputs it decides about again, in their order. */
  readonly redoes?: readonly string[]
  /** What the state has of their documents is collected, so that they are decided about without their inputs. */
  readonly hasCollected?: boolean
  /** Those are taken back, and the state has the settings of this run. */
  readonly hasReplaced?: boolean
  /** The run that decides about its inputs again. */
  readonly redoneBy?: string
  /** Input files. */
  readonly files: number
  /** How documents got their source. Absent in runs from before there was a choice: by files. */
  readonly sources?: SourceRule | undefined
  /** Rows that its inputs are kept in: a row has a limit, and inputs have none. */
  readonly pieces: number
}

export interface RunRow extends RunHead {
  readonly shards: readonly Shard[]
  /** Input files that earlier runs have done, unchanged since. */
  readonly skipped: readonly string[]
  /** How the inputs are read: what is written and shown later is read in the same way. */
  readonly reading?: ReadingInput | undefined
}

const PIECE_LENGTH = 500_000
/** The most bytes that JSON needs for a character. */
const CHARACTER_BYTES = 6
const LAST = cell(states, Buffer.from('last'))

export function fingerprintOf(
  config: object,
  shards: readonly Shard[],
  out: string,
  reading: ReadingInput | undefined,
): string {
  const inputs = shards.map(({ path, fileBytes, modifiedMs, start, end, format, etag }) => [
    path,
    fileBytes,
    modifiedMs,
    start,
    end,
    format,
    ...(etag ? [etag] : []),
  ])
  const files = shards.flatMap((shard) => shard.files ?? [])
  const small = files.map(({ path, fileBytes, modifiedMs, etag }) =>
    etag ? [path, fileBytes, modifiedMs, etag] : [path, fileBytes, modifiedMs],
  )
  const described = JSON.stringify([
    renamed(config, 'threshold', 'similarityMin'),
    inputs,
    small,
    out,
    reading ?? {},
  ])
  return createHash('sha256').update(described).digest('hex').slice(0, 32)
}

/** Thresholds had another name in states of format 1, by which fingerprints of runs are still made. */
export function renamed<Config extends object>(config: Config, from: string, to: string): Config {
  const entries = Object.entries(config).map(([name, value]: [string, unknown]) => {
    const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
    return [name === from ? to : name, isSection ? renamed(value, from, to) : value]
  })
  // safe: only the name of a setting differs, and whoever asks for it wants that one
  return Object.fromEntries(entries) as Config
}

export async function listRuns(backend: Backend): Promise<RunHead[]> {
  const runs: RunHead[] = []
  for await (const { value } of backend.scan(ledgerRuns)) {
    const head = headIn(value)
    if (head) runs.push(head)
  }
  return runs.toSorted((one, other) => one.number - other.number)
}

/** How the runs of a state name sources; `undefined` in a state without any. */
export function sourceRuleOf(runs: readonly RunHead[]): SourceRule | undefined {
  const first = runs.find(({ status, fingerprint }) => status !== 'undone' && fingerprint !== '')
  return first && (first.sources ?? 'files')
}

export async function findRun(backend: Backend, id: string): Promise<RunRow> {
  const found = await readHead(backend, id)
  if (found) return backend.read(readRun, found)
  throw new PrestigeError('KEY_NOT_FOUND', `There is no run ${JSON.stringify(id)} in this state.`)
}

export function newRunName(now: number): string {
  const time = new Date(now).toISOString().replaceAll(/[-:]/g, '').slice(0, 15).replace('T', '-')
  return `${time}-${randomBytes(2).toString('hex')}`
}

export function requireRunName(id: string): void {
  if (/^[\w.-]{1,64}$/.test(id)) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${JSON.stringify(id)} cannot name a run: a name has up to 64 letters, digits, dots and dashes.`,
  )
}

function pieceCell({ id, fingerprint }: Pick<RunHead, 'id' | 'fingerprint'>, piece: number) {
  return cell(states, Buffer.from(`inputs/${id}/${fingerprint}/${piece}`))
}

export function* readRun(_scope: unknown, head: RunHead): Transaction<RunRow> {
  let text = ''
  for (let piece = 0; piece < head.pieces; piece++) {
    text += String((yield* read(pieceCell(head, piece)))[0])
  }
  // safe: only keepNewRun writes these rows
  const inputs = JSON.parse(text || '{"shards":[],"skipped":[]}') as Pick<
    RunRow,
    'shards' | 'skipped' | 'reading'
  >
  return { ...head, ...inputs }
}

/** A new run with all its inputs. `undefined` if another process has begun one meanwhile. */
export async function keepNewRun(
  backend: Backend,
  run: Omit<RunRow, 'pieces' | 'files'>,
): Promise<RunRow | undefined> {
  const { shards, skipped, reading } = run
  const text = JSON.stringify({ shards, skipped, reading })
  const { valueBytesMax } = backend.limits
  const length = Math.min(PIECE_LENGTH, Math.floor((valueBytesMax - 16) / CHARACTER_BYTES))
  const pieces = Math.ceil(text.length / length)
  for (let piece = 0; piece < pieces; piece++) {
    // Nobody looks at them before the run is there.
    await backend.run(keepPiece, run, piece, text.slice(piece * length, (piece + 1) * length))
  }
  const paths = new Set(shards.flatMap((one) => (one.files ?? [one]).map(({ path }) => path)))
  const kept: RunRow = { ...run, pieces, files: paths.size }
  return (await backend.run(insertIfNoneOpen, kept, leasedOf(kept))) ? kept : undefined
}

// oxlint-disable-next-line require-yield -- it only writes
function* keepPiece(scope: Scope, run: RunHeadKey, piece: number, text: string): Transaction<void> {
  scope.write(pieceCell(run, piece), text)
}

type RunHeadKey = Pick<RunHead, 'id' | 'fingerprint'>

/** The run that was begun last. */
export function* lastBegun(): Transaction<RunHead | undefined> {
  const [last] = yield* read(LAST)
  return typeof last === 'string' ? yield* headOf(last) : undefined
}

/** Of several processes that begin a run at the same time, one does. */
function* insertIfNoneOpen(scope: Scope, run: RunHead, leased: number): Transaction<boolean> {
  const last = yield* lastBegun()
  if (last && isOpen(last)) return false
  scope.write(LAST, run.id)
  yield* read(runCell(run.id))
  scope.write(runCell(run.id), rowOf(run, leased))
  return true
}

/** What is leased of a run: its shards, then the deciding where order must not matter, then the publishing. */
export function leasedOf({ shards }: { readonly shards: readonly unknown[] }): number {
  return shards.length + 2
}

/** Of the run: another run of the same name has another. */
export function editionOf({ number }: { readonly number: number }): string {
  return String(number)
}

/** `leased`: how many pieces of work workers lease. */
export function rowOf(head: RunHead, leased: number): LedgerRun {
  const { id, startedAt, finishedAt } = head
  const { number, status, config, fingerprint, out, refused, files, pieces } = head
  const { command, fields, redoes, hasCollected, hasReplaced, redoneBy, sources } = head
  // What is undefined is left out of JSON.
  const again = { command, fields, redoes, hasCollected, hasReplaced, redoneBy, sources }
  const job = { number, status, config, fingerprint, out, refused, ...again, files, pieces }
  return {
    id,
    status: ledgerStatusOf(head),
    startedAt,
    endedAt: finishedAt,
    shards: leased,
    configDigest: editionOf(head),
    job: JSON.stringify(job),
  }
}

/** To the ledger, a run that takes documents is running: a stream does until it is undone. */
function ledgerStatusOf({ status, fingerprint }: RunHead): LedgerRun['status'] {
  if (status === 'undoing' || isTakenBack({ status })) return 'undone'
  return status === 'finished' && fingerprint !== '' ? 'finished' : 'running'
}

/** `undefined` of a run that is not the job's. */
function headIn({ id, startedAt, endedAt, job }: LedgerRun): RunHead | undefined {
  if (job === undefined) return undefined
  const finished = endedAt !== undefined && { finishedAt: endedAt }
  // safe: only rowOf writes it
  return { id, startedAt, ...finished, ...(JSON.parse(job) as Omit<RunHead, 'id' | 'startedAt'>) }
}

/** It goes on, or could. A run that is taken back by another is not: that one is. */
export function isOpen({ status, redoneBy }: RunHead): boolean {
  return status !== 'finished' && redoneBy === undefined && !isTakenBack({ status })
}

/** The state holds nothing of it any more. */
export function isTakenBack({ status }: Pick<RunHead, 'status'>): boolean {
  return status === 'undone' || status === 'superseded'
}

/** Finished runs over files that have published there: what a run can redo. */
export function publishedTo(runs: readonly RunHead[], out: string): RunHead[] {
  return runs.filter(
    (run) => run.status === 'finished' && run.fingerprint !== '' && run.out === out,
  )
}

export function* headOf(id: string): Transaction<RunHead | undefined> {
  const [row] = yield* read(runCell(id))
  return row && headIn(row)
}

export function readHead(backend: Backend, id: string): Promise<RunHead | undefined> {
  return backend.read(() => headOf(id))
}

/** Changes a run that others may change too. Nothing is written if `change` gives nothing. */
export function* changeRun(
  scope: Scope,
  id: string,
  change: (head: RunHead) => RunHead | undefined,
): Transaction<boolean> {
  const [row] = yield* read(runCell(id))
  const head = row && headIn(row)
  const next = head && change(head)
  if (next) scope.write(runCell(id), rowOf(next, row.shards))
  return next !== undefined
}
