/** What a guard compares of a text, read once: numbers, dates, denials, names, and words of other scripts. */

import { type FoundNumber, numbersOf } from './numbers.ts'
import {
  CALENDAR,
  CALENDAR_IF_CAPITAL,
  HAN_NEGATION,
  HAN_NOT_NEGATION,
  NEGATIONS,
  NEGATIONS_AMONG,
  NUMBER_WORDS,
} from './tables.ts'
import { normalised, type Word, wordsOf } from './words.ts'

export interface Reading {
  readonly words: readonly Word[]
  /** All words, in lower case. */
  readonly plain: ReadonlySet<string>
  readonly numbers: readonly FoundNumber[]
  /** `weekday monday`, `month may`, `day today`. */
  readonly dates: ReadonlySet<string>
  readonly negations: number
  /** Capitalised within a sentence, in lower case, in order; codes such as B52 as well. */
  readonly names: readonly string[]
  /** Words in scripts other than Latin, in order. */
  readonly foreign: readonly string[]
}

const ISO_DATE = /(?<!\p{Nd})(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\p{Nd})/gu
const MONTHS = [...new Set([...CALENDAR.values()].filter((one) => one.startsWith('month ')))]
const CODE = /^(?=.*\p{L})(?=.*\p{Nd})[\p{L}].*$/u
const FOREIGN = /[\p{L}\p{Extended_Pictographic}\p{RI}]/u
const LATIN = /\p{Script=Latin}/u

export function readingOf(text: string): Reading {
  const whole = normalised(text)
  const dates = new Set<string>()
  const rest = whole.replaceAll(ISO_DATE, (_all, year: string, month: string, day: string) => {
    dates.add(MONTHS[Number(month) - 1] ?? '')
    return `${year} / ${Number(day)}`
  })
  const words = wordsOf(rest)
  for (const word of words) {
    const date = calendarOf(word)
    if (date !== undefined) dates.add(date)
  }
  return {
    words,
    plain: new Set(words.map(({ plain }) => plain)),
    numbers: numbersOf(rest),
    dates,
    negations: negationsOf(rest, words),
    names: namesOf(words),
    foreign: foreignOf(rest),
  }
}

function calendarOf({ plain, isCapitalised, isFirst }: Word): string | undefined {
  if (CALENDAR_IF_CAPITAL.has(plain) && (!isCapitalised || isFirst)) return undefined
  return CALENDAR.get(plain)
}

function negationsOf(text: string, words: readonly Word[]): number {
  const plain = words.map((word) => word.plain)
  const isAmong = NEGATIONS_AMONG.filter(({ company }) => plain.some((word) => company.has(word)))
  const denials = plain.filter(
    (word) =>
      NEGATIONS.has(word) ||
      /n['’]t$/.test(word) ||
      isAmong.some((one) => one.denials.has(word)) ||
      /^n['’]\p{L}/u.test(word),
  )
  const han = text.replaceAll(HAN_NOT_NEGATION, '').match(HAN_NEGATION) ?? []
  return denials.length + han.length
}

/** Where most words are capitals, as in a headline, they carry no information. */
const CAPITALS_MAX = 0.6
const HEADLINE_WORDS = 6

function namesOf(words: readonly Word[]): string[] {
  const capitals = words.filter(({ isCapitalised }) => isCapitalised).length
  const isHeadline = words.length >= HEADLINE_WORDS && capitals / words.length > CAPITALS_MAX
  const names: string[] = []
  for (const word of words) {
    const isName = word.isCapitalised && !word.isFirst && !isHeadline
    if (!isName && !CODE.test(word.written)) continue
    if (word.plain === 'i' || /^i['’]/.test(word.plain)) continue
    if (CALENDAR.has(word.plain) || NUMBER_WORDS.has(word.plain)) continue
    names.push(word.plain)
  }
  return names
}

const RUN =
  /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}])+|(?![©®])[\p{Extended_Pictographic}\p{RI}]/gu

/** Letters and pictures outside Latin: a run of them is a word, of Han a character is. */
function foreignOf(text: string): string[] {
  const runs = text.match(RUN) ?? []
  return runs.filter((run) => FOREIGN.test(run) && !LATIN.test(run)).map((run) => run.toLowerCase())
}
