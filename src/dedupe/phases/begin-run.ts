/**
 * How a run begins: what is left to do of its inputs, and whether it may be done. Everything that is refused is refused
 * before the first row of the run is written.
 */

import { resolve } from '../../platform/paths.ts'

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { requireSame } from '../../platform/settings.ts'
import type { ReadingInput, Shard } from '../../input/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import type { JobOptions } from '../job.ts'
import { nameShards, requireUnused } from '../output/name-outputs.ts'
import { outputNames, requireNoLinks, requireOwnFolder } from '../output/output-names.ts'
import { keepSettings, outputsIn, type OutputSettings } from '../output/output-rows.ts'
import {
  changeRun,
  fingerprintOf,
  isOpen,
  isTakenBack,
  keepNewRun,
  listRuns,
  newRunName,
  publishedTo,
  readRun,
  requireRunName,
  type RunHead,
  type RunRow,
} from '../runs.ts'
import { type NotDone, notDone } from '../done-files.ts'
import type { State } from '../state.ts'
import { affectedBy, lastDecided, redoable, requireRedoable } from './again.ts'
import { rowsOf, shardsAgain } from './again-inputs.ts'
import { whyNoTexts } from './collect-replays.ts'
import { halfUndone } from './take-back.ts'
import {
  changesFrom,
  otherRunOpen,
  readingAgain,
  readingAsBefore,
  readingChanges,
  settingsDiffer,
  type Said,
} from './again-settings.ts'

/** A new run, or one that goes on or was cut off; if nothing is left to do, what has been done. */
export async function beginRun(state: State, options: JobOptions): Promise<RunRow | NotDone> {
  const { backend } = state
  for (;;) {
    const runs = await listRuns(backend)
    const open = runs.find(isOpen)
    if (open?.status === 'undoing') throw halfUndone(open.id)
    const inputs = await inputsOf(backend, runs, open, options)
    const { todo } = inputs
    if (!open) await requireSettings(state, inputs, options)
    if (!open && todo.length === 0) return inputs
    if (!open) await requireNames(backend, inputs, options)
    if (!open) await backend.run(keepSettings, resolve(options.out), inputs.settings)
    const run = open
      ? await joined(backend, open, inputs.fingerprint, options)
      : await newRun(backend, inputs, options)
    // Another process was faster: look again.
    if (!run) continue
    return run
  }
}

interface Inputs extends NotDone {
  readonly runs: readonly RunHead[]
  /** Runs that are redone. */
  readonly redoes: readonly RunHead[]
  readonly reading: ReadingInput | undefined
  readonly fingerprint: string
  /** Of the outputs. */
  readonly settings: OutputSettings
}

async function inputsOf(
  backend: Backend,
  runs: readonly RunHead[],
  open: RunHead | undefined,
  { again = false, said, shards: given, reading, config, out, ...asked }: JobOptions,
): Promise<Inputs> {
  const { shards, settings } = await nameShards(
    backend,
    resolve(out),
    given,
    asked,
    open !== undefined,
  )
  const redoes = again ? redoable(runs, open, resolve(out)) : []
  const identity = (todo: readonly Shard[], as: ReadingInput | undefined) =>
    fingerprintOf(fingerprintsOnly(config), todo, resolve(out), as)
  if (redoes.length === 0) {
    const found = await notDone(backend, shards, runs)
    const last = open ?? (said && (await lastDecided(backend, runs, resolve(out))))
    const as = said ? readingAsBefore(reading, last, said) : reading
    const fingerprint = identity(found.todo, as)
    return { ...found, runs, redoes, settings, reading: as, fingerprint }
  }
  const earlier = await rowsOf(backend, redoes)
  const todo = await shardsAgain(earlier, shards)
  const as = readingAgain(earlier, said)
  const fingerprint = identity(todo, as)
  const nothing = { skipped: [], doneBy: new Set<string>() }
  return { todo, ...nothing, runs, redoes, settings, reading: as, fingerprint }
}

/** Before anything is recorded: other settings than those of earlier runs need a decision of the user. */
async function requireSettings(state: State, inputs: Inputs, options: JobOptions): Promise<void> {
  const { backend, mismatch } = state
  const { runs, redoes, doneBy } = inputs
  if (redoes.length > 0) return requireRedoable(state, runs, redoes)
  const { said, out } = options
  const earlier = publishedTo(runs, resolve(out))
  const last = said && (await lastDecided(backend, runs, resolve(out)))
  if (said && last) {
    const readers = earlier.filter(({ id }) => doneBy.has(id))
    const rows = Object.keys(said.reading).length > 0 ? await rowsOf(backend, readers) : []
    const read = rows.flatMap((row) => readingChanges(row, said))
    const all = [...changesFrom(last.config, said), ...read]
    const changes = [...new Map(all.map((change) => [change.now, change])).values()]
    if (changes.length > 0) {
      const isFromState = read.length === 0 && whyNoTexts(last.config) === undefined
      throw settingsDiffer(changes, await affectedBy(backend, earlier), isFromState, said)
    }
  }
  requireSame(
    'state',
    mismatch,
    'All documents of a state are compared with the same settings. Give the stored values, or use another state: --state OTHER.',
  )
}

/**
 * The same before any input is read, as far as it is known then: whoever asks for a run learns it at once. While a run is
 * open, the answer depends on the inputs.
 */
export async function requireKnownSettings(
  backend: Backend,
  said: Said,
  out: string,
): Promise<void> {
  const runs = await listRuns(backend)
  const last = runs.some(isOpen) ? undefined : await lastDecided(backend, runs, resolve(out))
  const changes = last ? changesFrom(last.config, said) : []
  if (!last || changes.length === 0) return
  const affected = await affectedBy(backend, publishedTo(runs, resolve(out)))
  throw settingsDiffer(changes, affected, whyNoTexts(last.config) === undefined, said)
}

/** Before anything is recorded: what others wrote to the same directory is never replaced. */
async function requireNames(
  backend: Backend,
  { runs, redoes, todo, settings }: Inputs,
  { out, run }: JobOptions,
): Promise<void> {
  const gone = new Set([...runs.filter(isTakenBack), ...redoes].map(({ id }) => id))
  const isGone = (id: string) => gone.has(id)
  await requireNoLinks(resolve(out), outputNames(todo))
  await requireUnused(resolve(out), todo, await outputsIn(backend, resolve(out)), settings)
  if (run !== undefined) await requireOwnFolder(resolve(out), run, isGone)
}

/** `undefined` if another process was faster. */
async function newRun(
  backend: Backend,
  { runs, redoes, todo, skipped, reading, fingerprint }: Inputs,
  { config, out, run, said, listing }: JobOptions,
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
    sources: listing?.sources ?? 'arguments',
    shards: todo.map(withWholePath),
    skipped,
    reading,
    ...(said && { command: said.command, fields: reading?.fields }),
    ...(redoes.length > 0 && { redoes: redoes.map((one) => one.id) }),
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
  { config, watcher, said }: JobOptions,
): Promise<RunRow | undefined> {
  if (open.fingerprint !== fingerprint) throw otherRunOpen(open, said)
  const isJoined = await backend.run(changeRun, open.id, (head: RunHead) => {
    if (!isOpen(head) || head.fingerprint !== fingerprint) return undefined
    return { ...head, config, status: head.status === 'stopped' ? 'deciding' : head.status }
  })
  if (!isJoined) return undefined
  watcher?.onJoin?.(open.id)
  return { ...(await backend.read(readRun, open)), config }
}

function nameTaken(id: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', `There is a run ${id} already: a name is used once.`)
}

/**
 * What must be the same when a run is taken up again: ceilings may be raised. Settings that are off are left out, and
 * all are in one order, so that runs of states from before there were such settings are recognised.
 */
function fingerprintsOnly(whole: DedupeConfig): object {
  const {
    maxDrop: _share,
    maxCluster: _size,
    containment,
    passages,
    near,
    simhash,
    ...config
  } = whole
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
    passages: passages.action === 'off' ? undefined : passages,
  }
}
