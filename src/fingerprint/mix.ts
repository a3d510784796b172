/**
 * The 32-bit arithmetic all kernels share, and the constants they are built from.
 *
 * The same constants stand in `assembly/`; that both agree is what the tests of the twin check.
 */

export const SHINGLE_MULTIPLIER = 0x9e3779b1
export const WORD_MULTIPLIER = 0x85ebca77
export const WORD_SEED = 0x27d4eb2f
export const SKETCH_SEED = 0x5bd1e995
export const ROUND_STEP = 0x9e3779b9
export const SIMHASH_HIGH_SEED = 0xc2b2ae35

/** A bijection of 32-bit numbers with little bias (lowbias32, Wellons). */
export function mix(value: number): number {
  let mixed = value ^ (value >>> 16)
  mixed = Math.imul(mixed, 0x7feb352d)
  mixed ^= mixed >>> 15
  mixed = Math.imul(mixed, 0x846ca68b)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** An endless sequence of 32-bit numbers that depends on the seed alone. */
export function randomWords(seed: number): () => number {
  const start = mix(seed ^ ROUND_STEP)
  let count = 0
  return () => {
    count = (count + 1) >>> 0
    return mix(mix(Math.imul(count, ROUND_STEP) ^ start) + seed)
  }
}
