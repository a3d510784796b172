/**
 * Names: capitalised words. Two texts conflict where one has a name in the place in which
 * the other has a different one, or where two names have changed places.
 *
 * A name that only one text mentions is no conflict: texts say more or less of the same thing. A place is the word
 * before or the word after; an acronym and a short form are the same name.
 */

import type { Lexicon } from './lexicon.ts'
import type { Reading } from './reading.ts'
import { NO_WORD, type Words } from './words.ts'

const START = '^'
const END = '$'
/** Texts that share so much of their words say the same thing in the same way: there one neighbour is a place. */
const CLOSE = 0.6

interface Place {
  readonly before: string
  readonly after: string
}

export interface NamePair {
  readonly a: string
  readonly b: string
}

/** Names that stand in each other's place. */
export function replacedNames(first: Reading, second: Reading): NamePair[] {
  const own = strangers(first, second)
  const others = strangers(second, first)
  if (own.length === 0 || others.length === 0) return []
  const isClose = shareOf(first.plain, second.plain) >= CLOSE
  const places = placesOf(first, own)
  const otherPlaces = placesOf(second, others)
  return own.flatMap((a) =>
    others
      .filter((b) => !isSameName(a, b, first, second))
      .filter((b) =>
        (places.get(a) ?? []).some((one) => isAmong(one, otherPlaces.get(b) ?? [], isClose)),
      )
      .map((b) => ({ a, b })),
  )
}

/** The names of one text that the other does not have at all. */
function strangers({ names }: Reading, { plain }: Reading): string[] {
  return [...new Set(names)].filter((name) => !plain.has(name))
}

function placesOf({ words }: Reading, names: readonly string[]): ReadonlyMap<string, Place[]> {
  const places = new Map<string, Place[]>(names.map((name) => [name, []]))
  words.forEach(({ plain, isFirst }, at) => {
    const known = places.get(plain)
    if (!known) return
    const next = words[at + 1]
    known.push({
      before: isFirst ? START : (words[at - 1]?.plain ?? START),
      after: next === undefined || next.isFirst ? END : next.plain,
    })
  })
  return places
}

function isAmong(place: Place, others: readonly Place[], isClose: boolean): boolean {
  return others.some(({ before, after }) => {
    const isBehind = place.before !== START && place.before === before
    const isBefore = place.after !== END && place.after === after
    const isBetween = place.before === before && place.after === after
    return (isClose || isBetween) && (isBehind || isBefore)
  })
}

function shareOf(own: ReadonlySet<string>, others: ReadonlySet<string>): number {
  let shared = 0
  for (const word of own) if (others.has(word)) shared++
  return shared / Math.max(1, own.size + others.size - shared)
}

/** A short form (Adm., Fallujah), or the initials of neighbouring words (SEC). */
function isSameName(a: string, b: string, first: Reading, second: Reading): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a]
  if (long.startsWith(short)) return true
  return hasInitials(first, b) || hasInitials(second, a)
}

function hasInitials({ words }: Reading, name: string): boolean {
  const letters = name.replaceAll('.', '')
  if (letters.length < 2 || letters.length > 5) return false
  const initials = words.filter(({ isCapitalised }) => isCapitalised).map(({ plain }) => plain[0])
  return initials.join('').includes(letters)
}

/** Pairs of names of both texts that stand in each other's place: from Bob to Alice, from Alice to Bob. */
export function swappedNames(first: Reading, second: Reading): NamePair[] {
  const own = first.wordList
  const others = second.wordList.in(own.lexicon)
  const capitals = capitalsOf(own)
  const otherCapitals = capitalsOf(others)
  const shared = new Set<number>()
  for (const words of [own, others]) {
    for (let at = 0; at < words.length; at++) {
      const name = words.plainAt(at)
      if (words.isNameAt(at) && capitals.has(name) && otherCapitals.has(name)) shared.add(name)
    }
  }
  if (shared.size < 2) return []
  const [before, now] = [befores(own, shared), befores(others, shared)]
  const moved = [...before].filter(([name, word]) => (now.get(name) ?? word) !== word)
  return moved.length < 2 ? [] : swapped(named(before, own.lexicon), named(now, own.lexicon))
}

function capitalsOf(words: Words): ReadonlySet<number> {
  const capitals = new Set<number>()
  for (let at = 0; at < words.length; at++) {
    if (words.isCapitalisedAt(at)) capitals.add(words.plainAt(at))
  }
  return capitals
}

/** The word before each name that is mentioned once. */
function befores(words: Words, names: ReadonlySet<number>): ReadonlyMap<number, number> {
  const once = new Map<number, number>()
  const twice = new Set<number>()
  // Most words are passed over by one bit of their ids.
  let bits = 0
  for (const name of names) {
    once.set(name, NO_WORD)
    bits |= 1 << name
  }
  const seen = new Set<number>()
  for (let at = 0; at < words.length; at++) {
    const name = words.plainAt(at)
    if ((bits & (1 << name)) === 0 || !names.has(name)) continue
    if (seen.has(name)) twice.add(name)
    seen.add(name)
    once.set(name, words.beforeAt(at))
  }
  for (const name of twice) once.delete(name)
  return once
}

function named(befores: ReadonlyMap<number, number>, lexicon: Lexicon): Map<string, string> {
  const form = (id: number) => (id === NO_WORD ? START : lexicon.form(id))
  return new Map(Array.from(befores, ([name, before]) => [form(name), form(before)]))
}

/** Things that were behind each other's words in the other text. */
export function swapped(
  first: ReadonlyMap<string, string>,
  second: ReadonlyMap<string, string>,
): NamePair[] {
  const pairs: NamePair[] = []
  const behind = new Map([...first].map(([name, before]) => [before, name]))
  for (const [a, before] of first) {
    const now = second.get(a)
    if (now === undefined || now === before) continue
    // Whoever stood there before, if it stands now where this one stood.
    const b = behind.get(now)
    if (b !== undefined && a < b && second.get(b) === before) pairs.push({ a, b })
  }
  return pairs
}
