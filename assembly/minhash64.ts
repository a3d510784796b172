/**
 * Classic 64-bit MinHash: slot i holds the least of a[i] * h + b[i] (mod 2^64) over the hashes h of all tokens.
 *
 * Tokens are `width` consecutive code points, hashed by XXH64. They come in batches that fit the fastest
 * cache; repeated tokens of a batch are dropped, since they cost as much as new ones and change nothing.
 */

import { decode } from './code-points'
import { behind, reserve } from './memory'
import { hash64 } from './xxhash64'

const BATCH: u32 = 2048

/** At `at` stand `slots` multipliers, then as many addends, then the slots. `slots` is a multiple of four. */
export function minhash64(text: usize, length: u32, width: u32, slots: u32, at: usize): u32 {
  memory.fill(at + ((<usize>slots) << 4), 0xff, (<usize>slots) << 3)
  if (length == 0) return 0
  const batch = behind(text + length)
  const table = behind(batch + ((<usize>BATCH) << 3))
  let places: u32 = 64
  while (places < BATCH << 1 && places < length << 1) places <<= 1
  reserve(table + ((<usize>places) << 3))
  const end = text + length
  let until = text
  for (let point: u32 = 0; point < width && until < end; point++) until += decode(until, end) >> 24
  let tokens: u32 = 0
  let held: u32 = 0
  memory.fill(table, 0, (<usize>places) << 3)
  for (;;) {
    held += hold(hash64(text, <u32>(until - text)), batch + ((<usize>held) << 3), table, places)
    tokens++
    if (held == BATCH || until >= end) {
      lower(batch, held, slots, at)
      if (until >= end) return tokens
      held = 0
      memory.fill(table, 0, (<usize>places) << 3)
    }
    text += decode(text, end) >> 24
    until += decode(until, end) >> 24
  }
  return tokens
}

/** Writes a hash to the batch unless the batch has it; gives how many were written. 0 is never looked up. */
function hold(hash: u64, to: usize, table: usize, places: u32): u32 {
  const mask = places - 1
  let place = <u32>hash & mask
  let known = load<u64>(table + ((<usize>place) << 3))
  while (known != 0) {
    if (known == hash) return 0
    place = (place + 1) & mask
    known = load<u64>(table + ((<usize>place) << 3))
  }
  store<u64>(table + ((<usize>place) << 3), hash)
  store<u64>(to, hash)
  return 1
}

function least(first: u64, second: u64): u64 {
  return select<u64>(first, second, first < second)
}

function lower(batch: usize, count: u32, slots: u32, at: usize): void {
  const bytes = (<usize>slots) << 3
  const end = batch + ((<usize>count) << 3)
  for (let a = at; a < at + bytes; a += 32) {
    const b = a + bytes
    const slot = b + bytes
    let first = load<u64>(slot)
    let second = load<u64>(slot, 8)
    let third = load<u64>(slot, 16)
    let fourth = load<u64>(slot, 24)
    for (let token = batch; token < end; token += 8) {
      const hash = load<u64>(token)
      first = least(first, load<u64>(a) * hash + load<u64>(b))
      second = least(second, load<u64>(a, 8) * hash + load<u64>(b, 8))
      third = least(third, load<u64>(a, 16) * hash + load<u64>(b, 16))
      fourth = least(fourth, load<u64>(a, 24) * hash + load<u64>(b, 24))
    }
    store<u64>(slot, first)
    store<u64>(slot, second, 8)
    store<u64>(slot, third, 16)
    store<u64>(slot, fourth, 24)
  }
}
