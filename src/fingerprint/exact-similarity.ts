/** What sketches estimate, measured: of sorted sets of shingle hashes, of vectors, of packed bits. */

import { PrestigeError } from '../platform/errors.ts'

/** Members of both; the sets are sorted and distinct. */
export function sharedCount(first: Uint32Array, second: Uint32Array): number {
  return sharedFrom(0, first, second)
}

/** Shared of all. 0 where both are empty: nothing is not like nothing. */
export function jaccard(first: Uint32Array, second: Uint32Array): number {
  return shareOf(sharedCount(first, second), first.length + second.length)
}

function shareOf(shared: number, members: number): number {
  return members === 0 ? 0 : shared / (members - shared)
}

/** The same where it is at least `least`; else anything below, returned as soon as that is sure. */
export function jaccardFrom(least: number, first: Uint32Array, second: Uint32Array): number {
  const members = first.length + second.length
  let needed = Math.max(0, Math.floor((least / (1 + least)) * members) - 1)
  while (needed <= members && shareOf(needed, members) < least) needed++
  const shared = sharedFrom(needed, first, second)
  return shared < needed ? 0 : shareOf(shared, members)
}

/** So many members are looked at before the next look at whether enough can still be shared. */
const STRETCH = 32

/** Members of both, or less than `needed` if they are fewer. */
function sharedFrom(needed: number, first: Uint32Array, second: Uint32Array): number {
  const { length } = first
  const otherLength = second.length
  let shared = 0
  let left = 0
  let right = 0
  while (left < length && right < otherLength) {
    if (shared + Math.min(length - left, otherLength - right) < needed) return 0
    const end = Math.min(length, left + STRETCH)
    while (left < end && right < otherLength) {
      const a = first[left] ?? 0
      const b = second[right] ?? 0
      if (a === b) shared++
      if (a <= b) left++
      if (b <= a) right++
    }
  }
  return shared
}

/** How much of `part` is in `whole`. 0 where there is no part. */
export function containment(part: Uint32Array, whole: Uint32Array): number {
  return part.length === 0 ? 0 : sharedCount(part, whole) / part.length
}

/** Cosine of the angle between two vectors, in double precision. */
export function cosine(first: ArrayLike<number>, second: ArrayLike<number>): number {
  if (first.length !== second.length) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `Vectors of ${first.length} and ${second.length} dimensions have no angle.`,
    )
  }
  let dot = 0
  let firstSquare = 0
  let secondSquare = 0
  for (let at = 0; at < first.length; at++) {
    const a = first[at] ?? 0
    const b = second[at] ?? 0
    dot += a * b
    firstSquare += a * a
    secondSquare += b * b
  }
  const lengths = Math.sqrt(firstSquare) * Math.sqrt(secondSquare)
  if (lengths > 0 && Number.isFinite(lengths)) return Math.min(1, Math.max(-1, dot / lengths))
  throw new PrestigeError(
    'INVALID_VALUE',
    'A vector of zeros, or one with numbers that are not finite, has no direction.',
  )
}

/** Bits set in a 32-bit number. */
export function bitCount(value: number): number {
  let bits = value - ((value >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Bits that differ between two packed signatures of one length. */
export function hammingDistance(first: Uint8Array, second: Uint8Array): number {
  if (first.length !== second.length) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `Signatures of ${first.length} and ${second.length} bytes do not compare.`,
    )
  }
  let distance = 0
  for (let at = 0; at < first.length; at++) {
    distance += bitCount((first[at] ?? 0) ^ (second[at] ?? 0))
  }
  return distance
}
