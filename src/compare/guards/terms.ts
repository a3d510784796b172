/**
 * The words of a text for comparing word by word: contractions and compounds taken apart, folded, each with what it is.
 * A character of Chinese or Japanese is a word, a run of Thai is one.
 */

import { folded, isDigitCode, isLetterCode, isPlain, PLACEHOLDER, SPACE } from './fold.ts'
import type { FoundIdentifier } from './identifiers.ts'
import { LANGUAGES } from './languages.ts'
import { unitOf, western } from './numbers.ts'
import { calendarOf } from './denials.ts'
import { CALENDAR, NEGATIONS, NEGATIONS_AMONG, NUMBER_WORDS, numberWord, SCALES } from './tables.ts'

/** `comma` separates items; `mark` is a picture such as an emoji. */
export type TermKind =
  | 'word'
  | 'character'
  | 'number'
  | 'unit'
  | 'date'
  | 'negation'
  | FoundIdentifier['kind']
  | 'mark'
  | 'comma'

export interface Term {
  readonly kind: TermKind
  readonly form: string
  /** A capital where no sentence begins. */
  readonly isName: boolean
  /** Written with a capital, wherever it stands. */
  readonly isCapital: boolean
}

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
  'gu',
)
const CAPITAL = /^\p{Lu}/u

type TokenKind =
  | 'digits'
  | 'single'
  | 'kana'
  | 'word'
  | 'comma'
  | 'mark'
  | 'symbol'
  | 'stop'
  | 'placeholder'

/** `tail`: of a contraction. */
type OnToken = (kind: TokenKind, token: string, tail?: string) => void

export function termsOf(
  text: string,
  identified: readonly FoundIdentifier[],
  denials: ReadonlySet<string>,
  isHeadline: boolean,
): Term[] {
  const terms: Term[] = []
  let signs = 0
  let isFirst = true
  let isAfterNumber = false
  const add: Add = (kind, form, isName = false, isCapital = isName) => {
    terms.push({ kind, form, isName, isCapital })
  }
  const onToken: OnToken = (kind, token, tail) => {
    if (kind === 'stop') {
      if (token !== '.' || !isAfterNumber) isFirst = true
      return
    }
    if (kind === 'comma') return add('comma', ',')
    const wasAfterNumber = isAfterNumber
    isAfterNumber = kind === 'digits'
    if (kind === 'word') {
      const isCapital = startsWithCapital(token)
      const isName = isCapital && !isFirst && !isHeadline
      const place = { text, denials, isAfterNumber: wasAfterNumber, isName, isCapital, isFirst }
      isAfterNumber = addWord(add, token, tail, place) === 'number'
    } else if (kind === 'digits') add('number', western(token).replace(/^0+(?=\d)/, ''))
    else if (kind === 'symbol') add('unit', unitOf(token) ?? token)
    else if (kind === 'mark') add('mark', token)
    else if (kind === 'placeholder') {
      const found = identified[signs++] ?? { kind: 'identifier', value: '' }
      add(found.kind, found.value)
    } else if (kind === 'single') add(kindOfSingle(token, wasAfterNumber), token)
    else add('word', token)
    isFirst = false
  }
  if (isPlain(text)) plainTokens(text, onToken)
  else tokens(text, onToken)
  return terms
}

function tokens(text: string, onToken: OnToken): void {
  for (const { groups = {}, 0: whole } of text.matchAll(TERM)) {
    const { digits, single, kana, word, tail, comma, mark, symbol, stop } = groups
    if (word !== undefined) onToken('word', word, tail)
    else if (digits !== undefined) onToken('digits', digits)
    else if (single !== undefined) onToken('single', single)
    else if (kana !== undefined) onToken('kana', kana)
    else if (comma !== undefined) onToken('comma', comma)
    else if (mark !== undefined) onToken('mark', mark)
    else if (symbol !== undefined) onToken('symbol', symbol)
    else if (stop !== undefined) onToken('stop', stop)
    else onToken('placeholder', whole)
  }
}

const PLAIN_KINDS: ReadonlyMap<string, TokenKind> = new Map<string, TokenKind>([
  ...Array.from(',;', (sign) => [sign, 'comma'] as const),
  ...Array.from('%$', (sign) => [sign, 'symbol'] as const),
  ...Array.from('.!?:"\n', (sign) => [sign, 'stop'] as const),
  [PLACEHOLDER, 'placeholder'],
])
const TAIL = /'(?:[tT]|[sS]|re|RE|ve|VE|ll|LL|[dD]|[mM])(?![A-Za-z])/y

/** The same for ASCII, in a fraction of the time: most near duplicates are measured by this. */
function plainTokens(text: string, onToken: OnToken): void {
  let at = 0
  while (at < text.length) {
    const start = at
    const code = text.charCodeAt(at++)
    if (isLetterCode(code)) {
      while (isLetterCode(text.charCodeAt(at))) at++
      const word = text.slice(start, at)
      if (text[at] === "'") {
        TAIL.lastIndex = at
        const tail = TAIL.exec(text)?.[0]
        at += tail?.length ?? 0
        onToken('word', word, tail)
      } else onToken('word', word)
    } else if (isDigitCode(code)) {
      while (isDigitCode(text.charCodeAt(at))) at++
      onToken('digits', text.slice(start, at))
    } else if (code !== SPACE) {
      const sign = text[start] ?? ''
      const kind = PLAIN_KINDS.get(sign)
      if (kind) onToken(kind, sign)
    }
  }
}

function startsWithCapital(word: string): boolean {
  const code = word.charCodeAt(0)
  return code < 0x80 ? code >= 0x41 && code <= 0x5a : CAPITAL.test(word)
}

const HAN_DENIAL = /[不没沒无無未勿]/u

function kindOfSingle(single: string, isAfterNumber: boolean): TermKind {
  if (isAfterNumber && unitOf(single) !== undefined) return 'unit'
  return HAN_DENIAL.test(single) ? 'negation' : 'character'
}

type Add = (kind: TermKind, form: string, isName?: boolean, isCapital?: boolean) => void

interface WordPlace {
  readonly text: string
  readonly denials: ReadonlySet<string>
  readonly isAfterNumber: boolean
  readonly isName: boolean
  readonly isCapital: boolean
  readonly isFirst: boolean
}

const IRREGULAR: Readonly<Record<string, string>> = { wo: 'will', sha: 'shall', ca: 'can' }

/** Whatever may be a number, a date or a denial in some language, and halves of such. */
const SPECIAL_WORDS: ReadonlySet<string> = new Set([
  ...NUMBER_WORDS.keys(),
  ...SCALES.keys(),
  ...CALENDAR.keys(),
  ...NEGATIONS,
  ...NEGATIONS_AMONG.flatMap(({ denials }) => Array.from(denials)),
  'ne',
  'n',
  'cannot',
  'sept',
  'tres',
])

function addWord(add: Add, word: string, tail: string | undefined, place: WordPlace): TermKind {
  const { text, denials, isAfterNumber, isName, isCapital, isFirst } = place
  const form = folded(word)
  // Most words are none of what follows.
  if (tail === undefined && !isAfterNumber && !SPECIAL_WORDS.has(form)) {
    add('word', form, isName, isCapital)
    return 'word'
  }
  if (tail?.toLowerCase() === "'t" && form.endsWith('n')) {
    const verb = form.slice(0, -1)
    add('word', IRREGULAR[verb] ?? verb)
    add('negation', 'not')
    return 'negation'
  }
  // Half of a French denial: the other half counts.
  if ((form === 'ne' || form === 'n') && denials.has('pas')) return 'word'
  if (form === 'cannot') add('word', 'can')
  const value = numberWord(form, word, () => text)
  const unit = isAfterNumber ? unitOf(word) : undefined
  const date = calendarOf(form, isCapital, isFirst)
  if (value !== undefined || (isAfterNumber && SCALES.has(form))) add('number', value ?? form)
  else if (unit !== undefined) add('unit', unit)
  else if (form === 'cannot' || denials.has(form)) add('negation', form)
  else if (date !== undefined) add('date', date)
  else add('word', form, isName, isCapital)
  return value === undefined && !(isAfterNumber && SCALES.has(form)) ? 'word' : 'number'
}

/** Which languages have a word in their grammar: their places in the list of languages. */
const LANGUAGES_OF: ReadonlyMap<string, readonly number[]> = languagesByWord()

function languagesByWord(): Map<string, number[]> {
  const byWord = new Map<string, number[]>()
  for (const [at, { words }] of LANGUAGES.entries()) {
    for (const word of words) byWord.set(word, [...(byWord.get(word) ?? []), at])
  }
  return byWord
}

/** How many words of each language's grammar there are, in the order of the languages. */
export function languageHits(terms: readonly Term[]): number[] {
  const hits = LANGUAGES.map(() => 0)
  for (const { form, kind } of terms) {
    if (kind !== 'word' && kind !== 'character') continue
    for (const at of LANGUAGES_OF.get(form) ?? NO_LANGUAGES) hits[at] = (hits[at] ?? 0) + 1
  }
  return hits
}

const NO_LANGUAGES: readonly number[] = []
