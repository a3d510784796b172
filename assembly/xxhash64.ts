/** XXH64, as published by its author: the 64-bit hash of a run of bytes. */

const PRIME_1: u64 = 0x9e3779b185ebca87
const PRIME_2: u64 = 0xc2b2ae3d27d4eb4f
const PRIME_3: u64 = 0x165667b19e3779f9
const PRIME_4: u64 = 0x85ebca77c2b2ae63
const PRIME_5: u64 = 0x27d4eb2f165667c5

function round(lane: u64, input: u64): u64 {
  return rotl<u64>(lane + input * PRIME_2, 31) * PRIME_1
}

function merge(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * PRIME_1 + PRIME_4
}

export function hash64(from: usize, length: u32): u64 {
  const end = from + length
  let hash: u64 = PRIME_5
  if (length >= 32) {
    hash = stripes(from, length)
    from += length & ~31
  }
  hash += <u64>length
  for (; from + 8 <= end; from += 8) {
    hash = rotl<u64>(hash ^ round(0, load<u64>(from)), 27) * PRIME_1 + PRIME_4
  }
  if (from + 4 <= end) {
    hash = rotl<u64>(hash ^ (<u64>load<u32>(from) * PRIME_1), 23) * PRIME_2 + PRIME_3
    from += 4
  }
  for (; from < end; from++) {
    hash = rotl<u64>(hash ^ (<u64>load<u8>(from) * PRIME_5), 11) * PRIME_1
  }
  return avalanche(hash)
}

/** Four lanes over all whole stripes of 32 bytes. */
function stripes(from: usize, length: u32): u64 {
  let first = PRIME_1 + PRIME_2
  let second = PRIME_2
  let third: u64 = 0
  let fourth: u64 = 0 - PRIME_1
  for (const end = from + (length & ~31); from < end; from += 32) {
    first = round(first, load<u64>(from))
    second = round(second, load<u64>(from, 8))
    third = round(third, load<u64>(from, 16))
    fourth = round(fourth, load<u64>(from, 24))
  }
  const joined =
    rotl<u64>(first, 1) + rotl<u64>(second, 7) + rotl<u64>(third, 12) + rotl<u64>(fourth, 18)
  return merge(merge(merge(merge(joined, first), second), third), fourth)
}

function avalanche(hash: u64): u64 {
  hash = (hash ^ (hash >> 33)) * PRIME_2
  hash = (hash ^ (hash >> 29)) * PRIME_3
  return hash ^ (hash >> 32)
}
