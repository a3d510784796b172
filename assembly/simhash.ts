/**
 * SimHash: bit b of the result is the majority of bit b over all shingles.
 *
 * Nothing is counted bit by bit. Each of 64 × 4 columns has a counter laid out across planes (plane p
 * holds bit p of all counters), and shingles are added 32 at a time by carry-save adders (Harley-Seal).
 * The low half takes the shingle's hash as it is, the high half mixes it again.
 */

import { mix4 } from './hash'
import { HIGH_PLANES, LOW_PLANES } from './memory'

const HIGH_SEED: u32 = 0xc2b2ae35
const PLANES: u32 = 32
const PLANES_BYTES: usize = 544

export function openPlanes(): void {
  memory.fill(LOW_PLANES, 0, PLANES_BYTES)
  memory.fill(HIGH_PLANES, 0, PLANES_BYTES)
}

export function countBits(from: usize, count: u32): void {
  const end = from + ((<usize>count) << 2)
  const even = from + ((<usize>(count & ~31)) << 2)
  addEights(LOW_PLANES, from, even, false)
  addEights(HIGH_PLANES, from, even, true)
  for (let at = even; at < end; at += 16) {
    const lanes = i32x4.lt_u(i32x4(0, 1, 2, 3), i32x4.splat(<i32>((end - at) >> 2)))
    ripple(LOW_PLANES, v128.and(hashes(at, false), lanes))
    ripple(HIGH_PLANES, v128.and(hashes(at, true), lanes))
  }
}

function hashes(at: usize, isHigh: bool): v128 {
  const low = v128.load(at)
  return isHigh ? mix4(v128.xor(low, i32x4.splat(<i32>HIGH_SEED))) : low
}

function majority(first: v128, second: v128, third: v128): v128 {
  return v128.or(v128.and(first, second), v128.and(third, v128.xor(first, second)))
}

function parity(first: v128, second: v128, third: v128): v128 {
  return v128.xor(v128.xor(first, second), third)
}

function addEights(planes: usize, from: usize, end: usize, isHigh: bool): void {
  let ones = v128.load(planes)
  let twos = v128.load(planes, 16)
  let fours = v128.load(planes, 32)
  for (; from < end; from += 128) {
    const a = hashes(from, isHigh)
    const b = hashes(from + 16, isHigh)
    const twoA = majority(ones, a, b)
    ones = parity(ones, a, b)
    const c = hashes(from + 32, isHigh)
    const d = hashes(from + 48, isHigh)
    const twoB = majority(ones, c, d)
    ones = parity(ones, c, d)
    const fourA = majority(twos, twoA, twoB)
    twos = parity(twos, twoA, twoB)
    const e = hashes(from + 64, isHigh)
    const f = hashes(from + 80, isHigh)
    const twoC = majority(ones, e, f)
    ones = parity(ones, e, f)
    const g = hashes(from + 96, isHigh)
    const h = hashes(from + 112, isHigh)
    const twoD = majority(ones, g, h)
    ones = parity(ones, g, h)
    const fourB = majority(twos, twoC, twoD)
    twos = parity(twos, twoC, twoD)
    ripple(planes + 48, majority(fours, fourA, fourB))
    fours = parity(fours, fourA, fourB)
  }
  v128.store(planes, ones)
  v128.store(planes, twos, 16)
  v128.store(planes, fours, 32)
}

/** Adds one at the weight of the plane it is given. */
function ripple(plane: usize, carry: v128): void {
  for (; v128.any_true(carry); plane += 16) {
    const held = v128.load(plane)
    v128.store(plane, v128.xor(held, carry))
    carry = v128.and(held, carry)
  }
}

/** The 32 bits whose count is more than half of `total`. */
export function majorityOf(planes: usize, total: u32): u32 {
  addLanes(planes, 2)
  addLanes(planes, 1)
  const enough = (total >> 1) + 1
  let greater: u32 = 0
  let equal: u32 = 0xffffffff
  for (let plane: i32 = <i32>PLANES - 1; plane >= 0; plane--) {
    const held = load<u32>(planes + ((<usize>plane) << 4))
    const wanted: u32 = (enough >> plane) & 1 ? 0xffffffff : 0
    greater |= equal & held & ~wanted
    equal &= ~(held ^ wanted)
  }
  return greater | equal
}

/** Adds to every counter the one `by` lanes further. */
function addLanes(planes: usize, by: u32): void {
  let carry = i32x4.splat(0)
  for (let plane: u32 = 0; plane < PLANES; plane++) {
    const at = planes + ((<usize>plane) << 4)
    const here = v128.load(at)
    const there =
      by == 2
        ? v128.shuffle<u32>(here, here, 2, 3, 0, 1)
        : v128.shuffle<u32>(here, here, 1, 0, 3, 2)
    v128.store(at, parity(here, there, carry))
    carry = majority(here, there, carry)
  }
}
