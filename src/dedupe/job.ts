/**
 * The corpus job: inputs in, kept documents, duplicates, rejects, a manifest and a report out.
 *
 * A run decides about every document, is held against the guards, and only then publishes. It goes on where it was
 * cut off; asked for again when it is finished, it does nothing.
 */

import { resolve } from 'node:path'

import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { ListingInput, ReadingInput, Shard } from '../input/index.ts'
import type { Embedder } from '../semantic/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { type DecideOptions, decideRun, type JobEvents } from './phases/decide-run.ts'
import { violations } from './phases/guards.ts'
import { Leases, requireSameRun, type WorkerOptions } from './phases/leases.ts'
import { hasEnded, type JobResult, publishRun, resultOf } from './phases/publish-run.ts'
import { requireNoLinks, requireOwnFolder, requireOwnNames } from './output/output-names.ts'
import { ClusterCounter } from './phases/cluster-sizes.ts'
import { Outcome } from './phases/outcome.ts'
import { duplicatesOf, writeLines } from './output/publish.ts'
import {
  changeRun,
  dropFiles,
  findRun,
  fingerprintOf,
  isOpen,
  keepNewRun,
  leasedOf,
  listRuns,
  newRunName,
  notDone,
  readRun,
  requireRunName,
  type RunHead,
  type RunRow,
} from './runs.ts'
import { State } from './state.ts'
import { summarise, type Summary } from './phases/summary.ts'
import { requireTarget } from './output/target.ts'
import { clearRun, reliedOnBy, undoRun } from './phases/undo.ts'

export interface JobOptions {
  readonly embedder?: Embedder | undefined
  /** Bytes that indexes in memory may have. */
  readonly memory?: number | undefined
  readonly config: DedupeConfig
  readonly shards: readonly Shard[]
  /** The directory of all outputs. */
  readonly out: string
  readonly reading?: ReadingInput | undefined
  readonly listing?: ListingInput | undefined
  /** Names the run; else a name is made of the time. */
  readonly run?: string | undefined
  readonly watcher?: JobEvents | undefined
  readonly version?: string | undefined
  /** The first piece of input that is no document stops the run, which is then taken back. */
  readonly strict?: boolean | undefined
  /** How workers share the run: whoever asks for the same while it goes on works along. */
  readonly sharing?: WorkerOptions | undefined
}

export type { JobResult } from './phases/publish-run.ts'

export interface PlanResult {
  readonly status: 'planned' | 'nothing'
  readonly summary: Summary
  /** Ceilings that would stop the run. */
  readonly violations: readonly string[]
  /** Set if an input cannot be read, or if most of it is rejected. */
  readonly rejection?: string | undefined
}

export interface Undone {
  readonly run: string
  readonly documents: number
}

/** Several processes that ask for the same work on one run, and end with the same result. `opened`: a state that is. */
export async function runJob(
  backend: Backend,
  options: JobOptions,
  opened?: State,
): Promise<JobResult> {
  if (opened) return runOn(opened, options)
  const { config, embedder, memory } = options
  const state = await State.open(backend, config, { embedder, memory })
  try {
    return await runOn(state, options)
  } finally {
    await state.release()
  }
}

async function runOn(state: State, given: JobOptions): Promise<JobResult> {
  const { backend, config } = state
  const options = { ...given, config }
  const out = resolve(options.out)
  await requireTarget(
    out,
    (await listRuns(backend)).some((known) => known.out === out),
  )
  const run = await beginRun(backend, options)
  if (run === undefined) return nothingToDo(backend, options)
  const leases = new Leases(backend, run, options.sharing)
  try {
    await backend.read(requireSameRun, run)
    await decideOrTakeBack(state, run, leases, options)
    const result = await publishRun(backend, run, leases, options)
    if (result.isPublisher) await state.engine.keepSnapshots(backend)
    return result
  } catch (error) {
    if (!hasEnded(error)) throw error
    // Others have ended it meanwhile, in one way or another.
    return await resultOf(backend, run.id)
  } finally {
    await leases.close()
  }
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
  given: JobOptions,
  file: string | undefined,
): Promise<PlanResult> {
  const { backend, config } = state
  const options = { ...given, config }
  const run = await beginRun(backend, options)
  if (run === undefined) {
    if (file !== undefined) await writeLines(file, [])
    return { status: 'nothing', summary: await summarise(backend, ''), violations: [] }
  }
  const leases = new Leases(backend, run, options.sharing)
  try {
    await backend.read(requireSameRun, run)
    await leases.takeAllBack(run.shards.length)
    await decideRun(state, run, decidingOf(options, leases))
  } finally {
    await leases.close()
  }
  const outcome = new Outcome()
  const summary = await summarise(backend, run.id, new ClusterCounter(), outcome)
  if (file !== undefined) await writeLines(file, duplicatesOf(backend, run, outcome))
  const rejection = outcome.rejected.message(run.shards)
  const found = violations(summary, options.config, options.reading?.fields)
  return { status: 'planned', summary, violations: found, rejection }
}

function decidingOf(options: JobOptions, leases: Leases): DecideOptions {
  const { reading = {}, watcher = {}, strict = false } = options
  return { reading, watcher, strict, leases }
}

async function decideOrTakeBack(
  state: State,
  run: RunRow,
  leases: Leases,
  options: JobOptions,
): Promise<void> {
  try {
    await decideRun(state, run, decidingOf(options, leases))
  } catch (error) {
    const isRefused = error instanceof PrestigeError && error.code === 'INPUT_REJECTED'
    if (isRefused) await takeBack(state.backend, run, error.message)
    throw error
  }
}

/** A new run, or one that goes on or was cut off; none if nothing is left to do. */
async function beginRun(backend: Backend, options: JobOptions): Promise<RunRow | undefined> {
  const { config, out, reading } = options
  for (;;) {
    const runs = await listRuns(backend)
    const open = runs.find(isOpen)
    if (open?.status === 'undoing') throw halfUndone(open.id)
    const { todo, skipped } = await notDone(backend, options.shards, runs)
    const fingerprint = fingerprintOf(fingerprintsOnly(config), todo, resolve(out), reading)
    if (!open && todo.length === 0) return undefined
    if (!open) await requireNames(runs, todo, options)
    const run = open
      ? await joined(backend, open, fingerprint, options)
      : await newRun(backend, { runs, todo, skipped, fingerprint }, options)
    // Another process was faster: look again.
    if (run) return run
  }
}

/** Before anything is recorded: what earlier runs wrote to the same directory is never replaced. */
async function requireNames(
  runs: readonly RunHead[],
  todo: readonly Shard[],
  { out, run }: JobOptions,
): Promise<void> {
  const undone = new Set(runs.filter(({ status }) => status === 'undone').map(({ id }) => id))
  const isGone = (id: string) => undone.has(id)
  await requireOwnNames(resolve(out), todo, isGone)
  await requireNoLinks(resolve(out), todo)
  if (run !== undefined) await requireOwnFolder(resolve(out), run, isGone)
}

interface Inputs {
  readonly runs: readonly RunHead[]
  readonly todo: readonly Shard[]
  readonly skipped: readonly string[]
  readonly fingerprint: string
}

/** `undefined` if another process was faster. */
async function newRun(
  backend: Backend,
  { runs, todo, skipped, fingerprint }: Inputs,
  { config, out, run, reading }: JobOptions,
): Promise<RunRow | undefined> {
  const id = run ?? newRunName(backend.now())
  requireRunName(id)
  if (runs.some((one) => one.id === id && one.status !== 'undone')) throw nameTaken(id)
  return keepNewRun(backend, {
    id,
    number: (runs.at(-1)?.number ?? 0) + 1,
    status: 'deciding',
    startedAt: backend.now(),
    config,
    fingerprint,
    out: resolve(out),
    shards: todo.map(withWholePath),
    skipped,
    reading,
  })
}

/** Whoever works along may be in another directory. */
function withWholePath(shard: Shard): Shard {
  const files = shard.files?.map((one) => ({ ...one, file: resolve(one.file) }))
  return { ...shard, file: resolve(shard.file), ...(files && { files }) }
}

/** Ceilings may be raised when a run is taken up again. `undefined` if it has ended meanwhile. */
async function joined(
  backend: Backend,
  open: RunHead,
  fingerprint: string,
  { config, watcher }: JobOptions,
): Promise<RunRow | undefined> {
  if (open.fingerprint !== fingerprint) {
    throw new PrestigeError(
      'SETTINGS_MISMATCH',
      `Run ${open.id} was interrupted or is still active, and this call differs from it (inputs, how they are read, config or output). Give its command again to resume it, or undo it: prestige undo ${open.id} --state STATE`,
    )
  }
  const isJoined = await backend.run(changeRun, open.id, (head: RunHead) => {
    if (!isOpen(head) || head.fingerprint !== fingerprint) return undefined
    return { ...head, config, status: head.status === 'stopped' ? 'deciding' : head.status }
  })
  if (!isJoined) return undefined
  watcher?.onJoin?.(open.id)
  return { ...(await backend.read(readRun, open)), config }
}

function halfUndone(id: string): PrestigeError {
  const message = `Run ${id} is half undone. Finish that first: prestige undo ${id} --state STATE`
  return new PrestigeError('SETTINGS_MISMATCH', message)
}

function nameTaken(id: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', `There is a run ${id} already: a name is used once.`)
}

/**
 * What must be the same when a run is taken up again: ceilings may be raised. Settings that are off are left out, and
 * all are in one order, so that runs of states from before there were such settings are recognised.
 */
function fingerprintsOnly(whole: DedupeConfig): object {
  const { maxDrop: _share, maxCluster: _size, containment, near, simhash, ...config } = whole
  const { enabled, threshold, profile, slots, bands, rows, evidence, guards, ...others } = near
  const { precision, judge, candidatesMax, bucketMax, action } = others
  const { exact, canonical, ...rest } = config
  const hash = { enabled: simhash.enabled, distanceMax: simhash.distanceMax }
  const measured = { enabled, threshold, profile, slots, bands, rows, evidence }
  const limits = { candidatesMax, bucketMax, action }
  return {
    exact,
    canonical,
    simhash: {
      ...hash,
      profile: simhash.enabled ? simhash.profile : 'auto',
      action: simhash.action,
    },
    near: { ...measured, ...limits, guards: guards || undefined, precision, judge: judge?.hash },
    ...rest,
    maxDrop: 1,
    containment: containment.enabled ? containment : undefined,
  }
}

async function nothingToDo(backend: Backend, { shards }: JobOptions): Promise<JobResult> {
  const last = (await listRuns(backend)).findLast(({ status }) => status === 'finished')
  const run = last?.id ?? ''
  const skipped = [...new Set(shards.map(({ path }) => path))]
  const summary = await summarise(backend, '')
  return { run, status: 'nothing', isPublisher: false, summary, files: [], notes: [], skipped }
}

/** Takes a run back; with `cascade`, those that rely on it first. Returns the runs that were taken back. */
export async function undoJob(backend: Backend, id: string, cascade: boolean): Promise<Undone[]> {
  const run = await findRun(backend, id)
  const relying = await reliedOnBy(backend, id)
  const undone: Undone[] = []
  if (relying.size > 0 && !cascade) {
    throw new PrestigeError(
      'RUN_RELIED_ON',
      `Run ${id} cannot be taken back: ${[...relying].join(', ')} dropped or cut documents because of what it kept. Undo those first, or all of them with --cascade.`,
    )
  }
  const runs = await listRuns(backend)
  for (const other of runs.toReversed()) {
    if (relying.has(other.id)) undone.push(...(await undoJob(backend, other.id, true)))
  }
  if (run.status !== 'undone') undone.push({ run: id, documents: await takeBack(backend, run) })
  return undone
}

/** In many transactions; the status says so, until all are done. `refused`: why the run itself does so. */
async function takeBack(backend: Backend, run: RunRow, refused?: string): Promise<number> {
  const isOurs = await backend.run(changeRun, run.id, (head: RunHead) => {
    const isAnothers = refused !== undefined && ['undoing', 'undone'].includes(head.status)
    if (isAnothers) return undefined
    return { ...head, status: 'undoing', ...(refused !== undefined && { refused }) }
  })
  // Another worker of the run was refused something too.
  if (!isOurs) return 0
  // From here on, no worker writes anything more for it: to the ledger it is undone.
  const state = await State.open(backend, run.config, { compares: false })
  const documents = await undoRun(backend, state.engine, run.id)
  await dropFiles(backend, run)
  await clearRun(backend, run, leasedOf(run))
  // Its name may be used again.
  await backend.run(changeRun, run.id, (head: RunHead) => ({ ...head, status: 'undone' }))
  return documents
}
