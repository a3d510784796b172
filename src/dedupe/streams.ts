/** Runs that are streams of documents, without files: what was decided in them is noted, so that it can be undone. */

import { cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { batches, encodeEntries, runPrefix } from './rows.ts'
import { listRuns, requireRunName, runCell, type RunHead } from './runs.ts'
import type { Also, State } from './state.ts'

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
  const place = runCell(run.id)
  const [known] = yield* read(place)
  if (known === undefined || Reflect.get(Object(known), 'status') === 'undone')
    scope.write(place, run)
}

/** Noted under an id of its own: streams have no positions. */
export function keepStreamed(run: string): Also {
  return function* (scope, made): Transaction<void> {
    const entries = made.flatMap(({ key, decision }) =>
      decision.isKnown ? [] : [{ position: 0, key, isRepeated: false }],
    )
    if (entries.length === 0) return
    const place = Buffer.concat([runPrefix(run), Buffer.alloc(4), scope.id()])
    scope.write(cell(batches, place), encodeEntries(entries))
  }
}
