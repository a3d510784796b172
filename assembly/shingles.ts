/**
 * Units in, shingle hashes out: every `width` consecutive units are one shingle.
 *
 * A shingle's hash is the sum of its units, each times its own power of a multiplier, mixed. Four are
 * made at once. Units wait in a block; when it is full, its hashes go to a sink, or to two.
 */

import { gather } from './distinct'
import { mix, mix4, SHINGLE_MULTIPLIER } from './hash'
import { BLOCK_UNITS, HASHES, KEPT_MAX, MULTIPLIERS, UNITS, UNITS_END } from './memory'
import { countBits } from './simhash'
import { scatter } from './sketch'

export const TO_SKETCH: u32 = 0
export const TO_SET: u32 = 1
export const TO_SIMHASH: u32 = 2
export const TO_BOTH: u32 = 3

let width: u32 = 0
let sink: u32 = 0
let waiting: u32 = 0
let made: u32 = 0
let kept: u32 = 0
let keepsAll: bool = true

export function begin(unitsPerShingle: u32, into: u32): void {
  width = unitsPerShingle
  sink = into
  waiting = 0
  made = 0
  kept = 0
  keepsAll = true
  let power: u32 = 1
  for (let unit: i32 = <i32>width - 1; unit >= 0; unit--) {
    v128.store(MULTIPLIERS + ((<usize>unit) << 4), i32x4.splat(<i32>power))
    power *= SHINGLE_MULTIPLIER
  }
}

/** Shingles made so far. */
export function shinglesMade(): u32 {
  return made
}

/** How many hashes stand in `HASHES`, if they are all there are; 0 if they are not. */
export function shinglesKept(): u32 {
  return keepsAll ? kept : 0
}

export function put(unit: u32): void {
  store<u32>(room(1), unit)
}

/** Where the next unit goes; the caller may write up to `UNITS_END` and says so by `advance`. */
export function nextUnit(): usize {
  return UNITS + ((<usize>waiting) << 2)
}

export function advance(to: usize): void {
  waiting = <u32>((to - UNITS) >> 2)
  if (to == UNITS_END) flush()
}

/** A place for `count` units that the caller writes himself. */
export function room(count: u32): usize {
  if (waiting + count > BLOCK_UNITS) flush()
  const place = UNITS + ((<usize>waiting) << 2)
  waiting += count
  return place
}

/** A text of fewer units than a shingle has is one shingle. */
export function finish(): void {
  if (waiting >= width) flush()
  else if (made == 0 && waiting > 0) putWhole(horner(waiting))
}

function horner(count: u32): u32 {
  let hash: u32 = 0
  for (let unit: u32 = 0; unit < count; unit++) {
    hash = hash * SHINGLE_MULTIPLIER + load<u32>(UNITS + ((<usize>unit) << 2))
  }
  return hash
}

/** The one shingle of a text that has no other. */
export function putWhole(sum: u32): void {
  store<u32>(HASHES, mix(sum))
  deliver(1)
}

function flush(): void {
  if (waiting < width) return
  const count = waiting - width + 1
  if (kept + count > KEPT_MAX) {
    keepsAll = false
    kept = 0
  }
  hashBlock(count)
  deliver(count)
  waiting = width - 1
  memory.copy(UNITS, UNITS + ((<usize>count) << 2), (<usize>waiting) << 2)
}

function deliver(count: u32): void {
  const from = HASHES + ((<usize>kept) << 2)
  if (sink == TO_SIMHASH) countBits(from, count)
  if (sink == TO_SKETCH || sink == TO_BOTH) scatter(from, count)
  if (sink == TO_SET || sink == TO_BOTH) gather(from, count)
  made += count
  kept += count
}

function hashBlock(count: u32): void {
  const to = HASHES + ((<usize>kept) << 2)
  if (width == 5) hashFives(to, count)
  else if (width == 3) hashThrees(to, count)
  else hashAny(to, count)
}

/** `units` four at a time, times the power that stands at `place`. */
function weighed(units: usize, place: usize): v128 {
  return i32x4.mul(v128.load(units), v128.load(MULTIPLIERS + place))
}

function hashThrees(to: usize, count: u32): void {
  const end = to + ((<usize>count) << 2)
  for (let from = UNITS; to < end; to += 16, from += 16) {
    const sum = i32x4.add(weighed(from, 0), weighed(from + 4, 16))
    v128.store(to, mix4(i32x4.add(sum, v128.load(from, 8))))
  }
}

function hashFives(to: usize, count: u32): void {
  const end = to + ((<usize>count) << 2)
  for (let from = UNITS; to < end; to += 16, from += 16) {
    const first = i32x4.add(weighed(from, 0), weighed(from + 4, 16))
    const second = i32x4.add(weighed(from + 8, 32), weighed(from + 12, 48))
    v128.store(to, mix4(i32x4.add(i32x4.add(first, second), v128.load(from, 16))))
  }
}

function hashAny(to: usize, count: u32): void {
  const end = to + ((<usize>count) << 2)
  for (let from = UNITS; to < end; to += 16, from += 16) {
    let sum = i32x4.splat(0)
    for (let unit: u32 = 0; unit < width; unit++) {
      sum = i32x4.add(sum, weighed(from + ((<usize>unit) << 2), (<usize>unit) << 4))
    }
    v128.store(to, mix4(sum))
  }
}
