/**
 * Takes runs back: because somebody undoes them, because a run refused its input, or because another run decides about
 * their inputs again. In many transactions; the status of a run says so, until all are done.
 */

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  changeRun,
  findRun,
  isOpen,
  isTakenBack,
  leasedOf,
  listRuns,
  type RunHead,
  type RunRow,
} from '../runs.ts'
import { dropFiles } from '../done-files.ts'
import { State } from '../state.ts'
import { holdsDocuments } from '../state-settings.ts'
import { restoreOthers } from '../output/reconcile.ts'
import { dropReplays } from './replay.ts'
import { clearRun, countDocuments, reliedOnBy, undoRun } from './undo.ts'
import { endUndo, takeOutputsBack } from './undo-outputs.ts'

export interface Undone {
  readonly run: string
  readonly documents: number
  /** Where its documents were taken out of the outputs; empty for a stream. */
  readonly out: string
  readonly notes: readonly string[]
}

/** Takes a run back; with `cascade`, those that rely on it first. Returns the runs that were taken back. */
export async function undoJob(backend: Backend, id: string, cascade: boolean): Promise<Undone[]> {
  const { run, runs, relying } = await undoable(backend, id, cascade)
  const undone: Undone[] = []
  for (const other of runs.toReversed()) {
    if (relying.has(other.id)) undone.push(...(await undoJob(backend, other.id, true)))
  }
  undone.push(...(await takeBackRedone(backend, run, runs)))
  if (!isTakenBack(run)) undone.push(await takeBack(backend, run))
  return undone
}

/** What `undoJob` would take back, in its order; refuses what it refuses. Nothing is changed. */
export async function wouldUndo(backend: Backend, id: string, cascade: boolean): Promise<Undone[]> {
  const { run, runs, relying } = await undoable(backend, id, cascade)
  const would = new Map<string, Undone>()
  for (const other of runs.toReversed()) {
    if (!relying.has(other.id)) continue
    for (const one of await wouldUndo(backend, other.id, true)) would.set(one.run, one)
  }
  if (!isTakenBack(run)) {
    const documents = await countDocuments(backend, id)
    would.set(id, { run: id, documents, out: run.out, notes: [] })
  }
  return [...would.values()]
}

interface Undoable {
  readonly run: RunRow
  readonly runs: readonly RunHead[]
  /** Those that have to be taken back before it. */
  readonly relying: ReadonlySet<string>
}

async function undoable(backend: Backend, id: string, cascade: boolean): Promise<Undoable> {
  const run = await findRun(backend, id)
  if (run.redoneBy !== undefined) throw redone(run, run.redoneBy)
  const relying = await reliedOnBy(backend, id)
  if (relying.size > 0 && !cascade) {
    throw new PrestigeError(
      'RUN_RELIED_ON',
      `Run ${id} cannot be taken back: ${[...relying].join(', ')} dropped or cut documents because of what it kept. Undo those first, or all of them with --cascade.`,
    )
  }
  const runs = await listRuns(backend)
  const involved = new Set([id, ...relying, ...(run.redoes ?? [])])
  const open = runs.find((one) => isOpen(one) && !involved.has(one.id))
  if (open) throw open.status === 'undoing' ? halfUndone(open.id) : stillOpen(open.id)
  return { run, runs, relying }
}

export function halfUndone(id: string): PrestigeError {
  const message = `Run ${id} is half undone. Finish that first: prestige undo ${id} --state STATE`
  return new PrestigeError('SETTINGS_MISMATCH', message)
}

function stillOpen(id: string): PrestigeError {
  const message = `Run ${id} was interrupted or is still active. Give its command again to finish it, or undo it first: prestige undo ${id} --state STATE`
  return new PrestigeError('SETTINGS_MISMATCH', message)
}

function redone({ id }: RunHead, by: string): PrestigeError {
  return new PrestigeError(
    'RUN_ENDED',
    `Run ${id} was superseded by run ${by}, which decided about its inputs again. Undo run ${by} instead.`,
  )
}

/** Runs that were about to be redone stay as they are, unless the first of them is taken back already. */
async function takeBackRedone(
  backend: Backend,
  { id, redoes = [], hasReplaced }: RunRow,
  runs: readonly RunHead[],
): Promise<Undone[]> {
  const heads = runs.filter((run) => redoes.includes(run.id))
  if (hasReplaced || heads.every(({ redoneBy }) => redoneBy === undefined)) return []
  const undone: Undone[] = []
  for (const head of heads.toReversed()) {
    if (isTakenBack(head)) continue
    undone.push(await takeBack(backend, await findRun(backend, head.id), { redoneBy: id }))
  }
  return undone
}

/** Why a run is taken back, unless somebody has asked for it. */
export interface TakenBack {
  /** What the run itself refused. */
  readonly refused?: string
  /** The run that decides about its inputs again. */
  readonly redoneBy?: string
}

export async function takeBack(
  backend: Backend,
  run: RunRow,
  { refused, redoneBy }: TakenBack = {},
): Promise<Undone> {
  const { id, out } = run
  const isOurs = await backend.run(changeRun, run.id, (head: RunHead) => {
    const isAnothers = refused !== undefined && (head.status === 'undoing' || isTakenBack(head))
    if (isAnothers) return undefined
    const why = {
      ...(refused !== undefined && { refused }),
      ...(redoneBy !== undefined && { redoneBy }),
    }
    return { ...head, status: 'undoing', ...why }
  })
  // Another worker of the run was refused something too.
  if (!isOurs) return { run: id, documents: 0, out, notes: [] }
  // From here on, no worker writes anything more for it: to the ledger it is undone.
  const documents = hasDecided(run) ? await removeDecisions(backend, run) : 0
  await dropFiles(backend, run)
  if (redoneBy !== undefined) {
    // Outputs stay as they are until the run that redoes it publishes.
    await clearRun(backend, run, leasedOf(run), true)
    await backend.run(changeRun, id, (head: RunHead) => ({ ...head, status: 'superseded' }))
    return { run: id, documents, out, notes: [] }
  }
  const notes = await takeOutputsBack(backend, run)
  await clearRun(backend, run, leasedOf(run))
  await dropReplays(backend, run)
  // Its name may be used again.
  await endUndo(backend, run)
  return { run: id, documents, out, notes: [...notes, ...(await restoreOthers(backend, id, out))] }
}

/** Until a run has replaced those that it redoes, it has decided nothing, and the state has their settings. */
function hasDecided({ redoes, hasReplaced }: RunHead): boolean {
  return redoes === undefined || hasReplaced === true
}

async function removeDecisions(backend: Backend, run: RunRow): Promise<number> {
  // Such a state has taken whatever settings it was opened with.
  if (!(await holdsDocuments(backend))) return 0
  const state = await State.open(backend, run.config, { compares: false })
  return undoRun(backend, state.engine, run.id)
}
