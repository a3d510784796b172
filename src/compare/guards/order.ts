/**
 * Who did what to whom: the same words in another order.
 *
 * Harmless are the items of a list in another order, and one phrase that has moved as a whole ("yesterday he came",
 * "he came yesterday"), and longer clauses in another order. Anything else changes who does what.
 */

import { type Difference, type Grammar, matchingOf } from './content.ts'
import { LIST_WORDS } from './languages.ts'
import type { Reading } from './reading.ts'
import type { Term } from './term-list.ts'

export function orderDifference(
  first: Reading,
  second: Reading,
  grammar: Grammar,
): Difference | undefined {
  const { pairs } = matchingOf(first, second, grammar)
  const renamed = second.terms.map((term) => ({ ...term, form: pairs.get(term.form) ?? term.form }))
  const [own, others] = shared(first.terms, renamed, grammar.articles)
  if (textOf(own) === textOf(others)) return undefined
  const start = prefixOf(own, others)
  if (start === own.length) return undefined
  const end = suffixOf(own, others, start)
  const [a, b] = [own.slice(start, own.length - end), others.slice(start, others.length - end)]
  const isList = isListed(own, start, own.length - end)
  if (isList && itemsOf(a) === itemsOf(b)) return undefined
  if (itemsOf(own) === itemsOf(others)) return undefined
  const [moved, passed] = [withoutCommas(a), withoutCommas(b)]
  if (isMove(moved, passed, pairs) || isRecast(moved, passed)) return undefined
  return { a: formsOf(a), b: formsOf(b) }
}

const textOf = (terms: readonly Term[]) => formsOf(terms).join(' ')

const formsOf = (terms: readonly Term[]) => withoutCommas(terms).map(({ form }) => form)

/** The terms of both texts that occur as often in the other, without articles. Commas stay. */
function shared(
  first: readonly Term[],
  second: readonly Term[],
  articles: ReadonlySet<string>,
): [Term[], Term[]] {
  const own = countsOf(first)
  const others = countsOf(second)
  const isShared = (term: Term) =>
    term.kind === 'comma' ||
    (!articles.has(term.form) && own.get(term.form) === others.get(term.form))
  return [first.filter(isShared), second.filter(isShared)]
}

function countsOf(terms: readonly Term[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { form } of terms) counts.set(form, (counts.get(form) ?? 0) + 1)
  return counts
}

function withoutCommas(terms: readonly Term[]): Term[] {
  return terms.filter(({ kind }) => kind !== 'comma')
}

function prefixOf(a: readonly Term[], b: readonly Term[]): number {
  let at = 0
  while (at < a.length && at < b.length && a[at]?.form === b[at]?.form) at++
  return at === Math.min(a.length, b.length) ? a.length : at
}

function suffixOf(a: readonly Term[], b: readonly Term[], start: number): number {
  let count = 0
  const most = Math.min(a.length, b.length) - start
  while (count < most && a.at(-1 - count)?.form === b.at(-1 - count)?.form) count++
  return count
}

const isConnector = (term: Term | undefined) =>
  term !== undefined && (term.kind === 'comma' || LIST_WORDS.has(term.form))

/** More than one comma, or one beside these terms or with a word such as "and": else it separates clauses. */
function isListed(terms: readonly Term[], start: number, end: number): boolean {
  const beside = terms.slice(Math.max(0, start - 1), end + 1)
  const connectors = beside.filter(isConnector)
  return connectors.length > 1 || connectors.some(({ kind }) => kind !== 'comma')
}

/** What commas and words such as "and" separate, in alphabetical order; empty where nothing is a list. */
function itemsOf(terms: readonly Term[]): string {
  const items: string[] = []
  let item: string[] = []
  for (const term of terms) {
    if (!isConnector(term)) item.push(term.form)
    else if (item.length > 0) {
      items.push(item.join(' '))
      item = []
    }
  }
  if (item.length > 0) items.push(item.join(' '))
  return items.toSorted().join('|')
}

/** One is the other with its first part behind the rest. A number or a denial that moves alone belongs to others then. */
function isMove(
  a: readonly Term[],
  b: readonly Term[],
  pairs: ReadonlyMap<string, string>,
): boolean {
  if (a.length !== b.length) return false
  const renamed = new Set(pairs.values())
  if (a.some(({ form }) => renamed.has(form))) return false
  for (let by = 1; by < a.length; by++) {
    if (!a.every(({ form }, at) => form === b[(at + a.length - by) % a.length]?.form)) continue
    const [moved, passed] = [a.slice(0, by), a.slice(by)]
    const areNames = isName(moved) && isName(passed)
    return !areNames && !isLoose(moved) && !isLoose(passed)
  }
  return false
}

function isLoose(block: readonly Term[]): boolean {
  return block.length === 1 && (block[0]?.kind === 'number' || block[0]?.kind === 'negation')
}

function isName(block: readonly Term[]): boolean {
  return block.every(({ isCapital }) => isCapital)
}

/** So long, it is a clause that has moved, and not a person or a thing. */
const BLOCK_TERMS = 4
const PERMUTED_TERMS = 12

/** Two longer parts in each other's place, such as a quotation and who said it. */
function isRecast(a: readonly Term[], b: readonly Term[]): boolean {
  for (let own = 1; own < a.length; own++) {
    if (a[own - 1]?.form !== b.at(-1)?.form || !isSame(a.slice(0, own), b.slice(-own))) continue
    for (let other = 1; own + other < a.length; other++) {
      if (!isSame(b.slice(0, other), a.slice(-other))) continue
      if (!isSame(a.slice(own, -other), b.slice(other, -own))) continue
      return Math.max(own, other) > BLOCK_TERMS
    }
  }
  return a.length > PERMUTED_TERMS
}

function isSame(a: readonly Term[], b: readonly Term[]): boolean {
  return a.length === b.length && a.every(({ form }, at) => form === b[at]?.form)
}
