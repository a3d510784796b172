/** How a new store cuts long values, within the limits of its engine; and what an existing one is asked for. */

import type { BackendLimits } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { differencesOf, requireSame } from '../../platform/settings.ts'
import { chunkSizes } from '../../fingerprint/index.ts'
import type { CheckedStoreOptions } from '../options.ts'
import { PACK_HEAD_BYTES_MAX } from './chunk-rows.ts'
import { HEAD_BYTES } from './compression.ts'
import type { ChunkSettings } from './layout.ts'

export type { ChunkSettings } from './layout.ts'

const FROM_BYTES = 64 * 1024
const FROM_BYTES_MIN = 64
const AVERAGE_BYTES = 8192
const AVERAGE_BYTES_MIN = 256

const REMEDY = 'Leave them out to open it as it is, or put its values into a new store.'

type Wanted = CheckedStoreOptions['chunks']

/** The longest content that fits into one row. */
function rowBytesMax({ valueBytesMax }: BackendLimits): number {
  return valueBytesMax - HEAD_BYTES
}

function fits(averageBytes: number, { valueBytesMax }: BackendLimits): boolean {
  return chunkSizes(averageBytes).maxBytes + PACK_HEAD_BYTES_MAX <= valueBytesMax
}

export function wantedChunks(limits: BackendLimits, wanted: Wanted): ChunkSettings {
  const given = wanted === false ? { fromBytes: Infinity } : wanted
  const { fromBytes = FROM_BYTES, averageBytes = defaultAverage(limits) } = given ?? {}
  if (fromBytes < FROM_BYTES_MIN)
    throw refusal(`chunks.fromBytes is a number from ${FROM_BYTES_MIN}, not ${fromBytes}.`)
  if (!fits(averageBytes, limits)) {
    const max = defaultAverage(limits, Infinity)
    throw refusal(
      `chunks.averageBytes is at most ${max} here, not ${averageBytes}: chunks are up to eight times as long, and a row of this engine has ${limits.valueBytesMax} bytes.`,
    )
  }
  return { fromBytes: Math.min(fromBytes, rowBytesMax(limits)), averageBytes }
}

/** As another store cuts them, as far as this engine allows. */
export function fittingChunks(
  limits: BackendLimits,
  other: ChunkSettings | undefined,
): ChunkSettings {
  if (!other) return wantedChunks(limits, undefined)
  const averageBytes = defaultAverage(limits, other.averageBytes)
  return wantedChunks(limits, { fromBytes: other.fromBytes, averageBytes })
}

function defaultAverage(limits: BackendLimits, wanted = AVERAGE_BYTES): number {
  let average = AVERAGE_BYTES_MIN
  while (average < wanted && average < 1024 * 1024 && fits(2 * average, limits)) average *= 2
  return average
}

/** What was asked for of an existing store must be so. */
export function requireChunks(
  { format, chunks }: { readonly format: number; readonly chunks?: ChunkSettings | undefined },
  options: Pick<CheckedStoreOptions, 'chunks' | 'compression'>,
  limits: BackendLimits,
): void {
  if (!chunks) {
    const asked = (['chunks', 'compression'] as const).find((name) => options[name] !== undefined)
    if (asked === undefined) return
    throw new PrestigeError(
      'SETTINGS_MISMATCH',
      `This store has format ${format}, which has no option ${asked}. ${REMEDY}`,
    )
  }
  if (options.chunks === undefined) return
  const { fromBytes, averageBytes } = wantedChunks(limits, options.chunks)
  const given = options.chunks === false ? { fromBytes: 0 } : options.chunks
  const asked = {
    fromBytes: given.fromBytes === undefined ? undefined : fromBytes,
    averageBytes: given.averageBytes === undefined ? undefined : averageBytes,
  }
  requireSame('store', differencesOf({ ...chunks }, asked, 'chunks.'), REMEDY)
}

interface Mode {
  readonly dedup?: CheckedStoreOptions['dedup']
  readonly fidelity?: CheckedStoreOptions['fidelity']
  readonly deltas?: boolean | undefined
}

/** Of a new store: wherever near duplicates are linked and keep their own bytes, unless it says otherwise. */
export function wantsDeltas({ dedup, fidelity, deltas }: Mode): boolean {
  const isLinked = dedup === 'near' || dedup === 'hybrid'
  return isLinked && fidelity !== 'representative' && deltas !== false
}

/** What was asked for of an existing store must be so. */
export function requireDeltas({ dedup, fidelity, deltas = false }: Mode, asked = deltas): void {
  if (asked === deltas) return
  if (asked && !wantsDeltas({ dedup, fidelity })) {
    throw refusal(
      "deltas is for stores with dedup: 'near' or 'hybrid' and fidelity: 'own': no other links values that keep their own bytes.",
    )
  }
  requireSame('store', differencesOf({ deltas }, { deltas: asked }), REMEDY)
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
