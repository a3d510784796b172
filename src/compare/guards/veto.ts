/**
 * What must not be merged however alike it looks: pure functions of two texts that name what differs.
 *
 * A model of meaning puts "from Bob to Alice" beside "from Alice to Bob", and shingles put "take 10 mg" beside
 * "take 50 mg". A guard never says that two texts are the same; it only says why they are not.
 *
 * By meaning, one text may say more than the other: a guard keeps apart what speaks of the same kind of thing and
 * differs. Near duplicates share their wording, so there a short text must have the very same facts (which makes the
 * comparison transitive), and in a longer one no fact may be replaced by another.
 */

import * as v from 'valibot'

import { flag, readOptions } from '../../platform/options.ts'
import { contentDifference, differingCount, grammarOf, isShort } from './content.ts'
import { denied, replaced } from './context.ts'
import { type NamePair, replacedNames, swapped, swappedNames } from './names.ts'
import { orderDifference } from './order.ts'
import { differingParts } from './long.ts'
import { Reading, readingOf } from './reading.ts'
import { isMistyped } from './typo.ts'

/** Which guards are asked. What is left out has the default of the basis. */
export interface GuardOptions {
  /** Different numbers. */
  readonly numbers?: boolean | undefined
  /** One denies what the other asserts. */
  readonly negation?: boolean | undefined
  /** The same number of different things. */
  readonly units?: boolean | undefined
  /** Different weekdays, months or days. */
  readonly dates?: boolean | undefined
  /** Different versions: 1.2.3 and 1.2.4, 2.0-rc1 and 2.0. */
  readonly versions?: boolean | undefined
  /** Different codes, hashes, paths, addresses or package names. */
  readonly identifiers?: boolean | undefined
  /** A capitalised name stands where the other text has another. */
  readonly names?: boolean | undefined
  /** The same words in an order that changes who does what. */
  readonly order?: boolean | undefined
  /** A short text has a content word that the other has not. */
  readonly words?: boolean | undefined
  /** Words in scripts other than Latin differ: the built-in models hardly read them. */
  readonly script?: boolean | undefined
}

export const guardOptions = v.strictObject({
  numbers: v.optional(flag('Different numbers.')),
  negation: v.optional(flag('One denies what the other asserts.')),
  units: v.optional(flag('The same number of different things.')),
  dates: v.optional(flag('Different weekdays, months or days.')),
  versions: v.optional(flag('Different versions: 1.2.3 and 1.2.4, 2.0-rc1 and 2.0.')),
  identifiers: v.optional(flag('Different codes, hashes, paths, addresses or package names.')),
  names: v.optional(flag('A capitalised name stands where the other text has another.')),
  order: v.optional(flag('The same words in an order that changes who does what.')),
  words: v.optional(flag('A short text has a content word that the other has not.')),
  script: v.optional(
    flag('Words in scripts other than Latin differ: the built-in models hardly read them.'),
  ),
}) satisfies v.GenericSchema<GuardOptions>

export type GuardName = keyof GuardOptions
export type Guards = Readonly<Record<GuardName, boolean>>

/** Why two texts are not the same. */
export interface Veto {
  readonly guard: GuardName
  /** What only the first text has, or has there. */
  readonly a: readonly string[]
  readonly b: readonly string[]
}

/** What made two texts candidates: the same wording, or the same meaning. */
export type Basis = 'near' | 'meaning'

/** Off where a guard prevents less than it costs, as measured by `npm run bench -- guards`. */
const OFF: Readonly<Record<Basis, readonly GuardName[]>> = {
  near: ['script'],
  // `names` costs more than it prevents too, but stores promise that they keep names apart.
  meaning: ['words'],
}

type Guard = (first: Reading, second: Reading) => Omit<Veto, 'guard'> | undefined

const byMeaning: Readonly<Record<GuardName, Guard>> = {
  numbers(first, second) {
    const own = valuesOf(first)
    const others = valuesOf(second)
    if (own.size === 0 || others.size === 0) return undefined
    return differing(without(own, others), without(others, own))
  },
  negation: byCount,
  units(first, second) {
    const own = unitsOf(first)
    const others = unitsOf(second)
    const apart = [...own].filter(([value, unit]) => (others.get(value) ?? unit) !== unit)
    if (apart.length === 0) return undefined
    return {
      a: apart.map(([value, unit]) => `${value} ${unit}`),
      b: apart.map(([value]) => `${value} ${others.get(value) ?? ''}`),
    }
  },
  dates(first, second) {
    for (const kind of ['weekday ', 'month ']) {
      const own = without(first.dates, second.dates).filter((date) => date.startsWith(kind))
      const others = without(second.dates, first.dates).filter((date) => date.startsWith(kind))
      if (own.length > 0 && others.length > 0) return { a: own, b: others }
    }
    return undefined
  },
  versions: (first, second) => bothDiffer(versionsOf(first), versionsOf(second)),
  identifiers: (first, second) => bothDiffer(identifiersOf(first), identifiersOf(second)),
  names: (first, second) => ofPairs(replacedNames(first, second)),
  order: (first, second) =>
    ofPairs([
      ...swappedNames(first, second),
      ...swapped(beforeNumbers(first), beforeNumbers(second)),
    ]),
  words: contentDifference,
  script(first, second) {
    if (first.foreign.join(' ') === second.foreign.join(' ')) return undefined
    const own = new Set(first.foreign)
    const others = new Set(second.foreign)
    return { a: without(own, others), b: without(others, own) }
  },
}

/** Of longer texts only what was replaced counts. */
const near: Readonly<Record<GuardName, Guard>> = {
  numbers: (first, second) =>
    isShort(first, second)
      ? unequal(countedValues(first), countedValues(second))
      : replaced(first, second, 'number'),
  negation: (first, second) =>
    isShort(first, second) ? byCount(first, second) : denied(first, second),
  units: (first, second) =>
    isShort(first, second)
      ? unequal(quantitiesOf(first), quantitiesOf(second))
      : replaced(first, second, 'unit'),
  dates: (first, second) =>
    isShort(first, second)
      ? unequal([...first.dates], [...second.dates])
      : replaced(first, second, 'date'),
  versions: (first, second) =>
    isShort(first, second)
      ? unequal(versionsOf(first), versionsOf(second))
      : replaced(first, second, 'version'),
  identifiers: (first, second) =>
    isShort(first, second)
      ? withoutTypos(unequal(identifiersOf(first), identifiersOf(second)))
      : replaced(first, second, 'identifier'),
  names(first, second) {
    const found = replaced(first, second, 'name')
    // In German every noun has a capital.
    return found && grammarOf(first, second).language === 'de' ? undefined : found
  },
  order: (first, second) =>
    isShort(first, second)
      ? orderDifference(first, second, grammarOf(first, second))
      : ofPairs(swappedNames(first, second)),
  words: contentDifference,
  script: byMeaning.script,
}

const guards: Readonly<Record<Basis, Readonly<Record<GuardName, Guard>>>> = {
  near,
  meaning: byMeaning,
}

// safe: the keys of a constant object literal.
export const guardNames = Object.freeze(Object.keys(byMeaning)) as readonly GuardName[]

/** All that keeps two texts apart; empty where nothing does. */
export function veto(
  a: string,
  b: string,
  options: GuardOptions = {},
  basis: Basis = 'meaning',
): Veto[] {
  const read = readGuards(options, basis)
  return a === b ? [] : vetoesOf(readingOf(a), readingOf(b), read, basis)
}

/** Reads which guards are asked, once, at the edge. */
export function readGuards(input: GuardOptions | false = {}, basis: Basis = 'meaning'): Guards {
  const given = input === false ? {} : readOptions(guardOptions, input, 'Which guards to ask')
  const isOn = (name: GuardName) => input !== false && !OFF[basis].includes(name)
  // safe: a key for every guard.
  return Object.fromEntries(guardNames.map((name) => [name, given[name] ?? isOn(name)])) as Record<
    GuardName,
    boolean
  >
}

/** The same for texts that were read before, once for many comparisons. */
export function vetoesOf(
  first: Reading,
  second: Reading,
  options: Guards,
  basis: Basis = 'meaning',
): Veto[] {
  const parts = basis === 'near' ? differingParts(first, second) : undefined
  const [own, other] = parts ? parts.map((part) => new Reading(part, true)) : [first, second]
  if (!own || !other) return []
  const vetoes = guardNames.flatMap((guard) => {
    const found = options[guard] ? guards[basis][guard](own, other) : undefined
    return found ? [{ guard, ...found }] : []
  })
  return basis === 'near' && isIncidental(vetoes, own, other) ? [] : vetoes
}

/** A long text of which much differs, facts among it, was edited all over: then these do not speak for themselves. */
function isIncidental(vetoes: readonly Veto[], first: Reading, second: Reading): boolean {
  if (vetoes.length === 0 || isShort(first, second)) return false
  const facts = vetoes.reduce((sum, { a, b }) => sum + Math.max(a.length, b.length), 0)
  return facts * 2 < differingCount(first, second)
}

function byCount(first: Reading, second: Reading): Omit<Veto, 'guard'> | undefined {
  if (first.negations === second.negations) return undefined
  return { a: [String(first.negations)], b: [String(second.negations)] }
}

/** Each has what the other has not. */
function bothDiffer(
  first: readonly string[],
  second: readonly string[],
): Omit<Veto, 'guard'> | undefined {
  const a = without(new Set(first), new Set(second))
  const b = without(new Set(second), new Set(first))
  return a.length > 0 && b.length > 0 ? { a, b } : undefined
}

/** Not the same facts, each as often. */
function unequal(
  first: readonly string[],
  second: readonly string[],
): Omit<Veto, 'guard'> | undefined {
  return differing(surplus(first, second), surplus(second, first))
}

function withoutTypos(found: Omit<Veto, 'guard'> | undefined): Omit<Veto, 'guard'> | undefined {
  if (found?.a.length !== found?.b.length) return found
  return found?.a.every((one, at) => isMistyped(one, found.b[at] ?? '')) ? undefined : found
}

function surplus(own: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return own.filter((one) => {
    const at = left.indexOf(one)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** A bare 1 is as good as an article: it counts with a unit only. */
function countedValues({ numbers }: Reading): string[] {
  return numbers
    .filter(({ value, unit }) => value !== '1' || unit !== undefined)
    .map(({ value }) => value)
}

function quantitiesOf({ numbers }: Reading): string[] {
  return numbers.flatMap(({ value, unit }) => (unit === undefined ? [] : [`${value} ${unit}`]))
}

function versionsOf({ identified }: Reading): string[] {
  return identified.flatMap(({ kind, value }) => (kind === 'version' ? [value] : []))
}

function identifiersOf({ identified }: Reading): string[] {
  return identified.flatMap(({ kind, value }) => (kind === 'version' ? [] : [value]))
}

function valuesOf({ numbers }: Reading): ReadonlySet<string> {
  return new Set(numbers.map(({ value }) => value))
}

/** Of numbers that come with one unit only. */
function unitsOf({ numbers }: Reading): ReadonlyMap<string, string> {
  const units = new Map<string, string>()
  const unsure = new Set<string>()
  for (const { value, unit } of numbers) {
    if (unit === undefined) continue
    if ((units.get(value) ?? unit) !== unit) unsure.add(value)
    units.set(value, unit)
  }
  for (const value of unsure) units.delete(value)
  return units
}

function beforeNumbers({ numbers }: Reading): ReadonlyMap<string, string> {
  const seen = new Map<string, string>()
  const twice = new Set<string>()
  for (const { value, before } of numbers) {
    if (seen.has(value)) twice.add(value)
    seen.set(value, before)
  }
  for (const value of twice) seen.delete(value)
  return seen
}

function without(own: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...own].filter((one) => !others.has(one))
}

function differing(a: string[], b: string[]): { a: string[]; b: string[] } | undefined {
  return a.length === 0 && b.length === 0 ? undefined : { a, b }
}

function ofPairs(pairs: readonly NamePair[]): { a: string[]; b: string[] } | undefined {
  if (pairs.length === 0) return undefined
  return { a: pairs.map(({ a }) => a), b: pairs.map(({ b }) => b) }
}
