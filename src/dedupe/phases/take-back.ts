/**
 * Takes runs back: because somebody undoes them, because a run refused its input, or because another run decides about
 * their inputs again. In many transactions; the status of a run says so, until all are done.
 */

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  changeRun,
  dropFiles,
  findRun,
  isTakenBack,
  leasedOf,
  listRuns,
  type RunHead,
  type RunRow,
} from '../runs.ts'
import { State } from '../state.ts'
import { clearRun, reliedOnBy, undoRun } from './undo.ts'

export interface Undone {
  readonly run: string
  readonly documents: number
}

/** Takes a run back; with `cascade`, those that rely on it first. Returns the runs that were taken back. */
export async function undoJob(backend: Backend, id: string, cascade: boolean): Promise<Undone[]> {
  const run = await findRun(backend, id)
  if (run.redoneBy !== undefined) throw redone(run, run.redoneBy)
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
  undone.push(...(await takeBackRedone(backend, run, runs)))
  if (!isTakenBack(run)) undone.push({ run: id, documents: await takeBack(backend, run) })
  return undone
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
    const documents = await takeBack(backend, await findRun(backend, head.id), { redoneBy: id })
    undone.push({ run: head.id, documents })
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
): Promise<number> {
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
  if (!isOurs) return 0
  // From here on, no worker writes anything more for it: to the ledger it is undone.
  const documents = hasDecided(run) ? await removeDecisions(backend, run) : 0
  await dropFiles(backend, run)
  await clearRun(backend, run.id, leasedOf(run))
  // The name of a run that is undone may be used again.
  const status = redoneBy === undefined ? 'undone' : 'superseded'
  await backend.run(changeRun, run.id, (head: RunHead) => ({ ...head, status }))
  return documents
}

/** Until a run has replaced those that it redoes, it has decided nothing, and the state has their settings. */
function hasDecided({ redoes, hasReplaced }: RunHead): boolean {
  return redoes === undefined || hasReplaced === true
}

async function removeDecisions(backend: Backend, run: RunRow): Promise<number> {
  const state = await State.open(backend, run.config, { compares: false })
  return undoRun(backend, state.engine, run.id)
}
