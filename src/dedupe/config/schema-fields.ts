/** What a schema says about itself, as a list: names, kinds, defaults and the sentences that explain them. */

import * as v from 'valibot'

export type FieldKind = 'number' | 'boolean' | 'choice' | 'text' | 'list'

export interface SchemaField {
  /** `['near', 'similarityMin']`. */
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
  const choices = choicesOf(kind === 'list' ? unwrapped(part(inner, 'item')) : inner)
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

export function entriesOf(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const entries: unknown = Reflect.get(schema, 'entries')
  // safe: the entries of an object schema are schemas
  return typeof entries === 'object' ? (entries as Record<string, Schema>) : undefined
}

/** Without `optional`. */
export function unwrapped(schema: Schema): Schema {
  return schema.type === 'optional' ? unwrapped(part(schema, 'wrapped')) : schema
}

function part(schema: Schema, name: string): Schema {
  return Reflect.get(schema, name) as Schema // safe: called only for parts that schemas of this type have
}
