/**
 * The end of a run: once everything is decided about and below the ceilings, one worker publishes, and the others
 * wait for it; if it is not heard of any more, the next one publishes. All end with the same result.
 *
 * What is published follows from the decisions alone, so a worker that was only slow writes what is there already.
 */

import type { Backend, Scope, Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { readFile } from '../../platform/files.ts'
import { join, resolve } from '../../platform/paths.ts'
import type { Shard, Skipped } from '../../input/index.ts'
import { finishShard, noteProgress } from '../../ledger/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { ClusterCounter } from './cluster-sizes.ts'
import { stopped, violations, violationsIn } from './guards.ts'
import type { JobEvents } from './decide-run.ts'
import { type Held, type Leases, publishing, requireGoingOn } from './leases.ts'
import { Outcome } from './outcome.ts'
import { writeWhole } from '../../platform/atomic-file.ts'
import { removeLeftovers } from '../output/leftovers.ts'
import { dropSwap } from '../output/output-rows.ts'
import { writeRecords } from '../output/publish.ts'
import { publishOutputs, restoreOthers } from '../output/reconcile.ts'
import { recordPath, showRecords } from '../output/records.ts'
import { removeStaged } from '../output/swap.ts'
import { findPassages } from '../passages/find-passages.ts'
import { changeRun, readHead, type RunHead, type RunRow, type RunStatus } from '../runs.ts'
import { keepFiles } from '../done-files.ts'
import { reopenOrphans } from './orphans.ts'
import { dropReplays } from './replay.ts'
import { summarise, type Summary } from './summary.ts'

export interface JobResult {
  readonly run: string
  /** `nothing`: every input was done by earlier runs. */
  readonly status: 'finished' | 'nothing'
  /** This worker wrote the outputs; else another one did. */
  readonly isPublisher: boolean
  readonly summary: Summary
  readonly files: readonly string[]
  readonly notes: readonly string[]
  readonly skipped: readonly string[]
  /** Set if an input could not be read, or if most of it was rejected: what was, and why. */
  readonly rejection?: string | undefined
  /** Where there is nothing to do: the runs that have processed the inputs, and where their results are. */
  readonly earlier?: readonly EarlierRun[] | undefined
}

export interface EarlierRun {
  readonly run: string
  readonly out: string
  /** What was typed; `undefined` of a run that a program began. */
  readonly command: string | undefined
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
  /** Below the inputs, and not read: how many, and the first of them. */
  readonly passedOver: { readonly count: number; readonly files: readonly Skipped[] }
  readonly outputs: readonly string[]
  readonly notes: readonly string[]
  readonly rejection?: string | undefined
  readonly summary: Summary
}

/** Files below the inputs that are not read: so many of them are listed. */
const PASSED_OVER_MAX = 1000

export interface PublishOptions {
  /** All inputs of the call: outputs of those that earlier runs have processed must be there too. */
  readonly given?: readonly Shard[] | undefined
  readonly passedOver?: readonly Skipped[] | undefined
  readonly watcher?: JobEvents | undefined
  readonly version?: string | undefined
}

/** Publishes, or waits until another worker has. */
export async function publishRun(
  backend: Backend,
  run: RunRow,
  leases: Leases,
  options: PublishOptions,
): Promise<JobResult> {
  const { signal } = options.watcher ?? {}
  for (;;) {
    signal?.throwIfAborted()
    const head = await readHead(backend, run.id)
    if (!head || head.status === 'finished' || head.status.startsWith('undo')) {
      return resultOf(backend, run.id)
    }
    if (head.status === 'stopped') await throwIfStopped(backend, head)
    const held = await leases.take(publishing(run.shards.length))
    if (typeof held === 'string') {
      await leases.wait(signal)
      continue
    }
    const result = await leases.use(held, () =>
      publishAs(backend, { ...run, ...head }, leases, held, options),
    )
    if (result) return result
  }
}

/** Another worker has found that a ceiling was passed. */
async function throwIfStopped(backend: Backend, { id, config }: RunHead): Promise<void> {
  const found = violations(await summarise(backend, id), config)
  if (found.length > 0) throw stopped(found, id)
}

async function publishAs(
  backend: Backend,
  run: RunRow,
  leases: Leases,
  held: Held,
  { watcher, version = '', given, passedOver = [] }: PublishOptions,
): Promise<JobResult> {
  const outcome = new Outcome()
  const summary = await summarise(backend, run.id, new ClusterCounter(), outcome)
  const beyond = await violationsIn(backend, run, summary)
  if (beyond.length > 0) {
    await backend.run(setStatus, held, 'stopped')
    throw stopped(beyond, run.id)
  }
  await backend.run(setStatus, held, 'publishing')
  watcher?.onPhase?.('publishing', run.id)
  const before = () => requireLease(leases, held)
  const guard = (scope: Scope) => stillHeld(scope, held)
  await removeLeftovers(run.out, [], run.id)
  const passages = await findPassages(backend, run, held, before)
  const published = await publishOutputs(backend, { run, outcome, guard, before, given })
  const { files } = published
  await before()
  await writeRecords(backend, run, outcome)
  const finished: RunRow = { ...run, status: 'finished', finishedAt: backend.now() }
  await before()
  await keepFiles(backend, finished, ({ index }) => outcome.rejected.isMostly(index))
  const orphans = await reopenOrphans(backend, outcome.orphaning)
  const notes = [...passages, ...published.notes, ...orphans]
  const outputs = files.map((file) => file.slice(resolve(run.out).length + 1))
  const rejection = outcome.rejected.message(run.shards)
  const written = { summary, outputs, notes, rejection, version, passedOver: listed(passedOver) }
  const manifest = manifestOf(finished, written)
  await requireLease(leases, held)
  await writeWhole(manifestPath(run), [`${JSON.stringify(manifest, undefined, 2)}\n`])
  await showRecords(run.out, run.id)
  await requireLease(leases, held)
  await dropReplays(backend, run)
  await backend.run(finish, held, finished)
  leases.lose(held)
  await removeStaged(run.out)
  const { id, skipped } = run
  const elsewhere = await restoreOthers(backend, id, run.out)
  const result = { summary, files, notes: [...notes, ...elsewhere], skipped, rejection }
  return { run: id, status: 'finished', isPublisher: true, ...result }
}

async function requireLease(leases: Leases, held: Held): Promise<void> {
  if (await leases.renew(held)) return
  throw new PrestigeError('CLAIM_LOST', `Another worker publishes run ${held.run} by now.`)
}

function* stillHeld(scope: Scope, held: Held): Transaction<void> {
  yield* requireGoingOn(held)
  yield* noteProgress(scope, held, '')
}

function* setStatus(scope: Scope, held: Held, status: RunStatus): Transaction<void> {
  yield* stillHeld(scope, held)
  yield* changeRun(scope, held.run, (head) => ({ ...head, status }))
}

function* finish(scope: Scope, held: Held, run: RunRow): Transaction<void> {
  yield* requireGoingOn(held)
  yield* finishShard(scope, held, '')
  yield* dropSwap(scope, run.out)
  yield* changeRun(scope, run.id, () => run)
}

export function hasEnded(error: unknown): boolean {
  if (!(error instanceof PrestigeError)) return false
  return error.code === 'RUN_ENDED' || error.code === 'RUN_NOT_FOUND'
}

/** What came of a run that another worker has ended. */
export async function resultOf(backend: Backend, id: string): Promise<JobResult> {
  const run = await readHead(backend, id)
  if (run?.refused !== undefined) throw new PrestigeError('INPUT_REJECTED', run.refused)
  if (run?.status !== 'finished') {
    throw new PrestigeError('RUN_ENDED', `Run ${id} was taken back while it went on.`)
  }
  const { outputs = [], notes = [], skipped = [], rejection, summary } = await manifestIn(run)
  return {
    run: id,
    status: 'finished',
    isPublisher: false,
    summary: summary ?? (await summarise(backend, id)),
    files: outputs.map((name) => join(run.out, name)),
    notes,
    skipped,
    rejection,
  }
}

/** The manifest of a run; empty where it is gone. */
export async function manifestIn(run: RunHead): Promise<Partial<Manifest>> {
  try {
    // safe: whatever else it is has another run, or none
    const manifest = JSON.parse(await readFile(manifestPath(run), 'utf8')) as Partial<Manifest>
    return manifest.run === run.id ? manifest : {}
  } catch {
    return {}
  }
}

function manifestPath({ out, id }: RunHead): string {
  return recordPath(out, id, 'manifest.json')
}

type WrittenResults = Pick<
  Manifest,
  'summary' | 'outputs' | 'notes' | 'rejection' | 'version' | 'passedOver'
>

function listed(passedOver: readonly Skipped[]): Manifest['passedOver'] {
  return { count: passedOver.length, files: passedOver.slice(0, PASSED_OVER_MAX) }
}

function manifestOf(run: RunRow, written: WrittenResults): Manifest {
  const { summary, outputs, notes, rejection, version, passedOver } = written
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
    passedOver,
    outputs,
    notes,
    ...(rejection !== undefined && { rejection }),
    summary,
  }
}
