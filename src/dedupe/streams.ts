/** Runs that are streams of documents, without files: what was decided in them is noted, so that it can be undone. */

import { cell, type Scope, type Transaction } from '../backends/index.ts'
import { runCell } from '../ledger/index.ts'
import { batches, encodeEntries, runPrefix } from './rows.ts'
import { headOf, listRuns, requireRunName, type RunHead, rowOf } from './runs.ts'
import type { InTransaction, State } from './state.ts'

/** The run is there before its first decision is. Any number of streams may add to it. */
export async function beginStream(state: State, run: string): Promise<void> {
  if (state.streams.has(run)) return
  requireRunName(run)
  const number = ((await listRuns(state.backend)).at(-1)?.number ?? 0) + 1
  const row: RunHead = {
    id: run,
    number,
    status: 'finished',
    startedAt: state.backend.now(),
    config: state.config,
    fingerprint: '',
    out: '',
    files: 0,
    pieces: 0,
  }
  await state.backend.run(keepNew, row)
  state.streams.add(run)
}

function* keepNew(scope: Scope, run: RunHead): Transaction<void> {
  const known = yield* headOf(run.id)
  if (!known || known.status === 'undone') scope.write(runCell(run.id), rowOf(run, 0))
}

/** Noted under an id of its own: streams have no positions. */
export function keepStreamed(run: string): InTransaction {
  return function* (scope, made): Transaction<void> {
    const entries = made.flatMap(({ key, decision }) =>
      decision.isKnown ? [] : [{ position: 0, key, isRepeated: false }],
    )
    if (entries.length === 0) return
    const place = Buffer.concat([runPrefix(run), Buffer.alloc(4), scope.id()])
    scope.write(cell(batches, place), encodeEntries(entries))
  }
}
