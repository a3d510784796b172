/**
 * Reads options once, at the edge: unknown names are refused, defaults filled in, the result frozen.
 * Inside, nothing is optional and nothing is checked twice.
 */

import * as v from 'valibot'

import { nearest } from './did-you-mean.ts'
import { PrestigeError } from './errors.ts'
import type { MetricsSink } from './telemetry.ts'

type Schema = v.GenericSchema<unknown, object>

/** Options of which some have defaults, filled in. */
export type WithDefaults<T, K extends keyof T> = T & {
  readonly [N in K]-?: Exclude<T[N], undefined>
}

/** `typed`: what somebody wrote who does not know the path `near.threshold`, such as `--threshold 90`. */
export function readOptions<S extends Schema>(
  schema: S,
  input: v.InferInput<S>,
  what: string,
  typed?: (path: string) => string | undefined,
): Readonly<v.InferOutput<S>> {
  requireObject(input, what)
  const read = v.safeParse(schema, input)
  if (read.success) return Object.freeze(read.output)
  const problems = read.issues.map((issue) => problemOf(schema, issue, what, typed))
  const intro = typed ? '' : `${what} cannot be used. `
  throw new PrestigeError('INVALID_OPTIONS', intro + problems.join(' '))
}

function problemOf(
  schema: Schema,
  issue: v.BaseIssue<unknown>,
  what: string,
  typed: ((path: string) => string | undefined) | undefined,
): string {
  const path = v.getDotPath(issue)
  if (path === null) return `${what} must be an object, not ${issue.received}.`
  if (issue.expected === 'never') {
    const meant = meantOption(schema, path)
    return `${path} is not an option.${meant ? ` Did you mean ${meant}?` : ''}`
  }
  if (issue.expected?.startsWith('"') && issue.received === 'undefined')
    return `${path} is missing.`
  const rule = ruleOf(issue)
  const name = typed?.(path.replace(/\.\d+$/, ''))
  return name ? `${name}: ${rule}.` : `${path}: ${rule}, not ${issue.received}.`
}

/** What is wrong with what somebody sent to a server, in the names that were sent. `what`: such as `The body`. */
export function sentProblems(
  schema: v.GenericSchema,
  issues: readonly v.BaseIssue<unknown>[],
  what: string,
): string {
  const problems = issues.map((issue) => {
    const path = v.getDotPath(issue)
    const name = path ?? what
    if (issue.expected === 'never') {
      const meant = meantOption(schema, name)
      return `${name} is not known here.${meant === undefined ? '' : ` Did you mean ${meant}?`}`
    }
    if (issue.received === 'undefined') return `${name} is missing.`
    const received = isLength(issue) ? '' : `, not ${receivedIn(issue)}`
    return path === null ? `${what} ${ruleOf(issue)}.` : `${path}: ${ruleOf(issue)}${received}.`
  })
  return `${what} cannot be used. ${problems.join(' ')}`
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  Object: 'an object',
  Array: 'a list',
}

const RECEIVED_LENGTH_MAX = 60

function receivedIn({ received }: v.BaseIssue<unknown>): string {
  const shown = WORDS[received] ?? received
  return shown.length > RECEIVED_LENGTH_MAX ? `${shown.slice(0, RECEIVED_LENGTH_MAX)}…` : shown
}

function isLength({ type }: v.BaseIssue<unknown>): boolean {
  return type === 'min_length' || type === 'max_length'
}

/** Messages of schemas are ours, as they are; those of the validator itself are written in our words. */
function ruleOf(issue: v.BaseIssue<unknown>): string {
  const { message, type, requirement, input } = issue
  if (!message.startsWith('Invalid ')) return message
  const units = Array.isArray(input) ? 'items' : 'characters'
  switch (type) {
    case 'min_length':
      return requirement === 1 ? 'cannot be empty' : `must have at least ${requirement} ${units}`
    case 'max_length':
      return `must have at most ${requirement} ${units}`
    case 'min_value':
      return `must be at least ${requirement}`
    case 'max_value':
      return `must be at most ${requirement}`
    case 'gt_value':
      return `must be greater than ${requirement}`
    case 'integer':
      return 'must be a whole number'
    case 'base64':
      return 'must be base64'
    default:
      return `must be ${expectedIn(issue)}`
  }
}

/** Of `string`, or of `("put" | "get")`, as the validator writes types and choices. */
function expectedIn({ expected }: v.BaseIssue<unknown>): string {
  const choices = (expected ?? 'Object').replace(/^\(|\)$/g, '').split(' | ')
  if (choices.every((one) => one.startsWith('"')))
    return `one of ${choices.map((one) => one.slice(1, -1)).join(', ')}`
  return choices.map((one) => WORDS[one] ?? one).join(' or ')
}

/** An option beside the unknown one, or one of this name in another section. */
function meantOption(schema: v.GenericSchema, path: string): string | undefined {
  const names = path.split('.')
  const last = names.pop() ?? ''
  const section = names.reduce<v.GenericSchema | undefined>((inner, name) => {
    const entry = inner && entriesOf(inner)?.[name]
    return entry && unwrapped(entry)
  }, schema)
  const beside = nearest(last, Object.keys((section && entriesOf(section)) ?? {}))
  if (beside !== undefined) return [...names, beside].join('.')
  return nearest(last, pathsOf(schema)) ?? nearest(path, pathsOf(schema))
}

function pathsOf(schema: v.GenericSchema): string[] {
  return Object.entries(entriesOf(schema) ?? {}).flatMap(([name, entry]) =>
    [name].concat(pathsOf(unwrapped(entry)).map((inner) => `${name}.${inner}`)),
  )
}

export function entriesOf(
  schema: v.GenericSchema,
): Readonly<Record<string, v.GenericSchema>> | undefined {
  const entries: unknown = Reflect.get(schema, 'entries')
  // safe: the entries of an object schema are schemas
  return typeof entries === 'object' ? (entries as Record<string, v.GenericSchema>) : undefined
}

/** Without `optional`. */
export function unwrapped(schema: v.GenericSchema): v.GenericSchema {
  if (schema.type !== 'optional') return schema
  return unwrapped(Reflect.get(schema, 'wrapped') as v.GenericSchema) // safe: what `optional` wraps is a schema
}

export function requireObject(input: unknown, what: string): void {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return
  const shown = Array.isArray(input) ? 'a list' : JSON.stringify(input)
  throw new PrestigeError('INVALID_OPTIONS', `${what} must be an object, not ${shown}.`)
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  values: T,
  help: string,
): v.GenericSchema<T[number]> {
  return v.pipe(v.picklist(values, `must be one of ${values.join(', ')}`), v.description(help))
}

export function flag(help: string): v.GenericSchema<boolean> {
  return v.pipe(v.boolean('must be true or false'), v.description(help))
}

/** A similarity that is asked for: greater than 0 and at most 1. */
export function share(help: string): v.GenericSchema<number> {
  const rule = 'must be a number greater than 0 and at most 1'
  return v.pipe(v.number(rule), v.gtValue(0, rule), v.maxValue(1, rule), v.description(help))
}

/** Something that is used as it is: a function, a sink, a signal. */
export function given<T>(isGood: (value: unknown) => boolean, help: string): v.GenericSchema<T> {
  return v.pipe(v.custom<T>(isGood, `must be ${help}`), v.description(help))
}

const isSink = (value: unknown) => typeof value === 'object' && value !== null && 'counter' in value

/** Where measurements go. */
export const sinkOption: v.GenericSchema<MetricsSink> = given<MetricsSink>(
  isSink,
  'an object with counter, histogram and gauge',
)

const isFunction = (value: unknown) => typeof value === 'function'
const TIMEOUT = 'must be a whole number from 1'

/** How a location is opened, whatever is kept there. */
export const locationOptions = {
  namespace: v.optional(
    v.pipe(
      v.string('must be a string'),
      v.description('Part of the location to use; namespaces never see each other.'),
    ),
  ),
  durability: v.optional(
    oneOf(
      ['fsync', 'os'],
      'fsync (the default of a directory): acknowledged writes survive a power failure. os: they survive a crash of the process.',
    ),
  ),
  timeoutMs: v.optional(
    v.pipe(
      v.number(TIMEOUT),
      v.integer(TIMEOUT),
      v.minValue(1, TIMEOUT),
      v.description(
        'How long one operation waits for other processes or for the server, in milliseconds. Then it fails with CONTENDED or BACKEND_UNAVAILABLE.',
      ),
    ),
  ),
  create: v.optional(flag('Make what is not there, as is done by default.')),
  clock: v.optional(given<() => number>(isFunction, 'a function that returns milliseconds')),
  random: v.optional(
    given<(count: number) => Uint8Array>(isFunction, 'a function that returns random bytes'),
  ),
}
