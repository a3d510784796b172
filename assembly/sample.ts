/**
 * How much a character of a text says: the entropy of its characters, from all of a short text and from evenly
 * spaced pieces of a long one. The host makes widths of shingles from it.
 */

import { decode } from './code-points'
import { COUNTS, RESULTS, STEPS } from './memory'

/** Texts of up to this many characters are counted whole. */
const SAMPLE: u32 = 2048
/** Pieces of a long text, as a power of two, and characters in each. */
const PIECES_LOG: u32 = 7
const PIECE: u32 = 16
const KINDS: u32 = 4096

let sampled: u32 = 0
let ideographs: u32 = 0
let repeated: u32 = 0

/** Gives the number of characters. Results: characters sampled, how many are ideographs or kana, and their repetition. */
export function sample(text: usize, length: u32): u32 {
  const end = text + length
  const characters = countStarts(text, end)
  memory.fill(COUNTS, 0, KINDS << 1)
  sampled = 0
  ideographs = 0
  repeated = 0
  if (characters <= SAMPLE) countPiece(text, end, SAMPLE)
  else {
    for (let piece: u32 = 0; piece < 1 << PIECES_LOG; piece++) {
      let at = text + <usize>((<u64>piece * <u64>length) >> PIECES_LOG)
      while (at < end && (load<u8>(at) & 0xc0) == 0x80) at++
      countPiece(at, end, PIECE)
    }
  }
  store<u32>(RESULTS, sampled)
  store<u32>(RESULTS + 4, ideographs)
  store<u32>(RESULTS + 8, repeated)
  return characters
}

/** Bytes that do not continue a character. */
function countStarts(at: usize, end: usize): u32 {
  let count: u32 = 0
  const last = i8x16.splat(-65)
  for (; at + 16 <= end; at += 16) {
    count += <u32>popcnt(i8x16.bitmask(i8x16.gt_s(v128.load(at), last)))
  }
  for (; at < end; at++) count += <u32>((load<u8>(at) & 0xc0) != 0x80)
  return count
}

/** A character that was there `n` times adds the step from n log n to the next. */
function countPiece(at: usize, end: usize, most: u32): void {
  let left = most
  while (at < end && left > 0) {
    // Most text is ASCII, and needs no decoding.
    if (left >= 16 && at + 16 <= end && i8x16.bitmask(v128.load(at)) == 0) {
      for (let byte: usize = 0; byte < 16; byte++) countOne(<u32>load<u8>(at + byte))
      at += 16
      left -= 16
      continue
    }
    const found = decode(at, end)
    const unit = found & 0xffffff
    countOne(unit)
    if (unit >= 0x2e80) ideographs += <u32>isIdeograph(unit)
    at += found >> 24
    left--
  }
  sampled += most - left
}

function countOne(unit: u32): void {
  const place = COUNTS + ((<usize>(unit & (KINDS - 1))) << 1)
  const before = <u32>load<u16>(place)
  store<u16>(place, <u16>(before + 1))
  repeated += load<u32>(STEPS + ((<usize>before) << 2))
}

/** Radicals, kana, Han and Yi, wherever they are encoded; Hangul is an alphabet by what one character says. */
function isIdeograph(unit: u32): bool {
  return unit < 0xa4d0 || (unit >= 0xf900 && unit < 0xfb00) || (unit >= 0x20000 && unit < 0x40000)
}
