/**
 * The words of a text for comparing word by word: contractions and compounds taken apart, folded, each with what it is.
 * A character of Chinese or Japanese is a word, a run of Thai is one.
 */

import { codesOf } from './codes.ts'
import { calendarOf } from './denials.ts'
import {
  folded,
  isDigitCode,
  isLetterCode,
  isOtherCode,
  PLACEHOLDER,
  PLACEHOLDER_CODE,
  widthAt,
} from './fold.ts'
import type { FoundIdentifier } from './identifiers.ts'
import { IS_SPECIAL, type Lexicon } from './lexicon.ts'
import { unitOf, western } from './numbers.ts'
import { numberWord, SCALES } from './tables.ts'
import { CODES, IS_CAPITAL, IS_NAME, type TermKind, Terms } from './term-list.ts'
import type { Lettered } from './words.ts'

const TERM = new RegExp(
  [
    PLACEHOLDER,
    '(?<digits>\\p{Nd}+)',
    '(?<single>[\\p{Script=Han}\\p{Script=Hiragana}])',
    '(?<kana>[\\p{Script=Katakana}ー]+)',
    "(?<word>\\p{L}(?:(?![\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}])[\\p{L}\\p{M}])*)(?<tail>'(?:[tT]|[sS]|re|RE|ve|VE|ll|LL|[dD]|[mM])(?![\\p{L}\\p{M}]))?",
    '(?<comma>[,;،、])',
    '(?<mark>(?![©®™])[\\p{Extended_Pictographic}\\p{RI}])',
    '(?<symbol>[%$€£¥₹₽])',
    '(?<stop>[.!?。।:"\\n])',
  ].join('|'),
  'uy',
)
const CAPITAL = /^\p{Lu}/u
const TAIL = /'(?:[tT]|[sS]|re|RE|ve|VE|ll|LL|[dD]|[mM])(?![\p{L}\p{M}])/uy
const APOSTROPHE = 0x27
const DOT = 0x2e
const COMMA_CODE = 0x2c
const SEMICOLON = 0x3b
const ZERO = 0x30

type TokenKind = 'digits' | 'single' | 'kana' | 'comma' | 'mark' | 'symbol' | 'placeholder'

const ASCII_END = 0x80
const LETTER = 1
const DIGIT = 2
const OTHER = 3
const STOP = 4
const SIGN = 5
/** What signs of ASCII are, by their codes. */
const SORTS = Uint8Array.from({ length: ASCII_END }, (_none, code) => {
  if (isLetterCode(code)) return LETTER
  if (isDigitCode(code)) return DIGIT
  const sign = String.fromCharCode(code)
  if ('.!?:"\n'.includes(sign)) return STOP
  return ',;%$'.includes(sign) ? SIGN : 0
})

/** What there is beside the text itself. */
export interface TermContext {
  /** What the placeholders of the text stand for. */
  readonly identified: readonly FoundIdentifier[]
  readonly denials: ReadonlySet<string>
  readonly isHeadline: boolean
  /** Words that were read already, with ids of the same lexicon. */
  readonly lettered: Lettered
}

export function termsOf(text: string, context: TermContext, lexicon: Lexicon): Terms {
  return new TermReader(text, context, lexicon).read()
}

class TermReader {
  readonly #text: string
  readonly #codes: Uint16Array
  readonly #context: TermContext
  readonly #lexicon: Lexicon
  readonly #kinds: number[] = []
  readonly #forms: number[] = []
  readonly #marks: number[] = []
  #placeholders = 0
  /** The next of the words that were read already. */
  #nth = 0
  #isFirst = true
  #isAfterNumber = false

  constructor(text: string, context: TermContext, lexicon: Lexicon) {
    this.#text = text
    this.#codes = codesOf(text)
    this.#context = context
    this.#lexicon = lexicon
  }

  read(): Terms {
    const codes = this.#codes
    const end = this.#text.length
    const { starts, ends } = this.#context.lettered
    for (let at = 0; at < end;) {
      while ((starts[this.#nth] ?? end) < at) this.#nth++
      if (starts[this.#nth] === at) {
        const wordEnd = ends[this.#nth] ?? 0
        this.#lettered(at, wordEnd, this.#context.lettered.ids[this.#nth] ?? 0)
        at = wordEnd
        continue
      }
      const code = codes[at] ?? 0
      const sort = code < ASCII_END ? SORTS[code] : code === PLACEHOLDER_CODE ? SIGN : OTHER
      if (sort === 0) at++
      else if (sort === LETTER) at = this.#readWord(at, end)
      else if (sort === DIGIT) at = this.#readDigits(at, end)
      else if (sort === OTHER) at = this.#readAny(at)
      else {
        if (sort === STOP) this.#stop(code === DOT)
        else this.#plainSign(code)
        at++
      }
    }
    return new Terms(this.#lexicon, this.#kinds, this.#forms, this.#marks)
  }

  #plainSign(code: number): void {
    if (code === COMMA_CODE || code === SEMICOLON) this.#sign('comma', ',')
    else if (code === PLACEHOLDER_CODE) this.#sign('placeholder', PLACEHOLDER)
    else this.#sign('symbol', String.fromCharCode(code))
  }

  /** Of ASCII. Returns where it ends. */
  #readWord(start: number, textEnd: number): number {
    const codes = this.#codes
    let end = start + 1
    while (end < textEnd && SORTS[codes[end] ?? 0] === LETTER) end++
    const next = end < textEnd ? (codes[end] ?? 0) : 0
    if (isOtherCode(next)) return this.#readAny(start)
    if (next === APOSTROPHE) {
      TAIL.lastIndex = end
      const tail = TAIL.exec(this.#text)?.[0]
      if (tail !== undefined) {
        this.#word(this.#text.slice(start, end), tail)
        return end + tail.length
      }
    }
    this.#lettered(start, end, this.#lexicon.idOfCodes(codes, start, end))
    return end
  }

  /** A word of letters of ASCII, without a tail. */
  #lettered(start: number, end: number, id: number): void {
    // Most words are nothing else.
    if (this.#isAfterNumber || this.#lexicon.traits(id) & IS_SPECIAL) {
      this.#word(this.#text.slice(start, end), undefined, this.#lexicon.form(id))
      return
    }
    const first = this.#codes[start] ?? 0
    const isCapital = first >= 0x41 && first <= 0x5a
    const isName = isCapital && !this.#isFirst && !this.#context.isHeadline
    this.#push(CODES.word, id, isName, isCapital)
    this.#isFirst = false
  }

  #readDigits(start: number, textEnd: number): number {
    const codes = this.#codes
    let end = start + 1
    while (end < textEnd && SORTS[codes[end] ?? 0] === DIGIT) end++
    if (end < textEnd && isOtherCode(codes[end] ?? 0)) return this.#readAny(start)
    let from = start
    while (from + 1 < end && codes[from] === ZERO) from++
    this.#push(CODES.number, this.#lexicon.idOfCodes(codes, from, end), false, false)
    this.#isAfterNumber = true
    this.#isFirst = false
    return end
  }

  /** Of any script. Returns where it ends, or where the next character begins. */
  #readAny(start: number): number {
    TERM.lastIndex = start
    const { groups = {}, 0: whole } = TERM.exec(this.#text) ?? {}
    if (whole === undefined) return start + widthAt(this.#text, start)
    const { digits, single, kana, word, tail, comma, mark, symbol } = groups
    if (word !== undefined) this.#word(word, tail)
    else if (digits !== undefined) this.#sign('digits', digits)
    else if (single !== undefined) this.#sign('single', single)
    else if (kana !== undefined) this.#sign('kana', kana)
    else if (comma !== undefined) this.#sign('comma', comma)
    else if (mark !== undefined) this.#sign('mark', mark)
    else if (symbol !== undefined) this.#sign('symbol', symbol)
    else this.#stop(whole === '.')
    return start + whole.length
  }

  #stop(isDot: boolean): void {
    if (!isDot || !this.#isAfterNumber) this.#isFirst = true
  }

  /** Whatever is no word and no end of a sentence. */
  #sign(kind: TokenKind, token: string): void {
    if (kind === 'comma') return this.#add('comma', ',')
    const wasAfterNumber = this.#isAfterNumber
    this.#isAfterNumber = kind === 'digits'
    this.#isFirst = false
    if (kind === 'digits') this.#add('number', western(token).replace(/^0+(?=\d)/, ''))
    else if (kind === 'symbol') this.#add('unit', unitOf(token) ?? token)
    else if (kind === 'mark') this.#add('mark', token)
    else if (kind === 'placeholder') {
      const { identified } = this.#context
      const found = identified[this.#placeholders++] ?? { kind: 'identifier', value: '' }
      this.#add(found.kind, found.value)
    } else if (kind === 'single') this.#add(kindOfSingle(token, wasAfterNumber), token)
    else this.#add('word', token)
  }

  /** `tail`: of a contraction. */
  #word(word: string, tail: string | undefined, form = folded(word)): void {
    const isAfterNumber = this.#isAfterNumber
    const isFirst = this.#isFirst
    this.#isAfterNumber = false
    this.#isFirst = false
    const { denials, isHeadline } = this.#context
    const isCapital = startsWithCapital(word)
    const isName = isCapital && !isFirst && !isHeadline
    if (tail?.toLowerCase() === "'t" && form.endsWith('n')) {
      const verb = form.slice(0, -1)
      this.#add('word', IRREGULAR[verb] ?? verb)
      this.#add('negation', 'not')
      return
    }
    // Half of a French denial: the other half counts.
    if ((form === 'ne' || form === 'n') && denials.has('pas')) return
    if (form === 'cannot') this.#add('word', 'can')
    const value = numberWord(form, word, () => this.#text)
    const unit = isAfterNumber ? unitOf(word) : undefined
    const date = calendarOf(form, isCapital, isFirst)
    const isNumber = value !== undefined || (isAfterNumber && SCALES.has(form))
    if (isNumber) this.#add('number', value ?? form)
    else if (unit !== undefined) this.#add('unit', unit)
    else if (form === 'cannot' || denials.has(form)) this.#add('negation', form)
    else if (date !== undefined) this.#add('date', date)
    else this.#add('word', form, isName, isCapital)
    this.#isAfterNumber = isNumber
  }

  #add(kind: TermKind, form: string, isName = false, isCapital = isName): void {
    this.#push(CODES[kind], this.#lexicon.idOf(form), isName, isCapital)
  }

  #push(kind: number, form: number, isName: boolean, isCapital: boolean): void {
    this.#kinds.push(kind)
    this.#forms.push(form)
    this.#marks.push((isName ? IS_NAME : 0) | (isCapital ? IS_CAPITAL : 0))
  }
}

const IRREGULAR: Readonly<Record<string, string>> = { wo: 'will', sha: 'shall', ca: 'can' }

function startsWithCapital(word: string): boolean {
  const code = word.charCodeAt(0)
  return code < 0x80 ? code >= 0x41 && code <= 0x5a : CAPITAL.test(word)
}

const HAN_DENIAL = /[不没沒无無未勿]/u

function kindOfSingle(single: string, isAfterNumber: boolean): TermKind {
  if (isAfterNumber && unitOf(single) !== undefined) return 'unit'
  return HAN_DENIAL.test(single) ? 'negation' : 'character'
}
