/**
 * How what was typed now differs from what earlier runs were decided with, in the words in which it was typed. What was
 * not typed does not differ, and neither does what decides about nothing: ceilings, and settings of methods that are off.
 */

import { readGuards } from '../../compare/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { countOf } from '../../platform/units.ts'
import type { ReadingInput } from '../../input/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { isRaw, mergeRaw, type Raw } from '../config/raw.ts'
import type { RunHead, RunRow } from '../runs.ts'

/** A command as it was typed. */
export interface Said {
  /** Settings of the job, without defaults. */
  readonly settings: Raw
  /** How inputs are read, without defaults: `fields`, `source`, `lineBytesMax`, and `format`. */
  readonly reading: Raw
  /** What was typed for the setting `near.threshold`: `--threshold 0.9`. */
  readonly typed: (path: string) => string | undefined
  /** The command itself, with `--again`, and with another directory for the outputs. */
  readonly command: string
  readonly commandAgain: string
  readonly commandOther: string
}

export interface Change {
  /** `--threshold 0.9`. */
  readonly now: string
  /** `0.8`. */
  readonly before: string
}

/** They stop a run, and change no decision of it. */
const CEILINGS = new Set(['maxDrop', 'maxCluster'])
/** Compared as a whole. */
const WHOLE = new Set(['near.guards', 'near.judge'])
const METHODS = ['exact', 'simhash', 'near', 'containment', 'chunks', 'semantic'] as const

interface Leaf {
  readonly path: string
  readonly value: unknown
}

/** How the settings that were typed differ from those that a run was decided with. */
export function changesFrom(before: DedupeConfig, { settings, typed }: Said): Change[] {
  const known: Raw = { ...before }
  const after = mergeRaw(known, settings)
  const counts = ({ path }: Leaf) =>
    !CEILINGS.has(path) && (hasEffect(known, path) || hasEffect(after, path))
  return changesOf(leavesOf(settings).filter(counts), (path) => valueAt(known, path), typed)
}

/** How the inputs of a run were read otherwise than they would be now. */
export function readingChanges({ reading = {}, shards }: RunRow, said: Said): Change[] {
  const formats = [...new Set(shards.map(({ format }) => format))]
  const leaves = leavesOf(said.reading).filter(
    // A run may have read files of several formats, each by its extension.
    ({ path, value }) => path !== 'format' || (value !== 'auto' && formats.join() !== value),
  )
  const known: Raw = { ...reading, format: formats.join(', ') }
  return changesOf(
    leaves,
    (path) => valueAt(known, path) ?? DEFAULT_FIELDS[path],
    (path) => said.typed(`input.${path}`),
  )
}

const DEFAULT_FIELDS: Readonly<Record<string, string>> = {
  'fields.text': 'text',
  'fields.id': 'id',
}

function changesOf(
  leaves: readonly Leaf[],
  before: (path: string) => unknown,
  typed: Said['typed'],
): Change[] {
  const changes = new Map<string, Change>()
  for (const { path, value } of leaves) {
    const known = before(path)
    if (comparable(path, known) === comparable(path, value)) continue
    const now = typed(path) ?? `${path} ${textOf(value)}`
    if (!changes.has(now)) changes.set(now, { now, before: textOf(known) })
  }
  return [...changes.values()]
}

/** What turns a method on comes first: it says more than the settings of the method do. */
function leavesOf(settings: Raw, prefix = ''): Leaf[] {
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined)
  const ordered = entries.toSorted(
    ([one], [other]) => Number(other === 'enabled') - Number(one === 'enabled'),
  )
  return ordered.flatMap(([name, value]) => {
    const path = prefix + name
    return isRaw(value) && !WHOLE.has(path) ? leavesOf(value, `${path}.`) : [{ path, value }]
  })
}

/** Whether a setting decides about anything in this config. */
function hasEffect(config: Raw, path: string): boolean {
  const keep = valueAt(config, 'keep')
  const keeps = (rule: string) => Array.isArray(keep) && keep.includes(rule)
  if (path === 'sourcePriority') return keeps('source')
  if (path === 'typePriority') return keeps('type')
  const [section = '', name] = path.split('.')
  const isOfMethod = METHODS.some((one) => one === section) && name !== 'enabled'
  return !isOfMethod || valueAt(config, `${section}.enabled`) === true
}

function comparable(path: string, value: unknown): string {
  if (path === 'near.guards') return JSON.stringify(value ? readGuards(value, 'near') : false)
  if (path === 'near.judge') return String(Reflect.get(Object(value), 'hash'))
  return JSON.stringify(value ?? 'not set')
}

function valueAt(values: Raw, path: string): unknown {
  let found: unknown = values
  for (const name of path.split('.')) found = isRaw(found) ? found[name] : undefined
  return found
}

function textOf(value: unknown): string {
  if (value === undefined) return 'not set'
  if (value === false) return 'off'
  if (value === true || isRaw(value)) return 'on'
  if (Array.isArray(value)) return value.join(',') || 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function changesText(changes: readonly Change[]): string {
  return changes.map(({ now, before }) => `${now} (before: ${before})`).join('; ')
}

/** What a change of settings affects. */
export interface Affected {
  readonly documents: number
  readonly files: number
}

/** `isFromState`: the state has texts of documents, and they are read as before. */
export function settingsDiffer(
  changes: readonly Change[],
  { documents, files }: Affected,
  isFromState: boolean,
  { commandAgain, commandOther }: Said,
): PrestigeError {
  const how = isFromState ? 'by the texts in the state' : 'which reads the inputs again'
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    `Earlier runs decided about ${countOf(documents, 'document')} of ${countOf(files, 'file')} with other settings. This command has ${changesText(changes)}. Nothing was changed.\nTo decide about all of them again with these settings, ${how}:\n  ${commandAgain}\nTo keep both results:\n  ${commandOther}`,
  )
}

/** A run that was interrupted, and a command that is not its own. */
export function otherRunOpen(open: RunHead, said: Said | undefined): PrestigeError {
  const changes = said ? changesFrom(open.config, said) : []
  const differs =
    changes.length > 0
      ? `: ${changesText(changes)}`
      : ' (inputs, how they are read, config or output)'
  const redoing = open.redoes
    ? `, which decides again about what ${open.redoes.join(', ')} did,`
    : ''
  const resume = open.command
    ? `To resume it:\n  ${open.command}\nTo discard it, before you give this command again:\n`
    : 'Give its command again to resume it, or undo it: '
  const indent = open.command ? '  ' : ''
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    `Run ${open.id}${redoing} was interrupted or is still active, and this call differs from it${differs}. ${resume}${indent}prestige undo ${open.id} --state STATE`,
  )
}

/** How inputs of a further run are read: by the fields of the last one, but for those that were typed. */
export function readingAsBefore(
  reading: ReadingInput | undefined,
  last: Pick<RunHead, 'fields'> | undefined,
  said: Said,
): ReadingInput | undefined {
  const typed = said.reading['fields']
  if (!last?.fields) return reading
  return { ...reading, fields: mergeRaw({ ...last.fields }, isRaw(typed) ? typed : {}) }
}

/** How inputs are read again: as they were, but for what was typed. All of a run are read in the same way. */
export function readingAgain(runs: readonly RunRow[], said: Said | undefined): ReadingInput {
  const { format: _, ...typed } = said?.reading ?? {}
  const readings = runs.map(({ reading = {} }) => mergeRaw({ ...reading }, typed))
  const [first = {}] = readings
  const [one] = runs
  const otherAt = readings.findIndex((reading) => JSON.stringify(reading) !== JSON.stringify(first))
  const other = runs[otherAt]
  if (!one || !other) return first
  const names = leavesOf({ ...first }).concat(leavesOf({ ...readings[otherAt] }))
  const differing = [...new Set(names.map(({ path }) => path))].filter(
    (path) => valueAt(first, path) !== valueAt(readings[otherAt] ?? {}, path),
  )
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    `Runs ${one.id} and ${other.id} read their inputs in different ways (${differing.map((path) => `input.${path}`).join(', ')}), and are decided about again in one run. Give the option that is right for all of them, or write to another directory: -o OTHER.`,
  )
}
