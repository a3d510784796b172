/**
 * A text as guards read it: its words in order, each with how it was written. Any text has words, if only none;
 * scripts without spaces give a word a character.
 */

import { codesOf } from './codes.ts'
import { COMPANY, partsOfWord } from './denials.ts'
import {
  isAscii,
  isDigitCode,
  isLetterCode,
  isOtherCode,
  PLACEHOLDER_CODE,
  widthAt,
} from './fold.ts'
import { companyBits, IS_NO_NAME, type Lexicon } from './lexicon.ts'

export interface Word {
  /** In lower case, without an English possessive at its end. */
  readonly plain: string
  readonly isFirst: boolean
  readonly isCapitalised: boolean
}

/** Where most words are capitals, as in a headline, they carry no information. */
const CAPITALS_MAX = 0.6
const HEADLINE_WORDS = 6

const IS_FIRST = 1
const IS_CAPITALISED = 2

/** No word: where a sentence begins. */
export const NO_WORD = -1

// A letter, then letters, marks, digits, and within the word apostrophes, dots and hyphens.
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’.\-‑][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/uy
/** Written without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const SENTENCE_ENDS: ReadonlySet<number> = new Set(
  Array.from('.!?。！？।:;"“”«»\n', (sign) => sign.charCodeAt(0)),
)
const POSSESSIVE = /['’]s?$/u
const APOSTROPHE = 0x27
const HYPHEN = 0x2d
const DOT = 0x2e
const CAPITAL_S = 0x53
const ASCII_END = 0x80
const LETTER = 1
const DIGIT = 2
const WORD_SIGN = LETTER | DIGIT
const SENTENCE_END = 4
const OTHER = 8
/** What signs of ASCII are, by their codes. */
const SORTS = Uint8Array.from({ length: ASCII_END }, (_none, code) => {
  if (isLetterCode(code)) return LETTER
  if (isDigitCode(code)) return DIGIT
  return SENTENCE_ENDS.has(code) ? SENTENCE_END : 0
})

/** Where words of letters alone begin and end, in order, and their ids. */
export interface Lettered {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly ids: readonly number[]
}

/** Words as ids of a lexicon. */
export class Words {
  readonly lexicon: Lexicon
  readonly #plain: readonly number[]
  readonly #marks: readonly number[]
  /** A bit for each list of denials that has company here. */
  readonly company: number
  /** Those of nothing but letters of ASCII. */
  readonly lettered: Lettered
  #all: readonly Word[] | undefined
  #isHeadline: boolean | undefined

  constructor(
    lexicon: Lexicon,
    plain: readonly number[],
    marks: readonly number[],
    { company, lettered }: { readonly company: number; readonly lettered: Lettered },
  ) {
    this.lexicon = lexicon
    this.#plain = plain
    this.#marks = marks
    this.company = company
    this.lettered = lettered
  }

  get length(): number {
    return this.#plain.length
  }

  plainAt(at: number): number {
    return this.#plain[at] ?? NO_WORD
  }

  isCapitalisedAt(at: number): boolean {
    return ((this.#marks[at] ?? 0) & IS_CAPITALISED) !== 0
  }

  /** The word before, in the same sentence. */
  beforeAt(at: number): number {
    return (this.#marks[at] ?? 0) & IS_FIRST ? NO_WORD : this.plainAt(at - 1)
  }

  /** Capitalised within a sentence. */
  isNameAt(at: number): boolean {
    if (this.#marks[at] !== IS_CAPITALISED || this.isHeadline) return false
    return (this.lexicon.traits(this.plainAt(at)) & IS_NO_NAME) === 0
  }

  get isHeadline(): boolean {
    return (this.#isHeadline ??= this.#hasCapitals())
  }

  #hasCapitals(): boolean {
    if (this.length < HEADLINE_WORDS) return false
    let capitals = 0
    for (const mark of this.#marks) if (mark & IS_CAPITALISED) capitals++
    return capitals / this.length > CAPITALS_MAX
  }

  all(): readonly Word[] {
    return (this.#all ??= this.#plain.map((plain, at) => ({
      plain: this.lexicon.form(plain),
      isFirst: ((this.#marks[at] ?? 0) & IS_FIRST) !== 0,
      isCapitalised: this.isCapitalisedAt(at),
    })))
  }

  /** The same words with the ids of another lexicon. */
  in(lexicon: Lexicon): Words {
    if (lexicon === this.lexicon) return this
    const plain = this.#plain.map((id) => lexicon.idOf(this.lexicon.form(id)))
    return new Words(lexicon, plain, this.#marks, this)
  }
}

export function wordsOf(text: string, lexicon: Lexicon): Words {
  return new WordReader(text, lexicon).read()
}

class WordReader {
  readonly #text: string
  readonly #codes: Uint16Array
  readonly #lexicon: Lexicon
  readonly #plain: number[] = []
  readonly #marks: number[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  readonly #ids: number[] = []
  #company = 0
  #isFirst = true

  constructor(text: string, lexicon: Lexicon) {
    this.#text = text
    this.#codes = codesOf(text)
    this.#lexicon = lexicon
  }

  read(): Words {
    const codes = this.#codes
    const end = this.#text.length
    for (let at = 0; at < end;) {
      const code = codes[at] ?? 0
      const sort = code < ASCII_END ? (SORTS[code] ?? 0) : code === PLACEHOLDER_CODE ? 0 : OTHER
      if (sort === 0) at++
      else if (sort & WORD_SIGN) at = this.#readPlain(at, end)
      else if (sort === OTHER) at = this.#readAny(at)
      else {
        this.#isFirst = true
        at++
      }
    }
    return new Words(this.#lexicon, this.#plain, this.#marks, {
      company: this.#company,
      lettered: { starts: this.#starts, ends: this.#ends, ids: this.#ids },
    })
  }

  /** Of ASCII. Returns where it ends. */
  #readPlain(start: number, textEnd: number): number {
    const codes = this.#codes
    let isCompound = false
    /** Everything that there is in it. */
    let sorts = 0
    let at = start
    for (; at < textEnd; at++) {
      const code = codes[at] ?? 0
      const sort = SORTS[code] ?? 0
      if (sort & WORD_SIGN) {
        sorts |= sort
        continue
      }
      if (isOtherCode(code)) return this.#readAny(start)
      if (code !== APOSTROPHE && code !== HYPHEN && code !== DOT) break
      const next = at + 1 < textEnd ? (codes[at + 1] ?? 0) : 0
      if (isOtherCode(next)) return this.#readAny(start)
      if (((SORTS[next] ?? 0) & WORD_SIGN) === 0) break
      if (code !== DOT) isCompound = true
      sorts |= OTHER
    }
    const isPossessive =
      isCompound && codes[at - 2] === APOSTROPHE && ((codes[at - 1] ?? 0) & ~0x20) === CAPITAL_S
    const id = this.#lexicon.idOfCodes(codes, start, isPossessive ? at - 2 : at)
    const first = codes[start] ?? 0
    this.#add(id, first >= 0x41 && first <= 0x5a)
    if (!isCompound) this.#company |= companyBits(this.#lexicon.traits(id))
    else this.#addCompany(this.#lexicon.form(id))
    if (sorts === LETTER) {
      this.#starts.push(start)
      this.#ends.push(at)
      this.#ids.push(id)
    }
    this.#isFirst = false
    return at
  }

  /** Of any script. Returns where it ends, or where the next character begins. */
  #readAny(start: number): number {
    WORD.lastIndex = start
    const found = WORD.exec(this.#text)?.[0]
    if (found === undefined) {
      if (SENTENCE_ENDS.has(this.#text.charCodeAt(start))) this.#isFirst = true
      return start + widthAt(this.#text, start)
    }
    for (const written of !isAscii(found) && UNSPACED.test(found) ? found : [found]) {
      const plain = written.toLowerCase().replace(POSSESSIVE, '')
      this.#add(this.#lexicon.idOf(plain), /^\p{Lu}/u.test(written))
      this.#addCompany(plain)
    }
    this.#isFirst = false
    return start + found.length
  }

  #add(plain: number, isCapitalised: boolean): void {
    this.#plain.push(plain)
    this.#marks.push((this.#isFirst ? IS_FIRST : 0) | (isCapitalised ? IS_CAPITALISED : 0))
  }

  #addCompany(plain: string): void {
    for (const part of partsOfWord(plain)) this.#company |= COMPANY.get(part) ?? 0
  }
}
