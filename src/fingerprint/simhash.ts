/**
 * SimHash: 64 bits of which similar texts share most. Bit b is what most shingles have in bit b, repeated
 * shingles counted as often as they come.
 *
 * The 64 bits are two 32-bit numbers: arithmetic on big integers is slow, and the searches do a lot of it.
 */

import { bitCount } from './exact-similarity.ts'
import { hashVersion } from './hash-version.ts'
import { kernels, type TextInput } from './kernels.ts'
import { DEFAULT_PROFILE, type ShingleProfile } from './shingle-profile.ts'
import { requireText } from './similarity-sketch.ts'

export interface SimHash {
  /** Bits 0 to 31. */
  readonly low: number
  /** Bits 32 to 63. */
  readonly high: number
}

export interface SimHashFingerprint extends SimHash {
  readonly profile: string
  readonly hashVersion: string
  readonly shingles: number
  /** There was nothing to hash: both numbers are 0 and mean nothing. An index refuses it. */
  readonly isEmpty: boolean
}

export function simHashOf(
  input: TextInput,
  profile: ShingleProfile = DEFAULT_PROFILE,
): SimHashFingerprint {
  requireText(input)
  const { shape, low, high, shingles } = kernels().simhash(input, profile)
  const isEmpty = shingles === 0
  return { low, high, profile: shape.name, hashVersion: hashVersion(), shingles, isEmpty }
}

/** Bits that differ, 0 to 64. */
export function simHashDistance(first: SimHash, second: SimHash): number {
  return bitCount(first.low ^ second.low) + bitCount(first.high ^ second.high)
}

/** Sixteen hexadecimal digits, the highest bit first. */
export function simHashHex({ low, high }: SimHash): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}
