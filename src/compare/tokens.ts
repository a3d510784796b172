/**
 * Cuts a text into what people see change: words, single code points of scripts without spaces, and single
 * signs. The tokens tile the text; white space belongs to the token before it.
 *
 * What joins to the character before it (marks, joiners, skin tones, the second half of a flag) is never cut off.
 */

import { isIn, textClasses } from '../fingerprint/index.ts'

export interface Tokens {
  readonly text: string
  /** Where each token starts, and the end of the text. */
  readonly starts: Uint32Array
  readonly count: number
}

// Marks have the variation selectors among them.
const JOINS = /\p{M}|\p{Emoji_Modifier}|\u200c|\u200d|[\u{e0020}-\u{e007f}]/u
const JOINER = 0x200d

type Class = 'space' | 'word' | 'sign'

/** What the reader of a text remembers from one code point to the next. */
interface Place {
  readonly point: number
  readonly kind: Class
  /** Half a flag still waits for its other half. */
  readonly isHalfFlag: boolean
}

export function tokensOf(text: string): Tokens {
  const starts = new Uint32Array(text.length + 1)
  let count = 0
  let isBlank = true
  let before: Place | undefined
  for (let at = 0; at < text.length;) {
    const point = text.codePointAt(at) ?? 0
    const end = at + (point > 0xffff ? 2 : 1)
    const joins = before !== undefined && joinsTo(before, point)
    const kind = joins ? (before?.kind ?? 'sign') : classOf(point)
    const continues = joins || kind === 'space' || (kind === 'word' && before?.kind === 'word')
    // Space at the very start has no token before it, so the first token takes it.
    if (count === 0 || (!continues && !isBlank)) starts[count++] = at
    if (kind !== 'space') isBlank = false
    const isHalfFlag: boolean = isFlagHalf(point) && !(joins && before?.isHalfFlag)
    before = { point, kind, isHalfFlag }
    at = end
  }
  starts[count] = text.length
  return { text, starts, count }
}

function joinsTo(before: Place, point: number): boolean {
  if (point < 0x300 || before.kind === 'space' || isSpace(point)) return false
  if (before.point === JOINER || JOINS.test(String.fromCodePoint(point))) return true
  return isFlagHalf(point) && before.isHalfFlag
}

function isFlagHalf(point: number): boolean {
  return point >= 0x1f1e6 && point <= 0x1f1ff
}

function classOf(point: number): Class {
  if (isSpace(point)) return 'space'
  const { separators, unspaced } = textClasses()
  const isHan = point >= 0x20000 && point < 0x40000
  return isHan || isIn(separators, point) || isIn(unspaced, point) ? 'sign' : 'word'
}

/** White_Space of Unicode. */
function isSpace(point: number): boolean {
  if (point <= 0x20) return point === 0x20 || (point >= 0x09 && point <= 0x0d)
  if (point < 0x1680) return point === 0x85 || point === 0xa0
  if (point >= 0x2000 && point <= 0x200a) return true
  return [0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000].includes(point)
}

/** The token as it stands in the text, its white space with it. */
export function tokenText({ text, starts }: Tokens, number: number): string {
  return text.slice(starts[number] ?? 0, starts[number + 1] ?? text.length)
}
