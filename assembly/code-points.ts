/**
 * Reads UTF-8, whatever it is: every sequence of bytes has exactly one reading.
 *
 * A lead byte with as many continuation bytes as it asks for is one code point. Any other byte is a unit
 * of its own, above all code points, and belongs to words.
 */

import { CLASSED_CODE_POINTS } from './memory'

/** Units that are no code points: the ends of a text, and bytes that are not UTF-8. */
export const START_UNIT: u32 = 0x300000
export const END_UNIT: u32 = 0x300001
const BROKEN_UNIT: u32 = 0x200000

/** Length in bytes above bit 24, the unit below. */
export function decode(at: usize, end: usize): u32 {
  const lead = <u32>load<u8>(at)
  if (lead < 0x80) return (1 << 24) | lead
  if (lead >= 0xe0 && lead < 0xf0 && at + 3 <= end && continues(at + 1) && continues(at + 2)) {
    return (3 << 24) | ((lead & 15) << 12) | (tail(at + 1) << 6) | tail(at + 2)
  }
  if (lead >= 0xc0 && lead < 0xe0 && at + 2 <= end && continues(at + 1)) {
    return (2 << 24) | ((lead & 31) << 6) | tail(at + 1)
  }
  if (lead >= 0xf0 && lead < 0xf8 && at + 4 <= end && continues(at + 1) && continues(at + 2)) {
    if (continues(at + 3)) {
      const high = ((lead & 7) << 18) | (tail(at + 1) << 12)
      return (4 << 24) | high | (tail(at + 2) << 6) | tail(at + 3)
    }
  }
  return (1 << 24) | BROKEN_UNIT | lead
}

function continues(at: usize): bool {
  return (load<u8>(at) & 0xc0) == 0x80
}

function tail(at: usize): u32 {
  return <u32>load<u8>(at) & 63
}

/** Whether the class table has a 1 for the unit. */
export function isIn(table: usize, unit: u32): bool {
  if (unit >= CLASSED_CODE_POINTS) return false
  return ((load<u8>(table + (unit >> 3)) >> <u8>(unit & 7)) & 1) != 0
}
