/** The text kernels' first half in TypeScript: UTF-8 → units → shingle hashes. See `assembly/text.ts`. */

import { mix, SHINGLE_MULTIPLIER, WORD_MULTIPLIER, WORD_SEED } from './mix.ts'
import type { ShingleShape, TextCounts } from './shingle-profile.ts'
import { CLASSED_CODE_POINTS, textClasses } from './text-classes.ts'

const START_UNIT = 0x300000
const END_UNIT = 0x300001
const BROKEN_UNIT = 0x200000
export const UNIT_BITS = 0xffffff

/** Length in bytes above bit 24, the unit below. Any bytes can be read, in exactly one way. */
export function decode(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0
  if (lead < 0x80) return (1 << 24) | lead
  const first = tail(bytes, at + 1)
  if (lead >= 0xc0 && lead < 0xe0 && first >= 0) return (2 << 24) | ((lead & 31) << 6) | first
  if (lead >= 0xe0 && lead < 0xf8 && first >= 0) {
    const second = tail(bytes, at + 2)
    if (lead < 0xf0 && second >= 0) {
      return (3 << 24) | ((lead & 15) << 12) | (first << 6) | second
    }
    const third = tail(bytes, at + 3)
    if (lead >= 0xf0 && second >= 0 && third >= 0) {
      return (4 << 24) | ((lead & 7) << 18) | (first << 12) | (second << 6) | third
    }
  }
  return (1 << 24) | BROKEN_UNIT | lead
}

/** The six bits of a continuation byte; negative if there is none. */
function tail(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0
  return (byte & 0xc0) === 0x80 ? byte & 63 : -1
}

/** Whether a table of classes has the unit. */
export function isIn(table: Uint8Array, unit: number): boolean {
  return unit < CLASSED_CODE_POINTS && (((table[unit >> 3] ?? 0) >> (unit & 7)) & 1) !== 0
}

export function inspect(bytes: Uint8Array): TextCounts {
  const table = textClasses().unspaced
  let codePoints = 0
  let unspaced = 0
  for (let at = 0; at < bytes.length; codePoints++) {
    const found = decode(bytes, at)
    const unit = found & UNIT_BITS
    if (isIn(table, unit) || (unit >= 0x20000 && unit < 0x40000)) unspaced++
    at += found >>> 24
  }
  return { codePoints, unspaced }
}

/** The hashes of all shingles, repeated ones as often as they come. */
export function allShingleHashes(bytes: Uint8Array, { kind, width }: ShingleShape): Uint32Array {
  if (bytes.length === 0) return new Uint32Array(0)
  const units = new Uint32Array(bytes.length + 2)
  const count = kind === 'words' ? wordUnits(bytes, units) : pointUnits(bytes, units, kind)
  if (count === 0) return Uint32Array.of(mix(sumOfAll(bytes)))
  if (count < width) return Uint32Array.of(mix(sumOf(units, 0, count)))
  const hashes = new Uint32Array(count - width + 1)
  for (let at = 0; at < hashes.length; at++) hashes[at] = mix(sumOf(units, at, at + width))
  return hashes
}

function sumOf(units: Uint32Array, from: number, end: number): number {
  let sum = 0
  for (let at = from; at < end; at++) {
    sum = (Math.imul(sum, SHINGLE_MULTIPLIER) + (units[at] ?? 0)) | 0
  }
  return sum
}

function sumOfAll(bytes: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < bytes.length;) {
    const found = decode(bytes, at)
    sum = (Math.imul(sum, SHINGLE_MULTIPLIER) + (found & UNIT_BITS)) | 0
    at += found >>> 24
  }
  return sum
}

function pointUnits(bytes: Uint8Array, units: Uint32Array, kind: 'chars' | 'codepoints'): number {
  const table = textClasses().separators
  const hasEnds = kind === 'chars'
  let count = 0
  if (hasEnds) units[count++] = START_UNIT
  for (let at = 0; at < bytes.length;) {
    const found = decode(bytes, at)
    const unit = found & UNIT_BITS
    if (hasEnds || !isIn(table, unit)) units[count++] = unit
    at += found >>> 24
  }
  if (hasEnds) units[count++] = END_UNIT
  return count
}

function wordUnits(bytes: Uint8Array, units: Uint32Array): number {
  const table = textClasses().separators
  let count = 0
  let start = -1
  let at = 0
  while (at < bytes.length) {
    const found = decode(bytes, at)
    const separates = isIn(table, found & UNIT_BITS)
    if (separates && start >= 0) units[count++] = hashWord(bytes, start, at)
    if (separates) start = -1
    else if (start < 0) start = at
    at += found >>> 24
  }
  if (start >= 0) units[count++] = hashWord(bytes, start, at)
  return count
}

/** Eight bytes a step, zeros behind the last; a word is never empty. */
function hashWord(bytes: Uint8Array, from: number, end: number): number {
  let hash = (WORD_SEED + (end - from)) | 0
  for (let at = from; at < end; at += 8) {
    hash = addFour(addFour(hash, fourBytes(bytes, at, end)), fourBytes(bytes, at + 4, end))
  }
  return mix(hash)
}

function addFour(hash: number, four: number): number {
  const multiplied = Math.imul(hash ^ four, WORD_MULTIPLIER)
  return multiplied ^ (multiplied >>> 15)
}

function fourBytes(bytes: Uint8Array, from: number, end: number): number {
  let four = 0
  for (let at = Math.min(from + 4, end) - 1; at >= from; at--) four = (four << 8) | (bytes[at] ?? 0)
  return four
}
