/**
 * All settings of a job over files, in one schema: those of the corpus job itself, and how its inputs are
 * read. Settings come in layers (a file, the environment, options), of which the last one wins; the whole is then
 * read once, and unknown names are refused with what may be meant.
 */

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import {
  type ListingInput,
  listingOptions,
  type ReadingInput,
  readingOptions,
} from '../../input/index.ts'
import { nearest } from '../../platform/did-you-mean.ts'
import { flag, readOptions } from '../../platform/options.ts'
import { type DedupeConfig, dedupeSchema, memoryOption, readConfig } from './config.ts'
import { isRaw, mergeRaw, nested, type Raw } from './raw.ts'
import { fieldsOf, type SchemaField } from './schema-fields.ts'
import { seedNames } from './seed-names.ts'
import { readValue } from './values.ts'

const { format, root, followSymlinks, shardBytes } = listingOptions.entries
const { source, lineBytesMax } = readingOptions.entries
// The job has no use for the language of a document.
const { language: _, ...fieldEntries } = readingOptions.entries.fields.wrapped.entries
const fields = v.optional(v.strictObject(fieldEntries), {})

export const jobSchema = v.strictObject({
  ...dedupeSchema.entries,
  memory: memoryOption,
  strict: v.optional(flag('Stop the run at the first input that is not a document.'), false),
  input: v.optional(
    v.strictObject({
      format,
      root,
      followSymlinks,
      source,
      fields,
      lineBytesMax,
      shardBytes,
    }),
    {},
  ),
})

export interface JobConfig {
  readonly config: DedupeConfig
  readonly listing: ListingInput
  readonly reading: ReadingInput
  readonly strict: boolean
  /** Bytes of memory for indexes. */
  readonly memory: number | undefined
  /** Settings without a counterpart here. */
  readonly warnings: readonly string[]
}

/** One layer of settings, and where it is from: `dedupe.yaml`, `the environment`. */
export interface Layer {
  readonly from: string
  readonly values: Raw
  /** What was typed here for the setting `near.threshold`: `--threshold 90`. */
  readonly typed?: ((path: string) => string | undefined) | undefined
}

export function readJobConfig(layers: readonly Layer[]): JobConfig {
  const warnings: string[] = []
  let merged: Raw = {}
  for (const { from, values, typed } of layers) {
    const understood = seedNames(values, (warning) => warnings.push(`${from}: ${warning}`))
    const read = withUnits(understood, from, typed)
    // Each layer alone, so that a mistake is reported under the name by which it was made.
    readSettings(read, from, typed)
    merged = mergeRaw(merged, read)
  }
  const read = readSettings(merged, 'The config')
  const { strict, memory, input, ...dedupe } = read
  const listing = {
    format: input.format,
    root: input.root,
    followSymlinks: input.followSymlinks,
    shardBytes: input.shardBytes,
  }
  const reading = {
    source: input.source,
    fields: input.fields,
    lineBytesMax: input.lineBytesMax,
  }
  requireKeepable(dedupe, input.fields)
  return { config: readConfig(dedupe), listing, reading, strict, memory, warnings }
}

/** Every rule has what it compares by; without it, it would have no effect. */
function requireKeepable(
  { keep, sourcePriority, typePriority }: DedupeConfig,
  fields: NonNullable<ReadingInput['fields']>,
): void {
  const needs = [
    ['newest', fields.time, 'input.fields.time', '--time-field NAME'],
    ['quality', fields.quality, 'input.fields.quality', '--quality-field NAME'],
    ['source', sourcePriority[0], 'sourcePriority', '--source-priority NAMES'],
    ['type', typePriority[0], 'typePriority', '--type-priority NAMES'],
    ['type', fields.type, 'input.fields.type', '--type-field NAME'],
  ] as const
  for (const [rule, value, setting, option] of needs) {
    if (!keep.includes(rule) || value !== undefined) continue
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `keep ${rule} needs the setting ${setting}: add ${option}, or set it in the config.`,
    )
  }
}

function readSettings(values: Raw, from: string, typed?: Layer['typed']) {
  // safe: readOptions looks at everything in it
  return readOptions(jobSchema, values as v.InferInput<typeof jobSchema>, from, typed)
}

/** Numbers that are written as people write them: `60%`, `10MB`. */
function withUnits(values: Raw, from: string, typed: Layer['typed']): Raw {
  let read: Raw = values
  for (const field of fieldsOf(jobSchema)) {
    const name = field.path.join('.')
    const found = valueAt(values, field.path)
    if (typeof found !== 'string' || field.kind === 'text' || field.kind === 'choice') continue
    read = mergeRaw(
      read,
      nested(field.path, readValue(field, found, typed?.(name) ?? `${from}: ${name}`)),
    )
  }
  return read
}

function valueAt(values: Raw, path: readonly string[]): unknown {
  let found: unknown = values
  for (const name of path) found = isRaw(found) ? found[name] : undefined
  return found
}

const ENVIRONMENT = 'PRESTIGE_DEDUPE_'

/** `PRESTIGE_DEDUPE_NEAR_THRESHOLD`. */
export function environmentName({ path }: Pick<SchemaField, 'path'>): string {
  return ENVIRONMENT + path.join('_').replaceAll(/[A-Z]/g, '_$&').toUpperCase()
}

export function environmentLayer(environment: Readonly<Record<string, string | undefined>>): Layer {
  const known = new Map(fieldsOf(jobSchema).map((field) => [environmentName(field), field]))
  let values: Raw = {}
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(ENVIRONMENT) || value === undefined) continue
    const field = known.get(name)
    if (!field) {
      const meant = nearest(name, [...known.keys()])
      const hint = meant ? ` Did you mean ${meant}?` : ''
      throw new PrestigeError('INVALID_OPTIONS', `${name} is not an option.${hint}`)
    }
    values = mergeRaw(values, nested(field.path, value))
  }
  const typed = (path: string) => {
    const name = environmentName({ path: path.split('.') })
    return `${name}=${environment[name]}`
  }
  return { from: 'The environment', values, typed }
}
