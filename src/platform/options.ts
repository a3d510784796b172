/**
 * Reads options once, at the edge: unknown names are refused, defaults filled in, the result frozen.
 * Inside, nothing is optional and nothing is checked twice.
 */

import * as v from 'valibot'

import { PrestigeError } from './errors.ts'

type Schema = v.GenericSchema<unknown, object>

export function readOptions<S extends Schema>(
  schema: S,
  input: v.InferInput<S>,
  what: string,
): Readonly<v.InferOutput<S>> {
  const read = v.safeParse(schema, input)
  if (read.success) return Object.freeze(read.output)
  const problems = read.issues.map((issue) => {
    const message = issue.expected === 'never' ? 'is not an option' : issue.message
    return `${v.getDotPath(issue) ?? what}: ${message}`
  })
  throw new PrestigeError('INVALID_OPTIONS', `${what} cannot be used. ${problems.join('; ')}`)
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

/** Something that is used as it is: a function, a sink, a signal. */
export function given<T>(isGood: (value: unknown) => boolean, help: string): v.GenericSchema<T> {
  return v.pipe(v.custom<T>(isGood, `must be ${help}`), v.description(help))
}
