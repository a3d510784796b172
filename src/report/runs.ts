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
  /** Absent of a run that was undone, whose manifest is gone, or that 50 others have followed. */
  readonly documents?: {
    readonly in: number
    /** Linked documents are kept too, and are not counted here. */
    readonly kept: number
    readonly dropped: number
    readonly linked: number
    readonly rejected: number
  }
}

/** So many manifests, of the newest runs, are read for a report of one run: each may be long. */
const MANIFESTS_MAX = 50

/** The figures of a run are in its manifest, so that nothing is counted again; or `counts` says that they are. */
export async function runLines(
  backend: Backend,
  known: ReadonlyMap<string, Summary>,
  counts: boolean,
): Promise<RunLine[]> {
  const lines: RunLine[] = []
  const heads = await listRuns(backend)
  for (const [at, head] of heads.entries()) {
    const isRead = counts || at >= heads.length - MANIFESTS_MAX
    const summary =
      known.get(head.id) ?? (isRead ? await summaryOf(backend, head, counts) : undefined)
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
