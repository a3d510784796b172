/**
 * The second half of a run: what is kept is written in the format of its input, what is not is listed line by line,
 * and at last the manifest, which says that all of it is there.
 *
 * Every file is written aside and moved into place whole. A run that was cut off writes them again, the same.
 */

import type { Backend } from '../../backends/index.ts'
import { writeWhole } from '../../platform/atomic-file.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { join } from '../../platform/paths.ts'
import {
  type Cuts,
  type KeptWriter,
  openWriter,
  type ReadingInput,
  type Shard,
} from '../../input/index.ts'
import { removeLeftovers } from './leftovers.ts'
import { outputLines, requireNoLinks } from './output-names.ts'
import type { RowVeto } from '../../ledger/index.ts'
import { isCut, type Outcome } from '../phases/outcome.ts'
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

export interface Published {
  readonly files: string[]
  readonly notes: string[]
}

/** `before` is asked before every file: whether it is still ours to write. */
export async function publish(
  backend: Backend,
  run: RunRow,
  outcome: Outcome,
  before: () => Promise<void>,
): Promise<Published> {
  const directory = join(run.out, 'kept')
  const keptOf = async ({ index }: Shard) => {
    await before()
    return { positions: outcome.kept(index), cuts: outcome.cuts(index) }
  }
  await requireNoLinks(run.out, run.shards)
  await removeLeftovers(run.out, run.shards, run.id)
  const record = (name: string) => recordPath(run.out, run.id, name)
  await writeLines(record(OUTPUTS_FILE), outputLines(run))
  const published = await writeKept(run.shards, directory, keptOf, run.reading)
  await before()
  await writeLines(record('duplicates.jsonl'), duplicatesOf(backend, run, outcome))
  await writeLines(record('rejects.jsonl'), rejectsOf(backend, run))
  await writeLines(record('superseded.jsonl'), supersededLines(backend, run, outcome))
  return published
}

/** What is written of a shard. */
export interface KeptOfShard {
  /** In ascending order. */
  readonly positions: readonly number[]
  readonly cuts: Cuts
}

export async function writeKept(
  shards: readonly Shard[],
  directory: string,
  keptOf: (shard: Shard) => Promise<KeptOfShard>,
  { lineBytesMax, hasQuotes, fields }: ReadingInput = {},
): Promise<Published> {
  // Positions are those that reading gave, so what makes them must be the same.
  const options = {
    directory,
    ...(lineBytesMax !== undefined && { lineBytesMax }),
    ...(hasQuotes !== undefined && { hasQuotes }),
    ...(fields !== undefined && { fields }),
  }
  const notes: string[] = []
  const files: string[] = []
  let writer: KeptWriter | undefined
  let last: Shard | undefined
  const finish = async () => {
    await writer?.close()
    if (writer) files.push(writer.path)
    if (writer?.note) notes.push(writer.note)
  }
  try {
    for (const shard of shards) {
      const isSameFile = last?.file === shard.file && shard.format !== 'files'
      const { positions, cuts } = await keptOf(shard)
      if (!isSameFile) {
        await finish()
        writer = undefined
        writer = await openWriter(shard, options).catch((error: unknown) => {
          notes.push(noteOf(error, shard, positions))
          return undefined
        })
      }
      last = shard
      await writer?.writeKept(positions, shard, cuts)
    }
    await finish()
    return { files: [...new Set(files)], notes: [...new Set(notes)] }
  } catch (error) {
    await writer?.abort()
    throw error
  }
}

/** A file that cannot be read at all has nothing that is kept: it holds up no others. Throws all else again. */
function noteOf(error: unknown, { path, format }: Shard, positions: readonly number[]): string {
  const isUnreadable = error instanceof PrestigeError && error.code === 'FORMAT_UNSUPPORTED'
  if (!isUnreadable || format !== 'parquet' || positions.length > 0) throw error
  return `Nothing is written for ${path}, of which nothing is kept: it cannot be read as Parquet.`
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
  if (entry.isRepeated) {
    const file = shard?.path ?? ''
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
    file: shard?.path ?? '',
  }
}

function spanOf([start, end]: readonly [start: number, end: number, of?: string]): DuplicateSpan {
  return { start, end }
}

async function* rejectsOf(backend: Backend, run: RunRow): AsyncGenerator<object> {
  for await (const { shard, reject } of rejectsIn(backend, run.id)) {
    if (reject) yield { file: run.shards[shard]?.path, ...reject }
  }
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
