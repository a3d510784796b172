/**
 * The distinct ones of many 32-bit hashes, in ascending order. They are gathered as they come, dealt into as many
 * buckets as there are hashes by their highest bits, and then nearly sorted: few have to move past a neighbour.
 */

import { behind, reserve } from './memory'

let list: usize = 0
let count: u32 = 0

const BITS_MIN: u32 = 6
const BITS_MAX: u32 = 20

/** Hashes are gathered from `at` on; memory behind it is free. */
export function openList(at: usize): void {
  list = at
  count = 0
}

export function gather(from: usize, more: u32): void {
  const to = list + ((<usize>count) << 2)
  const bytes = (<usize>more) << 2
  reserve(to + bytes)
  memory.copy(to, from, bytes)
  count += more
}

/** Gives the number of distinct ones; `membersOfSet` says where they are. */
export function closeList(): u32 {
  let bits = BITS_MIN
  while ((<u32>1) << bits < count && bits < BITS_MAX) bits++
  const shift = 32 - bits
  const end = list + ((<usize>count) << 2)
  const starts = behind(end)
  const startsEnd = starts + ((<usize>4) << bits)
  const dealt = behind(startsEnd)
  reserve(dealt + ((<usize>count) << 2))
  memory.fill(starts, 0, startsEnd - starts)
  for (let at = list; at < end; at += 4) {
    const bucket = starts + ((<usize>(load<u32>(at) >> shift)) << 2)
    store<u32>(bucket, load<u32>(bucket) + 4)
  }
  let next: u32 = <u32>dealt
  for (let bucket = starts; bucket < startsEnd; bucket += 4) {
    const bytes = load<u32>(bucket)
    store<u32>(bucket, next)
    next += bytes
  }
  for (let at = list; at < end; at += 4) {
    const hash = load<u32>(at)
    const bucket = starts + ((<usize>(hash >> shift)) << 2)
    const place = load<u32>(bucket)
    store<u32>(<usize>place, hash)
    store<u32>(bucket, place + 4)
  }
  list = dealt
  count = settle(dealt, dealt + ((<usize>count) << 2))
  return count
}

/** Sorts what is nearly sorted, and leaves out what is there already. */
function settle(from: usize, end: usize): u32 {
  if (from == end) return 0
  let to = from + 4
  let last = load<u32>(from)
  for (let at = to; at < end; at += 4) {
    const hash = load<u32>(at)
    if (hash > last) {
      store<u32>(to, hash)
      to += 4
      last = hash
    } else if (hash < last) {
      to += insert(from, to, hash)
      last = load<u32>(to - 4)
    }
  }
  return <u32>((to - from) >> 2)
}

/** Bytes that were added: none if it is there. The last one is greater. */
function insert(from: usize, to: usize, hash: u32): usize {
  let place = to - 4
  while (place > from && load<u32>(place - 4) > hash) place -= 4
  if (place > from && load<u32>(place - 4) == hash) return 0
  for (let at = to; at > place; at -= 4) store<u32>(at, load<u32>(at - 4))
  store<u32>(place, hash)
  return 4
}

export function membersOfSet(): usize {
  return list
}
