/**
 * Canonical text, block by block: white space collapsed, ASCII lowered, and text settled as far as that can be done
 * code point by code point.
 *
 * A caller puts up to 64 KiB at `input()` and finds what became of it at `output()`. Nothing is kept between calls
 * but how far a block is settled, and the tables of what is known about code points, which the caller writes.
 */

const SPACE: i8 = 0x20

const INPUT: usize = memory.data(65600, 16)
const OUTPUT: usize = memory.data(65600, 16)
/** For every eight bits, the places of those that are 1: what is kept of eight bytes moves together. */
const PLACES: usize = memory.data(2048, 16)
/**
 * For every form a table, one byte a code point: 0 unknown, 1 and 3 inert, 2 not inert, 4 removed; from 32 on, the
 * ASCII character that it becomes.
 */
const KINDS: usize = memory.data(393216, 16)
const KINDS_END: u32 = 0x20000

const IS_INERT: u32 = 1
const REMOVED: u32 = 4
const ASCII: u32 = 32

/** Places in the input and the output: where the text is settled, and where the last code point begins that is kept. */
const STATE: usize = memory.data(20, 16)
const AT: usize = 0
const MADE: usize = 4
const KEPT_AT: usize = 8
const KEPT_MADE: usize = 12
/** All bits of the kinds of what was inert. */
const SEEN: usize = 16

export function input(): usize {
  return INPUT
}

export function output(): usize {
  return OUTPUT
}

export function kinds(): usize {
  return KINDS
}

export function state(): usize {
  return STATE
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

/** Settling begins at this place of the input, and at the first of the output. */
export function begin(from: u32): void {
  store<u32>(STATE, from, AT)
  store<u32>(STATE, 0, MADE)
  store<u32>(STATE, from, KEPT_AT)
  store<u32>(STATE, 0, KEPT_MADE)
  store<u32>(STATE, 0, SEEN)
}

/**
 * Goes on to the first code point that is not settled by itself, or not known: what is inert is copied, what becomes
 * ASCII or is removed does so. The bytes are UTF-8.
 */
export function settle(length: u32, form: u32): void {
  const kinds = KINDS + <usize>(form * KINDS_END)
  const end = INPUT + length
  let at = INPUT + load<u32>(STATE, AT)
  let to = OUTPUT + load<u32>(STATE, MADE)
  let keptAt = INPUT + load<u32>(STATE, KEPT_AT)
  let keptTo = OUTPUT + load<u32>(STATE, KEPT_MADE)
  let seen = load<u32>(STATE, SEEN)
  while (at < end) {
    const lead = <u32>load<u8>(at)
    if (lead < 0x80) {
      // What is copied behind the ASCII characters, or behind the end, is overwritten or never read.
      const bytes = v128.load(at)
      v128.store(to, bytes)
      const others = <u32>i8x16.bitmask(bytes)
      let count: usize = others == 0 ? 16 : <usize>ctz(others)
      count = min(count, end - at)
      at += count
      to += count
      keptAt = at - 1
      keptTo = to - 1
      continue
    }
    const point = pointAt(at, lead)
    if (point >= KINDS_END) break
    const kind = <u32>load<u8>(kinds + point)
    const size: usize = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    if (kind >= ASCII) {
      keptAt = at
      keptTo = to
      store<u8>(to++, <u8>kind)
    } else if ((kind & IS_INERT) != 0) {
      keptAt = at
      keptTo = to
      store<u32>(to, load<u32>(at))
      to += size
      seen |= kind
    } else if (kind != REMOVED) break
    at += size
  }
  store<u32>(STATE, <u32>(at - INPUT), AT)
  store<u32>(STATE, <u32>(to - OUTPUT), MADE)
  store<u32>(STATE, <u32>(keptAt - INPUT), KEPT_AT)
  store<u32>(STATE, <u32>(keptTo - OUTPUT), KEPT_MADE)
  store<u32>(STATE, seen, SEEN)
}

function pointAt(at: usize, lead: u32): u32 {
  if (lead < 0xe0) return ((lead & 31) << 6) | tail(at + 1)
  if (lead < 0xf0) return ((lead & 15) << 12) | (tail(at + 1) << 6) | tail(at + 2)
  return ((lead & 7) << 18) | (tail(at + 1) << 12) | (tail(at + 2) << 6) | tail(at + 3)
}

function tail(at: usize): u32 {
  return <u32>load<u8>(at) & 63
}
