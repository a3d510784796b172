/**
 * Runs. A line can only be made in a run that is running: whoever undoes a run first ends it, and so meets every line
 * of it. The row of a run is read by every line and written a few times in its life.
 */

import { cell, type Cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { refuseUnknown, runName, shortText } from './names.ts'
import { type RunRow, runs, type RunStatus } from './rows.ts'

export interface RunInput {
  /** Its name; made of the time if not given. */
  readonly id?: string | undefined
  /** What the run was configured with, in short: a run is only resumed with the same. */
  readonly configDigest?: string | undefined
}

export interface StartedRun {
  readonly run: RunRow
  /** It was running already. */
  readonly isResumed: boolean
}

const SHARDS_MAX = 16_777_216

export function checkRunInput(input: RunInput): void {
  refuseUnknown(input, ['id', 'configDigest'])
  if (input.id !== undefined) runName(input.id)
  if (input.configDigest !== undefined) shortText(input.configDigest, 'A configDigest')
}

export function runCell(run: string): Cell<RunRow> {
  return cell(runs, runName(run).key)
}

export function* startRun(scope: Scope, input: RunInput): Transaction<StartedRun> {
  const { id = scope.id().toString('hex'), configDigest = '' } = input
  const place = runCell(id)
  const [found] = yield* read(place)
  if (!found) {
    const startedAt = scope.now()
    const run = { id, status: 'running', startedAt, endedAt: undefined, shards: 0 } as const
    scope.write(place, { ...run, configDigest })
    return { run: { ...run, configDigest }, isResumed: false }
  }
  if (found.status !== 'running') throw ended(found)
  if (found.configDigest !== configDigest) {
    throw new PrestigeError(
      'SETTINGS_MISMATCH',
      `Run ${JSON.stringify(id)} was started with configuration "${found.configDigest}", and not "${configDigest}". Resume it as it was, or start another.`,
    )
  }
  return { run: found, isResumed: true }
}

/** Ends a run. Claims of it that are still held may be committed later. */
export function* finishRun(
  scope: Scope,
  run: string,
  status: Exclude<RunStatus, 'running'> = 'finished',
): Transaction<RunRow> {
  const found = yield* requireRun(run)
  if (found.status === status) return found
  if (found.status !== 'running' && status !== 'undone') throw ended(found)
  const next: RunRow = { ...found, status, endedAt: scope.now() }
  scope.write(runCell(run), next)
  return next
}

/** The run, if lines can be made in it. */
export function* requireRunning(run: string): Transaction<RunRow> {
  const found = yield* requireRun(run)
  if (found.status !== 'running') throw ended(found)
  return found
}

export function* requireRun(run: string): Transaction<RunRow> {
  const [found] = yield* read(runCell(run))
  if (found) return found
  throw new PrestigeError(
    'RUN_NOT_FOUND',
    `There is no run ${JSON.stringify(run)}. Start it first, with startRun.`,
  )
}

function ended({ id, status }: RunRow): PrestigeError {
  return new PrestigeError(
    'RUN_ENDED',
    `Run ${JSON.stringify(id)} is ${status} and takes no more. Start another.`,
  )
}

/** Divides a run into so many shards; again with the same number is no change. */
export function* openShards(scope: Scope, run: string, count: number): Transaction<RunRow> {
  if (!Number.isInteger(count) || count < 1 || count > SHARDS_MAX) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `A run has 1 to ${SHARDS_MAX} shards, not ${String(count)}.`,
    )
  }
  const found = yield* requireRunning(run)
  if (found.shards === count) return found
  if (found.shards > 0) {
    throw new PrestigeError(
      'SETTINGS_MISMATCH',
      `Run ${JSON.stringify(run)} has ${found.shards} shards, and not ${count}: its documents are divided already.`,
    )
  }
  const next = { ...found, shards: count }
  scope.write(runCell(run), next)
  return next
}
