/**
 * What passages that many documents share are made of: words, or whole lines, with their places in bytes of the
 * ORIGINAL text and hashes that do not depend on case, width or the amount of white space.
 *
 * Between words, marks are ignored. In lines they count: `a = b + c` is another line than `a = b - c`. White space at
 * both ends of a line and its amount within are ignored, and so are blank lines.
 *
 * A unit has 64 bits of hash, in two halves that are made in different ways: documents are cut by what hashes say.
 */

import { mix, SHINGLE_MULTIPLIER, WORD_MULTIPLIER, WORD_SEED } from './mix.ts'
import { foldOf, isIgnored, isSingle, type TextUnits, textUnits } from './text-units.ts'
import { decode, UNIT_BITS } from './twin-text.ts'

const ASCII_POINTS = 0x80
const NONE = -1
const asciiFolds: number[] = []

export type PassageKind = 'words' | 'lines'

export interface PassageUnits {
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  readonly high: Uint32Array
  readonly low: Uint32Array
  /** Length of each unit, in half words: a character of a script without spaces is one. */
  readonly halfWords: Uint32Array
}

export function passageUnits(text: Uint8Array, kind: PassageKind): PassageUnits {
  return kind === 'lines' ? lineUnits(text) : wordUnits(text)
}

function wordUnits(text: Uint8Array): PassageUnits {
  const words = textUnits(text)
  const { starts, ends, hashes } = words
  const low = new Uint32Array(hashes.length)
  for (let at = 0; at < low.length; at++) {
    low[at] = secondHash(text, starts[at] ?? 0, ends[at] ?? 0)
  }
  return { starts, ends, high: hashes, low, halfWords: halfWordsOf(text, words) }
}

function halfWordsOf(text: Uint8Array, { starts }: TextUnits): Uint32Array {
  const sizes = new Uint32Array(starts.length).fill(2)
  for (let at = 0; at < sizes.length; at++) {
    const start = starts[at] ?? 0
    const isAscii = (text[start] ?? 0) < ASCII_POINTS
    if (!isAscii && isSingle(decode(text, start) & UNIT_BITS)) sizes[at] = 1
  }
  return sizes
}

/** Of what is left of a word when it is folded, with another multiplier and seed than the first hash. */
function secondHash(text: Uint8Array, start: number, end: number): number {
  let hash = WORD_SEED
  for (let at = start; at < end;) {
    const byte = text[at] ?? 0
    // Most of most texts: a letter is folded to one letter.
    const folded = byte < ASCII_POINTS ? asciiFold(byte) : NONE
    if (folded !== NONE) {
      hash = addPoint(hash, folded)
      at++
      continue
    }
    const found = decode(text, at)
    at += found >>> 24
    for (const point of foldOf(found & UNIT_BITS)) hash = addPoint(hash, point)
  }
  return mix(hash)
}

function asciiFold(byte: number): number {
  if (asciiFolds.length === 0) {
    for (let point = 0; point < ASCII_POINTS; point++) asciiFolds.push(foldOf(point)[0] ?? NONE)
  }
  return asciiFolds[byte] ?? NONE
}

function addPoint(hash: number, point: number): number {
  const multiplied = Math.imul(hash ^ point, WORD_MULTIPLIER)
  return multiplied ^ (multiplied >>> 15)
}

const LINE_BREAK = 0x0a
const SPACE = 0x20

function lineUnits(text: Uint8Array): PassageUnits {
  const words = textUnits(text)
  const sizes = halfWordsOf(text, words)
  const lines: number[][] = []
  let word = 0
  for (let start = 0; start < text.length;) {
    const found = text.indexOf(LINE_BREAK, start)
    const end = found < 0 ? text.length : found
    const hashes = hashLine(text, start, end)
    let size = 0
    for (; (words.starts[word] ?? Infinity) < end; word++) size += sizes[word] ?? 0
    if (hashes) lines.push([start, end, ...hashes, size])
    start = end + 1
  }
  const column = (at: number) => Uint32Array.from(lines, (line) => line[at] ?? 0)
  return {
    starts: column(0),
    ends: column(1),
    high: column(2),
    low: column(3),
    halfWords: column(4),
  }
}

/** `undefined` of a blank line. */
function hashLine(
  text: Uint8Array,
  start: number,
  end: number,
): readonly [high: number, low: number] | undefined {
  let high = 0
  let low = WORD_SEED
  let isEmpty = true
  let isSpaced = false
  const add = (point: number) => {
    high = (Math.imul(high, SHINGLE_MULTIPLIER) + point + 1) | 0
    low = addPoint(low, point)
  }
  for (let at = start; at < end;) {
    const found = decode(text, at)
    const point = found & UNIT_BITS
    at += found >>> 24
    if (isWhiteSpace(point)) isSpaced = !isEmpty
    if (isWhiteSpace(point) || isIgnored(point)) continue
    if (isSpaced) add(SPACE)
    isSpaced = isEmpty = false
    const folded = foldOf(point)
    if (folded.length === 0) add(point)
    for (const one of folded) add(one)
  }
  return isEmpty ? undefined : [mix(high), mix(low)]
}

/** As `\s` of regular expressions has it. */
function isWhiteSpace(point: number): boolean {
  if (point <= SPACE) return point === SPACE || (point >= 0x09 && point <= 0x0d)
  if (point < 0x1680) return point === 0xa0
  const isSpace = point === 0x1680 || (point >= 0x2000 && point <= 0x200a)
  const isBreak = point === 0x2028 || point === 0x2029 || point === 0xfeff
  return isSpace || isBreak || point === 0x202f || point === 0x205f || point === 0x3000
}
