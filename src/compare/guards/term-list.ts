/** The terms of a text in memory: numbers side by side, since most are only counted and compared. */

import { LANGUAGES } from './languages.ts'
import { languageBits, type Lexicon } from './lexicon.ts'

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

/** Terms as ids of a lexicon. */
export class Terms {
  readonly lexicon: Lexicon
  readonly #kinds: readonly number[]
  readonly #forms: readonly number[]
  readonly #marks: readonly number[]
  readonly #counts: Int32Array
  #all: readonly Term[] | undefined
  #signs: Int32Array | undefined
  #places: Int32Array | undefined
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
    if (this.#places === undefined) {
      this.#places = new Int32Array(this.length - this.countOf('comma'))
      let count = 0
      for (let at = 0; at < this.length; at++) {
        if (this.#kinds[at] !== COMMA) this.#places[count++] = at
      }
    }
    return this.#places
  }

  /** Of all terms but commas: its form, or of a fact only which kind it is. Edges stand on both sides. */
  get signs(): Int32Array {
    if (this.#signs === undefined) {
      const { places } = this
      this.#signs = new Int32Array(places.length + 2 * SIGNS_BESIDE).fill(EDGE)
      for (let nth = 0; nth < places.length; nth++) {
        const at = places[nth] ?? 0
        const kind = this.#kinds[at] ?? 0
        this.#signs[nth + SIGNS_BESIDE] =
          kind <= CODES.negation ? (this.#forms[at] ?? 0) : EDGE - 1 - kind
      }
    }
    return this.#signs
  }

  isKindAt(at: number, kind: TermKind): boolean {
    return this.#kinds[at] === CODES[kind]
  }

  isNameAt(at: number): boolean {
    return this.#kinds[at] === CODES.word && ((this.#marks[at] ?? 0) & IS_NAME) !== 0
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
