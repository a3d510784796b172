/**
 * A JSON string to the text it stands for, block by block.
 *
 * A caller puts up to 64 KiB at `input()` and finds the text at `output()`. Nothing is kept between calls.
 */

const INPUT: usize = memory.data(65600, 16)
const OUTPUT: usize = memory.data(65632, 16)
const RESULTS: usize = memory.data(16, 16)

/** More is wanted; the string has ended; it is no string that could be read here. */
const OPEN: u32 = 0
const CLOSED: u32 = 1
const REFUSED: u32 = 2

/** Two escapes that make one code point. */
const ESCAPE_BYTES_MAX: usize = 12

const QUOTE: u32 = 0x22
const BACKSLASH: u32 = 0x5c

let at: usize = 0
let to: usize = 0

export function input(): usize {
  return INPUT
}

export function output(): usize {
  return OUTPUT
}

/** How many bytes were read, and how many were made. */
export function results(): usize {
  return RESULTS
}

/** Reads up to the closing quote, or as far as it can without what comes next. */
export function unescape(length: u32, isLast: bool): u32 {
  const end = INPUT + length
  // Zeros are in no string, so nothing is read behind the last byte.
  v128.store(end, i8x16.splat(0))
  const stop = isLast ? end : end - ESCAPE_BYTES_MAX
  at = INPUT
  to = OUTPUT
  let state = OPEN
  while (at < stop && state == OPEN) {
    const bytes = v128.load(at)
    v128.store(to, bytes)
    const special = <u32>i8x16.bitmask(specialBytes(bytes))
    if (special == 0) {
      at += 16
      to += 16
      continue
    }
    const plain = <usize>ctz(special)
    at += plain
    to += plain
    if (at < stop) state = readSpecial()
  }
  store<u32>(RESULTS, <u32>(at - INPUT))
  store<u32>(RESULTS + 4, <u32>(to - OUTPUT))
  return state
}

/** The quote, the backslash, and controls. */
function specialBytes(bytes: v128): v128 {
  const isQuote = i8x16.eq(bytes, i8x16.splat(<i8>QUOTE))
  const isBackslash = i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH))
  return v128.or(v128.or(isQuote, isBackslash), i8x16.lt_u(bytes, i8x16.splat(0x20)))
}

function readSpecial(): u32 {
  const byte = <u32>load<u8>(at)
  if (byte == QUOTE) {
    at++
    return CLOSED
  }
  if (byte != BACKSLASH) return REFUSED
  const name = <u32>load<u8>(at + 1)
  if (name == 0x75) return readPoint()
  const made = escaped(name)
  if (made == 0) return REFUSED
  store<u8>(to++, <u8>made)
  at += 2
  return OPEN
}

function escaped(name: u32): u32 {
  if (name == 0x6e) return 10
  if (name == QUOTE || name == BACKSLASH || name == 0x2f) return name
  if (name == 0x74) return 9
  if (name == 0x72) return 13
  if (name == 0x62) return 8
  if (name == 0x66) return 12
  return 0
}

/** Half of a surrogate pair is in no text. */
function readPoint(): u32 {
  let point = unitAt(at)
  at += 6
  if (point >= 0xdc00 && point < 0xe000) return REFUSED
  if (point >= 0xd800 && point < 0xdc00) {
    if (load<u16>(at) != 0x755c) return REFUSED
    const low = unitAt(at)
    if (low < 0xdc00 || low > 0xdfff) return REFUSED
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00)
    at += 6
  }
  if (point > 0x10ffff) return REFUSED
  put(point)
  return OPEN
}

/** The four digits of an escape; beyond all code points if they are none. */
function unitAt(escape: usize): u32 {
  let unit: u32 = 0
  let worst: u32 = 0
  for (let place: usize = 2; place < 6; place++) {
    const digit = digitOf(<u32>load<u8>(escape + place))
    worst |= digit
    unit = (unit << 4) | digit
  }
  return worst > 15 ? 0xffffffff : unit
}

function digitOf(byte: u32): u32 {
  if (byte - 0x30 < 10) return byte - 0x30
  const lower = (byte | 0x20) - 0x61
  return lower < 6 ? lower + 10 : 16
}

function put(point: u32): void {
  if (point < 0x80) {
    store<u8>(to++, <u8>point)
  } else if (point < 0x800) {
    store<u8>(to++, <u8>(0xc0 | (point >> 6)))
    store<u8>(to++, <u8>(0x80 | (point & 63)))
  } else if (point < 0x10000) {
    store<u8>(to++, <u8>(0xe0 | (point >> 12)))
    store<u8>(to++, <u8>(0x80 | ((point >> 6) & 63)))
    store<u8>(to++, <u8>(0x80 | (point & 63)))
  } else {
    store<u8>(to++, <u8>(0xf0 | (point >> 18)))
    store<u8>(to++, <u8>(0x80 | ((point >> 12) & 63)))
    store<u8>(to++, <u8>(0x80 | ((point >> 6) & 63)))
    store<u8>(to++, <u8>(0x80 | (point & 63)))
  }
}
