/**
 * What must not be merged however near its vectors lie: pure functions of two texts that name what differs.
 *
 * A model of meaning puts "from Bob to Alice" beside "from Alice to Bob", and 1,500 beside 1,600. A guard never says
 * that two texts are the same; it only says why they are not. In doubt it keeps them apart where both speak of the
 * same kind of thing, and lets one text say more than the other.
 */

import * as v from 'valibot'

import { flag, readOptions } from '../../platform/options.ts'
import { type NamePair, replacedNames, swapped, swappedNames } from './names.ts'
import { type Reading, readingOf } from './reading.ts'

/** Which guards are asked. Default: all. */
export interface GuardOptions {
  /** Both have numbers, and not the same ones. */
  readonly numbers?: boolean | undefined
  /** One denies more often than the other. */
  readonly negation?: boolean | undefined
  /** The same number counts different things. */
  readonly units?: boolean | undefined
  /** Different weekdays or months. */
  readonly dates?: boolean | undefined
  /** A name stands where the other text has another. */
  readonly names?: boolean | undefined
  /** Two names or two numbers have changed places. */
  readonly order?: boolean | undefined
  /** Words in scripts other than Latin differ: the built-in models hardly read them. */
  readonly script?: boolean | undefined
}

export const guardOptions = v.strictObject({
  numbers: v.optional(flag('Both have numbers, and not the same ones.'), true),
  negation: v.optional(flag('One denies more often than the other.'), true),
  units: v.optional(flag('The same number counts different things.'), true),
  dates: v.optional(flag('Different weekdays or months.'), true),
  names: v.optional(flag('A name stands where the other text has another.'), true),
  order: v.optional(flag('Two names or two numbers have changed places.'), true),
  script: v.optional(
    flag('Words in scripts other than Latin differ: the built-in models hardly read them.'),
    true,
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

type Guard = (first: Reading, second: Reading) => Omit<Veto, 'guard'> | undefined

const guards: Readonly<Record<GuardName, Guard>> = {
  numbers(first, second) {
    const own = valuesOf(first)
    const others = valuesOf(second)
    if (own.size === 0 || others.size === 0) return undefined
    return differing(without(own, others), without(others, own))
  },
  negation(first, second) {
    if (first.negations === second.negations) return undefined
    return { a: [String(first.negations)], b: [String(second.negations)] }
  },
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
  names: (first, second) => ofPairs(replacedNames(first, second)),
  order: (first, second) =>
    ofPairs([
      ...swappedNames(first, second),
      ...swapped(beforeNumbers(first), beforeNumbers(second)),
    ]),
  script(first, second) {
    if (first.foreign.join(' ') === second.foreign.join(' ')) return undefined
    const own = new Set(first.foreign)
    const others = new Set(second.foreign)
    return { a: without(own, others), b: without(others, own) }
  },
}

// safe: the keys of a constant object literal.
export const guardNames = Object.freeze(Object.keys(guards)) as readonly GuardName[]

/** All that keeps two texts apart; empty where nothing does. */
export function veto(a: string, b: string, options: GuardOptions = {}): Veto[] {
  const read = readOptions(guardOptions, options, 'Which guards to ask')
  return a === b ? [] : vetoesOf(readingOf(a), readingOf(b), read)
}

/** Reads which guards are asked, once, at the edge. */
export function readGuards(input: GuardOptions | false = {}): Guards {
  if (input !== false) return readOptions(guardOptions, input, 'Which guards to ask')
  // safe: a key for every guard.
  return Object.fromEntries(guardNames.map((name) => [name, false])) as Record<GuardName, boolean>
}

/** The same for texts that were read before, once for many comparisons. */
export function vetoesOf(first: Reading, second: Reading, options: Guards): Veto[] {
  return guardNames.flatMap((guard) => {
    const found = options[guard] ? guards[guard](first, second) : undefined
    return found ? [{ guard, ...found }] : []
  })
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
