/**
 * Winnowed fingerprints of a text (Schleimer, Wilkerson, Aiken 2003): of every window of neighbouring shingles the one
 * with the least hash, so that a passage of PASSAGE_UNITS + WINDOW - 1 units (17) leaves the same fingerprint wherever
 * it stands. About 2 of WINDOW + 1 shingles are kept.
 *
 * A set is packed as its level (1), then the differences of its ascending hashes as varints, some 3.5 bytes each.
 * Of a text with more than FINGERPRINTS_MAX of them, some 600 KB, those with `level` zero bits at the end are kept:
 * short passages of such texts may be missed.
 */

import { PrestigeError } from '../platform/errors.ts'
import { lentUnitHashes, passageHashes } from './text-units.ts'

export interface Fingerprints {
  /** Ascending, each once. */
  readonly hashes: Uint32Array
  /** Hashes whose last so many bits are 0 are there; others are not. */
  readonly level: number
}

export const WINDOW = 12
/** So many take less than 65,536 bytes, which is what a signature in an archive may take. */
const FINGERPRINTS_MAX = 16_000
/** Changes whenever the fingerprints of any text may. */
export const WINNOWING_VERSION = 'w1'

/** Writes the positions of the shingles that are kept, ascending; returns how many there are. */
function winnow(shingles: Uint32Array, positions: Uint32Array): number {
  const { length } = shingles
  if (length === 0) return 0
  let end = Math.min(WINDOW, length)
  let least = leastOf(shingles, 0, end)
  let hash = shingles[least] ?? 0
  let count = 0
  positions[count++] = least
  for (; end < length; end++) {
    const added = shingles[end] ?? 0
    // Of equal ones the last, unless the one of the window before is still there: long repetitions leave few.
    if (added < hash) least = end
    else if (least > end - WINDOW) continue
    else least = leastOf(shingles, end - WINDOW + 1, end + 1)
    hash = shingles[least] ?? 0
    positions[count++] = least
  }
  return count
}

function leastOf(shingles: Uint32Array, from: number, end: number): number {
  let least = from
  for (let at = from + 1; at < end; at++) {
    if ((shingles[at] ?? 0) <= (shingles[least] ?? 0)) least = at
  }
  return least
}

/** Reused by one text after the other. */
let shingleMemory = new Uint32Array(4096)
let positionMemory = new Uint32Array(4096)

/** Of a text as it is: see text-units.ts for what makes no difference. */
export function fingerprintsOf(text: Uint8Array): Fingerprints {
  const units = lentUnitHashes(text)
  if (units.length > shingleMemory.length) {
    shingleMemory = new Uint32Array(units.length)
    positionMemory = new Uint32Array(units.length)
  }
  const shingles = passageHashes(units, shingleMemory)
  const hashes = new Uint32Array(winnow(shingles, positionMemory))
  for (let at = 0; at < hashes.length; at++) hashes[at] = shingles[positionMemory[at] ?? 0] ?? 0
  return sampled({ hashes: distinct(hashes.toSorted()), level: 0 }, FINGERPRINTS_MAX)
}

function distinct(sorted: Uint32Array): Uint32Array {
  let count = 0
  for (let at = 0; at < sorted.length; at++) {
    const hash = sorted[at] ?? 0
    if (count === 0 || sorted[count - 1] !== hash) sorted[count++] = hash
  }
  return sorted.subarray(0, count)
}

function sampled(all: Fingerprints, most: number): Fingerprints {
  let { hashes, level } = all
  for (; hashes.length > most; level++) hashes = hashes.filter((hash) => isAt(level + 1, hash))
  return { hashes, level }
}

/** Whether a set of this level has room for the hash. */
export function isAt(level: number, hash: number): boolean {
  return (hash & ((1 << level) - 1)) === 0
}

export function packFingerprints({ hashes, level }: Fingerprints): Buffer {
  const packed = Buffer.allocUnsafe(1 + hashes.length * 5)
  packed[0] = level
  let end = 1
  let before = 0
  for (const hash of hashes) {
    let left = hash - before
    before = hash
    for (; left > 127; left = Math.floor(left / 128)) packed[end++] = (left % 128) | 128
    packed[end++] = left
  }
  return packed.subarray(0, end)
}

export function unpackFingerprints(packed: Uint8Array): Fingerprints {
  const hashes = new Uint32Array(Math.max(0, packed.length - 1))
  let count = 0
  let hash = 0
  let step = 0
  let scale = 1
  for (let at = 1; at < packed.length; at++) {
    const byte = packed[at] ?? 0
    step += (byte & 127) * scale
    scale *= 128
    if (byte > 127) continue
    hash += step
    hashes[count++] = hash
    step = 0
    scale = 1
  }
  if (scale !== 1 || hash > 0xffffffff || packed.length === 0) {
    throw new PrestigeError('CONTENT_CORRUPT', 'The fingerprints of a text cannot be read.')
  }
  return { hashes: hashes.slice(0, count), level: packed[0] ?? 0 }
}
