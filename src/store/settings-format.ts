/** How the settings of a store are written: their fields, and what the number of their format says. */

import { PrestigeError } from '../platform/errors.ts'
import { requireFormat } from '../platform/settings.ts'
import { checksumOf } from '../backends/index.ts'
import type { TextNearSettings } from '../match/index.ts'
import type { ChangeSettings } from './changes/settings.ts'
import type { ChunkSettings } from './contents/settings.ts'

/**
 * 2: rows have checksums, and so have the settings. Stores of format 1 are read, and raised to it by their first write.
 * 3: contents are compressed, and long ones cut into chunks. Stores of formats 1 and 2 stay as they are in that.
 * 4: changes are recorded, or contents may be deltas of others: versions that know nothing of it must not write there.
 *    Only stores that have one of the two; all others are of format 3, as before.
 * 5: entries may have metadata, which versions that know nothing of it cannot read. From the first put with some.
 */
const FORMAT_VERSION = 3
const FORMAT_WITH_SUMS = 2
const FORMAT_EXTENDED = 4
const FORMAT_WITH_METADATA = 5
const FORMATS = [1, FORMAT_WITH_SUMS, FORMAT_VERSION, FORMAT_EXTENDED, FORMAT_WITH_METADATA]

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
  /** Where changes are recorded, how long they are kept. */
  readonly changes?: ChangeSettings | undefined
  /** Keys may have metadata. Absent: none ever had some. */
  readonly metadata?: boolean | undefined
}

/** The same settings with another feed of changes, or none, in the format that they need. */
export function withChanges(
  { changes: _changes, ...others }: StoreSettings,
  changes: ChangeSettings | undefined,
): StoreSettings {
  return inFormat(changes ? { ...others, changes } : others)
}

/** The same settings of a store whose keys may have metadata. */
export function withMetadata(settings: StoreSettings): StoreSettings {
  return inFormat({ ...settings, metadata: true })
}

function inFormat({ format, ...fields }: StoreSettings): StoreSettings {
  if (fields.metadata) return { format: FORMAT_WITH_METADATA, ...fields }
  if (fields.changes || fields.deltas) return { format: FORMAT_EXTENDED, ...fields }
  const plain = fields.chunks ? FORMAT_VERSION : FORMAT_WITH_SUMS
  return { format: format >= FORMAT_EXTENDED ? plain : format, ...fields }
}

/** Settings of a new store, in the format that they need. */
export function newSettings(fields: Omit<StoreSettings, 'format'>): StoreSettings {
  return withChanges({ format: FORMAT_VERSION, ...fields }, fields.changes)
}

export function withSums(settings: StoreSettings): StoreSettings {
  return isOldFormat(settings) ? { ...settings, format: FORMAT_WITH_SUMS } : settings
}

export function isOldFormat({ format }: StoreSettings): boolean {
  return format < FORMAT_WITH_SUMS
}

export function textOf(wanted: StoreSettings): string {
  const text = JSON.stringify(wanted)
  if (isOldFormat(wanted)) return text
  return `${text.slice(0, -1)},"sum":"${checksumOf(Buffer.from(text)).toString(16)}"}`
}

export function readSettings(text: string): StoreSettings {
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
  return FORMATS.some((one) => one === format && one >= FORMAT_WITH_SUMS)
}

function damagedSettings(cause?: unknown): PrestigeError {
  const message =
    "The store's settings are damaged. Copy what can be read with prestige verify --salvage DIRECTORY."
  return new PrestigeError('CONTENT_CORRUPT', message, { cause })
}
