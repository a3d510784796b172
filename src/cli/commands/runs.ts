/** `runs`: the runs of a state, the oldest first. */

import type { RunInfo } from '../../dedupe/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { withState } from '../inspect/with-state.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { countOf, time } from '../print/units.ts'

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const runs = await deduper.runs()
    if (invocation.flag('json')) await printJson(runs.map(inJson))
    else if (runs.length > 0) {
      const rows = runs.map(({ id, status, startedAt, files, out }) => [
        time(startedAt),
        status,
        countOf(files, 'file'),
        id,
        out,
      ])
      await print(table(rows, ['left', 'left', 'right', 'left', 'left']))
    }
    return 0
  })
}

/** Times are as in `manifest.json`. */
function inJson({ startedAt, finishedAt, ...run }: RunInfo): object {
  return { ...run, startedAt: isoOf(startedAt), finishedAt: isoOf(finishedAt) }
}

function isoOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}
