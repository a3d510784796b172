/**
 * What a store was written with, kept in the store: opening it otherwise is an error that says what
 * differs, because another profile would silently store what is there already.
 *
 * Options that were not given are taken from the store, so a reader needs to know nothing.
 */

import { type CanonicalProfile, canonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { differencesOf, requireSame, versioned } from '../platform/settings.ts'
import { readGuards, readJudge } from '../compare/index.ts'
import { hashVersion, WINNOWING_VERSION } from '../fingerprint/index.ts'
import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { judgeName, requireJournal } from '../match/index.ts'
import {
  beginFeed,
  endFeed,
  isPending,
  isSameFeed,
  prepareFeed,
  requireAlone,
  requireFile,
  wantedChanges,
} from './changes/settings.ts'
import { removeChanges } from './changes/trim.ts'
import {
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
import {
  isOldFormat,
  type NearSettings,
  newSettings,
  readSettings,
  type SemanticSettings,
  type StoreSettings,
  textOf,
  withChanges,
  withMetadata,
  withSums,
} from './settings-format.ts'

export { isOldFormat, type NearSettings, type SemanticSettings, type StoreSettings }

const REMEDY = 'Leave them out to open it as it is, or put its values into a new store.'
const SETTINGS = cell(settings, Buffer.from('store'))

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
  const wanted = newSettings({
    dedup: options.dedup ?? 'exact',
    canonical: { name: profile.name, version: profile.version },
    fidelity: options.fidelity ?? 'own',
    chunks: there?.chunks ?? wantedChunks(backend.limits, options.chunks),
    ...(deltas && { deltas }),
    ...(near && { near }),
    ...(semantic?.wanted && { semantic: semantic.wanted }),
    changes: wantedChanges(undefined, options.changes),
  })
  try {
    const found = there ?? (await make(backend, wanted, options.create))
    // A name means the version that the store has.
    const given = options.canonical && canonicalProfile(options.canonical, found.canonical)
    requireAsked(found, options, given)
    requireChunks(found, options, backend.limits)
    if (found.semantic) requireSame('store', semantic?.differences(found.semantic) ?? [], REMEDY)
    const opened = given ?? profileOf(found)
    const nearProfile = nearProfileOf(found, opened)
    const settings = await settleChanges(backend, found, options.changes)
    return { settings, profile: opened, nearProfile, semantic }
  } catch (error) {
    await semantic?.embedder.close()
    throw error
  }
}

/** Begins, ends or changes the feed of a store, as it is asked for. */
async function settleChanges(
  backend: Backend,
  found: StoreSettings,
  asked: CheckedStoreOptions['changes'],
): Promise<StoreSettings> {
  const wanted = wantedChanges(found.changes, asked)
  const settled = isSameFeed(found.changes, wanted) ? found : withChanges(found, wanted)
  if (!wanted) {
    if (!found.changes) return found
    await backend.run(switchFeed, found, settled, endFeed)
    await removeChanges(backend)
  } else if (!found.changes) await turnOn(backend, found, settled)
  else {
    if (settled !== found) await backend.run(replaceSettings, found, settled)
    if (asked && (await backend.read(isPending))) await complete(backend, settled)
  }
  return settled
}

/** Only a feed that is known to be alone is read. One that is not is taken back, or stays pending if that fails. */
async function turnOn(
  backend: Backend,
  found: StoreSettings,
  wanted: StoreSettings,
): Promise<void> {
  requireFile(backend)
  await backend.run(switchFeed, found, wanted, prepareFeed)
  try {
    await complete(backend, wanted)
  } catch (error) {
    await backend.run(switchFeed, wanted, found, endFeed)
    throw error
  }
}

/** Changes are counted from here on: who had the store open before that may have written until now. */
async function complete(backend: Backend, settled: StoreSettings): Promise<void> {
  await requireAlone(requireFile(backend))
  await backend.run(switchFeed, settled, settled, beginFeed)
}

function* switchFeed(
  scope: Scope,
  found: StoreSettings,
  wanted: StoreSettings,
  change: (scope: Scope) => Transaction<void>,
): Transaction<void> {
  yield* replaceSettings(scope, found, wanted)
  yield* change(scope)
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
  if (wanted.changes) yield* beginFeed(scope)
  return wanted
}

/** Makes a store with the settings of another one, as far as this engine allows; one that is there must have the same. */
export async function restoreSettings(backend: Backend, other: StoreSettings): Promise<void> {
  const { format: _format, partBytes: _partBytes, metadata: _metadata, ...kept } = other
  const { chunks, changes, semantic, ...rest } = kept
  const { isMigrating: _isMigrating, ...meaning } = semantic ?? {}
  if (other.near?.containment) requireJournal(backend.serial)
  const asked = { ...rest, ...(semantic && { semantic: meaning }) }
  const wanted = { ...asked, chunks: fittingChunks(backend.limits, chunks), changes }
  // safe: these are all fields of settings, with their values
  const found = await backend.run(keepSettings, newSettings(wanted as StoreSettings))
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

/** Before the first entry with metadata: versions that cannot read it refuse the store by name. */
export async function allowMetadata(backend: Backend): Promise<void> {
  await backend.run(raiseForMetadata)
}

function* raiseForMetadata(scope: Scope): Transaction<void> {
  const found = yield* findSettings(scope)
  if (!found || found.metadata) return
  scope.write(SETTINGS, Buffer.from(textOf(withMetadata(found))))
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
