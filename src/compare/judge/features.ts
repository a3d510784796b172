/**
 * What a judge looks at: numbers about two texts, the same in both orders.
 *
 * A side is read once and compared with many: its sets of shingles and what guards read are made when they are first
 * needed, and kept. Shingles are of fixed profiles, whatever a store cuts its texts by, so that a judge means the same
 * everywhere.
 */

import {
  sharedCount,
  shingleHashes,
  type TextInput,
  textMeasures,
} from '../../fingerprint/index.ts'
import { canonicalText } from '../compare-texts.ts'
import { type Reading, readingOf } from '../guards/reading.ts'
import { type GuardName, guardNames, type Guards, vetoesOf } from '../guards/veto.ts'

/** More of a hundred code points than this belong to scripts that do not separate words. */
const UNSPACED_PERCENT = 30

/** One text, read for comparing it with others. */
export class Judged {
  readonly canonical: Uint8Array
  readonly codePoints: number
  readonly isUnspaced: boolean
  readonly #input: TextInput
  #chars: Uint32Array | undefined
  #words: Uint32Array | undefined
  #points: Uint32Array | undefined
  #reading: Reading | undefined
  #numbers: ReadonlySet<string> | undefined
  #names: ReadonlySet<string> | undefined

  constructor(input: TextInput) {
    this.#input = input
    this.canonical = canonicalText(input, 'unicode')
    const { codePoints, unspaced } = textMeasures(this.canonical).counts()
    this.codePoints = codePoints
    this.isUnspaced = unspaced * 100 > codePoints * UNSPACED_PERCENT
  }

  get chars(): Uint32Array {
    return (this.#chars ??= shingleHashes(this.canonical, 'chars-3'))
  }

  /** Where words are not separated, pairs of code points take their place. */
  words(isUnspaced: boolean): Uint32Array {
    if (isUnspaced) return (this.#points ??= shingleHashes(this.canonical, 'codepoints-2'))
    return (this.#words ??= shingleHashes(this.canonical, 'words-1'))
  }

  get reading(): Reading {
    return (this.#reading ??= readingOf(
      typeof this.#input === 'string' ? this.#input : Buffer.from(this.#input).toString(),
    ))
  }

  get numbers(): ReadonlySet<string> {
    return (this.#numbers ??= new Set(this.reading.numbers.map(({ value }) => value)))
  }

  get names(): ReadonlySet<string> {
    return (this.#names ??= new Set(this.reading.names))
  }
}

/** Reads a text for judging, unless that was done before. */
export function judged(text: TextInput | Judged): Judged {
  return text instanceof Judged ? text : new Judged(text)
}

interface Feature {
  /** For people. */
  readonly label: string
  /** A higher value never lowers the probability (1), never raises it (-1), or either (0). */
  readonly sign: -1 | 0 | 1
  /** 1 or 0. */
  readonly isFlag?: boolean
}

const measured = {
  'jaccard-chars': { label: 'characters in common (Jaccard)', sign: 1 },
  'jaccard-words': { label: 'words in common (Jaccard)', sign: 1 },
  'containment-max': { label: 'words of the shorter in the longer', sign: 1 },
  'containment-min': { label: 'words of the longer in the shorter', sign: 1 },
  'length-ratio': { label: 'ratio of the lengths', sign: 0 },
  length: { label: 'length of the longer (logarithm)', sign: 0 },
  numbers: { label: 'numbers in common', sign: 1 },
  names: { label: 'names in common', sign: 1 },
  cosine: { label: 'cosine of the meaning', sign: 1 },
} as const satisfies Record<string, Feature>

type MeasuredName = keyof typeof measured
export type FeatureName = MeasuredName | `guard-${GuardName}`

/** Every feature that this version can measure. */
export const features: ReadonlyMap<string, Feature> = new Map<string, Feature>([
  ...Object.entries(measured),
  ...guardNames.map((guard): [string, Feature] => [
    `guard-${guard}`,
    { label: `the guard ${guard} keeps them apart`, sign: -1, isFlag: true },
  ]),
])

/** In the order of a model. */
export function featureNames(hasCosine: boolean): string[] {
  return [...features.keys()].filter((name) => hasCosine || name !== 'cosine')
}

/** Which features to measure, made once for a model. */
export interface MeasurePlan {
  readonly names: readonly string[]
  readonly guards: Guards
  readonly hasGuards: boolean
}

export function planOf(names: readonly string[]): MeasurePlan {
  const wanted = guardNames.filter((guard) => names.includes(`guard-${guard}`))
  // safe: a key for every guard.
  const guards = Object.fromEntries(
    guardNames.map((guard) => [guard, wanted.includes(guard)]),
  ) as Record<GuardName, boolean>
  return { names, guards, hasGuards: wanted.length > 0 }
}

/** The values in the order of the plan. */
export function measure(
  { names, guards, hasGuards }: MeasurePlan,
  a: Judged,
  b: Judged,
  cosine: number,
): number[] {
  const isUnspaced = a.isUnspaced || b.isUnspaced
  const [ownChars, otherChars] = [a.chars, b.chars]
  const [ownWords, otherWords] = [a.words(isUnspaced), b.words(isUnspaced)]
  const words = sharedCount(ownWords, otherWords)
  const longer = Math.max(a.codePoints, b.codePoints)
  const vetoes = hasGuards && !isSame(a, b) ? vetoesOf(a.reading, b.reading, guards, 'near') : []
  const values: Record<MeasuredName, number> = {
    'jaccard-chars': jaccardOf(sharedCount(ownChars, otherChars), ownChars, otherChars),
    'jaccard-words': jaccardOf(words, ownWords, otherWords),
    'containment-max': words / Math.max(1, Math.min(ownWords.length, otherWords.length)),
    'containment-min': words / Math.max(1, Math.max(ownWords.length, otherWords.length)),
    'length-ratio': Math.min(a.codePoints, b.codePoints) / Math.max(1, longer),
    length: Math.log(1 + longer) / 10,
    numbers: sharedOf(a.numbers, b.numbers),
    names: sharedOf(a.names, b.names),
    cosine,
  }
  return names.map((name) => {
    if (isMeasured(name)) return values[name]
    return vetoes.some(({ guard }) => `guard-${guard}` === name) ? 1 : 0
  })
}

function isMeasured(name: string): name is MeasuredName {
  return Object.hasOwn(measured, name)
}

function isSame(a: Judged, b: Judged): boolean {
  return Buffer.compare(a.canonical, b.canonical) === 0
}

function jaccardOf(shared: number, own: Uint32Array, other: Uint32Array): number {
  const members = own.length + other.length
  return members === 0 ? 0 : shared / (members - shared)
}

/** 1 where neither has any: then they do not differ in it. */
function sharedOf(own: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (own.size + other.size === 0) return 1
  let shared = 0
  for (const one of own) if (other.has(one)) shared++
  return shared / (own.size + other.size - shared)
}
