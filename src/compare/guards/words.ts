/**
 * A text as guards read it: its words in order, each with how it was written. Any text has words, if only none;
 * scripts without spaces give a word a character.
 */

import { isAscii, isDigitCode, isLetterCode, isPlain } from './fold.ts'

export interface Word {
  /** As it was written, in NFKC. */
  readonly written: string
  /** In lower case, without an English possessive at its end. */
  readonly plain: string
  readonly isFirst: boolean
  readonly isCapitalised: boolean
}

// A letter, then letters, marks, digits, and within the word apostrophes, dots and hyphens.
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’.\-‑][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu
/** Written without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const SENTENCE_END = /[.!?。！？।:;"“”«»\n]/u
const POSSESSIVE = /['’]s?$/u

export function wordsOf(text: string): Word[] {
  if (isPlain(text)) return plainWords(text)
  const words: Word[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(WORD)) {
    const isFirst = words.length === 0 || SENTENCE_END.test(text.slice(end, index))
    end = index + found.length
    const parts = !isAscii(found) && UNSPACED.test(found) ? found : [found]
    for (const written of parts) words.push(wordOf(written, isFirst))
  }
  return words
}

const PLAIN_END: ReadonlySet<string> = new Set('.!?:;"\n')

/** The same for ASCII, in a fraction of the time. */
function plainWords(text: string): Word[] {
  const words: Word[] = []
  let isFirst = true
  let at = 0
  while (at < text.length) {
    if (!isWordCode(text.charCodeAt(at))) {
      if (PLAIN_END.has(text[at] ?? '')) isFirst = true
      at++
      continue
    }
    const start = at
    while (isWordCode(text.charCodeAt(at)) || isJoined(text, at)) at++
    words.push(plainWord(text.slice(start, at), isFirst))
    isFirst = false
  }
  return words
}

function isWordCode(code: number): boolean {
  return isLetterCode(code) || isDigitCode(code)
}

/** An apostrophe, dot or hyphen within a word. */
function isJoined(text: string, at: number): boolean {
  const sign = text[at]
  if (sign !== "'" && sign !== '.' && sign !== '-') return false
  return isWordCode(text.charCodeAt(at + 1))
}

function plainWord(written: string, isFirst: boolean): Word {
  const first = written.charCodeAt(0)
  const lower = written.toLowerCase()
  const plain = lower.endsWith("'s") ? lower.slice(0, -2) : lower
  return { written, plain, isFirst, isCapitalised: first >= 0x41 && first <= 0x5a }
}

function wordOf(written: string, isFirst: boolean): Word {
  return {
    written,
    plain: written.toLowerCase().replace(POSSESSIVE, ''),
    isFirst,
    isCapitalised: /^\p{Lu}/u.test(written),
  }
}
