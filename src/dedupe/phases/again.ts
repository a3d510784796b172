/**
 * Redoing: one run decides again about everything that earlier runs have processed for the same outputs, with other
 * settings. What the state has of their documents is collected first (collect-replays.ts). Then those runs are taken back,
 * the last one first, and the state takes the settings of the new run. Texts of documents stay until the new run ends.
 *
 * Invariant: from the first row that is taken back on, the new run is there and names what it redoes, so that the same
 * command can be given again at any moment. What was published stays until the new run publishes.
 */

import type { Backend, Scope, Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Settings } from '../../platform/settings.ts'
import { noteProgress } from '../../ledger/index.ts'
import { entriesOf } from '../output/lines.ts'
import { documents } from '../rows.ts'
import {
  changeRun,
  findRun,
  isOpen,
  isTakenBack,
  listRuns,
  publishedTo,
  readHead,
  type RunHead,
  type RunRow,
} from '../runs.ts'
import type { State } from '../state.ts'
import { clearIndexes, differencesFrom, recordSettings, writeReplaced } from '../state-settings.ts'
import { type Affected, type Change, changesFrom, type Said } from './again-settings.ts'
import { filesOf, rowsOf } from './again-inputs.ts'
import { collectReplays, type Collected } from './collect-replays.ts'
import { type Held, type Leases, publishing, requireGoingOn } from './leases.ts'
import { takeBack } from './take-back.ts'
import { reliedOnBy } from './undo.ts'

/** What is going to be decided about again. */
export interface Redo extends Affected {
  readonly runs: readonly string[]
  /** Of the documents, how many are kept now. */
  readonly kept: number
  readonly changes: readonly Change[]
  /** What is decided about from the state, and what is read again. */
  readonly collected: Collected
}

/** The runs that a run for these outputs redoes, or that the run which is open does. */
export function redoable(
  runs: readonly RunHead[],
  open: RunHead | undefined,
  out: string,
): RunHead[] {
  if (!open) return publishedTo(runs, out)
  return runs.filter(({ id }) => open.redoes?.includes(id))
}

/** Before anything is changed: nothing outside of these runs depends on what they decided. */
export async function requireRedoable(
  state: State,
  runs: readonly RunHead[],
  redoes: readonly RunHead[],
): Promise<void> {
  const { backend, mismatch } = state
  const ids = new Set(redoes.map(({ id }) => id))
  const others = runs.filter(({ id, status }) => status === 'finished' && !ids.has(id))
  const { value: other } = await withDocuments(backend, others).next()
  if (!other) return
  if (mismatch.length > 0) throw sharedState(other)
  for (const { id } of redoes) {
    const relying = [...(await reliedOnBy(backend, id))].filter((one) => !ids.has(one))
    if (relying.length > 0) throw reliedOn(id, relying)
  }
}

/** Runs that have decided about at least one document: only of those do settings matter. */
async function* withDocuments(backend: Backend, runs: readonly RunHead[]): AsyncGenerator<RunHead> {
  for (const run of runs) {
    const entries = await entriesOf(backend, run.id).next()
    if (!entries.done) yield run
  }
}

/** The last run with documents that has published there. */
export async function lastDecided(
  backend: Backend,
  runs: readonly RunHead[],
  out: string,
): Promise<RunHead | undefined> {
  for await (const run of withDocuments(backend, publishedTo(runs, out).toReversed())) return run
  return undefined
}

async function documentsIn(backend: Backend, run: string): Promise<number> {
  let count = 0
  for await (const { entries } of entriesOf(backend, run)) count += entries.length
  return count
}

function sharedState({ id, out }: RunHead): PrestigeError {
  const whose = out ? `run ${id}, which wrote to ${out}` : `run ${id}`
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    `The state also holds documents of ${whose}, and all documents of a state are compared with the same settings. Nothing was changed. Use a state of its own: --state OTHER -o OTHER.`,
  )
}

function reliedOn(id: string, relying: readonly string[]): PrestigeError {
  return new PrestigeError(
    'RUN_RELIED_ON',
    `Run ${id} cannot be redone: ${relying.join(', ')}, with other outputs, dropped or cut documents because of what it kept. Nothing was changed. Undo those first, or use a state of its own: --state OTHER -o OTHER.`,
  )
}

/** Documents and files of runs. */
export async function affectedBy(backend: Backend, runs: readonly RunHead[]): Promise<Affected> {
  let count = 0
  for (const { id } of runs) count += await documentsIn(backend, id)
  const rows = await rowsOf(backend, runs)
  const files = new Set(rows.flatMap(({ shards }) => filesOf(shards)).map(({ file }) => file))
  return { documents: count, files: files.size }
}

export async function describeRedo(
  backend: Backend,
  redoes: readonly RunHead[],
  said: Said | undefined,
  collected: Collected,
): Promise<Redo> {
  const ids = new Set(redoes.map(({ id }) => id))
  let kept = 0
  for await (const { value } of backend.scan(documents)) {
    if (ids.has(value.run) && (value.action === 'keep' || value.action === 'link')) kept++
  }
  const last = redoes.at(-1)
  const changes = last && said ? changesFrom(last.config, said) : []
  return { ...(await affectedBy(backend, redoes)), runs: [...ids], kept, changes, collected }
}

export interface Replacing {
  readonly signal: AbortSignal | undefined
  readonly said?: Said | undefined
  /** Called before anything is taken back. */
  readonly onAgain?: ((redo: Redo) => void) | undefined
}

/** Takes back the runs that are redone, and gives the state the settings of the run; or waits until another has. */
export async function replaceEarlier(
  state: State,
  run: RunRow,
  leases: Leases,
  replacing: Replacing,
): Promise<void> {
  const { signal } = replacing
  const { backend } = state
  for (;;) {
    signal?.throwIfAborted()
    const head = await readHead(backend, run.id)
    if (!head || head.hasReplaced || !isOpen(head)) return
    // Nobody publishes before that is done, so the lease is free for it.
    const held = await leases.take(publishing(run.shards.length))
    if (typeof held === 'string') await leases.wait(signal)
    else {
      await leases.use(held, () => replaceAs(state, { ...run, ...head }, leases, held, replacing))
      await leases.release(held)
    }
  }
}

async function replaceAs(
  state: State,
  run: RunRow,
  leases: Leases,
  held: Held,
  replacing: Replacing,
): Promise<void> {
  const { backend, settings } = state
  const { signal } = replacing
  const fence = (scope: Scope) => requireHeldFor(scope, held)
  if (!run.hasCollected) await collectFrom(backend, run, held, replacing)
  for (const id of (run.redoes ?? []).toReversed()) {
    signal?.throwIfAborted()
    if (!(await leases.renew(held))) return
    const earlier = await findRun(backend, id)
    if (!isTakenBack(earlier)) await takeBack(backend, earlier, { redoneBy: run.id })
  }
  const found = await recordSettings(backend, settings)
  const differs = differencesFrom(found, settings, true).length > 0
  if (differs) await clearIndexes(backend, fence, true)
  await backend.run(noteReplaced, held, differs ? settings : undefined)
}

async function collectFrom(
  backend: Backend,
  run: RunRow,
  held: Held,
  { said, onAgain }: Replacing,
): Promise<void> {
  const fence = (scope: Scope) => requireHeldFor(scope, held)
  const heads = (await listRuns(backend)).filter(({ id }) => run.redoes?.includes(id))
  const collected = await collectReplays(backend, run, await rowsOf(backend, heads), fence)
  onAgain?.(await describeRedo(backend, heads, said, collected))
  await backend.run(noteCollected, held)
}

/** From here on, what is collected is complete. */
function* noteCollected(scope: Scope, held: Held): Transaction<void> {
  yield* requireHeldFor(scope, held)
  yield* changeRun(scope, held.run, (head) => ({ ...head, hasCollected: true }))
}

function* requireHeldFor(scope: Scope, held: Held): Transaction<void> {
  yield* requireGoingOn(held)
  yield* noteProgress(scope, held, '')
}

/** At once: whoever opens the state goes by the settings of the run, or still by those of the earlier ones. */
function* noteReplaced(
  scope: Scope,
  held: Held,
  settings: Settings | undefined,
): Transaction<void> {
  yield* requireHeldFor(scope, held)
  if (settings) yield* writeReplaced(scope, settings)
  yield* changeRun(scope, held.run, (head) => ({ ...head, hasReplaced: true }))
}
