/** The 32-bit mixing all text kernels share, for one number and for four. The twin has the same constants. */

/** Powers of it weigh the units of a shingle. */
export const SHINGLE_MULTIPLIER: u32 = 0x9e3779b1
const WORD_MULTIPLIER: u32 = 0x85ebca77
const WORD_SEED: u32 = 0x27d4eb2f

/** A bijection with little bias (lowbias32, Wellons). */
export function mix(value: u32): u32 {
  value ^= value >> 16
  value *= 0x7feb352d
  value ^= value >> 15
  value *= 0x846ca68b
  return value ^ (value >> 16)
}

export function mix4(values: v128): v128 {
  let mixed = v128.xor(values, i32x4.shr_u(values, 16))
  mixed = i32x4.mul(mixed, i32x4.splat(0x7feb352d))
  mixed = v128.xor(mixed, i32x4.shr_u(mixed, 15))
  mixed = i32x4.mul(mixed, i32x4.splat(<i32>0x846ca68b))
  return v128.xor(mixed, i32x4.shr_u(mixed, 16))
}

/**
 * The hash of a word's bytes, eight at a time, zeros behind the last. Nearly all words are one step, without a
 * branch that depends on their length. Reads, but does not use, up to seven bytes behind the word.
 */
export function hashWord(from: usize, end: usize): u32 {
  let hash: u32 = WORD_SEED + <u32>(end - from)
  for (; from + 8 < end; from += 8) hash = addEight(hash, load<u64>(from))
  const unused = (8 - <u64>(end - from)) << 3
  return mix(addEight(hash, (load<u64>(from) << unused) >> unused))
}

function addEight(hash: u32, eight: u64): u32 {
  hash = (hash ^ <u32>eight) * WORD_MULTIPLIER
  hash ^= hash >> 15
  hash = (hash ^ <u32>(eight >> 32)) * WORD_MULTIPLIER
  return hash ^ (hash >> 15)
}
