/**
 * Brings `kept/` to what the ledger says. After a run or an undo, each output holds exactly those documents of its
 * input that the ledger calls accepted, and only outputs that differ from that are written.
 *
 * Outputs are written aside, then the state says that they are to be moved, then they are moved. Whoever was killed in
 * between is followed by somebody who moves them, or who begins again.
 */

import { randomBytes } from 'node:crypto'
import { rm, stat } from '../../platform/files.ts'

import type { Backend } from '../../backends/index.ts'
import type { Shard } from '../../input/index.ts'
import { isTakenBack, listRuns, type RunRow } from '../runs.ts'
import {
  addAdopted,
  addMissing,
  addOwn,
  addTouched,
  addUndone,
  type AffectedOutputs,
  touchedDocuments,
} from './affected.ts'
import { requireNoLinks } from './output-names.ts'
import { type Guard, keepSwap, outputsIn, readSettings, type SwapRow } from './output-rows.ts'
import { type OwnRun, PublishedRuns } from './published-runs.ts'
import { writeLines } from './publish.ts'
import { putUndoneAside, recordPath } from './records.ts'
import { SAVED_FILES, SAVED_FOLDER, type SavedFile, savedOf } from './saved-records.ts'
import { type Affected, Stage } from './stage.ts'
import {
  dropTouched,
  endSwap,
  finishPendingSwap,
  finishSwap,
  removeStaged,
  stagedFolder,
  type Swapped,
  unguarded,
} from './swap.ts'

interface Reconciling {
  readonly backend: Backend
  readonly out: string
  /** Whose folder superseded records are saved in. */
  readonly run: string
  readonly kind: SwapRow['kind']
  readonly guard: Guard
  readonly before: () => Promise<void>
  readonly own?: OwnRun
  /** Runs that are taken back. */
  readonly undone?: ReadonlySet<string>
  /** Inputs whose outputs must be there. */
  readonly given?: readonly Shard[]
}

export interface PublishingRun extends OwnRun {
  readonly guard: Guard
  /** Is asked before every output: whether it is still ours to write. */
  readonly before: () => Promise<void>
  readonly given?: readonly Shard[] | undefined
}

/**
 * The outputs of a run, and those of earlier runs that it has changed. The swap stays recorded until the transaction
 * that ends the run.
 */
export async function publishOutputs(
  backend: Backend,
  { run, outcome, guard, before, given = [] }: PublishingRun,
): Promise<Swapped> {
  const { out, id } = run
  const pending = await finishPendingSwap(backend, out, guard)
  if (pending?.run === id && pending.kind === 'publish') return pending
  await removeStaged(out)
  await putUndoneAside(out, id)
  // What an attempt that was killed has saved is saved again.
  for (const name of [SAVED_FOLDER, SAVED_FILES]) {
    await rm(recordPath(out, id, name), { recursive: true, force: true })
  }
  const own = { run, outcome }
  return reconcile({ backend, out, run: id, kind: 'publish', guard, before, own, given })
}

/** Takes the documents of a run out of the outputs, and brings back those that it had superseded. */
export async function undoOutputs(backend: Backend, run: RunRow): Promise<Swapped> {
  const { out, id } = run
  const pending = await finishPendingSwap(backend, out)
  if (pending?.run === id && pending.kind === 'undo') return pending
  await removeStaged(out)
  const before = () => Promise.resolve()
  // What it had redone is gone as well, unless it was cut off before that.
  const redone = (await listRuns(backend)).filter((one) => run.redoes?.includes(one.id))
  const undone = new Set([id, ...redone.filter(isTakenBack).map((one) => one.id)])
  return reconcile({ backend, out, run: id, kind: 'undo', guard: unguarded, before, undone })
}

/**
 * What runs and undos of other directories have changed in this one, and outputs of these inputs that are no longer
 * there. Only while no run is open.
 */
export async function restoreOutputs(
  backend: Backend,
  out: string,
  run: string,
  given: readonly Shard[],
): Promise<Swapped> {
  await finishPendingSwap(backend, out)
  await endSwap(backend, out)
  const before = () => Promise.resolve()
  const options = { backend, out, run, guard: unguarded, before, given }
  const reconciled = await reconcile({ ...options, kind: 'restore' })
  await endSwap(backend, out)
  return reconciled
}

/** The same for all directories of the state where documents have changed, but for this one. */
export async function restoreOthers(backend: Backend, run: string, out: string): Promise<string[]> {
  const runs = new PublishedRuns(backend, undefined)
  const touched = await touchedDocuments(backend, runs)
  if (touched.length === 0) return []
  const notes: string[] = []
  const outs = new Set((await runs.heads()).map((head) => head.out).filter(Boolean))
  outs.delete(out)
  for (const other of outs) {
    const outputs = await outputsIn(backend, other)
    if (!touched.some(({ input }) => input !== undefined && outputs.has(input))) continue
    // A directory that was moved away, or that is on another machine, is brought up to date by its next run.
    const isThere = await stat(other).catch(() => undefined)
    if (isThere) notes.push(...(await restoreOutputs(backend, other, run, [])).notes)
  }
  return notes
}

async function reconcile(options: Reconciling): Promise<Swapped> {
  const { backend, out, run, kind, guard, before, own, undone, given = [] } = options
  const runs = new PublishedRuns(backend, own)
  const outputs = await outputsIn(backend, out)
  const affected: AffectedOutputs = new Map()
  if (own) addOwn(affected, outputs, own.run, await backend.read(readSettings, out))
  if (undone) addUndone(affected, outputs, undone)
  const seen = addTouched(affected, outputs, await touchedDocuments(backend, runs))
  await addMissing(affected, backend, outputs, out, given)
  addAdopted(affected, outputs)
  if (affected.size === 0) {
    await dropTouched(backend, seen, guard)
    return { files: [], notes: [] }
  }
  await requireNoLinks(
    out,
    [...affected.values()].map(({ row }) => `kept/${row.name}`),
  )
  const folder = stagedFolder(run, randomBytes(4).toString('hex'))
  const savedFolder = await savedFolderOf(options)
  const isStrict = kind === 'publish'
  const places = { out, run, folder, savedFolder }
  const stage = await Stage.open({ backend, ...places, isStrict, runs, before })
  try {
    await stageAll(stage, runs, affected)
    for (const note of seen) await stage.add(note)
    for (const note of stage.notes) await stage.add({ note })
    await stage.close()
  } catch (error) {
    await stage.abort()
    await removeStaged(out)
    throw error
  }
  await keepSaved(out, run, stage, kind === 'publish')
  const swap: SwapRow = { run, kind, out, folder }
  await backend.run(keepSwap, swap, guard)
  return finishSwap(backend, swap, guard)
}

async function stageAll(
  stage: Stage,
  runs: PublishedRuns,
  affected: AffectedOutputs,
): Promise<void> {
  const groups = new Map<string, { run: RunRow; shard: number; rows: Affected[] }>()
  for (const one of affected.values()) {
    const last = one.row.versions.at(-1)
    const isCopied = last?.at !== undefined && one.row.converted === undefined
    const run = isCopied ? await runs.find(last.run) : undefined
    if (!last || !run) {
      await stage.addFile(one)
      continue
    }
    const name = `${last.from}/${last.run}`
    const group = groups.get(name)
    if (group) group.rows.push(one)
    else groups.set(name, { run, shard: last.from, rows: [one] })
  }
  for (const { run, shard, rows } of groups.values()) await stage.addFiles(rows, shard, run)
}

/** What a run supersedes is in one folder; what is found later is in folders of their own, and replaces nothing. */
async function savedFolderOf({ kind, out, run }: Reconciling): Promise<string | undefined> {
  if (kind === 'undo') return undefined
  if (kind === 'publish') return SAVED_FOLDER
  for (let number = 2; ; number++) {
    const folder = `${SAVED_FOLDER}-${number}`
    const found = await stat(recordPath(out, run, folder)).catch(() => undefined)
    if (!found) return folder
  }
}

async function keepSaved(
  out: string,
  run: string,
  { saved }: Stage,
  isFirst: boolean,
): Promise<void> {
  if (saved.length === 0) return
  const all: SavedFile[] = []
  if (!isFirst) for await (const file of savedOf(out, run)) all.push(file)
  await writeLines(recordPath(out, run, SAVED_FILES), [...all, ...saved])
}
