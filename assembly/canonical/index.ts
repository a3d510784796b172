/**
 * Canonical text, block by block: white space collapsed, ASCII lowered, and how far a text is as it should be.
 *
 * A caller puts up to 64 KiB at `input()` and finds what became of it at `output()`. Nothing is kept between calls
 * but the table of what is known about code points, which the caller writes.
 */

const SPACE: i8 = 0x20

const INPUT: usize = memory.data(65600, 16)
const OUTPUT: usize = memory.data(65600, 16)
/** For every eight bits, the places of those that are 1: what is kept of eight bytes moves together. */
const PLACES: usize = memory.data(2048, 16)
/** One byte a code point: 0 unknown, 1 stands for itself, 2 does not. */
const KINDS: usize = memory.data(131072, 16)
const KINDS_END: u32 = 0x20000

const INERT: u8 = 1

export function input(): usize {
  return INPUT
}

export function output(): usize {
  return OUTPUT
}

export function kinds(): usize {
  return KINDS
}

/** To be called once, first. */
export function open(): void {
  for (let bits: u32 = 0; bits < 256; bits++) {
    let to = PLACES + ((<usize>bits) << 3)
    for (let bit: u32 = 0; bit < 8; bit++) {
      if (((bits >> bit) & 1) != 0) store<u8>(to++, <u8>bit)
    }
  }
}

/** Runs of white space become one space, none if `wasSpace`; with `lowers`, A–Z become a–z. Gives the length. */
export function collapse(length: u32, lowers: bool, wasSpace: bool): u32 {
  let to = OUTPUT
  let before: u32 = wasSpace ? 1 : 0
  const capital = i8x16.splat(lowers ? 26 : 0)
  const end = INPUT + length
  // What stands behind the last byte is overwritten, and dropped by the mask.
  for (let at = INPUT; at < end; at += 16) {
    const bytes = v128.load(at)
    const isSpace = v128.or(
      i8x16.eq(bytes, i8x16.splat(SPACE)),
      i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(9)), i8x16.splat(5)),
    )
    const isCapital = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x41)), capital)
    const lowered = v128.or(bytes, v128.and(isCapital, i8x16.splat(0x20)))
    const made = v128.bitselect(i8x16.splat(SPACE), lowered, isSpace)
    const spaces = <u32>i8x16.bitmask(isSpace)
    const left = <u32>(end - at)
    const there: u32 = left >= 16 ? 0xffff : (1 << left) - 1
    const kept = ~(spaces & ((spaces << 1) | before)) & there
    before = (spaces >> 15) & 1
    if (kept == 0xffff) {
      v128.store(to, made)
      to += 16
    } else {
      to = pack(to, made, kept & 255, 0)
      to = pack(to, made, kept >> 8, 8)
    }
  }
  return <u32>(to - OUTPUT)
}

/** Those of eight bytes, from the byte `from` on, whose bits are set. */
function pack(to: usize, bytes: v128, bits: u32, from: i8): usize {
  const places = v128.load64_zero(PLACES + ((<usize>bits) << 3))
  const packed = i8x16.swizzle(bytes, i8x16.add(places, i8x16.splat(from)))
  store<u64>(to, i64x2.extract_lane(packed, 0))
  return to + <usize>popcnt(bits)
}

/** Where the first code point is that does not stand for itself, or is not known. The bytes are UTF-8. */
export function inertUntil(length: u32): u32 {
  const end = INPUT + length
  let at = INPUT
  while (at < end) {
    if (at + 16 <= end && i8x16.bitmask(v128.load(at)) == 0) {
      at += 16
      continue
    }
    const lead = <u32>load<u8>(at)
    if (lead < 0x80) {
      at++
      continue
    }
    const point = pointAt(at, lead)
    if (point >= KINDS_END || load<u8>(KINDS + point) != INERT) break
    at += lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  }
  return <u32>(min(at, end) - INPUT)
}

function pointAt(at: usize, lead: u32): u32 {
  if (lead < 0xe0) return ((lead & 31) << 6) | tail(at + 1)
  if (lead < 0xf0) return ((lead & 15) << 12) | (tail(at + 1) << 6) | tail(at + 2)
  return ((lead & 7) << 18) | (tail(at + 1) << 12) | (tail(at + 2) << 6) | tail(at + 3)
}

function tail(at: usize): u32 {
  return <u32>load<u8>(at) & 63
}
