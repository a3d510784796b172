/** Texts in UTF-8 → units: code points with ends, code points of words, or hashes of words. */

import { decode, END_UNIT, isIn, START_UNIT } from './code-points'
import { hashWord, SHINGLE_MULTIPLIER } from './hash'
import { behind, RESULTS, reserve, SEPARATORS, SLACK_BYTES, UNITS_END, UNSPACED } from './memory'
import { advance, begin, finish, nextUnit, put, putWhole, room } from './shingles'

export const CHARS: u32 = 0
export const WORDS: u32 = 1
export const CODE_POINTS: u32 = 2

/** Feeds all shingles of a text to a sink. `beside` is free memory. Gives the end of what was used there. */
export function feed(
  text: usize,
  length: u32,
  kind: u32,
  width: u32,
  sink: u32,
  beside: usize,
): usize {
  begin(width, sink)
  const end = text + length
  if (length == 0) return beside
  let units: u32 = 0
  if (kind == CHARS) units = putChars(text, end)
  else if (kind == CODE_POINTS) units = putCodePoints(text, end)
  else units = putWords(text, length, beside)
  if (units == 0) putWhole(sumOfAll(text, end))
  else finish()
  return kind == WORDS ? behind(beside + (length >> 3)) : beside
}

/** For texts without a single word: all code points as one shingle. */
function sumOfAll(text: usize, end: usize): u32 {
  let sum: u32 = 0
  while (text < end) {
    const found = decode(text, end)
    sum = sum * SHINGLE_MULTIPLIER + (found & 0xffffff)
    text += found >> 24
  }
  return sum
}

function putChars(at: usize, end: usize): u32 {
  put(START_UNIT)
  while (at < end) {
    if (at + 16 <= end) {
      const bytes = v128.load(at)
      if (i8x16.bitmask(bytes) == 0) {
        widen(bytes, room(16))
        at += 16
        continue
      }
    }
    const stop = min(at + 16, end)
    while (at < stop) {
      const found = decode(at, end)
      put(found & 0xffffff)
      at += found >> 24
    }
  }
  put(END_UNIT)
  return 1
}

/** Sixteen ASCII bytes → sixteen units. */
function widen(bytes: v128, to: usize): void {
  const low = i16x8.extend_low_i8x16_u(bytes)
  const high = i16x8.extend_high_i8x16_u(bytes)
  v128.store(to, i32x4.extend_low_i16x8_u(low))
  v128.store(to, i32x4.extend_high_i16x8_u(low), 16)
  v128.store(to, i32x4.extend_low_i16x8_u(high), 32)
  v128.store(to, i32x4.extend_high_i16x8_u(high), 48)
}

function putCodePoints(at: usize, end: usize): u32 {
  let units: u32 = 0
  while (at < end) {
    const found = decode(at, end)
    const unit = found & 0xffffff
    if (!isIn(SEPARATORS, unit)) {
      put(unit)
      units++
    }
    at += found >> 24
  }
  return units
}

/** First one bit a byte (1: belongs to a word), then whole words by counting bits. */
function putWords(text: usize, length: u32, bits: usize): u32 {
  reserve(bits + (length >> 3) + SLACK_BYTES)
  markWords(text, length, bits)
  let words: u32 = 0
  let at: u32 = 0
  let to = nextUnit()
  while (at < length) {
    const window = load<u64>(bits + (at >> 3)) >> (at & 7)
    if (window == 0) {
      at += 64 - (at & 7)
      continue
    }
    at += <u32>ctz(window)
    const start = at
    at = endOfWord(bits, at)
    store<u32>(to, hashWord(text + start, text + at))
    to += 4
    words++
    if (to == UNITS_END) {
      advance(to)
      to = nextUnit()
    }
  }
  advance(to)
  return words
}

/** Behind the last byte all bits are 0, so the last word ends too. */
function endOfWord(bits: usize, at: u32): u32 {
  let known: u32 = 64 - (at & 7)
  let run = <u32>ctz(~(load<u64>(bits + (at >> 3)) >> (at & 7)))
  while (run >= known) {
    at += known
    known = 64
    run = <u32>ctz(~load<u64>(bits + (at >> 3)))
  }
  return at + run
}

function markWords(text: usize, length: u32, bits: usize): void {
  memory.fill(bits, 0, (length >> 3) + SLACK_BYTES)
  let at: u32 = 0
  while (at < length) {
    if ((at & 15) == 0 && at + 16 <= length) {
      const bytes = v128.load(text + at)
      if (i8x16.bitmask(bytes) == 0) {
        store<u16>(bits + (at >> 3), <u16>i8x16.bitmask(wordBytes(bytes)))
        at += 16
        continue
      }
    }
    at = markSlowly(text, length, bits, at)
  }
}

/** Code points up to the next multiple of 16 bytes, and the whole of the last one. */
function markSlowly(text: usize, length: u32, bits: usize, at: u32): u32 {
  const stop = min((at & ~15) + 16, length)
  while (at < stop) {
    const found = decode(text + at, text + length)
    const size = found >> 24
    if (!isIn(SEPARATORS, found & 0xffffff)) {
      const place = bits + (at >> 3)
      store<u16>(place, load<u16>(place) | <u16>((((<u32>1) << size) - 1) << (at & 7)))
    }
    at += size
  }
  return at
}

/** ASCII letters, digits and the underscore. */
function wordBytes(bytes: v128): v128 {
  const lower = v128.or(bytes, i8x16.splat(0x20))
  const isLetter = i8x16.lt_u(i8x16.sub(lower, i8x16.splat(0x61)), i8x16.splat(26))
  const isDigit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10))
  const isLine = i8x16.eq(bytes, i8x16.splat(0x5f))
  return v128.or(v128.or(isLetter, isDigit), isLine)
}

/** Counts the code points; how many are of scripts without spaces goes to the results. */
export function inspect(text: usize, length: u32): u32 {
  const end = text + length
  let units: u32 = 0
  let unspaced: u32 = 0
  while (text < end) {
    if (text + 16 <= end && i8x16.bitmask(v128.load(text)) == 0) {
      units += 16
      text += 16
      continue
    }
    const found = decode(text, end)
    const unit = found & 0xffffff
    if (isIn(UNSPACED, unit) || (unit >= 0x20000 && unit < 0x40000)) unspaced++
    units++
    text += found >> 24
  }
  store<u32>(RESULTS, unspaced)
  return units
}
