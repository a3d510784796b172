/**
 * What a store was written with, kept in the store: opening it otherwise is an error that says what
 * differs, because another profile would silently store what is there already.
 *
 * Options that were not given are taken from the store, so a reader needs to know nothing.
 */

import { canonicalProfile, type CanonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../errors.ts'
import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/contract.ts'
import type { StoreOptions } from './options.ts'
import { settings } from './rows.ts'

const FORMAT_VERSION = 1
const SETTINGS = cell(settings, Buffer.from('store'))

/** `{"format":1,"dedup":"exact","canonical":{"name":"none","version":1},"fidelity":"own","partBytes":4194304}` */
export interface StoreSettings {
  readonly format: number
  readonly dedup: 'exact'
  readonly canonical: { readonly name: string; readonly version: number | string }
  readonly fidelity: 'own' | 'representative'
  /** Values longer than this are kept in parts. */
  readonly partBytes: number
}

export interface OpenedSettings {
  readonly settings: StoreSettings
  /** Absent when the store was written with a function that was not given: it can be read, not put to. */
  readonly profile: CanonicalProfile | undefined
}

export async function openSettings(
  backend: Backend,
  options: Pick<StoreOptions, 'dedup' | 'canonical' | 'fidelity' | 'create'>,
): Promise<OpenedSettings> {
  const given = options.canonical === undefined ? undefined : canonicalProfile(options.canonical)
  const profile = given ?? canonicalProfile('none')
  const wanted: StoreSettings = {
    format: FORMAT_VERSION,
    dedup: options.dedup ?? 'exact',
    canonical: { name: profile.name, version: profile.version },
    fidelity: options.fidelity ?? 'own',
    partBytes: backend.limits.valueBytesMax,
  }
  const found = (await backend.read(findSettings)) ?? (await make(backend, wanted, options.create))
  const differences = differencesOf(found, { ...options, canonical: given })
  if (differences.length > 0) throw mismatch(differences)
  return { settings: found, profile: given ?? profileOf(found) }
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
function* findSettings(_scope: ReadScope): Transaction<StoreSettings | undefined> {
  const [found] = yield* read(SETTINGS)
  return found && readSettings(Buffer.from(found).toString())
}

function* keepSettings(scope: Scope, wanted: StoreSettings): Transaction<StoreSettings> {
  const [found] = yield* read(SETTINGS)
  if (found) return readSettings(Buffer.from(found).toString())
  if (wanted.fidelity === 'representative' && wanted.canonical.name === 'none') throw pointless()
  scope.write(SETTINGS, Buffer.from(JSON.stringify(wanted)))
  return wanted
}

function readSettings(text: string): StoreSettings {
  let found: Partial<StoreSettings>
  try {
    found = JSON.parse(text)
  } catch (error) {
    throw new PrestigeError('CONTENT_CORRUPT', "The store's settings cannot be read.", {
      cause: error,
    })
  }
  if (found.format !== FORMAT_VERSION) {
    throw new PrestigeError(
      'FORMAT_UNSUPPORTED',
      `This store has format ${String(found.format)}; this version of prestige reads format ${FORMAT_VERSION}. Export it with the version that wrote it, and import it with this one.`,
    )
  }
  return found as StoreSettings // safe: format 1 has exactly these fields, and only we write it
}

function differencesOf(
  found: StoreSettings,
  given: {
    dedup?: string | undefined
    fidelity?: string | undefined
    canonical: CanonicalProfile | undefined
  },
): string[] {
  const differences: string[] = []
  const compare = (name: string, stored: string, wanted: string | undefined) => {
    if (wanted !== undefined && wanted !== stored) {
      differences.push(`${name} is '${stored}' in the store, and '${wanted}' was asked for`)
    }
  }
  const { name, version } = found.canonical
  compare('dedup', found.dedup, given.dedup)
  compare('fidelity', found.fidelity, given.fidelity)
  compare(
    'canonical',
    `${name}, version ${version}`,
    given.canonical && `${given.canonical.name}, version ${given.canonical.version}`,
  )
  return differences
}

function mismatch(differences: readonly string[]): PrestigeError {
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    `The store was written with other settings: ${differences.join('; ')}. Open it as it is, or put its values into a new store.`,
  )
}

function pointless(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    "fidelity 'representative' needs a canonical profile: without one only identical bytes are the same.",
  )
}

/** The profile a store names, if it is one of ours and still of the version it was written with. */
function profileOf({ canonical: { name, version } }: StoreSettings): CanonicalProfile | undefined {
  if (name.startsWith('function:')) return undefined
  const profile = canonicalProfile(name as 'none') // safe: an unknown name is refused there by name
  if (profile.version === version) return profile
  throw mismatch([
    `canonical is '${name}, version ${version}' in the store; this prestige has version ${profile.version}`,
  ])
}
