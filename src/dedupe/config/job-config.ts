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
  type OutputFormat,
  outputFormats,
  type ReadingInput,
  readingOptions,
} from '../../input/index.ts'
import { nearest } from '../../platform/did-you-mean.ts'
import { flag, oneOf, readOptions } from '../../platform/options.ts'
import {
  type CommandConfig,
  commandEntries,
  commandOf,
  type InputNames,
  withPaths,
} from './command-options.ts'
import { type DedupeConfig, dedupeSchema, memoryOption, readConfig } from './config.ts'
import { isRaw, mergeRaw, nested, type Raw } from './raw.ts'
import { fieldsOf, type SchemaField } from './schema-fields.ts'
import { seedNames } from './seed-names.ts'
import { readValue } from './values.ts'

const { format, root, followSymlinks, shardBytes } = listingOptions.entries
const { source, lineBytesMax, expansionMax } = readingOptions.entries
// Without a default: a state goes on as it began.
const sources = v.optional(listingOptions.entries.sources.wrapped)
const { fields } = readingOptions.entries

const shardSizeRule = 'must be a whole number of bytes from 1KB, such as 256MB'

export const jobSchema = v.strictObject({
  ...commandEntries,
  ...dedupeSchema.entries,
  memory: memoryOption,
  strict: v.optional(flag('Stop the run at the first input that is not a document.'), false),
  input: v.optional(
    v.strictObject({
      format,
      root,
      followSymlinks,
      source,
      sources,
      fields,
      lineBytesMax,
      expansionMax,
      shardBytes,
    }),
    {},
  ),
  outputShardSize: v.optional(
    v.pipe(
      v.number(shardSizeRule),
      v.integer(shardSizeRule),
      v.minValue(1000, shardSizeRule),
      v.description(
        'Write each output as several files of at most this size before compression, such as 256MB: a-00000.jsonl, a-00001.jsonl. Default: as earlier runs wrote them, or one file.',
      ),
    ),
  ),
  outputFormat: v.optional(
    oneOf(
      outputFormats,
      'Format of the kept documents. Default: as earlier runs wrote them, or as each input has it.',
    ),
  ),
})

export interface JobConfig {
  readonly config: DedupeConfig
  readonly listing: ListingInput
  readonly reading: ReadingInput
  readonly strict: boolean
  /** Bytes of memory for indexes. */
  readonly memory: number | undefined
  /** What the command reads and writes, where the config says so. */
  readonly command: CommandConfig
  readonly formatOut?: OutputFormat | undefined
  /** Bytes of an output file. */
  readonly shardSize?: number | undefined
  /** How settings of another spelling were understood. */
  readonly warnings: readonly string[]
  /** What was given, without defaults. */
  readonly given: Raw
  /** What was typed for the setting `near.threshold`, in the layer that counts: `--threshold 0.9`. */
  readonly typed: (path: string) => string | undefined
}

/** One layer of settings, and where it is from: `dedupe.yaml`, `the environment`. */
export interface Layer {
  readonly from: string
  readonly values: Raw
  /** Of a file: where it is. */
  readonly directory?: string | undefined
  /** What was typed here for the setting `near.threshold`: `--threshold 90`. */
  readonly typed?: ((path: string) => string | undefined) | undefined
}

export function readJobConfig(layers: readonly Layer[]): JobConfig {
  const warnings: string[] = []
  const words: JobConfig['typed'][] = []
  let merged: Raw = {}
  const names: InputNames = new Map()
  for (const { from, values, directory, typed } of layers) {
    const understood = seedNames(values, (warning) => warnings.push(`${from}: ${warning}`))
    const united = withUnits(understood, from, typed)
    const read = directory === undefined ? united : withPaths(united, directory, names)
    // Each layer alone, so that a mistake is reported under the name by which it was made.
    readSettings(read, from, typed)
    merged = mergeRaw(merged, read)
    words.push((path) => wordsOf(path.split('.'), read, from, typed))
  }
  const typed = (path: string) =>
    words.reduceRight<string | undefined>((found, of) => found ?? of(path), undefined)
  const read = readSettings(merged, 'The config')
  const {
    strict,
    memory,
    input,
    outputFormat: formatOut,
    outputShardSize: shardSize,
    ...others
  } = read
  const dedupe = dedupeOnly(others)
  const listing = {
    format: input.format,
    root: input.root,
    followSymlinks: input.followSymlinks,
    shardBytes: input.shardBytes,
    ...(input.sources !== undefined && { sources: input.sources }),
  }
  const reading = {
    source: input.source,
    fields: input.fields,
    lineBytesMax: input.lineBytesMax,
    // Only where it is another than before it could be set: it is part of what identifies a run.
    ...(input.expansionMax !== v.getDefault(expansionMax) && { expansionMax: input.expansionMax }),
  }
  requireKeepable(dedupe, input.fields)
  const command = commandOf(read, names)
  const said = { formatOut, shardSize, memory, given: merged, typed }
  return { config: readConfig(dedupe), listing, reading, strict, command, warnings, ...said }
}

/** What was given of decisions and of how inputs are read; all else is of the command. */
export function saidIn({
  given,
  typed,
  config,
}: JobConfig): Pick<JobConfig, 'typed'> & { readonly settings: Raw; readonly reading: Raw } {
  const settings = Object.fromEntries(Object.entries(given).filter(([name]) => name in config))
  const { fields, source, lineBytesMax, format } = Object(given['input'])
  const all = Object.entries({ fields, source, lineBytesMax, format })
  const reading = Object.fromEntries(all.filter(([, value]) => value !== undefined))
  return { settings, reading, typed }
}

function dedupeOnly(read: DedupeConfig): DedupeConfig {
  const own = Object.keys(dedupeSchema.entries).map((name) => [name, Reflect.get(read, name)])
  // safe: what is left out are the settings of the command
  return Object.fromEntries(own) as DedupeConfig
}

/** `undefined` if the layer says nothing about it. */
function wordsOf(
  path: readonly string[],
  values: Raw,
  from: string,
  typed: Layer['typed'],
): string | undefined {
  const value = valueAt(values, path)
  if (value === undefined) return undefined
  const name = path.join('.')
  return typed?.(name) ?? `${name}: ${JSON.stringify(value)} in ${from}`
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
  const own = Object.entries(environment).filter(([name]) => name.startsWith(ENVIRONMENT))
  const typed = (path: string) => {
    const name = environmentName({ path: path.split('.') })
    return `${name}=${environment[name]}`
  }
  return { from: 'The environment', values: textValues(own, environmentName), typed }
}

/** Settings by their names, as a query has them: `near.threshold` and `0.9`. */
export function namedLayer(from: string, values: Readonly<Record<string, string>>): Layer {
  return { from, values: textValues(Object.entries(values), ({ path }) => path.join('.')) }
}

function textValues(
  given: readonly (readonly [name: string, value: string | undefined])[],
  nameOf: (field: SchemaField) => string,
): Raw {
  const known = new Map(fieldsOf(jobSchema).map((field) => [nameOf(field), field]))
  let values: Raw = {}
  for (const [name, value] of given) {
    if (value === undefined) continue
    const field = known.get(name)
    if (!field) {
      const meant = nearest(name, [...known.keys()])
      const hint = meant ? ` Did you mean ${meant}?` : ''
      throw new PrestigeError('INVALID_OPTIONS', `${name} is not an option.${hint}`)
    }
    values = mergeRaw(values, nested(field.path, value))
  }
  return values
}
