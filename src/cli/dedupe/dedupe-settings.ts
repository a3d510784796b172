/** Settings of `dedupe`: a config file, then the environment, then options; the last one wins. */

import { stat } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve } from 'node:path'

import {
  environmentLayer,
  type JobConfig,
  type KeepRule,
  type Layer,
  readJobConfig,
} from '../../dedupe/index.ts'
import type { OptionName } from '../declarations/index.ts'
import { fileFailure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { judgementInput } from '../call/judgement.ts'
import { isDirectory } from '../../platform/location.ts'
import { stateWithin } from '../call/location.ts'
import { readFileWhole } from '../files/read-input.ts'

export interface JobPlaces {
  readonly out: string
  readonly state: string
}

export function placesOf(invocation: Invocation): JobPlaces {
  const out = invocation.text('out')
  if (!out) throw usageFailure('dedupe needs -o DIR, a directory for the outputs.')
  if (out === '-') {
    throw usageFailure(
      '-o takes a directory; outputs cannot go to stdout. For a directory named -, write -o ./-',
    )
  }
  if (!isDirectory(out)) {
    throw usageFailure(
      `-o takes a directory, not "${out}". A location of a state is given with --state.`,
    )
  }
  for (const input of invocation.operands) refuseWithin(out, input)
  return { out, state: saidState(invocation) ?? join(out, 'state') }
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
  return said && stateWithin(said)
}

export function stateOf(invocation: Invocation): string {
  const state = saidState(invocation)
  if (state) return state
  throw usageFailure(
    `${invocation.command} needs --state LOCATION. The state of dedupe -o DIR is DIR/state.`,
  )
}

export async function settingsOf(invocation: Invocation): Promise<JobConfig> {
  const path = invocation.text('config')
  const layers = path === undefined ? [] : [await fileLayer(path, invocation.signal)]
  const settings = readJobConfig([
    ...layers,
    environmentLayer(process.env),
    await optionLayer(invocation),
  ])
  requireRules(invocation, settings.config.keep)
  return settings
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

/** Whether anything was said about how duplicates are found. */
export async function isAnythingSaid(invocation: Invocation): Promise<boolean> {
  if (invocation.text('config') !== undefined) return true
  const said = {
    ...environmentLayer(process.env).values,
    ...(await optionLayer(invocation)).values,
  }
  return Object.keys(said).some((name) => !['input', 'strict', 'memory'].includes(name))
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
  return { from: path, values: { ...values } }
}

const PATH_OF: Readonly<Partial<Record<OptionName, readonly [string, ...string[]]>>> = {
  keep: ['keep'],
  'source-priority': ['sourcePriority'],
  'type-priority': ['typePriority'],
  threshold: ['near', 'threshold'],
  precision: ['near', 'precision'],
  'semantic-threshold': ['semantic', 'threshold'],
  'max-drop': ['maxDrop'],
  'max-cluster': ['maxCluster'],
  'order-independent': ['orderIndependent'],
  chunks: ['chunks', 'enabled'],
  containment: ['containment', 'min'],
  'containment-action': ['containment', 'action'],
  strict: ['strict'],
  memory: ['memory'],
  format: ['input', 'format'],
  source: ['input', 'source'],
  'follow-symlinks': ['input', 'followSymlinks'],
}
const FIELDS = ['text', 'id', 'source', 'time', 'quality', 'type'] as const

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
  const { judge, guards } = await judgementInput(invocation)
  const near = { ...(judge && { judge }), ...(guards === false && { guards }) }
  if (Object.keys(near).length > 0) values['near'] = { ...Object(values['near']), ...near }
  if (invocation.text('containment') !== undefined)
    values['containment'] = { ...Object(values['containment']), enabled: true }
  if (Object.keys(fields).length > 0) input['fields'] = fields
  if (Object.keys(input).length > 0) values['input'] = input
  return { from: 'The options', values, typed: (path) => typedOption(invocation, path) }
}

/** `--threshold 90`, for the setting `near.threshold`. */
function typedOption(invocation: Invocation, path: string): string | undefined {
  const [name] = Object.entries(PATH_OF).find(([, at]) => at.join('.') === path) ?? []
  // safe: the names of PATH_OF are those of options
  return name && `--${name} ${invocation.text(name as OptionName) ?? ''}`.trimEnd()
}
