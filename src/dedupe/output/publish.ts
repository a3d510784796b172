/**
 * Records of a run: what was dropped, linked, superseded or rejected, line by line. Every file is written aside and
 * moved into place whole. A run that was cut off writes them again, the same.
 */

import type { Backend } from '../../backends/index.ts'
import { writeWhole } from '../../platform/atomic-file.ts'
import { type Reject, type Shard, unitOf } from '../../input/index.ts'
import { outputLines } from './output-names.ts'
import type { RowVeto } from '../../ledger/index.ts'
import { isCut } from './kept-of-shard.ts'
import type { Outcome } from '../phases/outcome.ts'
import { OUTPUTS_FILE, recordPath } from './records.ts'
import { rejectsIn } from '../phases/rejects.ts'
import type { RunRow } from '../runs.ts'
import { type Line, linesOf, type Wanted } from './lines.ts'
import { supersededLines } from './superseded.ts'

/** A line of `duplicates.jsonl`. */
export interface DuplicateLine {
  readonly id: string
  readonly source: string
  readonly action: string
  readonly method: string
  readonly similarity?: number
  readonly of?: { readonly id: string; readonly source: string }
  readonly representative?: { readonly id: string; readonly source: string }
  readonly cluster?: string
  /** It is written without its `spans`. */
  readonly cut?: true
  /** Similar to `of`, but not the same: what differs. */
  readonly vetoes?: readonly RowVeto[]
  readonly spans?: DuplicateSpan[]
  /** Found by containment: `similarity` is the share of this document, and `spans` are in bytes of its text. */
  readonly containment?: { readonly shareOfOther: number; readonly spansOfOther: DuplicateSpan[] }
  readonly file: string
}

interface DuplicateSpan {
  readonly start: number
  readonly end: number
}

/** The records of a run, but for its manifest, in its folder. */
export async function writeRecords(backend: Backend, run: RunRow, outcome: Outcome): Promise<void> {
  const record = (name: string) => recordPath(run.out, run.id, name)
  await writeLines(
    record(OUTPUTS_FILE),
    outputLines(run.shards, ({ index }) => outcome.kept(index).positions),
  )
  await writeLines(record('duplicates.jsonl'), duplicatesOf(backend, run, outcome))
  await writeLines(record('rejects.jsonl'), rejectsOf(backend, run))
  await writeLines(record('superseded.jsonl'), supersededLines(backend, run, outcome))
}

/** The lines of `duplicates.jsonl`. */
export async function* duplicatesOf(
  backend: Backend,
  run: RunRow,
  outcome: Outcome,
): AsyncGenerator<DuplicateLine> {
  let last = -1
  let listed: ReadonlySet<number> = new Set()
  const wanted: Wanted = (shard, entries) => {
    if (shard !== last) [last, listed] = [shard, outcome.listed(shard)]
    return entries.filter(({ position }) => listed.has(position))
  }
  for await (const page of linesOf(backend, run.id, wanted)) {
    for (const line of page) yield duplicateLine(line, run.shards[line.shard])
  }
}

function duplicateLine(line: Line, shard: Shard | undefined): DuplicateLine {
  const { entry, row, of, method, similarity } = line
  const { id, source, action, cluster, spans, containment, vetoes } = row
  // A superseded document that was the representative itself was compared with the better copy.
  const centre = line.centre ?? of
  const { path: file = '' } = shard?.files?.[entry.position] ?? shard ?? {}
  if (entry.isRepeated) {
    return { id, source, action: 'drop', method: 'exact', similarity: 1, of: { id, source }, file }
  }
  return {
    id,
    source,
    action,
    method: method ?? 'superseded',
    ...(similarity !== undefined && { similarity }),
    ...(of && { of }),
    ...(centre && { representative: centre }),
    ...(cluster && { cluster }),
    ...(isCut(row) && { cut: true }),
    ...(vetoes && { vetoes }),
    ...(spans && { spans: spans.map(spanOf) }),
    ...(containment && {
      containment: {
        shareOfOther: containment.shareOfOther,
        spansOfOther: containment.spansOfOther.map(spanOf),
      },
    }),
    file,
  }
}

function spanOf([start, end]: readonly [start: number, end: number, of?: string]): DuplicateSpan {
  return { start, end }
}

async function* rejectsOf(backend: Backend, run: RunRow): AsyncGenerator<object> {
  for await (const { shard, reject } of rejectsIn(backend, run.id)) {
    const from = run.shards[shard]
    if (reject && from) yield rejectLine(from, reject)
  }
}

/** A line of `rejects.jsonl`. */
export function rejectLine({ path, format }: Shard, reject: Reject): object {
  return { file: reject.path ?? path, ...reject, ...unitOf(format) }
}

/** Written aside, on the disk, then moved into place. */
export async function writeLines(
  path: string,
  lines: AsyncIterable<unknown> | Iterable<unknown>,
): Promise<void> {
  await writeWhole(path, encoded(lines))
}

async function* encoded(lines: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<string> {
  for await (const line of lines) yield `${JSON.stringify(line)}\n`
}
