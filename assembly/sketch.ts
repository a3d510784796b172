/**
 * Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup): `slots` minima in time O(n + slots log slots).
 *
 * Round 0 throws every shingle into one slot and keeps the least 31-bit value of each. Later rounds throw
 * all shingles again, under a tag that makes them greater than every earlier round, and only run while
 * a slot is empty; from round `slots` on, each round fills one given slot, so `2 * slots` rounds suffice.
 */

import { mix, mix4 } from './hash'
import { FOLDED, SLOTS } from './memory'

const SKETCH_SEED: u32 = 0x5bd1e995
const ROUND_STEP: u32 = 0x9e3779b9
const EMPTY_SLOT: u32 = 0xffffffff
const LATER: u32 = 0x80000000

let slots: u32 = 0

export function openSlots(count: u32): void {
  slots = count
  memory.fill(SLOTS, 0xff, (<usize>count) << 2)
}

/** Round 0. The high half of hash × slots is the slot, the low half the value. */
export function scatter(from: usize, count: u32): void {
  const times: u64 = slots
  for (const end = from + ((<usize>count) << 2); from < end; from += 4) {
    const product = <u64>(load<u32>(from) ^ SKETCH_SEED) * times
    const slot = SLOTS + ((<usize>(product >> 32)) << 2)
    const value = <u32>product >> 1
    if (value < load<u32>(slot)) store<u32>(slot, value)
  }
}

export function emptySlots(): u32 {
  let empty: u32 = 0
  for (let slot: u32 = 0; slot < slots; slot++) {
    if (load<u32>(SLOTS + ((<usize>slot) << 2)) == EMPTY_SLOT) empty++
  }
  return empty
}

/** All later rounds over the distinct hashes from `list`, which needs slack behind it. */
export function fillRest(list: usize, count: u32): void {
  let empty = emptySlots()
  for (let round: u32 = 1; empty > 0; round++) {
    const seed = mix(SKETCH_SEED + ROUND_STEP * round)
    const tag = LATER | (round << 21)
    empty -=
      round < slots ? throwAll(list, count, seed, tag) : fillOne(list, count, seed, tag, round)
  }
}

/** How many empty slots the round filled. Four hashes are mixed at once, then thrown one by one. */
function throwAll(list: usize, count: u32, seed: u32, tag: u32): u32 {
  const end = list + ((<usize>count) << 2)
  const seeds = i32x4.splat(<i32>seed)
  let filled: u32 = 0
  for (; list + 16 <= end; list += 16) {
    const mixed = mix4(v128.xor(v128.load(list), seeds))
    filled += throwOne(i32x4.extract_lane(mixed, 0), tag)
    filled += throwOne(i32x4.extract_lane(mixed, 1), tag)
    filled += throwOne(i32x4.extract_lane(mixed, 2), tag)
    filled += throwOne(i32x4.extract_lane(mixed, 3), tag)
  }
  for (; list < end; list += 4) filled += throwOne(mix(load<u32>(list) ^ seed), tag)
  return filled
}

/** Without a branch: while slots are empty, none could be guessed. */
function throwOne(mixed: u32, tag: u32): u32 {
  const product = <u64>mixed * <u64>slots
  const slot = SLOTS + ((<usize>(product >> 32)) << 2)
  const value = tag | (<u32>product >> 11)
  const held = load<u32>(slot)
  store<u32>(slot, select<u32>(value, held, value < held))
  return <u32>(held == EMPTY_SLOT)
}

function fillOne(list: usize, count: u32, seed: u32, tag: u32, round: u32): u32 {
  const slot = SLOTS + ((<usize>(round - slots)) << 2)
  const before = load<u32>(slot)
  let least = before
  for (let at: u32 = 0; at < count; at++) {
    const value = tag | (mix(load<u32>(list + ((<usize>at) << 2)) ^ seed) >> 11)
    if (value < least) least = value
  }
  store<u32>(slot, least)
  return before == EMPTY_SLOT ? 1 : 0
}

/**
 * Writes the 16 bits that are kept of every slot: the values are minima, so their own bits are far from
 * even, and are mixed first. Gives the sum of the values, which says how many distinct shingles there are
 * while all of them are of round 0.
 */
export function fold(): f64 {
  let sum: f64 = 0
  for (let slot: u32 = 0; slot < slots; slot += 4) {
    const values = v128.load(SLOTS + ((<usize>slot) << 2))
    const high = i32x4.shr_u(mix4(values), 16)
    store<u64>(
      FOLDED + ((<usize>slot) << 1),
      i64x2.extract_lane(i16x8.narrow_i32x4_u(high, high), 0),
    )
  }
  for (let slot: u32 = 0; slot < slots; slot++) sum += <f64>load<u32>(SLOTS + ((<usize>slot) << 2))
  return sum
}
