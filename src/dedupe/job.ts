/**
 * The corpus job: inputs in, kept documents, duplicates, rejects, a manifest and a report out.
 *
 * A run decides about every document, is held against the guards, and only then publishes. It goes on where it was
 * cut off; asked for again when it is finished, it does nothing.
 */

import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'

import { type Backend, read, type Scope, type Transaction } from '../backends/contract.ts'
import { PrestigeError } from '../errors.ts'
import { runName } from '../ledger/names.ts'
import { finishRun, runCell } from '../ledger/runs.ts'
import { dropRun } from '../ledger/undo.ts'
import type { ListingInput, ReadingInput, Shard } from '../input/index.ts'
import type { Embedder } from '../semantic/embedding/embedder.ts'
import type { DedupeConfig } from './config.ts'
import { decideRun, type DecideOptions, type Watcher } from './decide-run.ts'
import { stopped, violations } from './guards.ts'
import { duplicatesOf, publish, writeLines, writeWhole } from './publish.ts'
import {
  dropFiles,
  findRun,
  fingerprintOf,
  keepFiles,
  keepNewRun,
  keepRun,
  listRuns,
  notDone,
  readRun,
  requireRunName,
  type RunHead,
  type RunRow,
} from './runs.ts'
import { State } from './state.ts'
import { type Summary, summarise } from './summary.ts'
import { clearRun, reliedOnBy, undoRun } from './undo.ts'

export interface JobOptions {
  readonly embedder?: Embedder | undefined
  readonly config: DedupeConfig
  readonly shards: readonly Shard[]
  /** The directory of all outputs. */
  readonly out: string
  readonly reading?: ReadingInput | undefined
  readonly listing?: ListingInput | undefined
  /** Names the run; else a name is made of the time. */
  readonly run?: string | undefined
  readonly watcher?: Watcher | undefined
  readonly version?: string | undefined
  /** The first piece of input that is no document stops the run, which is then taken back. */
  readonly strict?: boolean | undefined
}

export interface JobResult {
  readonly run: string
  /** `nothing`: every input was done by earlier runs. */
  readonly status: 'finished' | 'nothing'
  readonly summary: Summary
  readonly files: readonly string[]
  readonly notes: readonly string[]
  readonly skipped: readonly string[]
}

export interface PlanResult {
  readonly status: 'planned' | 'nothing'
  readonly summary: Summary
  /** Ceilings that would stop the run. */
  readonly violations: readonly string[]
}

export interface Undone {
  readonly run: string
  readonly documents: number
}

export interface Manifest {
  readonly format: 1
  readonly run: string
  readonly version: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly config: DedupeConfig
  readonly inputs: readonly { path: string; bytes: number; format: string }[]
  readonly skipped: readonly string[]
  readonly outputs: readonly string[]
  readonly notes: readonly string[]
  readonly summary: Summary
}

export async function runJob(backend: Backend, options: JobOptions): Promise<JobResult> {
  const { config, embedder } = options
  const state = await State.open(backend, config, { embedder })
  try {
    return await runOn(state, options)
  } finally {
    await state.release()
  }
}

async function runOn(state: State, options: JobOptions): Promise<JobResult> {
  const { backend } = state
  const run = await beginRun(backend, options)
  if (run === undefined) return nothingToDo(backend, options)
  await decideOrTakeBack(state, run, options)
  const summary = await summarise(backend, run.id)
  const found = violations(summary, options.config)
  if (found.length > 0) {
    await backend.run(keepRun, { ...run, status: 'stopped' })
    throw stopped(found, run.id)
  }
  await backend.run(keepRun, { ...run, status: 'publishing' })
  options.watcher?.onPhase?.('publishing', run.id)
  const { files, notes } = await publish(backend, run)
  const finished: RunRow = { ...run, status: 'finished', finishedAt: backend.now() }
  const outputs = files.map((file) => file.slice(resolve(run.out).length + 1))
  const manifest = manifestOf(finished, summary, outputs, notes, options.version ?? '')
  await writeWhole(join(run.out, 'manifest.json'), [`${JSON.stringify(manifest, undefined, 2)}\n`])
  await keepFiles(backend, finished)
  await backend.run(endRun, run.id, 'finished')
  await backend.run(keepRun, finished)
  return { run: run.id, status: 'finished', summary, files, notes, skipped: run.skipped }
}

/** Every decision, and nothing else: the backend is an overlay that keeps all writes to itself. */
export async function planJob(
  backend: Backend,
  options: JobOptions,
  file: string | undefined,
): Promise<PlanResult> {
  const state = await State.open(backend, options.config, { embedder: options.embedder })
  try {
    return await planOn(state, options, file)
  } finally {
    await state.release()
  }
}

async function planOn(
  state: State,
  options: JobOptions,
  file: string | undefined,
): Promise<PlanResult> {
  const { backend } = state
  const run = await beginRun(backend, options)
  if (run === undefined) {
    if (file !== undefined) await writeLines(file, [])
    return { status: 'nothing', summary: await summarise(backend, ''), violations: [] }
  }
  await decideRun(state, run, decidingOf(options))
  if (file !== undefined) await writeLines(file, duplicatesOf(backend, run))
  const summary = await summarise(backend, run.id)
  return { status: 'planned', summary, violations: violations(summary, options.config) }
}

function decidingOf({ reading = {}, watcher = {}, strict = false }: JobOptions): DecideOptions {
  return { reading, watcher, strict }
}

async function decideOrTakeBack(state: State, run: RunRow, options: JobOptions): Promise<void> {
  try {
    await decideRun(state, run, decidingOf(options))
  } catch (error) {
    const isRefused = error instanceof PrestigeError && error.code === 'INPUT_REJECTED'
    if (isRefused) await takeBack(state.backend, run)
    throw error
  }
}

/** A new run, or the one that was cut off; none if nothing is left to do. */
async function beginRun(backend: Backend, options: JobOptions): Promise<RunRow | undefined> {
  const { config, out } = options
  const runs = await listRuns(backend)
  const open = runs.find(({ status }) => status !== 'finished' && status !== 'undone')
  if (open?.status === 'undoing') throw halfUndone(open.id)
  const { todo, skipped } = await notDone(backend, options.shards, runs)
  const fingerprint = fingerprintOf(fingerprintsOnly(config), todo, resolve(out))
  if (open) {
    if (open.fingerprint === fingerprint) return resumed(backend, open, config)
    throw new PrestigeError(
      'SETTINGS_MISMATCH',
      `Run ${open.id} was cut off, and what is asked for now is another (inputs, config or output differ). Give the same again to go on with it, or undo it: prestige undo ${open.id}.`,
    )
  }
  if (todo.length === 0) return undefined
  const id = options.run ?? newName(backend.now())
  requireRunName(id)
  if (runs.some((run) => run.id === id && run.status !== 'undone')) throw nameTaken(id)
  return backend.run(keepNewRun, {
    id,
    number: (runs.at(-1)?.number ?? 0) + 1,
    status: 'deciding',
    startedAt: backend.now(),
    config,
    fingerprint,
    out: resolve(out),
    shards: todo,
    skipped,
  })
}

function halfUndone(id: string): PrestigeError {
  const message = `Run ${id} is half undone. Finish that first: prestige undo ${id}.`
  return new PrestigeError('SETTINGS_MISMATCH', message)
}

function nameTaken(id: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', `There is a run ${id} already: a name is used once.`)
}

/** Ceilings may be raised when a stopped run is taken up again. */
function fingerprintsOnly({
  maxDrop: _share,
  maxCluster: _size,
  ...config
}: DedupeConfig): DedupeConfig {
  return { ...config, maxDrop: 1 }
}

async function resumed(backend: Backend, run: RunHead, config: DedupeConfig): Promise<RunRow> {
  const whole = await backend.read(readRun, run)
  const again: RunRow = { ...whole, config, status: 'deciding' }
  await backend.run(keepRun, again)
  return again
}

async function nothingToDo(backend: Backend, { shards }: JobOptions): Promise<JobResult> {
  const last = (await listRuns(backend)).findLast(({ status }) => status === 'finished')
  const run = last?.id ?? ''
  const skipped = [...new Set(shards.map(({ path }) => path))]
  const summary = await summarise(backend, run)
  return { run, status: 'nothing', summary, files: [], notes: [], skipped }
}

function newName(now: number): string {
  const time = new Date(now).toISOString().replaceAll(/[-:]/g, '').slice(0, 15).replace('T', '-')
  return `${time}-${randomBytes(2).toString('hex')}`
}

function manifestOf(
  run: RunRow,
  summary: Summary,
  outputs: readonly string[],
  notes: readonly string[],
  version: string,
): Manifest {
  const { id, startedAt, finishedAt = startedAt, config, shards, skipped } = run
  const inputs = shards.flatMap((shard) =>
    (shard.files ?? [shard]).map(({ path, fileBytes }) => ({
      path,
      bytes: fileBytes,
      format: shard.format,
    })),
  )
  const byPath = new Map(inputs.map((input) => [input.path, input]))
  return {
    format: 1,
    run: id,
    version,
    startedAt: new Date(startedAt).toISOString(),
    finishedAt: new Date(finishedAt).toISOString(),
    config,
    inputs: [...byPath.values()],
    skipped,
    outputs,
    notes,
    summary,
  }
}

/** Takes a run back; with `cascade`, those that rely on it first. Returns the runs that were taken back. */
export async function undoJob(backend: Backend, id: string, cascade: boolean): Promise<Undone[]> {
  const run = await findRun(backend, id)
  const relying = await reliedOnBy(backend, id)
  const undone: Undone[] = []
  if (relying.size > 0 && !cascade) {
    throw new PrestigeError(
      'RUN_RELIED_ON',
      `Run ${id} cannot be taken back: ${[...relying].join(', ')} dropped documents because of what it kept. Undo those first, or all of them with --cascade.`,
    )
  }
  const runs = await listRuns(backend)
  for (const other of runs.toReversed()) {
    if (relying.has(other.id)) undone.push(...(await undoJob(backend, other.id, true)))
  }
  if (run.status !== 'undone') undone.push({ run: id, documents: await takeBack(backend, run) })
  return undone
}

/** In many transactions; the status says so, until all are done. */
async function takeBack(backend: Backend, run: RunRow): Promise<number> {
  await backend.run(keepRun, { ...run, status: 'undoing' })
  await backend.run(endRun, run.id, 'undone')
  const state = await State.open(backend, run.config, { compares: false })
  const documents = await undoRun(backend, state.engine, run.id)
  await dropFiles(backend, run)
  await clearRun(backend, run.id)
  // Its name may be used again.
  await backend.run(dropRun, runName(run.id).key, Infinity)
  await backend.run(keepRun, { ...run, status: 'undone' })
  return documents
}

/** The ledger takes no more lines of it. A run without a document was never there. */
function* endRun(scope: Scope, run: string, status: 'finished' | 'undone'): Transaction<void> {
  const [known] = yield* read(runCell(run))
  if (known) yield* finishRun(scope, run, status)
}
