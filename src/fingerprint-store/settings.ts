/**
 * What fingerprints were made with, kept beside them: opening them otherwise is an error that says what differs,
 * because fingerprints of two settings do not compare.
 */

import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { type CanonicalProfile, canonicalProfile } from '../canonical/index.ts'
import { chunkSizes } from '../fingerprint/index.ts'
import { textNearSettings, type TextNearSettings } from '../match/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  differencesOf,
  readRecorded,
  requireSame,
  type Settings,
  versioned,
} from '../platform/settings.ts'
import {
  DISTANCE_MAX,
  type FingerprintMethod,
  type FingerprintsOptions,
  METHODS,
} from './options.ts'
import { settings } from './rows.ts'

const FORMAT_VERSION = 1
const CHUNK_BYTES = 1024
export const SETTINGS = cell(settings, Buffer.from('fingerprints'))

export interface FingerprintsSettings {
  readonly format: number
  readonly canonical: { readonly name: string; readonly version: number | string }
  readonly methods: readonly FingerprintMethod[]
  readonly minhash: Pick<
    TextNearSettings,
    'similarityMin' | 'profile' | 'slots' | 'bands' | 'rows' | 'hashVersion'
  >
  readonly distanceMax: number
  readonly chunkBytes: number
}

export interface OpenedSettings {
  readonly settings: FingerprintsSettings
  readonly canonical: CanonicalProfile
}

export async function openSettings(
  backend: Backend,
  options: FingerprintsOptions,
): Promise<OpenedSettings> {
  const found = await backend.read(findSettings)
  if (!found && options.create === false) {
    throw new PrestigeError(
      'STORE_NOT_FOUND',
      'There are no fingerprints of this namespace at this location.',
    )
  }
  const canonical = canonicalOf(options, found)
  const wanted = wantedSettings(options, found, canonical)
  const kept = await backend.run(keepSettings, wanted)
  requireSame(
    'store of fingerprints',
    differencesOf(comparable(kept), comparable(wanted)),
    'Leave them out to open it as it is, or use another namespace.',
  )
  return { settings: kept, canonical }
}

function wantedSettings(
  options: FingerprintsOptions,
  old: FingerprintsSettings | undefined,
  { name, version }: CanonicalProfile,
): FingerprintsSettings {
  const { minhash } = old ?? {}
  const isOther = options.threshold !== undefined && options.threshold !== minhash?.similarityMin
  const { similarityMin, profile, slots, bands, rows, hashVersion } = textNearSettings({
    similarityMin: options.threshold ?? minhash?.similarityMin,
    profile: options.profile ?? minhash?.profile,
    slots: options.slots ?? (isOther ? undefined : minhash?.slots),
    bands: options.bands ?? (isOther ? undefined : minhash?.bands),
    rows: options.rows ?? (isOther ? undefined : minhash?.rows),
    evidence: 'sketch',
  })
  const asked = options.methods ?? old?.methods ?? METHODS
  const chunkBytes = options.chunkBytes ?? old?.chunkBytes ?? CHUNK_BYTES
  requireChunkBytes(chunkBytes)
  return {
    format: FORMAT_VERSION,
    canonical: { name, version },
    methods: METHODS.filter((method) => asked.includes(method)),
    minhash: { similarityMin, profile, slots, bands, rows, hashVersion },
    distanceMax: options.distanceMax ?? old?.distanceMax ?? DISTANCE_MAX,
    chunkBytes,
  }
}

/** Named as it is here, not as kernels name it. */
function requireChunkBytes(bytes: number): void {
  try {
    chunkSizes(bytes)
  } catch {
    const rule = 'chunkBytes: must be a power of two from 256 to 1048576'
    throw new PrestigeError('INVALID_OPTIONS', `${rule}, not ${bytes}.`)
  }
}

function canonicalOf(
  { canonical }: FingerprintsOptions,
  found: FingerprintsSettings | undefined,
): CanonicalProfile {
  if (canonical !== undefined) return canonicalProfile(canonical, found?.canonical)
  const name = found?.canonical.name ?? 'unicode'
  if (!name.startsWith('function:')) {
    // safe: an unknown name is refused there by name
    return canonicalProfile(name as 'unicode', found?.canonical)
  }
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    'These fingerprints were made with a canonical function. Give the same function when opening them.',
  )
}

function* findSettings(_scope: ReadScope): Transaction<FingerprintsSettings | undefined> {
  const [found] = yield* read(SETTINGS)
  return found === undefined ? undefined : readSettings(found)
}

function* keepSettings(
  scope: Scope,
  wanted: FingerprintsSettings,
): Transaction<FingerprintsSettings> {
  const [found] = yield* read(SETTINGS)
  if (found !== undefined) return readSettings(found)
  scope.write(SETTINGS, JSON.stringify(wanted))
  return wanted
}

function readSettings(text: string): FingerprintsSettings {
  // safe: format 1 has exactly these fields, and only we write it
  return readRecorded('store of fingerprints', text, [
    FORMAT_VERSION,
  ]) as unknown as FingerprintsSettings
}

function comparable({ canonical, methods, minhash, ...others }: FingerprintsSettings): Settings {
  return { ...others, canonical: versioned(canonical), methods: methods.join(), ...minhash }
}
