/** The terms of a text in memory: numbers side by side, since most are only counted and compared. */

import { LANGUAGES } from './languages.ts'
import { IS_OF_PAGE, languageBits, type Lexicon } from './lexicon.ts'

/** `comma` separates items; `mark` is a picture such as an emoji. Those that are compared by their form come first. */
const KINDS = [
  'word',
  'character',
  'negation',
  'number',
  'unit',
  'date',
  'version',
  'identifier',
  'address',
  'mark',
  'comma',
] as const

export type TermKind = (typeof KINDS)[number]

/** Kinds as numbers. */
// safe: a key for every kind.
export const CODES = Object.fromEntries(KINDS.map((kind, code) => [kind, code])) as Record<
  TermKind,
  number
>
const COMMA = CODES.comma

export interface Term {
  readonly kind: TermKind
  readonly form: string
  /** A capital where no sentence begins. */
  readonly isName: boolean
  /** Written with a capital, wherever it stands. */
  readonly isCapital: boolean
}

export const IS_NAME = 1
export const IS_CAPITAL = 2

/** Beside the first term and the last. */
const EDGE = -1
/** Signs on either side of all others. */
export const SIGNS_BESIDE = 2

const NONE: readonly number[] = []

/** What is asked of terms without commas, found in one go. */
interface Placed {
  readonly places: Int32Array
  readonly signs: Int32Array
  readonly names: readonly number[]
  /** By kind. */
  readonly others: readonly (readonly number[])[]
  readonly ofPage: readonly number[]
}

/** Terms as ids of a lexicon. */
export class Terms {
  readonly lexicon: Lexicon
  readonly #kinds: readonly number[]
  readonly #forms: readonly number[]
  readonly #marks: readonly number[]
  readonly #counts: Int32Array
  #all: readonly Term[] | undefined
  #known: Placed | undefined
  #languages: readonly number[] | undefined

  constructor(
    lexicon: Lexicon,
    kinds: readonly number[],
    forms: readonly number[],
    marks: readonly number[],
  ) {
    this.lexicon = lexicon
    this.#kinds = kinds
    this.#forms = forms
    this.#marks = marks
    this.#counts = new Int32Array(KINDS.length)
    for (const kind of kinds) this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
  }

  /** Commas among them. */
  get length(): number {
    return this.#kinds.length
  }

  /** In order, commas among them. */
  get forms(): readonly number[] {
    return this.#forms
  }

  countOf(kind: TermKind): number {
    return this.#counts[CODES[kind]] ?? 0
  }

  at(at: number): Term {
    const marks = this.#marks[at] ?? 0
    return {
      kind: KINDS[this.#kinds[at] ?? 0] ?? 'word',
      form: this.lexicon.form(this.#forms[at] ?? 0),
      isName: (marks & IS_NAME) !== 0,
      isCapital: (marks & IS_CAPITAL) !== 0,
    }
  }

  all(): readonly Term[] {
    return (this.#all ??= this.#kinds.map((_kind, at) => this.at(at)))
  }

  /** The places of all terms but commas. */
  get places(): Int32Array {
    return this.#placed().places
  }

  /** Of all terms but commas: its form, or of a fact only which kind it is. Edges stand on both sides. */
  get signs(): Int32Array {
    return this.#placed().signs
  }

  /** Which of all terms but commas are of a kind that is no word; `name`: which are names. */
  nthsOf(kind: TermKind | 'name'): readonly number[] {
    const { names, others } = this.#placed()
    return (kind === 'name' ? names : others[CODES[kind]]) ?? NONE
  }

  /** Which of all terms but commas are of a page, and not of what the page says. */
  get ofPage(): readonly number[] {
    return this.#placed().ofPage
  }

  #placed(): Placed {
    if (this.#known) return this.#known
    const count = this.length - this.countOf('comma')
    const places = new Int32Array(count)
    const signs = new Int32Array(count + 2 * SIGNS_BESIDE).fill(EDGE)
    const [names, ofPage]: [number[], number[]] = [[], []]
    const others: number[][] = []
    let nth = 0
    for (let at = 0; at < this.#kinds.length; at++) {
      const kind = this.#kinds[at] ?? 0
      if (kind === COMMA) continue
      const form = this.#forms[at] ?? 0
      places[nth] = at
      signs[nth + SIGNS_BESIDE] = kind <= CODES.negation ? form : EDGE - 1 - kind
      if (this.lexicon.traits(form) & IS_OF_PAGE) ofPage.push(nth)
      if (kind > CODES.character) (others[kind] ??= []).push(nth)
      else if (kind === CODES.word && (this.#marks[at] ?? 0) & IS_NAME) names.push(nth)
      nth++
    }
    return (this.#known = { places, signs, names, others, ofPage })
  }

  traitsAt(at: number): number {
    return this.lexicon.traits(this.#forms[at] ?? 0)
  }

  /** How many words of each language's grammar there are, in the order of the languages. */
  get languages(): readonly number[] {
    if (this.#languages) return this.#languages
    const hits = LANGUAGES.map(() => 0)
    for (let at = 0; at < this.length; at++) {
      if ((this.#kinds[at] ?? 0) > CODES.character) continue
      let bits = languageBits(this.traitsAt(at))
      for (let one = 0; bits !== 0; one++, bits >>>= 1) {
        if (bits & 1) hits[one] = (hits[one] ?? 0) + 1
      }
    }
    return (this.#languages = hits)
  }

  /** The same terms with the ids of another lexicon. */
  in(lexicon: Lexicon): Terms {
    if (lexicon === this.lexicon) return this
    const forms = this.#forms.map((id) => lexicon.idOf(this.lexicon.form(id)))
    return new Terms(lexicon, this.#kinds, forms, this.#marks)
  }
}
