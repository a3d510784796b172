/**
 * Which run wrote which output, and from which input. An output is replaced only by a run of the same input, and an
 * input has one output: everything else is refused before a run begins.
 *
 * Kept beside the outputs and not in the state, because runs of several states may write to one directory.
 */

import { outputFailure } from '../../platform/atomic-file.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { exists, lstat, readdir, readLines } from '../../platform/files.ts'
import { join, resolve } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { type InputFile, outputName, type Shard } from '../../input/index.ts'
import { isRaw } from '../config/raw.ts'
import { shown } from './name-outputs.ts'
import { OUTPUTS_FILE, recordPath, RUNS_FOLDER } from './records.ts'

interface OutputLine {
  /** Below the outputs: `kept/a.jsonl`. */
  readonly output: string
  /** The whole path of the input. */
  readonly input: string
}

function linesOf(shards: readonly Shard[]): OutputLine[] {
  const lines = new Map<string, OutputLine>()
  for (const shard of shards) {
    const files: readonly InputFile[] = shard.files ?? [shard]
    for (const { file, path, output: named } of files) {
      const output = `kept/${named ?? outputName({ ...shard, path })}`
      const input = resolve(file)
      const other = lines.get(output)
      if (other && other.input !== input) throw sameName(output, other.input, input)
      lines.set(output, { output, input })
    }
  }
  return [...lines.values()]
}

/** The lines of `outputs.jsonl`. Of files that are one document each, only those that are kept have an output. */
export function outputLines(
  shards: readonly Shard[],
  keptOf: (shard: Shard) => readonly number[],
): OutputLine[] {
  const written = shards.map((shard) => {
    const { files } = shard
    return files ? { ...shard, files: keptOf(shard).flatMap((at) => files[at] ?? []) } : shard
  })
  return linesOf(written)
}

/** Below the directory. */
export function outputNames(shards: readonly Shard[]): string[] {
  return linesOf(shards).map(({ output }) => output)
}

/** What is written through a link would end somewhere else. The directory of the outputs itself may be one. */
export async function requireNoLinks(out: string, outputs: Iterable<string>): Promise<void> {
  if (isS3(out)) return
  const paths = new Set([RUNS_FOLDER])
  for (const output of outputs) {
    const parts = output.split('/')
    for (let length = 1; length <= parts.length; length++) {
      paths.add(parts.slice(0, length).join('/'))
    }
  }
  for (const path of paths) {
    const found = await lstat(join(out, path)).catch(() => undefined)
    if (!found?.isSymbolicLink()) continue
    throw new PrestigeError(
      'OUTPUT_FAILED',
      `${shown(join(out, path))} is a symbolic link, and outputs are not written through links. Remove it, or write to another directory: -o OTHER.`,
    )
  }
}

/** `isGone` returns whether a run was taken back: its outputs may be replaced. */
export async function requireOwnNames(
  out: string,
  shards: readonly Shard[],
  isGone: (run: string) => boolean,
): Promise<void> {
  const lines = linesOf(shards)
  const inputOf = new Map(lines.map(({ output, input }) => [output, input]))
  const outputOf = new Map(lines.map(({ output, input }) => [input, output]))
  for (const run of await runsIn(out)) {
    if (isGone(run)) continue
    for await (const { output, input } of outputsOf(out, run)) {
      const asked = inputOf.get(output)
      if (asked !== undefined && asked !== input) throw taken(out, run, { output, input }, asked)
      const other = outputOf.get(input)
      if (other !== undefined && other !== output) throw twice(out, run, { output, input }, other)
    }
  }
}

/** A run of another state may have used the name: its records would be replaced. */
export async function requireOwnFolder(
  out: string,
  run: string,
  isGone: (run: string) => boolean,
): Promise<void> {
  const folder = join(out, RUNS_FOLDER, run)
  if (!(await exists(folder)) || isGone(run)) return
  throw new PrestigeError(
    'TARGET_NOT_EMPTY',
    `${shown(folder)} holds the records of another run of this name. Name this run differently (--run NAME), or write to another directory (-o OTHER).`,
  )
}

export async function runsIn(out: string): Promise<string[]> {
  const folder = join(out, RUNS_FOLDER)
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw outputFailure(folder, error)
  }
}

export async function* outputsOf(out: string, run: string): AsyncGenerator<OutputLine> {
  const path = recordPath(out, run, OUTPUTS_FILE)
  try {
    for await (const line of readLines(path)) yield parsed(line, path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return
    throw outputFailure(path, error)
  }
}

function parsed(line: string, path: string): OutputLine {
  try {
    const found: unknown = JSON.parse(line)
    const { output, input } = isRaw(found) ? found : {}
    if (typeof output === 'string' && typeof input === 'string') return { output, input }
  } catch {
    // Reported below, as every other line that is none of ours.
  }
  throw new PrestigeError(
    'TARGET_NOT_EMPTY',
    `${path} does not list the outputs of a run, so it cannot be determined which of them may be replaced. Write to another directory: -o OTHER.`,
  )
}

function taken(
  out: string,
  run: string,
  { output, input }: OutputLine,
  asked: string,
): PrestigeError {
  return new PrestigeError(
    'TARGET_NOT_EMPTY',
    `${shown(join(out, output))} was written by run ${run} from ${shown(input)}, and ${shown(asked)} would replace it. Nothing was decided or written. Name both inputs in one command, so that their outputs get different names (finished files are not read again), or write to another directory: -o OTHER.`,
  )
}

function twice(
  out: string,
  run: string,
  { output, input }: OutputLine,
  other: string,
): PrestigeError {
  return new PrestigeError(
    'TARGET_NOT_EMPTY',
    `Run ${run} wrote ${shown(input)} to ${shown(join(out, output))}, and this run would write it to ${shown(join(out, other))} as well. Nothing was decided or written. Name the inputs as that run did, so that the output gets the same name, or write to another directory: -o OTHER.`,
  )
}

function sameName(output: string, one: string, other: string): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    `${shown(one)} and ${shown(other)} would both be written to ${output}. Give them to two runs with different output directories.`,
  )
}
