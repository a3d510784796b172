/**
 * Bands: slices of a sketch that find candidates. Two sketches are candidates if all rows of one band are
 * equal, which happens with probability 1 - (1 - s^rows)^bands at similarity s: an S-shaped curve.
 *
 * Candidates are measured afterwards, so a missed pair is the only error that stays. Parameters are
 * therefore chosen by what must be found, and among those by the least work.
 */

import { PrestigeError } from '../platform/errors.ts'
import { mix, ROUND_STEP, SHINGLE_MULTIPLIER, SKETCH_SEED } from './mix.ts'

export interface Banding {
  readonly bands: number
  readonly rows: number
}

export interface BandsWanted {
  /** Slots of the sketch; bands × rows are at most as many. */
  readonly slots: number
  /** Pairs of at least this similarity are to be found. */
  readonly threshold: number
  /** Probability of finding a pair at the threshold. */
  readonly recallMin?: number | undefined
  /** The same a little (0.05) above it. */
  readonly recallAboveMin?: number | undefined
}

export const ROWS_MAX = 32
const ABOVE = 0.05
const STEPS = 200

/** By multiplication: the result must not depend on an engine's `**`. */
function power(base: number, exponent: number): number {
  let result = 1
  for (let count = 0; count < exponent; count++) result *= base
  return result
}

/** How likely a pair of the given similarity is to share a band. */
export function collisionProbability(similarity: number, bands: number, rows: number): number {
  return 1 - power(1 - power(similarity, rows), bands)
}

/** The area under the curve below the threshold: a measure of how many dissimilar pairs become candidates. */
export function falsePositiveArea(threshold: number, { bands, rows }: Banding): number {
  let sum = 0
  for (let step = 0; step < STEPS; step++) {
    sum += collisionProbability(((step + 0.5) / STEPS) * threshold, bands, rows)
  }
  return (sum / STEPS) * threshold
}

/** One 32-bit number a band, from its rows and its own number. */
export function computeBands(slots: Uint16Array, bands: number, rows: number): Uint32Array {
  requireBanding({ bands, rows }, slots.length)
  const hashes = new Uint32Array(bands)
  writeBands(slots, rows, hashes)
  return hashes
}

/** The same, without memory of its own: as many bands as there is room for. */
export function writeBands(slots: Uint16Array, rows: number, hashes: Uint32Array): void {
  for (let band = 0; band < hashes.length; band++) {
    let hash = Math.imul(band + 1, ROUND_STEP)
    for (let row = band * rows; row < (band + 1) * rows; row++) {
      hash = mix((Math.imul(hash, 31) + (slots[row] ?? 0)) | 0)
    }
    hashes[band] = hash
  }
}

/**
 * One signed 64-bit number a band, for tables of all bands of many texts: the upper half is that of `computeBands`, the
 * lower half another hash of the same rows, so that among billions of texts other bands have other keys.
 */
export function bandKeys64(slots: Uint16Array, bands: number, rows: number): bigint[] {
  return Array.from(computeBands(slots, bands, rows), (upper, band) => {
    let lower = mix(Math.imul(band + 1, SKETCH_SEED))
    for (let row = band * rows; row < (band + 1) * rows; row++) {
      lower = mix(Math.imul(lower, SHINGLE_MULTIPLIER) ^ (slots[row] ?? 0))
    }
    return BigInt.asIntN(64, (BigInt(upper) << 32n) | BigInt(lower))
  })
}

export function requireBanding({ bands, rows }: Banding, slots: number): void {
  const isWhole = Number.isInteger(bands) && Number.isInteger(rows)
  if (isWhole && bands >= 1 && rows >= 1 && bands * rows <= slots) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${bands} bands of ${rows} rows do not fit in ${slots} slots.`,
  )
}

/** The bands that find what is wanted with the least false candidates; of equals, the fewest bands. */
export function chooseBands(wanted: BandsWanted): Banding {
  const { slots, threshold, recallMin = 0.95, recallAboveMin = 0.99 } = wanted
  requireWanted(slots, threshold)
  requireShare(recallMin, 'recallMin')
  requireShare(recallAboveMin, 'recallAboveMin')
  const above = Math.min(1, threshold + ABOVE)
  let best: (Banding & { readonly area: number }) | undefined
  for (let rows = Math.min(ROWS_MAX, slots); rows >= 1; rows--) {
    for (let bands = 1; bands * rows <= slots; bands++) {
      const isEnough =
        collisionProbability(threshold, bands, rows) >= recallMin &&
        collisionProbability(above, bands, rows) >= recallAboveMin
      if (!isEnough) continue
      const area = falsePositiveArea(threshold, { bands, rows })
      if (best === undefined || area < best.area) best = { bands, rows, area }
      // More bands of as many rows only find more.
      break
    }
  }
  if (best) return { bands: best.bands, rows: best.rows }
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${slots} slots cannot find ${recallMin * 100} % of pairs at similarity ${threshold}. Take more slots or a higher threshold.`,
  )
}

function requireWanted(slots: number, threshold: number): void {
  if (Number.isInteger(slots) && slots >= 1 && threshold > 0 && threshold <= 1) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `Bands need a whole number of slots and a threshold above 0 and at most 1, not ${slots} and ${threshold}.`,
  )
}

/** Shares are never percent: 0.06 is six of a hundred, and 6 is a mistake. */
export function requireShare(value: number, name: string): void {
  if (value > 0 && value <= 1) return
  throw new PrestigeError('INVALID_OPTIONS', `${name} is above 0 and at most 1, not ${value}.`)
}
