/**
 * The rule of content words: in a short text one word carries the meaning, so a word that only one of two texts has
 * makes them different, unless it is grammar, a typo, an ending, or the same word joined or split.
 *
 * Numbers, units, dates and denials are compared by guards of their own.
 */

import { LANGUAGES } from './languages.ts'
import { type Reading, termsOfBoth } from './reading.ts'
import type { Term } from './term-list.ts'
import { isInflection, isSwapped, isVariant } from './typo.ts'

/** Up to so many words every fact counts; two characters of Chinese or Japanese count as one word. */
const SHORT_WORDS = 40
/**
 * In a text of up to so many words one word carries the meaning. Of longer sentences that are similar and rightly the
 * same, most differ in a word: at 40 words this rule lost 61 of 112 of them, at 14 none.
 */
const WORDS_MAX = 14
/** And of so many characters: words of some languages are long. */
const CHARACTERS_MAX = 95
/** Characters of data without spaces that count as one word. */
const DATA_WORD = 6
const DATA_MIN = 40
/** Grammar of a language that has so small a share of the words is chance. */
const LANGUAGE_SHARE = 0.1

/** Words of grammar that change another word when they are joined to it. */
const PREFIXES: ReadonlySet<string> = new Set(['a', 'an', 'in', 'im', 'de', 'des'])

const NONE: ReadonlySet<string> = new Set()

export interface Grammar {
  readonly language: string | undefined
  readonly words: ReadonlySet<string>
  readonly articles: ReadonlySet<string>
}

const NO_GRAMMAR: Grammar = { language: undefined, words: NONE, articles: NONE }

/** The language that both texts together fit best. */
export function grammarOf(first: Reading, second: Reading): Grammar {
  const [own, others] = [first.termList, second.termList]
  const hits = own.languages.map((count, at) => count + (others.languages[at] ?? 0))
  const most = Math.max(...hits)
  const terms = own.length + others.length
  const isKnown = most > 0 && most >= terms * LANGUAGE_SHARE
  const characters = own.countOf('character') + others.countOf('character')
  if (!isKnown && characters * 2 <= terms) return NO_GRAMMAR
  // What is written in ideographs is Chinese, unless its grammar is that of another language.
  const best = isKnown ? LANGUAGES[hits.indexOf(most)] : LANGUAGES.find(({ name }) => name === 'zh')
  return {
    language: best?.name,
    words: best?.words ?? NONE,
    articles: best?.articles ?? NONE,
  }
}

export function lengthOf(reading: Reading): number {
  if (reading.isPart) return Infinity
  let length = 0
  for (const { kind, form } of reading.terms) {
    if (form.length >= DATA_MIN) length += form.length / DATA_WORD
    else length += kind === 'comma' ? 0 : kind === 'character' ? 0.5 : 1
  }
  return length
}

/** Short enough for every fact to count, whether it is changed, added or left out. */
export function isShort(first: Reading, second: Reading): boolean {
  return Math.min(lengthOf(first), lengthOf(second)) <= SHORT_WORDS
}

export interface Difference {
  readonly a: string[]
  readonly b: string[]
}

/** Words that only one of the texts has; `pairs`: those that are the same in two spellings. */
export interface Matching extends Difference {
  readonly pairs: ReadonlyMap<string, string>
}

export function contentDifference(first: Reading, second: Reading): Difference | undefined {
  if (Math.min(first.text.length, second.text.length) > CHARACTERS_MAX) return undefined
  if (Math.min(lengthOf(first), lengthOf(second)) > WORDS_MAX) return undefined
  const grammar = grammarOf(first, second)
  const { a, b } = matchingOf(first, second, grammar)
  return a.length === 0 && b.length === 0 ? undefined : { a, b }
}

export function matchingOf(first: Reading, second: Reading, grammar: Grammar): Matching {
  const own = leftOver(first.terms, second.terms)
  const others = leftOver(second.terms, first.terms)
  const pairs = new Map<string, string>()
  removeJoined(own, others, second.terms, grammar)
  removeJoined(others, own, first.terms, grammar)
  for (const term of own.values()) {
    for (const other of others.values()) {
      if (!isVariant(term, other, grammar.language)) continue
      pairs.set(other.form, term.form)
      own.delete(term.form)
      others.delete(other.form)
      break
    }
  }
  removeInflected(own, second.terms, grammar)
  removeInflected(others, first.terms, grammar)
  const isContent = ({ form }: Term) => !grammar.words.has(form) && !isSwapped(form, grammar.words)
  const formsOf = (left: ReadonlyMap<string, Term>) =>
    [...left.values()].filter(isContent).map(({ form }) => form)
  return { a: formsOf(own), b: formsOf(others), pairs }
}

/** How many words, facts and signs of either text the other has not. */
export function differingCount(first: Reading, second: Reading): number {
  const [own, others] = termsOfBoth(first, second)
  /** How much more often each form occurs than in the other text. */
  const counts = new Map<number, number>()
  for (const form of own.forms) counts.set(form, (counts.get(form) ?? 0) + 1)
  for (const form of others.forms) counts.set(form, (counts.get(form) ?? 0) - 1)
  let more = 0
  let less = 0
  for (const count of counts.values()) {
    if (count > 0) more += count
    else less -= count
  }
  return Math.max(more, less)
}

/** Words, characters and pictures that occur more often than in the other text. */
function leftOver(terms: readonly Term[], others: readonly Term[]): Map<string, Term> {
  const counts = new Map<string, number>()
  for (const { form, kind } of others) {
    if (isCompared(kind)) counts.set(form, (counts.get(form) ?? 0) + 1)
  }
  const left = new Map<string, Term>()
  for (const term of terms) {
    if (!isCompared(term.kind)) continue
    const count = counts.get(term.form) ?? 0
    if (count === 0) left.set(term.form, term)
    else counts.set(term.form, count - 1)
  }
  return left
}

function isCompared(kind: Term['kind']): boolean {
  return kind === 'word' || kind === 'character' || kind === 'mark'
}

/** notebook and note book, e-mail and email: what neighbouring words of the other text give together. */
function removeJoined(
  own: Map<string, Term>,
  others: Map<string, Term>,
  terms: readonly Term[],
  { words }: Grammar,
): void {
  if (own.size === 0) return
  for (let at = 0; at + 1 < terms.length; at++) {
    let joined = terms[at]?.form ?? ''
    // A typical case is not an atypical one.
    if (PREFIXES.has(joined) && words.has(joined)) continue
    for (let end = at + 1; end < Math.min(at + 3, terms.length); end++) {
      joined += terms[end]?.form ?? ''
      if (!own.has(joined)) continue
      own.delete(joined)
      for (const { form } of terms.slice(at, end + 1)) others.delete(form)
    }
  }
}

/** A word of which the other text has another ending, and this text too. */
function removeInflected(
  own: Map<string, Term>,
  terms: readonly Term[],
  { language }: Grammar,
): void {
  for (const { form, isName, kind } of own.values()) {
    if (kind !== 'word') continue
    const isThere = terms.some(
      (other) =>
        other.kind === 'word' &&
        other.form !== form &&
        isInflection(form, other.form, language, isName),
    )
    if (isThere) own.delete(form)
  }
}
