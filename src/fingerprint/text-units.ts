/**
 * The units that passages are compared by, with their places in the ORIGINAL bytes: words; single code points of
 * scripts without spaces; single pictographs (U+1F000 and above).
 *
 * A unit's hash does not depend on case, width, composition (NFC or NFD), accents of Latin, Greek and Cyrillic, or
 * invisible characters; white space and punctuation only separate. Every code point is folded by itself, so places need
 * no map back from a canonical text. Folding is the `unicode` profile's, of Unicode 15.0 on every Node.
 *
 * Places are bytes of the UTF-8 text. Bytes that are not UTF-8 separate.
 */

import { canonicalProfile } from '../canonical/index.ts'
import { mix, SHINGLE_MULTIPLIER } from './mix.ts'
import { textClasses } from './text-classes.ts'
import { decode, isIn, UNIT_BITS } from './twin-text.ts'

export interface TextUnits {
  readonly hashes: Uint32Array
  /** Where each unit starts and ends, in bytes of the text. */
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

const FOLDED_POINTS = 0x20000
/** Above these, symbols are pictographs. */
const PICTOGRAPHS = 0x1f000
const UNSEEN = 0
const SEPARATES = 1
/** Part of no hash: an accent, or invisible. */
const IGNORED = 2
const IN_WORD = 3
const ALONE = 4

const IGNORED_SPANS = [
  [0xad, 0xad],
  [0x300, 0x36f],
  [0x200b, 0x200f],
  [0x2060, 0x2064],
  [0x3099, 0x309a],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
] as const

/** What a code point adds to the hash of its word: `hash * times + plus`. */
const classes = new Uint8Array(FOLDED_POINTS)
const times = new Int32Array(FOLDED_POINTS)
const plus = new Int32Array(FOLDED_POINTS)

function learn(point: number): number {
  const folded = foldedPoints(point)
  const [first] = folded
  let multiplier = 1
  let sum = 0
  for (const one of folded) {
    multiplier = Math.imul(multiplier, SHINGLE_MULTIPLIER)
    sum = (Math.imul(sum, SHINGLE_MULTIPLIER) + one + 1) | 0
  }
  times[point] = multiplier
  plus[point] = sum
  return (classes[point] = first === undefined ? emptyClass(point) : classOf(first))
}

/** What is left of it: no accents, no separators. */
function foldedPoints(point: number): number[] {
  const isSurrogate = point >= 0xd800 && point <= 0xdfff
  if (isSurrogate || isIgnored(point)) return []
  const { canonicalise } = canonicalProfile('unicode')
  const form = canonicalise(Buffer.from(String.fromCodePoint(point)))
  const decomposed = Buffer.from(form).toString().normalize('NFD')
  const points = Array.from(decomposed, (character) => character.codePointAt(0) ?? 0)
  return points.filter((one) => !isIgnored(one) && !separates(one))
}

const ASCII_POINTS = 0x80
const asciiFolds: (readonly number[])[] = []
const folds = new Map<number, readonly number[]>()

/** The code points that count when a code point is part of a unit: none of marks, white space and accents. */
export function foldOf(point: number): readonly number[] {
  if (point < ASCII_POINTS) return (asciiFolds[point] ??= foldedPoints(point))
  if (point >= FOLDED_POINTS) return [point]
  const known = folds.get(point)
  if (known) return known
  const folded = foldedPoints(point)
  folds.set(point, folded)
  return folded
}

/** Whether a unit that begins with this code point is that character alone: of a script without spaces, or an emoji. */
export function isSingle(point: number): boolean {
  if (point < ASCII_POINTS) return false
  return (point < FOLDED_POINTS ? classes[point] || learn(point) : classOfHigh(point)) === ALONE
}

/** An accent, or invisible. */
export function isIgnored(point: number): boolean {
  return IGNORED_SPANS.some(([from, to]) => point >= from && point <= to)
}

function separates(point: number): boolean {
  return point < PICTOGRAPHS && isIn(textClasses().separators, point)
}

function emptyClass(point: number): number {
  return isIgnored(point) ? IGNORED : SEPARATES
}

function classOf(point: number): number {
  if (point >= PICTOGRAPHS && point < FOLDED_POINTS) {
    return isIn(textClasses().separators, point) ? ALONE : IN_WORD
  }
  const isHan = point >= FOLDED_POINTS && point < 0x40000
  return isHan || isIn(textClasses().unspaced, point) ? ALONE : IN_WORD
}

/** Reused by one text after the other. */
let hashes = new Uint32Array(4096)
let starts = new Uint32Array(4096)
let ends = new Uint32Array(4096)

function reserve(units: number): void {
  if (units <= hashes.length) return
  hashes = new Uint32Array(units)
  starts = new Uint32Array(units)
  ends = new Uint32Array(units)
}

/** Fills the shared memory; returns how many units there are. */
function readUnits(bytes: Uint8Array): number {
  // A word and its separator are two bytes, a code point that stands alone is two or more.
  reserve((bytes.length >>> 1) + 1)
  if (classes[0] === UNSEEN) for (let point = 0; point < ASCII_POINTS; point++) learn(point)
  // In variables of its own: this is twice as fast.
  const [unitHashes, unitStarts, unitEnds, kinds, additions] = [hashes, starts, ends, classes, plus]
  const { length } = bytes
  let count = 0
  let hash = 0
  /** Whether what comes next belongs to the last unit: a word goes on, or an ignored character follows it. */
  let isWord = false
  let isJoined = false
  for (let at = 0; at < length;) {
    const from = at
    let point = bytes[at++] ?? 0
    if (point >= 0x80) {
      const found = decode(bytes, from)
      point = found & UNIT_BITS
      at = from + (found >>> 24)
    }
    const kind = point < FOLDED_POINTS ? kinds[point] || learn(point) : classOfHigh(point)
    if (kind === IN_WORD) {
      if (!isWord) {
        if (count > 0) unitHashes[count - 1] = mix(hash)
        unitStarts[count++] = from
        hash = 0
        isWord = isJoined = true
      }
      hash = (Math.imul(hash, times[point] ?? 0) + (additions[point] ?? 0)) | 0
      // Most of most texts.
      for (; at < length; at++) {
        const next = bytes[at] ?? 0
        if (next >= 0x80 || kinds[next] !== IN_WORD) break
        hash = (Math.imul(hash, SHINGLE_MULTIPLIER) + (additions[next] ?? 0)) | 0
      }
      unitEnds[count - 1] = at
    } else if (kind === SEPARATES) isWord = isJoined = false
    else if (kind === IGNORED) {
      if (isJoined) unitEnds[count - 1] = at
    } else {
      if (count > 0) unitHashes[count - 1] = mix(hash)
      unitStarts[count] = from
      unitEnds[count++] = at
      hash = point < FOLDED_POINTS ? (additions[point] ?? 0) : point + 1
      isWord = false
      isJoined = true
    }
  }
  if (count > 0) unitHashes[count - 1] = mix(hash)
  return count
}

function classOfHigh(point: number): number {
  return point > 0x10ffff ? SEPARATES : ALONE
}

/** All units of a text. */
export function textUnits(bytes: Uint8Array): TextUnits {
  const count = readUnits(bytes)
  return {
    hashes: hashes.slice(0, count),
    starts: starts.slice(0, count),
    ends: ends.slice(0, count),
  }
}

/** Hashes of the units of a text, in memory that the next call uses again. */
export function lentUnitHashes(bytes: Uint8Array): Uint32Array {
  const count = readUnits(bytes) // which may take other memory
  return hashes.subarray(0, count)
}

/** Units in one shingle. */
export const PASSAGE_UNITS = 6
const OUTGOING = Array.from({ length: PASSAGE_UNITS }).reduce<number>(
  (power) => Math.imul(power, SHINGLE_MULTIPLIER),
  1,
)

/** The hash of every shingle of so many units in a row: one a place, none where there are fewer. */
export function passageHashes(
  units: Uint32Array,
  shingles: Uint32Array = new Uint32Array(shingleCount(units)),
): Uint32Array {
  const count = shingleCount(units)
  if (count === 0) return shingles.subarray(0, 0)
  let sum = 0
  for (let at = 0; at < PASSAGE_UNITS - 1; at++) {
    sum = (Math.imul(sum, SHINGLE_MULTIPLIER) + (units[at] ?? 0)) | 0
  }
  let last = 0
  for (let at = 0; at < count; at++) {
    const added = Math.imul(sum, SHINGLE_MULTIPLIER) + (units[at + PASSAGE_UNITS - 1] ?? 0)
    sum = (added - Math.imul(OUTGOING, last)) | 0
    last = units[at] ?? 0
    shingles[at] = mix(sum)
  }
  return shingles.subarray(0, count)
}

export function shingleCount({ length }: Uint32Array): number {
  return Math.max(0, length - PASSAGE_UNITS + 1)
}
