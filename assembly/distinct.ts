/**
 * A set of 32-bit hashes that is in order at all times: open addressing by the highest bits, and within a run of
 * neighbours the smaller before the greater. So what is left when free places are taken out is sorted.
 */

import { behind, reserve } from './memory'

let table: usize = 0
let capacity: u32 = 0
let used: u32 = 0
/** The highest bits say where a hash belongs. */
let shift: u32 = 0
/** Behind the last hash. Runs at the end go on behind the places that hashes belong to. */
let end: usize = 0
/** 0 marks a free place, so the hash 0 is remembered here. */
let hasZero: bool = false

/** Places for a run behind the last one, before more are taken. */
const RUN_PLACES: u32 = 64

/** `places` is a power of two. */
export function openSet(at: usize, places: u32): void {
  table = at
  capacity = places
  used = 0
  shift = 32 - <u32>ctz(places)
  hasZero = false
  end = table + ((<usize>(capacity + RUN_PLACES)) << 2)
  reserve(end)
  memory.fill(table, 0, end - table)
}

export function insertAll(from: usize, count: u32): void {
  for (let at: u32 = 0; at < count; at++) {
    const hash = load<u32>(from + ((<usize>at) << 2))
    if (hash == 0) hasZero = true
    else if (insert(hash) && used << 1 > capacity) enlarge()
  }
}

function insert(hash: u32): bool {
  let place = table + ((<usize>(hash >> shift)) << 2)
  let held = load<u32>(place)
  while (held != 0 && held < hash) {
    place += 4
    held = load<u32>(place)
  }
  if (held == hash) return false
  used++
  // The rest of the run moves on by one place.
  while (held != 0) {
    store<u32>(place, hash)
    hash = held
    place += 4
    held = load<u32>(place)
  }
  store<u32>(place, hash)
  if (place + 8 > end) lengthen()
  return true
}

/** There is always a free place behind the last run. */
function lengthen(): void {
  reserve(end + ((<usize>RUN_PLACES) << 2))
  memory.fill(end, 0, (<usize>RUN_PLACES) << 2)
  end += (<usize>RUN_PLACES) << 2
}

function enlarge(): void {
  const old = table
  const oldEnd = end
  const zero = hasZero
  openSet(behind(end), capacity << 1)
  hasZero = zero
  for (let place = old; place < oldEnd; place += 4) {
    const hash = load<u32>(place)
    if (hash != 0) insert(hash)
  }
}

/** Moves the members to the start of the table, in order; gives their number. The set is closed then. */
export function closeSet(): u32 {
  let to = table
  for (let place = table; place < end; place += 4) {
    const hash = load<u32>(place)
    store<u32>(to, hash)
    to += (<usize>(hash != 0)) << 2
  }
  if (hasZero) {
    memory.copy(table + 4, table, to - table)
    store<u32>(table, 0)
    to += 4
  }
  return <u32>((to - table) >> 2)
}

export function membersOfSet(): usize {
  return table
}
