/** What the guards compare of a text. Each part is read when it is asked for first, and kept. */

import { calendarOf, denialsAmong, hanDates, negationsIn, partsOfWord } from './denials.ts'
import { folded, normalised } from './fold.ts'
import { type FoundIdentifier, type Identified, identifiedIn } from './identifiers.ts'
import { lexicon } from './lexicon.ts'
import { type Pieces, piecesOf } from './long.ts'
import { type FoundNumber, numbersOf } from './numbers.ts'
import { CALENDAR } from './tables.ts'
import type { Term, Terms } from './term-list.ts'
import { termsOf } from './terms.ts'
import { type Word, type Words, wordsOf } from './words.ts'

const ISO_DATE = /(?<!\p{Nd})(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\p{Nd})/gu
/** What has none of these has no date: looked for first, since most texts have none. */
const LIKE_DATE = /\d-[01]\d-[0-3]\d/
const MONTHS = [...new Set([...CALENDAR.values()].filter((one) => one.startsWith('month ')))]
const FOREIGN = /[\p{L}\p{Extended_Pictographic}\p{RI}]/u
const LATIN = /\p{Script=Latin}/u

export class Reading {
  readonly text: string
  /** It is a part of a longer text. */
  readonly isPart: boolean
  #pieces: Pieces | undefined
  #dated: Dated | undefined
  #identified: Identified | undefined
  #words: Words | undefined
  #plain: ReadonlySet<string> | undefined
  #numbers: readonly FoundNumber[] | undefined
  #dates: ReadonlySet<string> | undefined
  #names: readonly string[] | undefined
  #foreign: readonly string[] | undefined
  #terms: Terms | undefined
  #negations: number | undefined

  constructor(text: string, isPart = false) {
    this.text = text
    this.isPart = isPart
  }

  /** Its sentences and lines. */
  get pieces(): Pieces {
    return (this.#pieces ??= piecesOf(this.text))
  }
  /** Without identifiers and dates in digits. */
  get rest(): string {
    return this.#identifiers.rest
  }
  /** Versions, codes, addresses and the like, in order. */
  get identified(): readonly FoundIdentifier[] {
    return this.#identifiers.found
  }
  get words(): readonly Word[] {
    return this.wordList.all()
  }
  get wordList(): Words {
    return (this.#words ??= wordsOf(this.rest, lexicon()))
  }
  /** All words, in lower case. */
  get plain(): ReadonlySet<string> {
    return (this.#plain ??= new Set(this.words.map(({ plain }) => plain)))
  }
  get numbers(): readonly FoundNumber[] {
    return (this.#numbers ??= numbersOf(this.rest))
  }
  /** `weekday monday`, `month may`, `day today`. */
  get dates(): ReadonlySet<string> {
    return (this.#dates ??= this.#allDates())
  }
  get negations(): number {
    return (this.#negations ??= negationsIn(
      this.rest,
      this.words.flatMap(({ plain }) => partsOfWord(plain)),
      this.#denials,
    ))
  }
  /** Capitalised within a sentence, in lower case, in order. */
  get names(): readonly string[] {
    const { wordList } = this
    return (this.#names ??= this.words.flatMap(({ plain }, at) =>
      wordList.isNameAt(at) ? [plain] : [],
    ))
  }
  /** Words in scripts other than Latin, in order. */
  get foreign(): readonly string[] {
    return (this.#foreign ??= foreignOf(this.rest))
  }
  get terms(): readonly Term[] {
    return this.termList.all()
  }
  get termList(): Terms {
    if (this.#terms) return this.#terms
    const { isHeadline, lettered, lexicon: ids } = this.wordList
    const context = { identified: this.identified, denials: this.#denials, isHeadline, lettered }
    return (this.#terms = termsOf(this.rest, context, ids))
  }

  get #denials(): ReadonlySet<string> {
    return denialsAmong(this.wordList.company)
  }

  get #identifiers(): Identified {
    return (this.#identified ??= identifiedIn(this.#withoutDates.rest))
  }

  get #withoutDates(): Dated {
    return (this.#dated ??= datedIn(this.text))
  }

  #allDates(): ReadonlySet<string> {
    const { rest, dates } = this.#withoutDates
    const named = this.words.flatMap(({ plain, isCapitalised, isFirst }) => {
      const date = calendarOf(folded(plain), isCapitalised, isFirst)
      return date === undefined ? [] : [date]
    })
    return new Set([...dates, ...named, ...hanDates(rest)])
  }
}

interface Dated {
  /** The text without dates in digits. */
  readonly rest: string
  readonly dates: readonly string[]
}

function datedIn(text: string): Dated {
  const whole = normalised(text)
  if (!LIKE_DATE.test(whole)) return { rest: whole, dates: [] }
  const dates: string[] = []
  const rest = whole.replaceAll(ISO_DATE, (_all, year: string, month: string, day: string) => {
    dates.push(MONTHS[Number(month) - 1] ?? '')
    return `${year} / ${Number(day)}`
  })
  return { rest, dates }
}

/** Of two texts that are compared, with ids of one lexicon. */
export function termsOfBoth(first: Reading, second: Reading): [Terms, Terms] {
  const own = first.termList
  return [own, second.termList.in(own.lexicon)]
}

export function readingOf(text: string): Reading {
  return new Reading(text)
}

const RUN =
  /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}])+|(?![©®])[\p{Extended_Pictographic}\p{RI}]/gu

/** Letters and pictures outside Latin: a run of them is a word, of Han a character is. */
function foreignOf(text: string): string[] {
  const runs = text.match(RUN) ?? []
  return runs.filter((run) => FOREIGN.test(run) && !LATIN.test(run)).map((run) => run.toLowerCase())
}
