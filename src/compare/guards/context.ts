/**
 * What has been replaced in a longer text. Longer near duplicates may say more or less than each other, and pages add
 * counters and dates to them; but a fact that stands between the same words as another one contradicts it.
 */

import type { Difference } from './content.ts'
import { PAGE_WORDS } from './languages.ts'
import type { Reading } from './reading.ts'
import type { Term } from './terms.ts'
import { isMistyped, isVariant } from './typo.ts'

/** Words on either side that must be the same. */
const SIDE = 2
/** How far a word such as "page" reaches. */
const PAGE_SIDE = 4

export type FactKind = 'number' | 'unit' | 'date' | 'name' | 'version' | 'identifier'

/** Where the terms around are the same and the one between is not. */
export function replaced(first: Reading, second: Reading, kind: FactKind): Difference | undefined {
  const hasSome = ({ terms }: Reading) => terms.some((term) => isKind(term, kind))
  if (!hasSome(first) || !hasSome(second)) return undefined
  const own = placesOf(first.terms, kind)
  const others = placesOf(second.terms, kind)
  const a: string[] = []
  const b: string[] = []
  for (const [place, term] of own) {
    const other = others.get(place)
    if (!term || !other || term.form === other.form) continue
    if (kind === 'name' && isVariant(term, other, undefined)) continue
    if (kind === 'identifier' && isMistyped(term.form, other.form)) continue
    a.push(term.form)
    b.push(other.form)
  }
  return a.length === 0 ? undefined : { a, b }
}

/** A denial in one text, where the other has the same words without it. */
export function denied(first: Reading, second: Reading): Difference | undefined {
  const a = deniedPlaces(first.terms, second.terms)
  const b = deniedPlaces(second.terms, first.terms)
  return a.length === 0 && b.length === 0 ? undefined : { a, b }
}

function isKind(term: Term, kind: FactKind): boolean {
  return kind === 'name' ? term.isName && term.kind === 'word' : term.kind === kind
}

/** Facts by the words around them; `undefined` where these occur twice. */
function placesOf(all: readonly Term[], kind: FactKind): ReadonlyMap<string, Term | undefined> {
  const terms = all.filter((term) => term.kind !== 'comma')
  const signs = terms.map(masked)
  const places = new Map<string, Term | undefined>()
  terms.forEach((term, at) => {
    if (!isKind(term, kind) || isOfPage(terms, at)) return
    const place = placeOf(signs, at, at + 1)
    places.set(place, places.has(place) ? undefined : term)
  })
  return places
}

/** The words before and behind, with facts masked: several may have changed side by side. */
function placeOf(signs: readonly string[], start: number, end: number): string {
  let place = ''
  for (let at = start - SIDE; at < start; at++) place += `${signs[at] ?? EDGE} `
  place += '|'
  for (let at = end; at < end + SIDE; at++) place += `${signs[at] ?? EDGE} `
  return place
}

const EDGE = '^'

function masked(term: Term): string {
  return term.kind === 'word' || term.kind === 'character' || term.kind === 'negation'
    ? term.form
    : `<${term.kind}>`
}

function isOfPage(terms: readonly Term[], at: number): boolean {
  const beside = terms.slice(Math.max(0, at - PAGE_SIDE), at + PAGE_SIDE)
  return beside.some(({ form }) => PAGE_WORDS.has(form))
}

function deniedPlaces(own: readonly Term[], others: readonly Term[]): string[] {
  if (!own.some(({ kind }) => kind === 'negation')) return []
  const isTerm = ({ kind }: Term) => kind !== 'comma'
  const terms = own.filter(isTerm)
  const signs = terms.map(masked)
  const rest = others.filter(isTerm)
  const otherSigns = rest.map(masked)
  const before = new Set(
    terms.flatMap(({ kind }, at) => (kind === 'negation' ? [signs[at - 1]] : [])),
  )
  const plain = new Set<string>()
  rest.forEach(({ kind }, at) => {
    if (!before.has(otherSigns[at - 1])) return
    plain.add(placeOf(otherSigns, at, at))
    // One word in the place of the denial: ein for kein.
    if (kind !== 'negation') plain.add(placeOf(otherSigns, at, at + 1))
  })
  return terms.flatMap(({ kind, form }, at) =>
    kind === 'negation' && plain.has(placeOf(signs, at, at + 1)) ? [form] : [],
  )
}
