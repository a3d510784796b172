/** The outputs of a run that is taken back: its documents leave them, and its records stay, marked as undone. */

import { stat } from '../../platform/files.ts'

import type { Backend, Scope, Transaction } from '../../backends/index.ts'
import { adoptOutputs } from '../output/affected.ts'
import { dropSwap } from '../output/output-rows.ts'
import { undoOutputs } from '../output/reconcile.ts'
import { retireRecords } from '../output/records.ts'
import { removeStaged } from '../output/swap.ts'
import { changeRun, listRuns, type RunRow } from '../runs.ts'

/** After its documents have left the state, and before it is undone. Returns what to report. */
export async function takeOutputsBack(backend: Backend, run: RunRow): Promise<readonly string[]> {
  const { id, out } = run
  const isThere = out !== '' && (await stat(out).catch(() => undefined))
  if (!isThere) return []
  await adoptOutputs(backend, out)
  const { notes } = await undoOutputs(backend, run)
  const others = (await listRuns(backend)).filter((one) => one.out === out && one.id !== id)
  const newest = others.findLast(({ status }) => status === 'finished')
  await retireRecords(out, id, newest?.id, backend.now())
  return notes
}

/** The run is undone, and nothing of it waits to be moved any more. */
export async function endUndo(backend: Backend, run: RunRow): Promise<void> {
  await backend.run(markUndone, run)
  if (run.out !== '') await removeStaged(run.out)
}

function* markUndone(scope: Scope, { id, out }: RunRow): Transaction<void> {
  yield* dropSwap(scope, out)
  yield* changeRun(scope, id, (head) => ({ ...head, status: 'undone' }))
}
