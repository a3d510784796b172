/** Edits as people make them, and whether a search would find the edited text. Lengths are in code points. */

import { canonicalProfile } from '../../src/canonical/index.ts'
import {
  jaccard,
  profilesOf,
  shingleHashes,
  type ShingleProfile,
} from '../../src/fingerprint/index.ts'
import type { Random, ScriptText } from './script-texts.ts'

const unicode = canonicalProfile('unicode')

/** A text in canonical form and what a search needs of it. */
export interface Measured {
  readonly form: Uint8Array
  readonly profiles: readonly [ShingleProfile, ...ShingleProfile[]]
}

export function measured(text: string, profile: ShingleProfile, threshold: number): Measured {
  const form = unicode.canonicalise(Buffer.from(text))
  return { form, profiles: profilesOf(form, profile, threshold) }
}

/** By the profile the stored text is kept under; 0 if the search does not look there. */
export function searchedSimilarity(stored: Measured, asked: Measured): number {
  const [own] = stored.profiles
  if (!asked.profiles.includes(own)) return 0
  return jaccard(shingleHashes(stored.form, own), shingleHashes(asked.form, own))
}

export type EditName =
  | 'one typo'
  | '5 % of words'
  | 'sentence added'
  | 'sentence removed'
  | 'ends cut'
  | 'paragraph moved'

/** Takes pieces of one running text and edits them; what is put in comes from the same text. */
export class Editor {
  readonly #points: readonly string[]
  readonly #words: readonly string[]
  readonly #wordLength: number | undefined
  readonly #random: Random

  constructor({ text, wordLength }: ScriptText, random: Random) {
    this.#points = Array.from(text)
    this.#words = text.match(WORD) ?? []
    this.#wordLength = wordLength
    this.#random = random
  }

  get length(): number {
    return this.#points.length
  }

  piece(length: number): string {
    const start = this.#random.below(this.#points.length - length)
    return this.pieceAt(start, length)
  }

  pieceAt(start: number, length: number): string {
    return this.#points.slice(start, start + length).join('')
  }

  edit(text: string, name: EditName): string {
    const points = Array.from(text)
    const { length } = points
    const part = Math.max(1, Math.round(length * 0.08))
    const at = this.#random.below(length - part)
    const fifth = Math.floor(length / 5)
    const between = (from: number, end = length) => points.slice(from, end).join('')
    const edits: Readonly<Record<EditName, () => string>> = {
      'one typo': () => this.#typo(points),
      '5 % of words': () => this.#replaceWords(text, points),
      'sentence added': () => between(0, at) + this.piece(part) + between(at),
      'sentence removed': () => between(0, at) + between(at + part),
      'ends cut': () => between(part >> 1, length - (part >> 1)),
      'paragraph moved': () => between(0, fifth) + between(fifth * 2) + between(fifth, fifth * 2),
    }
    return edits[name]()
  }

  /** A letter left out, doubled, or another in its place. */
  #typo(points: readonly string[]): string {
    const at = this.#random.below(points.length)
    const letter = points[at]!
    const other = this.#other(letter, () => this.#points[this.#random.below(this.#points.length)]!)
    const typo = ['', letter + letter, other][this.#random.below(3)]!
    return [...points.slice(0, at), typo, ...points.slice(at + 1)].join('')
  }

  #replaceWords(text: string, points: readonly string[]): string {
    if (this.#wordLength !== undefined) return this.#replaceRuns(points, this.#wordLength)
    const places = [...text.matchAll(WORD)]
    let edited = text
    const chosen = this.#some(places.length).toSorted((one, other) => other - one)
    for (const at of chosen) {
      const { 0: word, index } = places[at]!
      const other = this.#other(word, () => this.#words[this.#random.below(this.#words.length)]!)
      edited = edited.slice(0, index) + other + edited.slice(index + word.length)
    }
    return edited
  }

  #replaceRuns(points: readonly string[], length: number): string {
    const edited = [...points]
    for (const at of this.#some(Math.floor(points.length / length))) {
      edited.splice(at * length, length, ...Array.from(this.piece(length)))
    }
    return edited.join('')
  }

  /** One in twenty, at least one. */
  #some(count: number): number[] {
    const wanted = Math.min(count, Math.max(1, Math.round(count * 0.05)))
    const chosen = new Set<number>()
    while (chosen.size < wanted) chosen.add(this.#random.below(count))
    return [...chosen]
  }

  #other(one: string, next: () => string): string {
    let other = next()
    for (let tries = 0; other === one && tries < 100; tries++) other = next()
    return other
  }
}

const WORD = /[\p{L}\p{N}\p{M}_]+/gu
