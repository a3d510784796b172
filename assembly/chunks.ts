/**
 * Content-defined chunks: FastCDC with a gear hash and normalised sizes.
 *
 * A chunk ends where the top bits of a rolling hash are 0: `early` bits up to the average size, fewer
 * `late` ones behind it, so that most chunks come near the average. Insertions move ends only nearby.
 */

import { GEAR } from './memory'

let hash: u32 = 0

/**
 * Writes the ends of all chunks that more bytes cannot change, and of the last one if there are no more.
 * Gives their number.
 */
export function cut(
  bytes: usize,
  length: u32,
  minimum: u32,
  average: u32,
  maximum: u32,
  early: u32,
  late: u32,
  isLast: bool,
  out: usize,
): u32 {
  let count: u32 = 0
  let start: u32 = 0
  while (start < length) {
    const left = length - start
    let end = findEnd(bytes + start, left, minimum, average, maximum, early, late)
    if (end == 0) {
      if (!isLast) break
      end = left
    }
    start += end
    store<u32>(out + ((<usize>count) << 2), start)
    count++
  }
  return count
}

/** The length of the chunk at `from`; 0 if it does not end here. */
function findEnd(
  from: usize,
  left: u32,
  minimum: u32,
  average: u32,
  maximum: u32,
  early: u32,
  late: u32,
): u32 {
  if (left <= minimum) return 0
  hash = 0
  const limit = min(left, maximum)
  let found = scan(from + minimum, from + min(average, limit), early)
  if (found == 0 && limit > average) found = scan(from + average, from + limit, late)
  if (found != 0) return <u32>(found - from)
  return limit == maximum ? maximum : 0
}

function roll(rolling: u32, byte: u32): u32 {
  return (rolling << 1) + load<u32>(GEAR + ((<usize>byte) << 2))
}

/** The place behind the first byte at which all bits of the mask are 0; 0 if there is none. */
function scan(at: usize, end: usize, mask: u32): usize {
  let rolling = hash
  for (; at + 4 <= end; at += 4) {
    const four = load<u32>(at)
    const first = roll(rolling, four & 255)
    if ((first & mask) == 0) return at + 1
    const second = roll(first, (four >> 8) & 255)
    if ((second & mask) == 0) return at + 2
    const third = roll(second, (four >> 16) & 255)
    if ((third & mask) == 0) return at + 3
    rolling = roll(third, four >> 24)
    if ((rolling & mask) == 0) return at + 4
  }
  for (; at < end; at++) {
    rolling = roll(rolling, load<u8>(at))
    if ((rolling & mask) == 0) return at + 1
  }
  hash = rolling
  return 0
}
