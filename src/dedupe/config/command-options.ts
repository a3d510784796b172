/** Settings of the command itself: what it reads, where it writes, and how it runs. The job does not know them. */

import { isAbsolute, join } from 'node:path'

import * as v from 'valibot'

import { flag, oneOf } from '../../platform/options.ts'
import { isDirectory } from '../../platform/location.ts'
import { type NamedInput, sourceOfInput } from '../../input/index.ts'
import { isRaw, mergeRaw, type Raw } from './raw.ts'

const text = (help: string) =>
  v.optional(
    v.pipe(v.string('must be a string'), v.minLength(1, 'must not be empty'), v.description(help)),
  )

function whole(from: number, help: string) {
  const rule = `must be a whole number from ${from}`
  return v.optional(
    v.pipe(v.number(rule), v.safeInteger(rule), v.minValue(from, rule), v.description(help)),
  )
}

const isPlan = (value: unknown) => typeof value === 'boolean' || typeof value === 'string'

export const commandEntries = {
  inputs: v.optional(
    v.pipe(
      v.array(v.string('must be a list of files, directories and globs')),
      v.description('Files, directories, globs, or - for stdin.'),
    ),
  ),
  output: text('Directory for the outputs, or - for stdout.'),
  state: text('State of the runs: a directory or a server. Default: OUTPUT/state.'),
  against: text('Remove duplicates of documents in this state, and do not change it.'),
  plan: v.optional(
    v.pipe(
      v.custom<boolean | string>(isPlan, 'must be true, false or a file'),
      v.description('Print what a run would do, without doing it: true, or a file for duplicates.'),
    ),
  ),
  duplicates: text('With output -: a file that lists dropped and linked documents.'),
  rejects: text('With output -: a file that lists input that is not a document.'),
  run: text('Name of the run. Default: the time.'),
  workers: whole(1, 'Processes that share the run. Default: 1.'),
  threads: whole(0, 'Threads per process that read ahead. Default: by input and cores.'),
  lease: whole(1, 'Seconds after which a silent worker is replaced. Default: 30.'),
  durability: v.optional(
    oneOf(['fsync', 'os'], 'Writes survive a power failure (fsync) or a process crash (os).'),
  ),
  progress: v.optional(flag('Show progress even when stderr is not a terminal.')),
  quiet: v.optional(flag('Print errors only.')),
  json: v.optional(flag('Print results as JSON.')),
}

/** Names of the settings that say nothing about how duplicates are found. */
export const commandNames: readonly string[] = Object.keys(commandEntries)

const commandSchema = v.strictObject(commandEntries)

export interface CommandConfig extends Omit<v.InferOutput<typeof commandSchema>, 'inputs'> {
  readonly inputs?: readonly NamedInput[] | undefined
}

/** The names of inputs as they were written, by their paths. */
export type InputNames = Map<string, string>

/** Paths in a file are relative to the directory that it is in. */
export function withPaths(values: Raw, directory: string, names: InputNames): Raw {
  const { inputs } = values
  const found: Record<string, unknown> = {}
  for (const name of ['output', 'state', 'against', 'plan', 'duplicates', 'rejects']) {
    const value = values[name]
    if (typeof value === 'string') found[name] = pathIn(directory, value)
  }
  if (Array.isArray(inputs)) {
    found['inputs'] = inputs.map((input: unknown) => {
      if (typeof input !== 'string') return input
      const path = pathIn(directory, input)
      names.set(path, sourceOfInput(input))
      return path
    })
  }
  const root = isRaw(values['input']) ? values['input']['root'] : undefined
  if (typeof root === 'string') found['input'] = { root: pathIn(directory, root) }
  const model = isRaw(values['semantic']) ? values['semantic']['model'] : undefined
  // A model may be one of those that have a name.
  if (typeof model === 'string' && model.startsWith('.')) {
    found['semantic'] = { model: pathIn(directory, model) }
  }
  return mergeRaw(values, found)
}

function pathIn(directory: string, path: string): string {
  const isElsewhere = path === '-' || path === '' || isAbsolute(path) || !isDirectory(path)
  return isElsewhere ? path : join(directory, path)
}

/** Takes the settings of the command out of all. */
export function commandOf(
  read: v.InferOutput<typeof commandSchema>,
  names: InputNames,
): CommandConfig {
  const own = Object.fromEntries(
    Object.keys(commandEntries).map((name) => [name, Reflect.get(read, name)]),
  )
  const inputs = read.inputs?.map((path) => ({
    path,
    source: names.get(path) ?? sourceOfInput(path),
  }))
  // safe: they were read by this very schema
  return { ...(own as v.InferOutput<typeof commandSchema>), inputs }
}
