/** The pairs (a, b) of classic MinHash: a is odd, so that h → a·h + b is a bijection of 64-bit numbers. */

import { PrestigeError } from '../platform/errors.ts'
import { randomWords } from './mix.ts'

export const MINHASH_SEED = 13374269

export interface MinHashCoefficients {
  readonly multipliers: BigUint64Array
  readonly addends: BigUint64Array
}

/** Drawn in the order a₀, b₀, a₁, b₁ … from a seed. */
export function minHashCoefficients(
  slots: number,
  seed: number = MINHASH_SEED,
): MinHashCoefficients {
  const next = randomWords(seed)
  const draw = () => (BigInt(next()) << 32n) | BigInt(next())
  const multipliers = new BigUint64Array(slots)
  const addends = new BigUint64Array(slots)
  for (let slot = 0; slot < slots; slot++) {
    multipliers[slot] = draw() | 1n
    addends[slot] = draw()
  }
  return { multipliers, addends }
}

/** Refuses coefficients from elsewhere that do not make a bijection. */
export function requireCoefficients({ multipliers, addends }: MinHashCoefficients): void {
  const isGood =
    multipliers.length > 0 &&
    multipliers.length === addends.length &&
    multipliers.every((multiplier) => (multiplier & 1n) === 1n)
  if (isGood) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    'MinHash coefficients are as many odd multipliers as addends, and at least one of each.',
  )
}
