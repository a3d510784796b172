/** `runs`: the runs of a state, the oldest first. */

import { stateOf } from '../dedupe/dedupe-settings.ts'
import type { RunInfo } from '../../dedupe/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { countOf, time } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { openDedupe } = await import('../../dedupe/index.ts')
  const deduper = await openDedupe(stateOf(invocation), { create: false, asBefore: true })
  try {
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
  } finally {
    await deduper.close()
  }
}

/** Times are as in `manifest.json`. */
function inJson({ startedAt, finishedAt, ...run }: RunInfo): object {
  return { ...run, startedAt: isoOf(startedAt), finishedAt: isoOf(finishedAt) }
}

function isoOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}
