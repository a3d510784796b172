/**
 * What a store was written with, kept in the store: opening it otherwise is an error that says what
 * differs, because another profile would silently store what is there already.
 *
 * Options that were not given are taken from the store, so a reader needs to know nothing.
 */

import { type CanonicalProfile, canonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { differencesOf, requireFormat, requireSame, versioned } from '../platform/settings.ts'
import { readGuards, readJudge } from '../compare/index.ts'
import { hashVersion, WINNOWING_VERSION } from '../fingerprint/index.ts'
import {
  type Backend,
  cell,
  checksumOf,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { judgeName, requireJournal, type TextNearSettings } from '../match/index.ts'
import {
  type ChunkSettings,
  fittingChunks,
  requireChunks,
  requireDeltas,
  wantedChunks,
  wantsDeltas,
} from './contents/settings.ts'
import type { CheckedStoreOptions } from './options.ts'
import { wantedNear } from './near/settings.ts'
import { settings } from './rows.ts'
import type { SemanticOpening } from './semantic/settings.ts'

/**
 * 2: rows have checksums, and so have the settings. Stores of format 1 are read, and raised to it by their first write.
 * 3: contents are compressed, and long ones cut into chunks. Stores of formats 1 and 2 stay as they are in that.
 * 4: contents may be deltas of others. Only stores that have them; all others are of format 3, as before.
 */
const FORMAT_VERSION = 3
const FORMAT_WITH_SUMS = 2
const FORMAT_WITH_DELTAS = 4
const FORMATS = [1, FORMAT_WITH_SUMS, FORMAT_VERSION, FORMAT_WITH_DELTAS]
const REMEDY = 'Leave them out to open it as it is, or put its values into a new store.'
const SETTINGS = cell(settings, Buffer.from('store'))

/** How near duplicates are found. */
export interface NearSettings extends Omit<TextNearSettings, 'evidence'> {
  /** The form in which texts are compared. */
  readonly canonical: { readonly name: string; readonly version: number | string }
  /** Where containment is looked for: the least share, and what fingerprints are made by. */
  readonly containment?: { readonly min: number; readonly version: string } | undefined
}

/** How texts of like meaning are found. */
export interface SemanticSettings {
  /** The id of the embedder of all vectors. */
  readonly embedder: string
  readonly dimensions: number
  /** Its name, where it is a model that can be opened by one. */
  readonly model?: string | undefined
  readonly similarityMin: number
  readonly guards: Readonly<Record<string, boolean>>
  readonly textBytesMax: number
  /** The embedder was changed, and not everything is re-evaluated yet. */
  readonly isMigrating?: boolean | undefined
}

/**
 * `{"format":3,"dedup":"exact","canonical":{"name":"none","version":1},"fidelity":"own","chunks":{"fromBytes":65536,
 * "averageBytes":8192}}`, with `"sum"`, the checksum of all before it, as its last field from format 2 on.
 */
export interface StoreSettings {
  readonly format: number
  readonly dedup: 'exact' | 'near' | 'semantic' | 'hybrid'
  readonly canonical: { readonly name: string; readonly version: number | string }
  readonly fidelity: 'own' | 'representative'
  /** Of formats 1 and 2: values longer than this are kept in parts. */
  readonly partBytes?: number | undefined
  /** From format 3 on: longer values are cut into chunks. */
  readonly chunks?: ChunkSettings | undefined
  /** What is linked to another content is kept as a delta of it, where that pays. Absent: it is not. */
  readonly deltas?: boolean | undefined
  /** Where near duplicates are linked. */
  readonly near?: NearSettings | undefined
  /** Where texts of like meaning are linked. */
  readonly semantic?: SemanticSettings | undefined
}

/** The settings as they are shown: what is kept as `similarityMin` is the option `threshold`. */
export interface ShownSettings extends Omit<StoreSettings, 'near' | 'semantic'> {
  /** Where near duplicates are linked. */
  readonly near?: Shown<NearSettings> | undefined
  /** Where texts of like meaning are linked. */
  readonly semantic?: Shown<SemanticSettings> | undefined
}

type Shown<T> = Omit<T, 'similarityMin'> & {
  /** Texts of at least this similarity are linked. */
  readonly threshold: number
}

export function shownSettings({ near, semantic, ...others }: StoreSettings): ShownSettings {
  return {
    ...others,
    ...(near && { near: shown(near) }),
    ...(semantic && { semantic: shown(semantic) }),
  }
}

function shown<T extends { readonly similarityMin: number }>(settings: T): Shown<T> {
  const { similarityMin: threshold, ...others } = settings
  return { threshold, ...others }
}

/** Contents are known by the digest of their canonical form. */
export function sharesFormsOf({ fidelity, canonical }: StoreSettings): boolean {
  return fidelity === 'representative' && canonical.name !== 'none'
}

export interface OpenedSettings {
  readonly settings: StoreSettings
  /** Absent when the store was written with a function that was not given: it can be read, not put to. */
  readonly profile: CanonicalProfile | undefined
  /** The form in which texts are compared, where near duplicates are linked. */
  readonly nearProfile: CanonicalProfile | undefined
  /** Where texts of like meaning are linked. */
  readonly semantic: SemanticOpening | undefined
}

export async function openSettings(
  backend: Backend,
  options: CheckedStoreOptions,
): Promise<OpenedSettings> {
  const profile = canonicalProfile(options.canonical ?? 'none')
  const near = wantedNear(options, profile)
  const there = await backend.read(findSettings)
  if (there ? there.near?.containment : near?.containment) requireJournal(backend.serial)
  // Before a store is made: one that finds identical bytes only would be in the way of the one that is meant.
  refuseMisplaced(there?.dedup ?? options.dedup ?? 'exact', options)
  const deltas = wantsDeltas(options)
  requireDeltas(there ?? { ...options, deltas }, options.deltas)
  const semantic = await openSemantic(there, options)
  const wanted: StoreSettings = {
    format: formatOf(deltas),
    dedup: options.dedup ?? 'exact',
    canonical: { name: profile.name, version: profile.version },
    fidelity: options.fidelity ?? 'own',
    chunks: there?.chunks ?? wantedChunks(backend.limits, options.chunks),
    ...(deltas && { deltas }),
    ...(near && { near }),
    ...(semantic?.wanted && { semantic: semantic.wanted }),
  }
  try {
    const found = there ?? (await make(backend, wanted, options.create))
    // A name means the version that the store has.
    const given = options.canonical && canonicalProfile(options.canonical, found.canonical)
    requireAsked(found, options, given)
    requireChunks(found, options, backend.limits)
    if (found.semantic) requireSame('store', semantic?.differences(found.semantic) ?? [], REMEDY)
    const opened = given ?? profileOf(found)
    const nearProfile = nearProfileOf(found, opened)
    return { settings: found, profile: opened, nearProfile, semantic }
  } catch (error) {
    await semantic?.embedder.close()
    throw error
  }
}

function formatOf(deltas: boolean | undefined): number {
  return deltas ? FORMAT_WITH_DELTAS : FORMAT_VERSION
}

/** Loaded only for stores that compare meanings. */
async function openSemantic(
  there: StoreSettings | undefined,
  options: Pick<CheckedStoreOptions, 'dedup' | 'semantic'>,
): Promise<SemanticOpening | undefined> {
  const dedup = there?.dedup ?? options.dedup
  if (dedup !== 'semantic' && dedup !== 'hybrid') return undefined
  const { SemanticOpening } = await import('./semantic/settings.ts')
  return SemanticOpening.open(there?.semantic, options.semantic)
}

function refuseMisplaced(
  dedup: StoreSettings['dedup'],
  { near, semantic }: Pick<CheckedStoreOptions, 'near' | 'semantic'>,
): void {
  const hasNear = dedup === 'near' || dedup === 'hybrid'
  if (!hasNear && near) {
    const what =
      dedup === 'exact' ? 'finds identical bytes only' : 'compares meanings: say semantic.threshold'
    throw refusal(`near is for stores with dedup: 'near' or 'hybrid', and this one ${what}.`)
  }
  if (semantic && dedup !== 'semantic' && dedup !== 'hybrid') {
    throw refusal(
      `semantic is for stores with dedup: 'semantic' or 'hybrid', and this one is '${dedup}'.`,
    )
  }
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}

function nearProfileOf(
  { near, canonical }: StoreSettings,
  profile: CanonicalProfile | undefined,
): CanonicalProfile | undefined {
  if (!near) return undefined
  const now = {
    hashVersion: hashVersion(),
    ...(near.containment && { containment: { version: WINNOWING_VERSION } }),
  }
  requireSame('store', differencesOf({ ...near }, now), REMEDY)
  return near.canonical.name === canonical.name ? profile : profileOf(near)
}

function make(
  backend: Backend,
  wanted: StoreSettings,
  create: boolean | undefined,
): Promise<StoreSettings> {
  if (create !== false) return backend.run(keepSettings, wanted)
  throw new PrestigeError(
    'STORE_NOT_FOUND',
    'There is no store of this namespace at this location.',
  )
}

/** Readers need not wait for a writer. */
export function* findSettings(_scope: ReadScope): Transaction<StoreSettings | undefined> {
  const [found] = yield* read(SETTINGS)
  return found && readSettings(Buffer.from(found).toString())
}

/** Puts other settings in the place of those that were found. */
export function* replaceSettings(
  scope: Scope,
  found: StoreSettings,
  wanted: StoreSettings,
): Transaction<void> {
  const [now] = yield* read(SETTINGS)
  if (now && Buffer.from(now).toString() === textOf(found)) {
    scope.write(SETTINGS, Buffer.from(textOf(withSums(wanted))))
    return
  }
  throw new PrestigeError('CONTENDED', 'Somebody else is changing the settings of this store.')
}

function* keepSettings(scope: Scope, wanted: StoreSettings): Transaction<StoreSettings> {
  const [found] = yield* read(SETTINGS)
  if (found) return readSettings(Buffer.from(found).toString())
  const sharesNothing = wanted.canonical.name === 'none' && wanted.dedup === 'exact'
  if (wanted.fidelity === 'representative' && sharesNothing) throw pointless()
  scope.write(SETTINGS, Buffer.from(textOf(wanted)))
  return wanted
}

/** Makes a store with the settings of another one, as far as this engine allows; one that is there must have the same. */
export async function restoreSettings(backend: Backend, other: StoreSettings): Promise<void> {
  const { format: _format, partBytes: _partBytes, chunks, semantic, ...rest } = other
  const { isMigrating: _isMigrating, ...meaning } = semantic ?? {}
  if (other.near?.containment) requireJournal(backend.serial)
  const asked = { ...rest, ...(semantic && { semantic: meaning }) }
  const wanted = {
    format: formatOf(other.deltas),
    ...asked,
    chunks: fittingChunks(backend.limits, chunks),
  }
  // safe: these are all fields of settings, with their values
  const found = await backend.run(keepSettings, wanted as StoreSettings)
  requireSame('store', differencesOf({ ...found }, asked), REMEDY)
}

/** A store of an older format gets rows of this one from now on, which older versions must not try to read. */
export async function raiseFormat(backend: Backend): Promise<void> {
  await backend.run(raise)
}

function* raise(scope: Scope): Transaction<void> {
  const found = yield* findSettings(scope)
  if (!found || !isOldFormat(found)) return
  scope.write(SETTINGS, Buffer.from(textOf(withSums(found))))
}

function withSums(settings: StoreSettings): StoreSettings {
  return isOldFormat(settings) ? { ...settings, format: FORMAT_WITH_SUMS } : settings
}

export function isOldFormat({ format }: StoreSettings): boolean {
  return format < FORMAT_WITH_SUMS
}

function textOf(wanted: StoreSettings): string {
  const text = JSON.stringify(wanted)
  if (isOldFormat(wanted)) return text
  return `${text.slice(0, -1)},"sum":"${checksumOf(Buffer.from(text)).toString(16)}"}`
}

function readSettings(text: string): StoreSettings {
  let read: Partial<StoreSettings> & { readonly sum?: unknown }
  try {
    read = JSON.parse(text)
  } catch (error) {
    throw damagedSettings(error)
  }
  const { sum, ...found } = read
  // safe: whatever it is, it is only written as text again
  const isWhole =
    sum === undefined ? !hasSum(found.format) : textOf(found as StoreSettings) === text
  if (!isWhole) throw damagedSettings()
  requireFormat('store', found.format, FORMATS)
  return found as StoreSettings // safe: these formats have exactly these fields, and only we write them
}

/** What no version of ours can have written is of another format, whatever is in it. */
function hasSum(format: unknown): boolean {
  return format !== 1 && FORMATS.some((one) => one === format)
}

function damagedSettings(cause?: unknown): PrestigeError {
  const message =
    "The store's settings are damaged. Copy what can be read with prestige verify --salvage DIRECTORY."
  return new PrestigeError('CONTENT_CORRUPT', message, { cause })
}

function requireAsked(
  { dedup, fidelity, canonical, near }: StoreSettings,
  options: Pick<CheckedStoreOptions, 'dedup' | 'fidelity' | 'near'>,
  given: CanonicalProfile | undefined,
): void {
  const { threshold, guards, precision, judge, ...others } = options.near ?? {}
  const { profile, slots, bands, rows, containment } = others
  const asked = {
    dedup: options.dedup,
    fidelity: options.fidelity,
    canonical: given && versioned(given),
    near: options.near && {
      similarityMin: threshold,
      profile,
      slots,
      bands,
      rows,
      guards: guards && readGuards(guards, 'near'),
      precision,
      judge: judge && readJudge(judge).hash,
      containment,
    },
  }
  const stored = {
    near: near && { guards: false, ...near, ...judgeName(near) },
    dedup,
    fidelity,
    canonical: versioned(canonical),
  }
  requireSame('store', differencesOf(stored, asked), REMEDY)
}

function pointless(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    "fidelity 'representative' needs a canonical profile: without one, and without dedup 'near', only identical bytes are the same.",
  )
}

/** The profile a store names, if it is one of ours and of a version that there is. */
function profileOf({
  canonical: { name, version },
}: Pick<StoreSettings, 'canonical'>): CanonicalProfile | undefined {
  if (name.startsWith('function:')) return undefined
  // safe: an unknown name is refused there by name
  const profile = canonicalProfile(name as 'none', { name, version })
  const differences = differencesOf(
    { canonical: versioned({ name, version }) },
    { canonical: versioned(profile) },
  )
  requireSame('store', differences, REMEDY)
  return profile
}
