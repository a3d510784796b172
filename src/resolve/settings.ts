/**
 * What a resolver was written with, kept beside its rows: opening it otherwise is an error that says what
 * differs, because answers of two settings would be mixed up. What only a search cares about (how many
 * candidates, caches, times) may change at every opening.
 */

import { type CanonicalProfile, canonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  differencesOf,
  readRecorded,
  requireSame,
  type Settings,
  versioned,
} from '../platform/settings.ts'
import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import {
  chooseVectorBands,
  hashVersion,
  Hyperplanes,
  type PlanesForm,
  VectorTable,
  WINNOWING_VERSION,
} from '../fingerprint/index.ts'
import {
  CONTAINMENT_MIN,
  judgeName,
  recordedGuards,
  requireJournal,
  textNearSettings,
  type TextNearSettings,
} from '../match/index.ts'
import type { ResolverOptions, VectorOptions } from './options.ts'
import { settings } from './rows.ts'

const FORMAT_VERSION = 1
const SETTINGS = cell(settings, Buffer.from('resolver'))
const DEFAULT_BITS = 512
const DEFAULT_PLANES_SEED = 13_374_269

export interface VectorSettings {
  readonly dimensions: number
  readonly cosineMin: number
  readonly bits: number
  readonly bands: number
  readonly rows: number
  readonly form: PlanesForm
  readonly seed: number
  readonly hashVersion: string
}

export interface ResolverSettings {
  readonly format: number
  readonly canonical: { readonly name: string; readonly version: number | string }
  readonly text: TextNearSettings
  /** Where containment is looked for: the least share, and what fingerprints are made by. */
  readonly containment?: { readonly min: number; readonly version: string } | undefined
  /** Absent: this resolver has taken no vectors yet. */
  readonly vector?: VectorSettings | undefined
}

/** The settings as they are shown: what is kept as `similarityMin` and `cosineMin` is the option `threshold`. */
export interface ShownSettings extends Omit<ResolverSettings, 'text' | 'vector'> {
  readonly text: Omit<TextNearSettings, 'similarityMin'> & { readonly threshold: number }
  /** Absent: this resolver has taken no vectors yet. */
  readonly vector?: (Omit<VectorSettings, 'cosineMin'> & { readonly threshold: number }) | undefined
}

export function shownSettings({ text, vector, ...others }: ResolverSettings): ShownSettings {
  const { similarityMin, ...textOthers } = text
  if (!vector) return { ...others, text: { threshold: similarityMin, ...textOthers } }
  const { cosineMin, ...vectorOthers } = vector
  return {
    ...others,
    text: { threshold: similarityMin, ...textOthers },
    vector: { threshold: cosineMin, ...vectorOthers },
  }
}

export interface OpenedSettings {
  readonly settings: ResolverSettings
  readonly canonical: CanonicalProfile
}

export async function openSettings(
  backend: Backend,
  options: ResolverOptions,
): Promise<OpenedSettings> {
  const found = await backend.read(findSettings)
  if (!found && options.create === false) {
    throw new PrestigeError(
      'STORE_NOT_FOUND',
      'There is no resolver of this namespace at this location.',
    )
  }
  const wanted = wantedSettings(options, found)
  if (wanted.settings.containment) requireJournal(backend.serial)
  const kept = await backend.run(keepSettings, wanted.settings)
  const differences = differencesOf(comparable(kept), comparable(wanted.settings))
  requireSame(
    'resolver',
    differences,
    'Leave them out to open it as it is, or use another namespace.',
  )
  return { settings: kept, canonical: wanted.canonical }
}

/** What was not asked for is as it was written. */
function wantedSettings(
  options: ResolverOptions,
  found: ResolverSettings | undefined,
): OpenedSettings {
  const canonical = canonicalOf(options, found)
  const old = found?.text
  const evidence = options.evidence ?? old?.evidence ?? 'text'
  const isOther = options.threshold !== undefined && options.threshold !== old?.similarityMin
  const text = textNearSettings({
    similarityMin: options.threshold ?? old?.similarityMin,
    profile: options.profile ?? old?.profile,
    slots: options.slots ?? (isOther ? undefined : old?.slots),
    bands: options.bands ?? (isOther ? undefined : old?.bands),
    rows: options.rows ?? (isOther ? undefined : old?.rows),
    evidence,
    precision: options.precision ?? old?.judge?.precision,
    judge: options.judge ?? old?.judge?.model,
    guards: options.guards ?? (old?.evidence === evidence ? recordedGuards(old) : undefined),
  })
  const vector = options.vector ? vectorSettings(options.vector, found?.vector) : found?.vector
  const containment = containmentSettings(options, found)
  return {
    canonical,
    settings: {
      format: FORMAT_VERSION,
      canonical: { name: canonical.name, version: canonical.version },
      text,
      ...(containment && { containment }),
      ...(vector && { vector }),
    },
  }
}

function containmentSettings(
  { containment, evidence = 'text' }: ResolverOptions,
  found: ResolverSettings | undefined,
): ResolverSettings['containment'] {
  if (!containment && !found?.containment) return undefined
  // Of what is there already, the evidence is named by what differs.
  if (!found && evidence !== 'text') {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `containment: compares texts, and evidence is '${evidence}'. Give evidence: 'text'.`,
    )
  }
  const min = containment?.min ?? found?.containment?.min ?? CONTAINMENT_MIN
  return { min, version: WINNOWING_VERSION }
}

function canonicalOf(
  options: ResolverOptions,
  found: ResolverSettings | undefined,
): CanonicalProfile {
  if (options.canonical !== undefined) {
    return canonicalProfile(options.canonical, found?.canonical)
  }
  const name = found?.canonical.name ?? 'unicode'
  if (!name.startsWith('function:')) {
    // safe: an unknown name is refused there by name
    return canonicalProfile(name as 'unicode', found?.canonical)
  }
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    'This resolver was written with a canonical function. Give the same function when opening it.',
  )
}

function vectorSettings(wanted: VectorOptions, old: VectorSettings | undefined): VectorSettings {
  const { dimensions, threshold: cosineMin } = wanted
  const { bits = old?.bits ?? DEFAULT_BITS } = wanted
  const { form = old?.form ?? 'hadamard', seed = old?.seed ?? DEFAULT_PLANES_SEED } = wanted
  if ((wanted.bands === undefined) !== (wanted.rows === undefined)) {
    throw new PrestigeError('INVALID_OPTIONS', 'Give both bands and rows of vectors, or neither.')
  }
  const isAsOld = cosineMin === old?.cosineMin && bits === old.bits
  const { bands, rows } =
    wanted.bands !== undefined && wanted.rows !== undefined
      ? { bands: wanted.bands, rows: wanted.rows }
      : isAsOld
        ? old
        : chooseVectorBands(bits, cosineMin)
  if (!old) {
    // These refuse what cannot be, before anything is kept.
    void new Hyperplanes({ dimensions, bits, form, seed })
    void new VectorTable({ bits, banding: { bands, rows } })
  }
  const version = hashVersion()
  return { dimensions, cosineMin, bits, bands, rows, form, seed, hashVersion: version }
}

function* findSettings(_scope: ReadScope): Transaction<ResolverSettings | undefined> {
  const [found] = yield* read(SETTINGS)
  return found === undefined ? undefined : readSettings(found)
}

/** Vectors may come later than texts. */
function* keepSettings(scope: Scope, wanted: ResolverSettings): Transaction<ResolverSettings> {
  const [found] = yield* read(SETTINGS)
  const old = found === undefined ? undefined : readSettings(found)
  if (old && (old.vector || !wanted.vector)) return old
  const kept = old ? { ...old, vector: wanted.vector } : wanted
  scope.write(SETTINGS, JSON.stringify(kept))
  return kept
}

function readSettings(text: string): ResolverSettings {
  // safe: format 1 has exactly these fields, and only we write it
  return readRecorded('resolver', text, [FORMAT_VERSION]) as unknown as ResolverSettings
}

function comparable({ canonical, text, containment, vector }: ResolverSettings): Settings {
  const judgement = { guards: recordedGuards(text), ...judgeName(text) }
  return { canonical: versioned(canonical), ...text, ...judgement, containment, vector }
}
