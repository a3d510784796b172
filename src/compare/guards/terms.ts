/**
 * The words of a text for comparing word by word: contractions and compounds taken apart, folded, each with what it is.
 * A character of Chinese or Japanese is a word, a run of Thai is one.
 */

import { folded, isAscii } from './fold.ts'
import { type FoundIdentifier, PLACEHOLDER } from './identifiers.ts'
import { LANGUAGES } from './languages.ts'
import { unitOf, western } from './numbers.ts'
import { calendarOf } from './denials.ts'
import { numberWord, SCALES } from './tables.ts'

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
/** The same for ASCII, in a fraction of the time. */
const ASCII_TERM =
  /(?<word>[A-Za-z]+)(?<tail>'(?:[tT]|[sS]|re|RE|ve|VE|ll|LL|[dD]|[mM])(?![A-Za-z]))?|(?<digits>[0-9]+)|(?<comma>[,;])|(?<symbol>[%$])|(?<stop>[.!?:"\n])/g
const CAPITAL = /^\p{Lu}/u

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
  for (const { groups = {}, 0: whole } of text.matchAll(isAscii(text) ? ASCII_TERM : TERM)) {
    const { digits, single, kana, word, tail, comma, mark, symbol, stop } = groups
    if (stop !== undefined) {
      if (stop !== '.' || !isAfterNumber) isFirst = true
      continue
    }
    const wasAfterNumber = isAfterNumber
    if (comma === undefined) isAfterNumber = false
    if (comma !== undefined) {
      add('comma', ',')
      continue
    }
    if (digits !== undefined) {
      add('number', western(digits).replace(/^0+(?=\d)/, ''))
      isAfterNumber = true
    } else if (symbol !== undefined) add('unit', unitOf(symbol) ?? symbol)
    else if (mark !== undefined) add('mark', mark)
    else if (whole === PLACEHOLDER) {
      const { kind, value } = identified[signs++] ?? { kind: 'identifier', value: '' }
      add(kind, value)
    } else if (single !== undefined) add(kindOfSingle(single, wasAfterNumber), single)
    else if (kana !== undefined) add('word', kana)
    else if (word !== undefined) {
      const isName = CAPITAL.test(word) && !isFirst && !isHeadline
      const kind = addWord(add, word, tail, {
        text,
        denials,
        isAfterNumber: wasAfterNumber,
        isName,
        isFirst,
      })
      isAfterNumber = kind === 'number'
    }
    isFirst = false
  }
  return terms
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
  readonly isFirst: boolean
}

const IRREGULAR: Readonly<Record<string, string>> = { wo: 'will', sha: 'shall', ca: 'can' }

function addWord(add: Add, word: string, tail: string | undefined, place: WordPlace): TermKind {
  const { text, denials, isAfterNumber, isName, isFirst } = place
  const form = folded(word)
  if (tail?.toLowerCase() === "'t" && form.endsWith('n')) {
    const verb = form.slice(0, -1)
    add('word', IRREGULAR[verb] ?? verb)
    add('negation', 'not')
    return 'negation'
  }
  // Half of a French denial: the other half counts.
  if ((form === 'ne' || form === 'n') && denials.has('pas')) return 'word'
  if (form === 'cannot') add('word', 'can')
  const isCapital = CAPITAL.test(word)
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

/** How many words of each language's grammar there are, in the order of the languages. */
export function languageHits(terms: readonly Term[]): number[] {
  return LANGUAGES.map(({ words }) => {
    let hits = 0
    for (const { form, kind } of terms) {
      if ((kind === 'word' || kind === 'character') && words.has(form)) hits++
    }
    return hits
  })
}
