/** Runs: what was asked for, how far it came, and which input files earlier runs have done already. */

import { createHash, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'

import { endOfPrefix } from '../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { InputFile, ReadingInput, Shard } from '../input/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { states } from './rows.ts'

export type RunStatus = 'deciding' | 'publishing' | 'stopped' | 'finished' | 'undoing' | 'undone'

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
  /** Input files. */
  readonly files: number
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

const RUNS = Buffer.from('run/')
const FILES = 'file/'
const PIECE_LENGTH = 500_000
/** The most bytes that JSON needs for a character. */
const CHARACTER_BYTES = 6
const LAST = cell(states, Buffer.from('last'))

export function runCell(id: string) {
  return cell(states, Buffer.concat([RUNS, Buffer.from(id)]))
}

export function fingerprintOf(
  config: DedupeConfig,
  shards: readonly Shard[],
  out: string,
  reading: ReadingInput | undefined,
): string {
  const inputs = shards.map(({ path, fileBytes, modifiedMs, start, end, format }) => [
    path,
    fileBytes,
    modifiedMs,
    start,
    end,
    format,
  ])
  const files = shards.flatMap((shard) => shard.files ?? [])
  const small = files.map(({ path, fileBytes, modifiedMs }) => [path, fileBytes, modifiedMs])
  const told = JSON.stringify([config, inputs, small, out, reading ?? {}])
  return createHash('sha256').update(told).digest('hex').slice(0, 32)
}

export async function listRuns(backend: Backend): Promise<RunHead[]> {
  const runs: RunHead[] = []
  for await (const { value } of backend.scan(states, { start: RUNS, end: endOfPrefix(RUNS) })) {
    runs.push(value as RunHead) // safe: only keepRun writes rows of this prefix
  }
  return runs.toSorted((one, other) => one.number - other.number)
}

export async function findRun(backend: Backend, id: string): Promise<RunRow> {
  const found = (await listRuns(backend)).find((run) => run.id === id)
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
  return (await backend.run(keepFirst, kept)) ? kept : undefined
}

// oxlint-disable-next-line require-yield -- it only writes
function* keepPiece(scope: Scope, run: RunHeadKey, piece: number, text: string): Transaction<void> {
  scope.write(pieceCell(run, piece), text)
}

type RunHeadKey = Pick<RunHead, 'id' | 'fingerprint'>

/** Of several processes that begin a run at the same time, one does. */
function* keepFirst(scope: Scope, run: RunHead): Transaction<boolean> {
  const [last] = yield* read(LAST)
  if (typeof last === 'string') {
    const head = yield* headOf(last)
    if (head && isOpen(head)) return false
  }
  scope.write(LAST, run.id)
  yield* keepRun(scope, run)
  return true
}

/** It goes on, or could. */
export function isOpen({ status }: RunHead): boolean {
  return status !== 'finished' && status !== 'undone'
}

function* headOf(id: string): Transaction<RunHead | undefined> {
  const [head] = yield* read(runCell(id))
  return head as RunHead | undefined // safe: only keepRun writes rows of this prefix
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
  const head = yield* headOf(id)
  const next = head && change(head)
  if (next) yield* keepRun(scope, next)
  return next !== undefined
}

/** The head alone: inputs never change. */
export function* keepRun(scope: Scope, run: RunHead): Transaction<void> {
  yield* read(runCell(run.id))
  const { id, number, status, startedAt, finishedAt, config, fingerprint, out, files, pieces } = run
  const head: RunHead = {
    id,
    number,
    status,
    startedAt,
    ...(finishedAt !== undefined && { finishedAt }),
    config,
    fingerprint,
    out,
    ...(run.refused !== undefined && { refused: run.refused }),
    files,
    pieces,
  }
  scope.write(runCell(id), head)
}

const PAGE = 1024

/** So many rows, read and written, are one transaction. */
function pageOf({ limits }: Backend): number {
  return Math.min(PAGE, Math.floor(limits.cellsMax / 2))
}

/** Notes which files a run has done. They count as done when the run is finished, not before. */
export async function keepFiles(backend: Backend, { id, shards }: RunRow): Promise<void> {
  const files = shards.flatMap((shard) => shard.files ?? [shard])
  const page = pageOf(backend)
  for (let from = 0; from < files.length; from += page) {
    await backend.run(keepFilePage, id, files.slice(from, from + page))
  }
}

// oxlint-disable-next-line require-yield -- it only writes
function* keepFilePage(scope: Scope, run: string, files: readonly InputFile[]): Transaction<void> {
  for (const { file, path, fileBytes, modifiedMs } of files) {
    const row: FileRow = { path, bytes: fileBytes, modifiedMs, run }
    scope.write(fileCell(file), row)
  }
}

export async function dropFiles(backend: Backend, { id, shards }: RunRow): Promise<void> {
  const files = shards.flatMap((shard) => shard.files ?? [shard])
  const page = pageOf(backend)
  for (let from = 0; from < files.length; from += page) {
    await backend.run(dropFilePage, id, files.slice(from, from + page))
  }
}

function* dropFilePage(scope: Scope, run: string, files: readonly InputFile[]): Transaction<void> {
  const rows = yield* read(...files.map(({ file }) => fileCell(file)))
  for (const [at, row] of rows.entries()) {
    const file = files[at]
    if (file && Reflect.get(Object(row), 'run') === run) scope.remove(fileCell(file.file))
  }
}

/** By its whole path: the name below the inputs' root changes with what else is given. */
function fileCell(file: string) {
  return cell(states, Buffer.from(FILES + fileHash(file)))
}

function fileHash(file: string): string {
  return createHash('sha256').update(resolve(file)).digest('hex').slice(0, 32)
}

interface FileRow {
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  readonly run: string
}

/** Recognizes the files that a finished run has done and that are as they were. */
export async function doneFiles(
  backend: Backend,
  runs: readonly RunHead[],
): Promise<(file: InputFile) => boolean> {
  const done = new Map<string, FileRow>()
  const finished = new Set(runs.filter((run) => run.status === 'finished').map(({ id }) => id))
  const start = Buffer.from(FILES)
  for await (const { key, value } of backend.scan(states, { start, end: endOfPrefix(start) })) {
    const row = value as FileRow // safe: only keepFilePage writes these
    if (finished.has(row.run)) done.set(key.toString().slice(FILES.length), row)
  }
  return (file) => {
    const row = done.size === 0 ? undefined : done.get(fileHash(file.file))
    return row?.bytes === file.fileBytes && row.modifiedMs === file.modifiedMs
  }
}

/** Shards of files that no finished run has done, and the names of the others. */
export async function notDone(
  backend: Backend,
  shards: readonly Shard[],
  runs: readonly RunHead[],
): Promise<{ readonly todo: Shard[]; readonly skipped: string[] }> {
  const isSame = await doneFiles(backend, runs)
  const skipped: string[] = []
  const isDone = (file: InputFile) => {
    const isOld = isSame(file)
    if (isOld) skipped.push(file.path)
    return isOld
  }
  const todo: Shard[] = []
  for (const shard of shards) {
    const files = shard.files?.filter((file) => !isDone(file))
    if (files ? files.length === 0 : isDone(shard)) continue
    todo.push({ ...shard, ...(files && { files }), index: todo.length })
  }
  return { todo, skipped: [...new Set(skipped)] }
}
