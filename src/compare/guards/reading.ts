/** What the guards compare of a text. Each part is read when it is asked for first, and kept. */

import { calendarOf, denialsAmong, hanDates, negationsIn } from './denials.ts'
import { folded, normalised } from './fold.ts'
import { type FoundIdentifier, type Identified, identifiedIn } from './identifiers.ts'
import { type FoundNumber, numbersOf } from './numbers.ts'
import { CALENDAR, NUMBER_WORDS } from './tables.ts'
import { languageHits, type Term, termsOf } from './terms.ts'
import { type Word, wordsOf } from './words.ts'

const ISO_DATE = /(?<!\p{Nd})(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\p{Nd})/gu
const MONTHS = [...new Set([...CALENDAR.values()].filter((one) => one.startsWith('month ')))]
const FOREIGN = /[\p{L}\p{Extended_Pictographic}\p{RI}]/u
const LATIN = /\p{Script=Latin}/u

/** Where most words are capitals, as in a headline, they carry no information. */
const CAPITALS_MAX = 0.6
const HEADLINE_WORDS = 6

/** Computes a value at the first call only. */
function once<T extends object>(compute: () => T): () => T {
  let value: T | undefined
  return () => (value ??= compute())
}

export class Reading {
  readonly text: string
  /** It is a part of a longer text. */
  readonly isPart: boolean
  readonly #dated = once(() => this.#readDates())
  readonly #identified = once<Identified>(() => identifiedIn(this.#dated().rest))
  readonly #words = once(() => wordsOf(this.rest))
  readonly #plain = once(() => new Set(this.words.map(({ plain }) => plain)))
  readonly #numbers = once(() => numbersOf(this.rest))
  readonly #dates = once(() => this.#allDates())
  readonly #names = once(() => this.#readNames())
  readonly #foreign = once(() => foreignOf(this.rest))
  readonly #terms = once(() =>
    termsOf(this.rest, this.identified, this.#denials(), this.#isHeadline()),
  )
  readonly #languages = once(() => languageHits(this.terms))
  readonly #denials = once(() => denialsAmong(this.#parts()))
  readonly #parts = once(() => allParts(this.words))
  #negations: number | undefined

  constructor(text: string, isPart = false) {
    this.text = text
    this.isPart = isPart
  }

  /** Without identifiers and dates in digits. */
  get rest(): string {
    return this.#identified().rest
  }
  /** Versions, codes, addresses and the like, in order. */
  get identified(): readonly FoundIdentifier[] {
    return this.#identified().found
  }
  get words(): readonly Word[] {
    return this.#words()
  }
  /** All words, in lower case. */
  get plain(): ReadonlySet<string> {
    return this.#plain()
  }
  get numbers(): readonly FoundNumber[] {
    return this.#numbers()
  }
  /** `weekday monday`, `month may`, `day today`. */
  get dates(): ReadonlySet<string> {
    return this.#dates()
  }
  get negations(): number {
    return (this.#negations ??= negationsIn(this.rest, this.#parts(), this.#denials()))
  }
  /** Capitalised within a sentence, in lower case, in order. */
  get names(): readonly string[] {
    return this.#names()
  }
  /** Words in scripts other than Latin, in order. */
  get foreign(): readonly string[] {
    return this.#foreign()
  }
  get terms(): readonly Term[] {
    return this.#terms()
  }
  /** Words of grammar, by language. */
  get languages(): readonly number[] {
    return this.#languages()
  }

  #readDates(): { rest: string; dates: string[] } {
    const dates: string[] = []
    const rest = normalised(this.text).replaceAll(
      ISO_DATE,
      (_all, year: string, month: string, day: string) => {
        dates.push(MONTHS[Number(month) - 1] ?? '')
        return `${year} / ${Number(day)}`
      },
    )
    return { rest, dates }
  }

  #allDates(): ReadonlySet<string> {
    const { rest, dates } = this.#dated()
    const named = this.words.flatMap(({ plain, isCapitalised, isFirst }) => {
      const date = calendarOf(folded(plain), isCapitalised, isFirst)
      return date === undefined ? [] : [date]
    })
    return new Set([...dates, ...named, ...hanDates(rest)])
  }

  #isHeadline(): boolean {
    const capitals = this.words.filter(({ isCapitalised }) => isCapitalised).length
    return this.words.length >= HEADLINE_WORDS && capitals / this.words.length > CAPITALS_MAX
  }

  #readNames(): string[] {
    if (this.#isHeadline()) return []
    const capitals = this.words.filter(({ isCapitalised, isFirst }) => isCapitalised && !isFirst)
    return capitals
      .map(({ plain }) => plain)
      .filter((name) => name !== 'i' && !name.startsWith("i'"))
      .filter((name) => !CALENDAR.has(name) && !NUMBER_WORDS.has(name))
  }
}

export function readingOf(text: string): Reading {
  return new Reading(text)
}

/** A denial may be part of a compound, or stand behind an apostrophe. */
function allParts(words: readonly Word[]): string[] {
  const parts: string[] = []
  for (const { plain } of words) {
    const form = folded(plain)
    const isWhole = !form.includes('-') && !form.includes("'")
    if (isWhole || form.endsWith("n't")) parts.push(form)
    else parts.push(...form.split(/[-']/))
  }
  return parts
}

const RUN =
  /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}])+|(?![©®])[\p{Extended_Pictographic}\p{RI}]/gu

/** Letters and pictures outside Latin: a run of them is a word, of Han a character is. */
function foreignOf(text: string): string[] {
  const runs = text.match(RUN) ?? []
  return runs.filter((run) => FOREIGN.test(run) && !LATIN.test(run)).map((run) => run.toLowerCase())
}
