/**
 * What has been replaced in a longer text. Longer near duplicates may say more or less than each other, and pages add
 * counters and dates to them; but a fact that stands between the same words as another one contradicts it.
 */

import type { Difference } from './content.ts'
import { type Reading, termsOfBoth } from './reading.ts'
import { SIGNS_BESIDE, type Terms } from './term-list.ts'
import { isMistyped, isVariant } from './typo.ts'

/** Words on either side that must be the same. */
const SIDE = 2
/** How far a word such as "page" reaches. */
const PAGE_SIDE = 4

export type FactKind = 'number' | 'unit' | 'date' | 'name' | 'version' | 'identifier'

/** Where the terms around are the same and the one between is not. */
export function replaced(first: Reading, second: Reading, kind: FactKind): Difference | undefined {
  const [own, others] = termsOfBoth(first, second)
  const inOwn = factsOf(own, kind)
  if (inOwn.length === 0) return undefined
  const inOthers = factsOf(others, kind)
  if (inOthers.length === 0) return undefined
  const places = new Places(own.signs, inOwn)
  const otherPlaces = new Places(others.signs, inOthers)
  const a: string[] = []
  const b: string[] = []
  for (const nth of places.single()) {
    const otherNth = otherPlaces.singleLike(own.signs, nth)
    if (otherNth === undefined) continue
    const term = own.at(own.places[nth] ?? 0)
    const other = others.at(others.places[otherNth] ?? 0)
    if (term.form === other.form) continue
    if (kind === 'name' && isVariant(term, other, undefined)) continue
    if (kind === 'identifier' && isMistyped(term.form, other.form)) continue
    a.push(term.form)
    b.push(other.form)
  }
  return a.length === 0 ? undefined : { a, b }
}

/** A denial in one text, where the other has the same words without it. */
export function denied(first: Reading, second: Reading): Difference | undefined {
  const [own, others] = termsOfBoth(first, second)
  const a = deniedPlaces(own, others)
  const b = deniedPlaces(others, own)
  return a.length === 0 && b.length === 0 ? undefined : { a, b }
}

/** Where facts are, among all terms but commas, without those that belong to the page. */
function factsOf(terms: Terms, kind: FactKind): readonly number[] {
  const { ofPage } = terms
  const facts = terms.nthsOf(kind)
  if (ofPage.length === 0 || facts.length === 0) return facts
  let beside = 0
  return facts.filter((nth) => {
    while ((ofPage[beside] ?? Infinity) < nth - PAGE_SIDE) beside++
    return (ofPage[beside] ?? Infinity) >= nth + PAGE_SIDE
  })
}

/** Terms by the words before and behind, with facts masked: several may have changed side by side. */
class Places {
  readonly #signs: Int32Array
  /** Where a term is that stands in such a place, the first of its kind. */
  readonly #first: number[] = []
  readonly #isTwice: boolean[] = []
  readonly #slots: Int32Array

  constructor(signs: Int32Array, terms: readonly number[]) {
    this.#signs = signs
    this.#slots = new Int32Array(2 << (32 - Math.clz32(terms.length)))
    for (const nth of terms) this.#add(nth)
  }

  /** Those between words that no other stands between, in order. */
  single(): number[] {
    return this.#first.filter((_nth, at) => !this.#isTwice[at])
  }

  /** The only one that stands between the same words. */
  singleLike(signs: Int32Array, nth: number): number | undefined {
    const found = this.#slots[this.#slotOf(signs, nth, nth + 1)] ?? 0
    return found === 0 || this.#isTwice[found - 1] ? undefined : this.#first[found - 1]
  }

  /** The first that stands between the same words as what is from `start` to `end`. */
  firstLike(signs: Int32Array, start: number, end: number): number | undefined {
    const found = this.#slots[this.#slotOf(signs, start, end)] ?? 0
    return this.#first[found - 1]
  }

  #add(nth: number): void {
    const slot = this.#slotOf(this.#signs, nth, nth + 1)
    const found = this.#slots[slot] ?? 0
    if (found > 0) {
      this.#isTwice[found - 1] = true
      return
    }
    this.#isTwice.push(false)
    this.#slots[slot] = this.#first.push(nth)
  }

  /** Of a place, or where it would be. */
  #slotOf(signs: Int32Array, start: number, end: number): number {
    const mask = this.#slots.length - 1
    for (let slot = placeHash(signs, start, end) & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot] ?? 0
      if (found === 0) return slot
      const nth = this.#first[found - 1] ?? 0
      if (isSamePlace(this.#signs, nth, signs, start, end)) return slot
    }
  }
}

// Signs begin with those of the edge: the sign of a term is so many places behind it.
const BEFORE = SIGNS_BESIDE - SIDE

function placeHash(signs: Int32Array, start: number, end: number): number {
  let hash = 0
  for (let step = 0; step < SIDE; step++) {
    hash = Math.imul(hash ^ (signs[start + BEFORE + step] ?? 0), 0x9e3779b1)
    hash = Math.imul(hash ^ (signs[end + SIGNS_BESIDE + step] ?? 0), 0x85ebca6b)
  }
  return hash ^ (hash >>> 15)
}

function isSamePlace(
  own: Int32Array,
  nth: number,
  signs: Int32Array,
  start: number,
  end: number,
): boolean {
  for (let step = 0; step < SIDE; step++) {
    if (own[nth + BEFORE + step] !== signs[start + BEFORE + step]) return false
    if (own[nth + 1 + SIGNS_BESIDE + step] !== signs[end + SIGNS_BESIDE + step]) return false
  }
  return true
}

function deniedPlaces(own: Terms, others: Terms): string[] {
  const denials = own.nthsOf('negation')
  if (denials.length === 0) return []
  const { signs, places: ownPlaces } = own
  // Most places are passed over because no denial stands behind such a word: a bit for each of a few words.
  let before = 0
  for (const nth of denials) before |= bitOf(signs, nth)
  const places = new Places(signs, denials)
  const found = new Set<number | undefined>()
  const { signs: otherSigns } = others
  const isDenial = new Set(others.nthsOf('negation'))
  for (let nth = 0; nth < others.places.length; nth++) {
    if ((before & bitOf(otherSigns, nth)) === 0) continue
    found.add(places.firstLike(otherSigns, nth, nth))
    // One word in the place of the denial: ein for kein.
    if (!isDenial.has(nth)) found.add(places.firstLike(otherSigns, nth, nth + 1))
  }
  return denials
    .filter((nth) => found.has(places.firstLike(signs, nth, nth + 1)))
    .map((nth) => own.at(ownPlaces[nth] ?? 0).form)
}

/** Of the sign before a term. */
function bitOf(signs: Int32Array, nth: number): number {
  return 1 << (signs[nth + SIGNS_BESIDE - 1] ?? 0)
}
