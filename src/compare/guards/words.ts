/**
 * A text as guards read it: its words in order, each with how it was written. Any text has words, if only none;
 * scripts without spaces give a word a character.
 */

import { isAscii } from './fold.ts'

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
const ASCII_WORD = /[A-Za-z0-9]+(?:['.-][A-Za-z0-9]+)*/g
/** Written without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const SENTENCE_END = /[.!?。！？।:;"“”«»\n]/u
const POSSESSIVE = /['’]s?$/u

export function wordsOf(text: string): Word[] {
  const words: Word[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(isAscii(text) ? ASCII_WORD : WORD)) {
    const isFirst = words.length === 0 || SENTENCE_END.test(text.slice(end, index))
    end = index + found.length
    const parts = !isAscii(found) && UNSPACED.test(found) ? found : [found]
    for (const written of parts) words.push(wordOf(written, isFirst))
  }
  return words
}

function wordOf(written: string, isFirst: boolean): Word {
  return {
    written,
    plain: written.toLowerCase().replace(POSSESSIVE, ''),
    isFirst,
    isCapitalised: /^\p{Lu}/u.test(written),
  }
}
