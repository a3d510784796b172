/** The kinds of things a location can hold, and which of them are there. */

import { type Backend, type Cell, type Location, read, type Space } from '../backends/index.ts'
import { storedState } from '../dedupe/index.ts'
import { storedFingerprints } from '../fingerprint-store/index.ts'
import { storedLedger } from '../ledger/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { isDirectory } from '../platform/location.ts'
import { storedResolver } from '../resolve/index.ts'
import { storedStore } from '../store/index.ts'
import type { KindName, StoredKind, StoredSettings } from './stored-kind.ts'

/** All but stores, which have ways of their own. */
export const storedKinds: readonly StoredKind[] = [
  storedResolver,
  storedLedger,
  storedState,
  storedFingerprints,
]

const listed: readonly Pick<StoredKind, 'spaces' | 'settings' | 'isOwn' | 'counts'>[] = [
  storedStore,
  ...storedKinds,
]
const NAMES: readonly KindName[] = [storedStore.kind, ...storedKinds.map(({ kind }) => kind)]

export const allSpaces: readonly Space<unknown>[] = [
  ...new Map(listed.flatMap(({ spaces }) => spaces).map((space) => [space.name, space])).values(),
]

/** A location holds something of a namespace if one of these has a row of it. */
export const settingsSpaces: readonly string[] = listed.map(({ settings }) => settings.space.name)

/** What is found of one kind. */
export interface FoundKind {
  readonly kind: KindName
  readonly settings: StoredSettings
  readonly counts: (backend: Backend) => Promise<Readonly<Record<string, number>>>
}

export async function kindsOn(backend: Backend): Promise<FoundKind[]> {
  const found: FoundKind[] = []
  for (const [at, { settings, counts, isOwn }] of listed.entries()) {
    const kind = NAMES[at]
    const value = await settingsAt(backend, settings)
    if (kind && value && (isOwn?.(value) ?? true)) found.push({ kind, settings: value, counts })
  }
  return found
}

/** `undefined`: there is none. Settings that cannot be read are an error. */
export async function settingsAt(
  backend: Backend,
  place: Cell<unknown>,
): Promise<StoredSettings | undefined> {
  const value = await backend.read(function* () {
    return (yield* read(place))[0]
  })
  if (value === undefined) return undefined
  return settingsOf(value, place)
}

/** As JSON, as its bytes, or as what JSON stands for. */
function settingsOf(value: unknown, { space }: Cell<unknown>): StoredSettings {
  try {
    const parsed: unknown =
      value instanceof Uint8Array
        ? JSON.parse(Buffer.from(value).toString())
        : typeof value === 'string'
          ? JSON.parse(value)
          : value
    if (typeof parsed === 'object' && parsed !== null) return { ...parsed }
  } catch (error) {
    throw damaged(space, error)
  }
  throw damaged(space)
}

function damaged({ name }: Space<unknown>, cause?: unknown): PrestigeError {
  return new PrestigeError('CONTENT_CORRUPT', `The settings in ${name} cannot be read.`, { cause })
}

/** The one that is meant: by its name, or because it is the only one. */
export function chooseKind(found: readonly FoundKind[], wanted: KindName | undefined): FoundKind {
  const there = found.map(({ kind }) => kind)
  const chosen = found.filter(({ kind }) => wanted === undefined || kind === wanted)
  const [only, another] = chosen
  if (only && !another) return only
  if (only) {
    const message = `There are several things of this namespace here: ${there.join(', ')}. Say which with kind (--kind).`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
  const what = wanted ? `no ${wanted}` : 'nothing'
  const message = `There is ${what} of this namespace at this location.`
  throw new PrestigeError('STORE_NOT_FOUND', message)
}

export function kindNamed(name: unknown): StoredKind | undefined {
  return storedKinds.find(({ kind }) => kind === name)
}

/** How a location is opened by those who write nothing: a directory may be on media that cannot be written. */
export function readingOf(location: Location): { create?: false; readOnly?: true } {
  if (typeof location !== 'string') return {}
  return { create: false, ...(isDirectory(location) && { readOnly: true }) }
}
