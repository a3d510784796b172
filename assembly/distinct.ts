/** A set of 32-bit hashes: open addressing at the end of memory, doubled when half full. */

import { behind, reserve } from './memory'

let table: usize = 0
let capacity: u32 = 0
let used: u32 = 0
/** 0 marks a free place, so the hash 0 is remembered here. */
let hasZero: bool = false

/** `places` is a power of two. */
export function openSet(at: usize, places: u32): void {
  table = at
  capacity = places
  used = 0
  hasZero = false
  reserve(table + ((<usize>capacity) << 2))
  memory.fill(table, 0, (<usize>capacity) << 2)
}

export function insertAll(from: usize, count: u32): void {
  for (let at: u32 = 0; at < count; at++) {
    const hash = load<u32>(from + ((<usize>at) << 2))
    if (hash == 0) hasZero = true
    else if (insert(hash) && used << 1 > capacity) enlarge()
  }
}

function insert(hash: u32): bool {
  const mask = capacity - 1
  let place = table + ((<usize>(hash & mask)) << 2)
  let held = load<u32>(place)
  while (held != 0) {
    if (held == hash) return false
    place = table + ((<usize>((((place - table) >> 2) + 1) & mask)) << 2)
    held = load<u32>(place)
  }
  store<u32>(place, hash)
  used++
  return true
}

function enlarge(): void {
  const old = table
  const places = capacity
  const zero = hasZero
  openSet(behind(old + ((<usize>places) << 2)), places << 1)
  hasZero = zero
  for (let place: u32 = 0; place < places; place++) {
    const hash = load<u32>(old + ((<usize>place) << 2))
    if (hash != 0) insert(hash)
  }
}

/** Moves the members to the start of the table, in no order; gives their number. The set is closed then. */
export function closeSet(): u32 {
  let count: u32 = 0
  for (let place: u32 = 0; place < capacity; place++) {
    const hash = load<u32>(table + ((<usize>place) << 2))
    if (hash == 0) continue
    store<u32>(table + ((<usize>count) << 2), hash)
    count++
  }
  if (!hasZero) return count
  store<u32>(table + ((<usize>count) << 2), 0)
  return count + 1
}

export function membersOfSet(): usize {
  return table
}

const DIGIT_BYTES: usize = 1024

/** Sorts the members of a closed set: four passes over one byte of the hashes each. */
export function sortMembers(count: u32): void {
  const bytes = (<usize>count) << 2
  const other = behind(table + bytes)
  const digits = behind(other + bytes)
  reserve(digits + DIGIT_BYTES)
  for (let pass: u32 = 0; pass < 4; pass++) {
    const isEven = (pass & 1) == 0
    sortByDigit(isEven ? table : other, isEven ? other : table, bytes, digits, pass << 3)
  }
}

function sortByDigit(from: usize, to: usize, bytes: usize, digits: usize, shift: u32): void {
  memory.fill(digits, 0, DIGIT_BYTES)
  for (let at: usize = 0; at < bytes; at += 4) {
    const digit = digits + ((<usize>((load<u32>(from + at) >> shift) & 255)) << 2)
    store<u32>(digit, load<u32>(digit) + 4)
  }
  let start: u32 = 0
  for (let digit = digits; digit < digits + DIGIT_BYTES; digit += 4) {
    const count = load<u32>(digit)
    store<u32>(digit, start)
    start += count
  }
  for (let at: usize = 0; at < bytes; at += 4) {
    const hash = load<u32>(from + at)
    const digit = digits + ((<usize>((hash >> shift) & 255)) << 2)
    const place = load<u32>(digit)
    store<u32>(to + place, hash)
    store<u32>(digit, place + 4)
  }
}
