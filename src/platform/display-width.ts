/**
 * How many columns of a terminal a text takes: two for East Asian wide characters and emoji, none for marks.
 *
 * Terminals do not quite agree, above all on emoji of several parts; this is what most of them do.
 */

import { harmless } from './harmless.ts'

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

const IS_EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
const TAKES_NOTHING = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u

/** First and last code points that East Asian Width calls wide or fullwidth. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6b],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2fb],
  [0x1f200, 0x1f265],
  [0x20000, 0x3fffd],
]

const PLAIN = /^[\x20-\x7e]*$/

export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const grapheme of graphemes(text)) width += graphemeWidth(grapheme)
  return width
}

/** What is drawn as one, piece by piece. */
export function* graphemes(text: string): Generator<string> {
  for (const { segment } of segmenter.segment(text)) yield segment
}

export function graphemeWidth(grapheme: string): number {
  if (IS_EMOJI.test(grapheme)) return 2
  let width = 0
  for (const character of grapheme) width += pointWidth(character)
  return width
}

function pointWidth(character: string): number {
  const point = character.codePointAt(0) ?? 0
  if (point < 0x300) return point === 0xad ? 0 : 1
  if (TAKES_NOTHING.test(character)) return 0
  return WIDE.some(([first, last]) => point >= first && point <= last) ? 2 : 1
}

/** Harmless, and no wider than so many columns; what is cut short ends with `…`. */
export function shortened(text: string, columns: number): string {
  const safe = harmless(text)
  if (displayWidth(safe) <= columns) return safe
  let kept = ''
  let width = 0
  for (const grapheme of graphemes(safe)) {
    width += graphemeWidth(grapheme)
    if (width > columns - 1) break
    kept += grapheme
  }
  return `${kept}…`
}
