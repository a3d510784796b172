/**
 * From runs of units to what is cut from a text: spans in bytes of the text as it is.
 *
 * A span begins and ends between units, so never within a word, and never within a character that is made of several
 * code points. Marks that belong to the passage go with it, and of the white space on both sides of it one is left, so
 * that what is left reads as if the passage had never been there; the words on both sides are never joined.
 */

import type { PassageUnits } from './passage-units.ts'
import type { UnitRun } from './passage-windows.ts'

export interface PassageSpan {
  readonly start: number
  readonly end: number
  /** Whole words in it; two characters of a script without spaces count as one. */
  readonly words: number
  /** The fewest documents that have a part of it. */
  readonly documents: number
}

/** Marks that belong to what is before them, and to what is behind them, where no white space says so. */
const CLOSING = /[\p{Pe}\p{Pf}.!?…,;:。．！？；：，、।॥۔؟،؛]/u
const OPENING = /[\p{Ps}\p{Pi}¿¡]/u
const NO_SPACE = /\S/
const JOINER = 0x200d
/** In half words. */
const WORD = 2
/** Skin tones and the marks of letters. */
const CONTINUES = /^[\p{M}\u{1f3fb}-\u{1f3ff}\u200d]/u
const FLAG = /^[\u{1f1e6}-\u{1f1ff}]/u

export function passageSpans(
  text: Buffer,
  units: PassageUnits,
  runs: readonly UnitRun[],
  wordsMin: number,
): PassageSpan[] {
  const found: PassageSpan[] = []
  for (const run of runs) {
    let { first, last } = run
    while (first <= last && isWithinCharacter(text, units, first)) first++
    while (last >= first && isWithinCharacter(text, units, last + 1)) last--
    let place = placeOf(text, units, first, last)
    // A character of a script without spaces between two words keeps them apart.
    while (joinsWords(units, first, last, place)) place = placeOf(text, units, first, --last)
    const words = wordsIn(units, first, last)
    if (words >= wordsMin) found.push({ ...place, words, documents: run.documents })
  }
  return found
}

function wordsIn({ halfWords }: PassageUnits, first: number, last: number): number {
  let sum = 0
  for (let at = first; at <= last; at++) sum += halfWords[at] ?? 0
  return Math.floor(sum / 2)
}

/** Whether this unit goes on with the character that the one before it begins. */
function isWithinCharacter(text: Buffer, units: PassageUnits, unit: number): boolean {
  const start = units.starts[unit]
  if (unit === 0 || start === undefined || units.ends[unit - 1] !== start) return false
  const before = text.toString('utf8', units.starts[unit - 1], start)
  const behind = text.toString('utf8', start, units.ends[unit])
  const isFlag = FLAG.test(before) && FLAG.test(behind)
  return isFlag || before.codePointAt(before.length - 1) === JOINER || CONTINUES.test(behind)
}

interface Place {
  readonly start: number
  readonly end: number
}

/** Whether nothing would be left between the words on both sides. */
function joinsWords(
  { starts, ends, halfWords }: PassageUnits,
  first: number,
  last: number,
  { start, end }: Place,
): boolean {
  const areWords = halfWords[first - 1] === WORD && halfWords[last + 1] === WORD
  return areWords && first <= last && ends[first - 1] === start && starts[last + 1] === end
}

function placeOf(
  text: Buffer,
  { starts, ends, halfWords }: PassageUnits,
  first: number,
  last: number,
): Place {
  const [start = 0, end = 0] = [starts[first], ends[last]]
  const isAtStart = first === 0
  const isAtEnd = last === ends.length - 1
  const before = text.toString('utf8', isAtStart ? 0 : ends[first - 1], start)
  const behind = text.toString('utf8', end, isAtEnd ? text.length : starts[last + 1])
  const marks = { before: marksBefore(before, isAtStart), behind: marksBehind(behind, isAtEnd) }
  const isBetweenWords = halfWords[first - 1] === WORD && halfWords[last + 1] === WORD
  // Marks are all that keeps two words apart: they stay.
  if (isBetweenWords && marks.before === before && marks.behind === behind) return { start, end }
  const space = spaceCut(
    before.slice(0, before.length - marks.before.length),
    behind.slice(marks.behind.length),
    isAtStart,
    isAtEnd,
  )
  return {
    start: start - Buffer.byteLength(space.before + marks.before),
    end: end + Buffer.byteLength(marks.behind + space.behind),
  }
}

/** On the line of the passage nothing else may be before it: `© 2024 …`, `> …`. Else what touches it. */
function marksBefore(gap: string, isAtStart: boolean): string {
  const line = gap.slice(gap.lastIndexOf('\n') + 1)
  if (isAtStart || line.length < gap.length) return line.trimStart()
  const belongs = /\s/.test(gap) ? NO_SPACE : OPENING
  let from = gap.length
  // One after another: a pattern that looks for the end is slow in long texts.
  while (from > 0 && belongs.test(gap.charAt(from - 1))) from--
  return gap.slice(from)
}

function marksBehind(gap: string, isAtEnd: boolean): string {
  const lineEnd = gap.indexOf('\n')
  if (isAtEnd || lineEnd >= 0) return gap.slice(0, lineEnd < 0 ? undefined : lineEnd).trimEnd()
  const belongs = /\s/.test(gap) ? NO_SPACE : CLOSING
  let to = 0
  while (to < gap.length && belongs.test(gap.charAt(to))) to++
  return gap.slice(0, to)
}

/** What of the white space before and behind is cut: of the two, the one with fewer line breaks. */
function spaceCut(
  before: string,
  behind: string,
  isAtStart: boolean,
  isAtEnd: boolean,
): { readonly before: string; readonly behind: string } {
  const left = before.slice(before.trimEnd().length)
  const right = behind.slice(0, behind.length - behind.trimStart().length)
  const isFirst = isAtStart && left.length === before.length
  const isLast = isAtEnd && right.length === behind.length
  if (isFirst) return { before: '', behind: upToLine(right) }
  if (isLast) return { before: left, behind: '' }
  if (left === '' || right === '') return { before: '', behind: '' }
  const isRightCut = breaksIn(left) >= breaksIn(right)
  return isRightCut ? { before: '', behind: upToLine(right) } : { before: left, behind: '' }
}

/** The indentation of the next line stays. */
function upToLine(space: string): string {
  return space.slice(0, space.lastIndexOf('\n') + 1) || space
}

function breaksIn(space: string): number {
  return space.split('\n').length - 1
}
