/**
 * What the fingerprints of a state were made with, recorded in it: how it is written, compared and replaced.
 *
 * Invariant: while a state holds documents, the settings are those that all of them were fingerprinted with.
 */

import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Space,
  type Transaction,
} from '../backends/index.ts'
import { readGuards } from '../compare/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  type Difference,
  differencesOf,
  requireFormat,
  type Settings,
} from '../platform/settings.ts'
import { findSettings, writeJobSettings } from '../ledger/index.ts'
import { DEFAULT_PROFILE, type ShingleProfile, WINNOWING_VERSION } from '../fingerprint/index.ts'
import { judgeName, recordedGuards, spacesOf, type TextNearSettings } from '../match/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { type Engine, recordedVersion } from './decision/engine.ts'
import { nearSettingsOf } from './decision/prepare.ts'
import {
  chunks,
  clusters,
  containment,
  documents,
  evidences,
  forms,
  meanings,
  members,
  near,
  packs,
  simhash,
  states,
} from './rows.ts'
import { isOpen, lastBegun, listRuns } from './runs.ts'
import { upgradeRows } from './upgrade.ts'

/** Where it is, there is a state. */
export const SETTINGS = cell(states, Buffer.from('state'))
/** 2 had no packs of texts, 3 had them deflated, and longer rows of documents. */
const FORMAT_VERSION = 4
const PAGE = 32

/** Only a state that is there may be opened. */
export async function requireState(backend: Backend): Promise<void> {
  if ((await backend.read(readState)) !== undefined) return
  throw new PrestigeError(
    'STORE_NOT_FOUND',
    'There is no state of this namespace at this location.',
  )
}

/** Whether its settings matter to anything: a document, or a run that goes on. */
export async function isInUse(backend: Backend): Promise<boolean> {
  return (await holdsDocuments(backend)) || (await listRuns(backend)).some(isOpen)
}

export async function holdsDocuments(backend: Backend): Promise<boolean> {
  for await (const _row of backend.scan(documents, { limit: 1 })) return true
  return false
}

/** What was recorded first, or now, if nothing was. */
export async function recordSettings(backend: Backend, wanted: Settings): Promise<Settings> {
  const found = await backend.run(keepSettings, wanted)
  requireFormat('state', found['format'], [FORMAT_VERSION])
  return found
}

/** `compares`: meanings matter too. */
export function differencesFrom(
  found: Settings,
  wanted: Settings,
  compares: boolean,
): readonly Difference[] {
  // States from before there were meanings or containment have no such settings.
  const comparable = ({ semantic = false, containment: parts = false, ...others }: Settings) => {
    const all = { ...others, containment: parts, near: withGuards(others['near']) }
    return compares ? { ...all, semantic } : all
  }
  return differencesOf(comparable(found), comparable(wanted))
}

/** What a transaction that replaces settings checks first; throws if another process was faster. */
export type Fence = (scope: Scope) => Transaction<void>

/** No run has begun meanwhile. */
export function* requireNoneOpen(_scope: Scope): Transaction<void> {
  const head = yield* lastBegun()
  if (head && isOpen(head)) {
    throw new PrestigeError('CONTENDED', `Run ${head.id} has begun meanwhile. Try again.`)
  }
}

/** Other settings for a state without documents. */
export async function replaceSettings(
  backend: Backend,
  settings: Settings,
  fence: Fence,
): Promise<void> {
  await clearIndexes(backend, fence)
  await backend.run(function* (scope): Transaction<void> {
    yield* fence(scope)
    yield* writeReplaced(scope, settings)
  })
}

/**
 * What is left of the indexes of a state without documents was made with its old settings. The heads of indexes go
 * last: without its head, an index would begin again in front of rows that are left. `keepsTexts`: documents are decided
 * about again by them.
 */
export async function clearIndexes(
  backend: Backend,
  fence: Fence,
  keepsTexts = false,
): Promise<void> {
  const indexes = [near, simhash, meanings, containment].flatMap(spacesOf)
  const texts: readonly Space<unknown>[] = keepsTexts ? [] : [packs]
  const rest: readonly Space<unknown>[] = [forms, evidences, ...texts, chunks, clusters, members]
  const heads = new Set<Space<unknown>>(
    [near, simhash, meanings, containment].map((one) => one.heads),
  )
  for (const space of [...rest, ...indexes.filter((one) => !heads.has(one)), ...heads]) {
    let page: Buffer[] = []
    for await (const { key } of backend.scan(space)) {
      page.push(key)
      if (page.length < PAGE) continue
      await backend.run(dropIndexRows, space, page, fence)
      page = []
    }
    if (page.length > 0) await backend.run(dropIndexRows, space, page, fence)
  }
}

function* dropIndexRows(
  scope: Scope,
  space: Space<unknown>,
  keys: readonly Buffer[],
  fence: Fence,
): Transaction<void> {
  yield* fence(scope)
  for (const key of keys) scope.remove(cell(space, key))
}

/** Once the indexes are cleared. */
export function* writeReplaced(scope: Scope, settings: Settings): Transaction<void> {
  const found = yield* readState(scope)
  const firstFormat = found?.['firstFormat']
  scope.write(SETTINGS, { ...settings, ...(firstFormat !== undefined && { firstFormat }) })
}

/** Whether vectors of meaning are kept as they were before their heads had a length. */
export async function hasOldMeanings(backend: Backend): Promise<boolean> {
  const stored = Object(await backend.read(readState))['semantic']
  return stored instanceof Object && !('headBytes' in stored)
}

/** What was not said is as the state has it: defaults may have been others when it was made. */
export async function withRecorded(backend: Backend, config: DedupeConfig): Promise<DedupeConfig> {
  await upgrade(backend)
  const found = (await isInUse(backend)) ? await backend.read(readState) : undefined
  const { near: step, simhash: bits } = config
  // safe: settingsOf wrote them
  const recorded = (found ?? {}) as {
    near?: TextNearSettings | false
    simhash?: ShingleProfile | false
  }
  const as = recorded.near || nearSettingsOf(config)
  // In one order, whatever was given: manifests are compared byte for byte.
  const { profile, evidence, threshold, guards: _, precision, judge, ...others } = step
  const { profile: cutting, ...distance } = bits
  return {
    ...config,
    near: {
      ...others,
      profile: profile ?? as.profile,
      evidence: evidence ?? as.evidence,
      threshold: threshold ?? as.similarityMin,
      guards: guardsOf(step, as),
      precision: precision ?? as.judge?.precision,
      judge: judge ?? as.judge?.model,
    },
    simhash: { ...distance, profile: cutting ?? (recorded.simhash || DEFAULT_PROFILE) },
  }
}

function guardsOf({ guards, evidence }: DedupeConfig['near'], as: TextNearSettings) {
  if (guards !== undefined) return guards && readGuards(guards, 'near')
  return evidence === undefined || evidence === as.evidence ? recordedGuards(as) : undefined
}

/** States from before there were guards have none. */
function withGuards(settings: unknown): unknown {
  // safe: settingsOf wrote them
  return settings && { ...settings, guards: recordedGuards(settings), ...judgeName(settings) }
}

/** A profile's name means the version that the documents of a state have. */
export async function formVersionOf(
  backend: Backend,
  { canonical }: DedupeConfig,
): Promise<number | undefined> {
  const form = (await isInUse(backend)) && (await backend.read(readState))?.['canonical']
  if (typeof form !== 'string' || form.split(',')[0] !== canonical.profile) return undefined
  return recordedVersion(form)
}

export function settingsOf({
  config,
  form,
  settings,
  meaning,
  containment: parts,
}: Engine): Settings {
  const { simhash: bits, chunks: passages, near: step } = config
  return {
    format: FORMAT_VERSION,
    canonical: form,
    near: step.enabled && settings,
    simhash: bits.enabled && bits.profile,
    chunks: passages.enabled && passages.bytes,
    // Absent where they are not looked for, as in states from before they were.
    containment: parts ? WINNOWING_VERSION : undefined,
    semantic: meaning?.identity,
  }
}

function* keepSettings(scope: Scope, wanted: Settings): Transaction<Settings> {
  const [found] = yield* read(SETTINGS)
  // safe: only this function and those of an upgrade write the row
  if (found !== undefined) return found as Settings
  if ((yield* findSettings(scope)) !== undefined) throw ledgerThere()
  writeJobSettings(scope, false)
  scope.write(SETTINGS, wanted)
  return wanted
}

function* readState(_scope: ReadScope): Transaction<Settings | undefined> {
  return (yield* read(SETTINGS))[0] as Settings | undefined // safe: as in keepSettings
}

/** States of older formats are brought to this one, whole or, after a crash, by whoever opens the state next. */
export async function upgrade(backend: Backend): Promise<void> {
  const settings = await backend.read(readState)
  if (!settings) return
  const { format, isUpgrading } = settings
  if ((format === 2 || format === 3) && !isUpgrading) {
    // Only later rows differ: from here on, older versions refuse the state.
    await backend.run(writeSettings, { ...settings, format: FORMAT_VERSION })
    return
  }
  if (format !== 1 && !isUpgrading) return
  // First of all: from here on, older versions refuse the state.
  const next = { ...settings, format: FORMAT_VERSION, firstFormat: 1 }
  await backend.run(writeSettings, { ...next, isUpgrading: true })
  await upgradeRows(backend)
  await backend.run(writeSettings, { ...next, isUpgrading: undefined })
}

// oxlint-disable-next-line require-yield -- it only writes
function* writeSettings(scope: Scope, settings: Settings): Transaction<void> {
  scope.write(SETTINGS, settings)
  if (settings['isUpgrading'] === undefined) writeJobSettings(scope, settings['firstFormat'] === 1)
}

function ledgerThere(): PrestigeError {
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    'There is a ledger at this location, and the state of a corpus job has one of its own. Give the job another location or namespace.',
  )
}
