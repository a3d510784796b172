/**
 * `-o -`: documents that are kept go to stdout, in the order and in the very bytes of the inputs, uncompressed.
 *
 * Which of them are kept is only known when all were read, so a run writes to a temporary directory first, and memory
 * stays small. The state may be there too: then nothing is remembered.
 */

import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { outputFailure } from '../../platform/atomic-file.ts'
import { removeAbandoned } from '../../platform/abandoned.ts'
import { type InputFormat, plainBlocks, type Shard } from '../../input/index.ts'
import type { JobConfig, RejectedPiece } from '../../dedupe/index.ts'
import { readLines } from '../../platform/files.ts'
import { harmless } from '../../platform/harmless.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { placeText } from '../inspect/words.ts'
import { print } from '../print/output.ts'
import { countOf } from '../print/units.ts'

const DIRECTORY = /^prestige-filter-[A-Za-z0-9]{6}$/
/** Outputs of these can follow one another. */
const LINES: ReadonlySet<InputFormat> = new Set(['jsonl', 'lines'])

/** What a run lists beside the documents that it keeps, and which file of it that is. */
export const RECORDS = ['duplicates', 'rejects'] as const
type RecordName = (typeof RECORDS)[number]
const REJECTS_SHOWN = 5

export class Filter {
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
  }

  static async open(): Promise<Filter> {
    await removeAbandoned(tmpdir(), (name) => DIRECTORY.test(name))
    return new Filter(await mkdtemp(join(tmpdir(), 'prestige-filter-')))
  }

  get out(): string {
    return join(this.#directory, 'out')
  }

  /** Where the state is if none is named. */
  get state(): string {
    return join(this.#directory, 'state')
  }

  async printKept(files: readonly string[]): Promise<void> {
    for (const file of files) {
      for await (const block of plainBlocks(file)) await print(block)
    }
  }

  async keepRecord(name: RecordName, file: string): Promise<void> {
    try {
      await copyFile(join(this.out, `${name}.jsonl`), file)
    } catch (error) {
      throw outputFailure(file, error)
    }
  }

  /** The first rejects, a line each, and how many more there are. Empty if there is none. */
  async rejectsText(count: number): Promise<string> {
    if (count === 0) return ''
    const lines: string[] = []
    for await (const line of readLines(join(this.out, 'rejects.jsonl'))) {
      // safe: the run has just written this file
      const reject = JSON.parse(line) as Pick<RejectedPiece, 'file' | 'line' | 'reason' | 'message'>
      const { reason, message } = reject
      lines.push(`rejected: ${placeText(reject)} (${reason}): ${harmless(message)}\n`)
      if (lines.length === REJECTS_SHOWN) break
    }
    const more = count - lines.length
    if (more > 0) lines.push(`and ${countOf(more, 'more reject')}; --rejects FILE lists them\n`)
    return lines.join('')
  }

  close(): Promise<void> {
    return rm(this.#directory, { recursive: true, force: true })
  }
}

/** Before anything is read. */
export function requireFilterable(
  invocation: Invocation,
  { formatOut, shardSize }: Pick<JobConfig, 'formatOut' | 'shardSize'>,
): void {
  if (shardSize !== undefined) {
    throw usageFailure('-o - writes one stream, which --shard-size cannot split. Use -o DIR.')
  }
  if (formatOut === 'files') {
    throw usageFailure('-o - writes one stream, and --format-out files many files. Use -o DIR.')
  }
  const isPlan = invocation.flag('plan') || invocation.text('plan') !== undefined
  if (isPlan) throw usageFailure('-o - has no effect with --plan. Plan with -o DIR.')
  if (invocation.flag('json')) {
    throw usageFailure('--json and -o - both write to stdout. Use -o DIR, or leave out --json.')
  }
  if ((invocation.wholeNumber('workers') ?? 1) > 1) {
    throw usageFailure('Several workers cannot write to stdout. Use -o DIR.')
  }
}

/** One stream: of several files only lines can be joined. */
export function requireOneStream(shards: readonly Shard[]): void {
  const formats = new Set(shards.map(({ format }) => format))
  const files = new Set(shards.map(({ file }) => file))
  const [format] = formats
  const isOne = files.size === 1 && format !== 'files'
  if (isOne || (formats.size === 1 && format && LINES.has(format))) return
  const found = [...formats].map((one) => (one === 'files' ? 'a file per document' : one))
  throw usageFailure(
    `-o - writes one stream, and these inputs cannot be joined to one (${found.join(', ')}). Give one file, or files of lines only, or write to a directory: -o DIR.`,
  )
}
