/**
 * Names in `sourcePriority` and `typePriority` that no document has: mostly misspelt, and without effect. Sources that
 * inputs are named by are known before anything is read; those in a field, and types, before anything is published.
 */

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type ReadingInput, type Shard, sourcesIn } from '../../input/index.ts'
import { countsOf, NAME_BYTES_MAX, sourceName } from '../../ledger/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { isOpen, listRuns, type RunRow } from '../runs.ts'
import type { Summary } from './summary.ts'

const LISTED_MAX = 12

/** Throws if a priority is no source of the inputs, and none that the state has. */
export async function requireSources(
  backend: Backend,
  config: DedupeConfig,
  shards: readonly Shard[],
  reading: ReadingInput = {},
): Promise<void> {
  if (!config.keep.includes('source') || reading.fields?.source !== undefined) return
  const sources = new Set(shards.flatMap((shard) => sourcesIn(shard, reading.source)))
  const unknown = await unknownSources(backend, config, (name) => sources.has(name))
  if (unknown.length === 0) return
  throw new PrestigeError('INVALID_OPTIONS', `${unknownSentence('source', unknown, sources)}.`)
}

/** After reading: sentences without a full stop. */
export async function unknownPriorities(
  backend: Backend,
  { id, config, reading }: RunRow,
  { bySource, byType }: Summary,
): Promise<string[]> {
  const found: string[] = []
  if (config.keep.includes('source') && reading?.fields?.source !== undefined) {
    const unknown = await unknownSources(backend, config, (name) => name in bySource)
    if (unknown.length > 0) found.push(unknownSentence('source', unknown, Object.keys(bySource)))
  }
  // The state does not list the types of earlier runs.
  if (config.keep.includes('type') && (await isFirst(backend, id))) {
    const unknown = config.typePriority.filter((name) => !(name in byType))
    if (unknown.length > 0) found.push(unknownSentence('type', unknown, Object.keys(byType)))
  }
  return found
}

async function unknownSources(
  backend: Backend,
  { sourcePriority }: DedupeConfig,
  isKnown: (name: string) => boolean,
): Promise<string[]> {
  const unknown: string[] = []
  for (const name of sourcePriority) {
    if (!isKnown(name) && !(await isInState(backend, name))) unknown.push(name)
  }
  return unknown
}

async function isInState(backend: Backend, source: string): Promise<boolean> {
  if (source === '' || Buffer.byteLength(source) > NAME_BYTES_MAX) return false
  return (await backend.read(countsOf, sourceName(source))).total > 0
}

async function isFirst(backend: Backend, id: string): Promise<boolean> {
  const runs = await listRuns(backend)
  return runs.every((run) => run.id === id || run.status === 'undone' || isOpen(run))
}

function unknownSentence(
  what: 'source' | 'type',
  unknown: readonly string[],
  known: Iterable<string>,
): string {
  const names = unknown.map((name) => JSON.stringify(name)).join(', ')
  const all = [...known].map((name) => JSON.stringify(name))
  const more = all.length > LISTED_MAX ? `, and ${all.length - LISTED_MAX} more` : ''
  const there =
    all.length === 0 ? 'There are none' : `There are ${all.slice(0, LISTED_MAX).join(', ')}${more}`
  return `--${what}-priority ${names}: no document has this ${what}. ${there}`
}
