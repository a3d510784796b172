/**
 * The corpus job: inputs in, kept documents, duplicates, rejects, a manifest and a report out.
 *
 * A run decides about every document, is held against the guards, and only then publishes. It goes on where it was
 * cut off; asked for again when it is finished, it does nothing, unless earlier runs are to be redone (phases/again.ts).
 */

import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { resolve } from '../platform/paths.ts'
import { requireSame } from '../platform/settings.ts'
import type { ListingInput, OutputFormat, ReadingInput, Shard, Skipped } from '../input/index.ts'
import type { Embedder } from '../semantic/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { type DecideOptions, decideRun, type JobEvents } from './phases/decide-run.ts'
import { violationsIn } from './phases/guards.ts'
import { Leases, requireSameRun, type WorkerOptions } from './phases/leases.ts'
import { hasEnded, type JobResult, publishRun, resultOf } from './phases/publish-run.ts'
import { beginRun } from './phases/begin-run.ts'
import { ClusterCounter } from './phases/cluster-sizes.ts'
import { Outcome } from './phases/outcome.ts'
import { adoptOutputs } from './output/affected.ts'
import { duplicatesOf, writeLines } from './output/publish.ts'
import { restoreOthers, restoreOutputs } from './output/reconcile.ts'
import { listRuns, type RunRow } from './runs.ts'
import { type NotDone } from './done-files.ts'
import { type Redo, replaceEarlier } from './phases/again.ts'
import type { Said } from './phases/again-settings.ts'
import { State } from './state.ts'
import { summarise, type Summary } from './phases/summary.ts'
import type { JobMetrics } from './metrics.ts'
import { requireTarget } from './output/target.ts'
import { takeBack } from './phases/take-back.ts'

export interface JobOptions {
  readonly embedder?: Embedder | undefined
  readonly metrics?: JobMetrics | undefined
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
  /** In which format outputs are written. Default: that of the earlier runs to the directory, or of each input. */
  readonly formatOut?: OutputFormat | undefined
  /**
   * An output is several files of at most so many bytes, before compression. Default: as the earlier runs to the
   * directory have it, or one file.
   */
  readonly shardSize?: number | undefined
  /** Below the inputs, and not read. */
  readonly passedOver?: readonly Skipped[] | undefined
  /** The first piece of input that is no document stops the run, which is then taken back. */
  readonly strict?: boolean | undefined
  /** How workers share the run: whoever asks for the same while it goes on works along. */
  readonly sharing?: WorkerOptions | undefined
  /** Decide again about all that earlier runs have processed for these outputs. */
  readonly again?: boolean | undefined
  /** What was typed: named where it differs from earlier runs. */
  readonly said?: Said | undefined
  /** Called before anything is decided about again. */
  readonly onAgain?: ((redo: Redo) => void) | undefined
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

/** Several processes that ask for the same work on one run, and end with the same result. `opened`: a state that is. */
export async function runJob(
  backend: Backend,
  options: JobOptions,
  opened?: State,
): Promise<JobResult> {
  if (opened) return runOn(opened, options)
  const { config, embedder, metrics, memory } = options
  const state = await State.open(backend, config, { embedder, metrics, memory, defers: true })
  try {
    return await runOn(state, options)
  } finally {
    await state.release()
  }
}

async function runOn(opened: State, given: JobOptions): Promise<JobResult> {
  const { backend, config } = opened
  const options = { ...given, config }
  const out = resolve(options.out)
  const runs = await listRuns(backend)
  await requireTarget(
    out,
    runs.some((known) => known.out === out),
  )
  await adoptOutputs(backend, out)
  const run = await beginRun(opened, options)
  if (!('id' in run)) return nothingToDo(backend, run, options)
  const leases = new Leases(backend, run, options.sharing)
  try {
    await backend.read(requireSameRun, run)
    return await withReady(opened, run, leases, options, async (state) => {
      await decideOrTakeBack(state, run, leases, options)
      const result = await publishRun(backend, run, leases, { ...options, given: options.shards })
      if (result.isPublisher) await state.engine.sealRest(backend)
      return result
    })
  } catch (error) {
    if (!hasEnded(error)) throw error
    // Others have ended it meanwhile, in one way or another.
    return await resultOf(backend, run.id)
  } finally {
    await leases.close()
  }
}

/** With a state that has the settings of the run: what is redone is taken back before. */
async function withReady<T>(
  opened: State,
  run: RunRow,
  leases: Leases,
  { watcher, embedder, memory, metrics, said, onAgain }: JobOptions,
  use: (state: State) => Promise<T>,
): Promise<T> {
  const { backend, mismatch } = opened
  if (!run.redoes) {
    requireSame(
      'state',
      mismatch,
      `To discard run ${run.id}: prestige undo ${run.id} --state STATE`,
    )
    return use(opened)
  }
  await replaceEarlier(opened, run, leases, { signal: watcher?.signal, said, onAgain })
  const model = embedder ?? opened.engine.meaning?.embedder
  const state = await State.open(backend, run.config, { embedder: model, memory, metrics })
  try {
    return await use(state)
  } finally {
    await state.release()
  }
}

/** Every decision, and nothing else: the backend is an overlay that keeps all writes to itself. */
export async function planJob(
  backend: Backend,
  options: JobOptions,
  file: string | undefined,
): Promise<PlanResult> {
  const { config, embedder } = options
  const state = await State.open(backend, config, { embedder, defers: true })
  try {
    return await planOn(state, options, file)
  } finally {
    await state.release()
  }
}

async function planOn(
  opened: State,
  given: JobOptions,
  file: string | undefined,
): Promise<PlanResult> {
  const { backend, config } = opened
  const options = { ...given, config }
  const run = await beginRun(opened, options)
  if (!('id' in run)) {
    if (file !== undefined) await writeLines(file, [])
    return { status: 'nothing', summary: await summarise(backend, ''), violations: [] }
  }
  const leases = new Leases(backend, run, options.sharing)
  try {
    await backend.read(requireSameRun, run)
    await leases.takeAllBack(run.shards.length)
    await withReady(opened, run, leases, options, (state) =>
      decideRun(state, run, decidingOf(run, options, leases)),
    )
  } finally {
    await leases.close()
  }
  const outcome = new Outcome()
  const summary = await summarise(backend, run.id, new ClusterCounter(), outcome)
  if (file !== undefined) await writeLines(file, duplicatesOf(backend, run, outcome))
  const rejection = outcome.rejected.message(run.shards)
  const found = await violationsIn(backend, run, summary)
  return { status: 'planned', summary, violations: found, rejection }
}

function decidingOf(
  { reading = {} }: RunRow,
  { watcher = {}, strict = false }: JobOptions,
  leases: Leases,
): DecideOptions {
  return { reading, watcher, strict, leases }
}

async function decideOrTakeBack(
  state: State,
  run: RunRow,
  leases: Leases,
  options: JobOptions,
): Promise<void> {
  try {
    await decideRun(state, run, decidingOf(run, options, leases))
  } catch (error) {
    const isRefused = error instanceof PrestigeError && error.code === 'INPUT_REJECTED'
    if (isRefused) await takeBack(state.backend, run, { refused: error.message })
    throw error
  }
}

/** No document is new; but outputs that are no longer there are written again. */
async function nothingToDo(
  backend: Backend,
  { skipped, doneBy }: NotDone,
  { out, shards }: JobOptions,
): Promise<JobResult> {
  const runs = await listRuns(backend)
  const run = runs.findLast(({ status }) => status === 'finished')?.id ?? ''
  const earlier = runs
    .filter(({ id }) => doneBy.has(id))
    .map(({ id, out, command }) => ({ run: id, out, command }))
  const summary = await summarise(backend, '')
  const { files, notes } = await restoreOutputs(backend, resolve(out), run, shards)
  const elsewhere = await restoreOthers(backend, run, resolve(out))
  const written = { files, notes: [...notes, ...elsewhere] }
  return { run, status: 'nothing', isPublisher: false, ...written, summary, skipped, earlier }
}
