/** What a schema says about itself, as a list: names, kinds, defaults and the sentences that explain them. */

import * as v from 'valibot'

import { entriesOf, unwrapped } from '../../platform/options.ts'

export type FieldKind = 'number' | 'boolean' | 'choice' | 'text' | 'list'

export interface SchemaField {
  /** `['near', 'threshold']`. */
  readonly path: readonly string[]
  readonly kind: FieldKind
  readonly help: string
  /** Absent where there is none. */
  readonly fallback: unknown
  readonly choices: readonly string[] | undefined
}

type Schema = v.GenericSchema

/** The settings of a schema, sections walked through, in its order. */
export function fieldsOf(schema: Schema, path: readonly string[] = []): SchemaField[] {
  return Object.entries(entriesOf(schema) ?? {}).flatMap(([name, entry]) => {
    const inner = unwrapped(entry)
    const at = [...path, name]
    return entriesOf(inner) ? fieldsOf(inner, at) : [fieldOf(entry, inner, at)]
  })
}

function fieldOf(entry: Schema, inner: Schema, path: readonly string[]): SchemaField {
  const kind = kindOf(inner)
  const choices = choicesOf(kind === 'list' ? unwrapped(itemOf(inner)) : inner)
  const help = v.getDescription(inner) ?? ''
  return { path, kind, help, fallback: fallbackOf(entry), choices }
}

/** A default may be created by a function, every time. */
function fallbackOf(entry: Schema): unknown {
  const found: unknown = Reflect.get(entry, 'default')
  return typeof found === 'function' ? found() : found
}

function kindOf({ type }: Schema): FieldKind {
  if (type === 'number' || type === 'boolean') return type
  if (type === 'array') return 'list'
  return type === 'picklist' ? 'choice' : 'text'
}

function choicesOf(schema: Schema): readonly string[] | undefined {
  const options: unknown = Reflect.get(schema, 'options')
  return Array.isArray(options) ? options.map(String) : undefined
}

function itemOf(list: Schema): Schema {
  return Reflect.get(list, 'item') as Schema // safe: called only for lists, which have one
}
