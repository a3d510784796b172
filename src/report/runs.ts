/** All runs of a state in the order in which they began, with the figures that each had when it was finished. */

import type { Backend } from '../backends/index.ts'
import {
  listRuns,
  manifestIn,
  type RunHead,
  type RunStatus,
  summarise,
  type Summary,
} from '../dedupe/index.ts'

export interface RunLine {
  readonly id: string
  readonly status: RunStatus
  readonly startedAt: string
  readonly finishedAt?: string
  /** Absent of a run that was undone, or whose manifest is gone. */
  readonly documents?: {
    readonly in: number
    /** Linked documents are kept too, and are not counted here. */
    readonly kept: number
    readonly dropped: number
    readonly linked: number
    readonly rejected: number
  }
}

/** The figures of a run are in its manifest, so that nothing is counted again; or `counts` says that they are. */
export async function runLines(
  backend: Backend,
  known: ReadonlyMap<string, Summary>,
  counts: boolean,
): Promise<RunLine[]> {
  const lines: RunLine[] = []
  for (const head of await listRuns(backend)) {
    const summary = known.get(head.id) ?? (await summaryOf(backend, head, counts))
    lines.push(lineOf(head, summary))
  }
  return lines
}

async function summaryOf(
  backend: Backend,
  head: RunHead,
  counts: boolean,
): Promise<Summary | undefined> {
  if (head.status === 'undone') return undefined
  // A stream writes no outputs.
  const { summary } = head.out === '' ? {} : await manifestIn(head)
  return summary ?? (counts ? summarise(backend, head.id) : undefined)
}

function lineOf(head: RunHead, summary: Summary | undefined): RunLine {
  const { id, status, startedAt, finishedAt } = head
  return {
    id,
    status,
    startedAt: new Date(startedAt).toISOString(),
    ...(finishedAt !== undefined && { finishedAt: new Date(finishedAt).toISOString() }),
    ...(summary && {
      documents: {
        in: summary.documents,
        kept: summary.kept,
        dropped: summary.dropped,
        linked: summary.linked,
        rejected: summary.rejected,
      },
    }),
  }
}
