/** Settings of `dedupe`: a config file, then the environment, then options; the last one wins. */

import { stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve as resolveFrom } from 'node:path'

import {
  commandNames,
  environmentLayer,
  type JobConfig,
  type KeepRule,
  type Layer,
  readJobConfig,
  type Said,
  saidIn,
} from '../../dedupe/index.ts'
import { withoutSecrets } from '../../backends/index.ts'
import type { OptionName } from '../declarations/index.ts'
import { fileFailure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { judgementInput, judgeNamed } from '../call/judgement.ts'
import { isDirectory } from '../../platform/location.ts'
import { relative, resolve } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { stateWithin } from '../call/location.ts'
import { readFileWhole } from '../files/read-input.ts'
import type { Filter } from './filter.ts'

export interface JobPlaces {
  readonly out: string
  readonly state: string
}

/** `filter`: of a call that writes to stdout. */
export function placesOf(invocation: Invocation, filter?: Filter): JobPlaces {
  const said = saidState(invocation)
  if (filter) return { out: filter.out, state: said ?? filter.state }
  const out = invocation.text('out')
  if (!out) {
    throw usageFailure('dedupe needs -o DIR, a directory for the outputs, or -o - for stdout.')
  }
  if (!isDirectory(out) && !isS3(out)) {
    throw usageFailure(
      `-o takes a directory or s3://BUCKET/PREFIX, not "${out}". A location of a state is given with --state.`,
    )
  }
  for (const input of invocation.operands) refuseWithin(out, input)
  if (said === undefined && isS3(out) && invocation.text('against') === undefined) {
    throw usageFailure(
      `With -o ${out} the state needs a place of its own, because S3 has no transactions. Add --state DIR, or --state redis://… or dynamodb://… to share it.`,
    )
  }
  return { out, state: said ?? join(out, 'state') }
}

/** Outputs below an input would be the inputs of the next run. */
function refuseWithin(out: string, input: string): void {
  const way = relative(resolve(input), resolve(out))
  if (input === '-' || way.startsWith('..') || isAbsolute(way)) return
  throw usageFailure(
    `-o ${out} is inside the input ${input}: the next run would read the outputs. Choose a directory outside of it.`,
  )
}

/** `--backend` is another name of `--state`. */
function saidState(invocation: Invocation): string | undefined {
  const [state, backend] = [invocation.text('state'), invocation.text('backend')]
  if (state !== undefined && backend !== undefined) {
    throw usageFailure('--state and --backend are the same option: give only one of them.')
  }
  const said = state ?? backend
  if (said && isS3(said)) {
    throw usageFailure(
      `A state cannot be at ${said}, because S3 has no transactions. Name a directory, redis://… or dynamodb://…; prestige export --archive s3://… keeps a copy of it there.`,
    )
  }
  return said && stateWithin(said)
}

export function stateOf(invocation: Invocation): string {
  const state = saidState(invocation)
  if (state) return state
  throw usageFailure(
    `${invocation.command} needs --state LOCATION. The state of dedupe -o DIR is DIR/state.`,
  )
}

export interface CallSettings extends JobConfig {
  /** Whether anything was said about how duplicates are found. */
  readonly isMethodSaid: boolean
}

export async function settingsOf(invocation: Invocation): Promise<CallSettings> {
  const path = invocation.text('config')
  const layers = [
    ...(path === undefined ? [] : [await fileLayer(path, invocation.signal)]),
    environmentLayer(process.env),
    await optionLayer(invocation),
  ]
  const settings = readJobConfig(layers)
  requireRules(invocation, settings.config.keep)
  const others = new Set([
    ...commandNames,
    'input',
    'strict',
    'memory',
    'outputFormat',
    'outputShardSize',
  ])
  const said = layers.flatMap(({ values }) => Object.keys(values))
  return { ...settings, isMethodSaid: said.some((name) => !others.has(name)) }
}

const RULE_OF = {
  'time-field': 'newest',
  'quality-field': 'quality',
  'source-priority': 'source',
  'type-priority': 'type',
  'type-field': 'type',
} as const satisfies Partial<Record<OptionName, KeepRule>>

/** A config file may describe more fields than a run needs; an option is typed to have an effect. */
function requireRules(invocation: Invocation, keep: readonly KeepRule[]): void {
  for (const [name, rule] of Object.entries(RULE_OF)) {
    // safe: the names of RULE_OF are those of options
    const option = name as keyof typeof RULE_OF
    if (invocation.text(option) === undefined || keep.includes(rule)) continue
    throw usageFailure(`--${option} has no effect without --keep ${rule}. Add it.`)
  }
}

const CONFIG_BYTES_MAX = 1024 * 1024

export async function fileLayer(path: string, signal: AbortSignal): Promise<Layer> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileFailure(path, error)
  })
  if (!found.isFile() && !found.isFIFO()) throw usageFailure(`${path} is not a config file.`)
  if (found.size > CONFIG_BYTES_MAX) throw usageFailure(`${path} is too long for a config file.`)
  const text = (await readFileWhole(path, signal, CONFIG_BYTES_MAX)).toString()
  // Of all commands only these need it, and only with a file.
  const { parse } = await import('yaml')
  let values: unknown
  try {
    values = parse(text) ?? {}
  } catch (error) {
    throw usageFailure(`${path} is not YAML: ${error instanceof Error ? error.message : error}`)
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw usageFailure(`${path} contains no settings. See prestige config init.`)
  }
  const directory = dirname(path)
  return { from: path, values: await withJudge({ ...values }, directory), directory }
}

/** A judge may be named by its file, as in an option. */
async function withJudge(values: Layer['values'], directory: string): Promise<Layer['values']> {
  const near = Object(values['near'])
  const name: unknown = Reflect.get(near, 'judge')
  if (typeof name !== 'string') return values
  const isBuiltIn = name === 'default' || name === 'default-semantic'
  const judge = await judgeNamed(isBuiltIn ? name : resolveFrom(directory, name))
  return { ...values, near: { ...near, judge } }
}

const PATH_OF: Readonly<Partial<Record<OptionName, readonly [string, ...string[]]>>> = {
  keep: ['keep'],
  'source-priority': ['sourcePriority'],
  'type-priority': ['typePriority'],
  threshold: ['near', 'threshold'],
  profile: ['near', 'profile'],
  slots: ['near', 'slots'],
  precision: ['near', 'precision'],
  'semantic-threshold': ['semantic', 'threshold'],
  'max-drop': ['maxDrop'],
  'max-cluster': ['maxCluster'],
  'order-independent': ['orderIndependent'],
  chunks: ['chunks', 'enabled'],
  passages: ['passages', 'action'],
  'passages-min-documents': ['passages', 'documentsMin'],
  'passages-min-words': ['passages', 'wordsMin'],
  'passages-by': ['passages', 'by'],
  containment: ['containment', 'min'],
  'containment-action': ['containment', 'action'],
  strict: ['strict'],
  memory: ['memory'],
  format: ['input', 'format'],
  'format-out': ['outputFormat'],
  'shard-size': ['outputShardSize'],
  source: ['input', 'source'],
  'follow-symlinks': ['input', 'followSymlinks'],
}
const FIELDS = ['text', 'id', 'source', 'time', 'quality', 'type', 'language'] as const

async function optionLayer(invocation: Invocation): Promise<Layer> {
  const values: Record<string, unknown> = {}
  const input: Record<string, unknown> = {}
  const fields: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(PATH_OF)) {
    // safe: the names of PATH_OF are those of options
    const option = name as OptionName
    const value = invocation.flag(option) || invocation.text(option)
    const [first, second] = path
    if (value === undefined) continue
    if (first === 'input' && second) input[second] = value
    else values[first] = second ? { ...Object(values[first]), [second]: value } : value
  }
  for (const name of FIELDS) {
    const field = invocation.text(`${name}-field`)
    if (field !== undefined) fields[name] = field
  }
  const { precision, judge, guards } = await judgementInput(invocation)
  const near = {
    ...(precision !== undefined && { precision }),
    ...(judge && { judge }),
    ...(guards === false && { guards }),
    ...profileOf(invocation),
  }
  if (Object.keys(near).length > 0) values['near'] = { ...Object(values['near']), ...near }
  if (invocation.text('containment') !== undefined)
    values['containment'] = { ...Object(values['containment']), enabled: true }
  if (Object.keys(fields).length > 0) input['fields'] = fields
  if (Object.keys(input).length > 0) values['input'] = input
  return { from: 'The options', values, typed: (path) => typedOption(invocation, path) }
}

/** `--ngram 5` is `--profile words-5`. */
function profileOf(invocation: Invocation): { profile?: string } {
  const words = invocation.wholeNumber('ngram')
  if (words === undefined) return {}
  if (invocation.text('profile') !== undefined) {
    throw usageFailure('--ngram N is --profile words-N: give only one of them.')
  }
  return { profile: `words-${words}` }
}

/** `--threshold 90`, for the setting `near.threshold`. */
function typedOption(invocation: Invocation, path: string): string | undefined {
  const [name] = Object.entries(OPTION_AT).find(([at]) => at === path) ?? []
  const field = /^input\.fields\.(\w+)$/.exec(path)?.[1]
  // safe: the names are those of options
  const option = (field ? `${field}-field` : name && OPTION_AT[name]) as OptionName | undefined
  const given = option === 'profile' && invocation.text('ngram') ? 'ngram' : option
  return given && `${invocation.typedName(given)} ${invocation.text(given) ?? ''}`.trimEnd()
}

const OPTION_AT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(PATH_OF).map(([name, path]) => [path.join('.'), name])),
  'containment.enabled': 'containment',
  'near.guards': 'no-guards',
  'near.judge': 'judge',
}

/** What was typed, and what to type instead where it differs from earlier runs. */
export function saidOf(invocation: Invocation, config: JobConfig): Said {
  const elsewhere = invocation.text('state') ?? invocation.text('backend')
  return {
    ...saidIn(config),
    command: commandOf(invocation, {}),
    commandAgain: commandOf(invocation, { run: undefined, plan: undefined, again: true }),
    commandOther: commandOf(invocation, {
      run: undefined,
      plan: undefined,
      out: 'OTHER',
      ...(elsewhere !== undefined && { state: 'OTHER/state', backend: undefined }),
    }),
  }
}

type Changes = Readonly<Partial<Record<OptionName, string | true | undefined>>>

/** The command with some options changed, to be pasted into a shell. Passwords are left out. */
function commandOf(invocation: Invocation, changes: Changes): string {
  const options = Object.entries({ ...invocation.options, ...changes })
  const words = options.flatMap(([name, value]) => {
    const option = name === 'out' ? '-o' : `--${name}`
    if (value === undefined) return []
    if (value === true) return [option]
    return name === 'plan' ? [`${option}=${value}`] : [option, withoutSecrets(value)]
  })
  const inputs = shortened(invocation.operands.map(quoted))
  return ['prestige', invocation.command, ...inputs, ...words.map(quoted)].join(' ')
}

const INPUTS_LENGTH_MAX = 1000

/** A shell may have made thousands of one pattern, and a command is kept with its run. */
function shortened(inputs: readonly string[]): readonly string[] {
  let length = 0
  const isLong = (input: string) => (length += input.length) > INPUTS_LENGTH_MAX
  const shown = inputs.findIndex(isLong)
  if (shown < 0) return inputs
  const first = Math.max(1, shown)
  return first < inputs.length ? [...inputs.slice(0, first), `… (${inputs.length} inputs)`] : inputs
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
