/**
 * Which passages of two texts are in both, and how much of each text they are.
 *
 * A passage is at least PASSAGE_UNITS_MIN units (words; code points of scripts without spaces) that the other text has
 * in the same order. Case, accents, white space and punctuation make no difference. Places are bytes of the texts as
 * they were given. Not here: which texts are worth comparing (match/).
 */

import { PASSAGE_UNITS, passageHashes, type TextUnits, textUnits } from '../fingerprint/index.ts'

/** A part of a text: bytes, from the first to behind the last. */
export interface Passage {
  readonly start: number
  readonly end: number
}

/** Shorter ones are taken for chance: it takes three shingles in a row. */
const PASSAGE_UNITS_MIN = PASSAGE_UNITS + 2

/** A text to be compared with others. What it needs is computed once. */
export class PassageText {
  readonly #text: Uint8Array
  #read: TextUnits | undefined
  #shingles: Uint32Array | undefined
  #known: ShingleSet | undefined

  constructor(text: Uint8Array) {
    this.#text = text
  }

  get units(): number {
    return this.#units.hashes.length
  }

  /** Bytes it holds on to once it was compared. */
  get weight(): number {
    return this.#text.byteLength + this.units * 28
  }

  /** How much of it is in the other text, of its units: from 0 to 1. */
  shareIn(other: PassageText): number {
    let covered = 0
    for (const { from, end } of this.#runs(other)) covered += end - from
    return this.units === 0 ? 0 : covered / this.units
  }

  /** The passages of this text that the other has, in their order; at most the first `most`. */
  passagesIn(other: PassageText, most = Infinity): Passage[] {
    const { starts, ends } = this.#units
    const passages: Passage[] = []
    for (const { from, end } of this.#runs(other)) {
      if (passages.length >= most) break
      passages.push({ start: starts[from] ?? 0, end: ends[end - 1] ?? 0 })
    }
    return passages
  }

  /** Runs of units whose shingles the other text has. */
  *#runs(other: PassageText): Generator<{ readonly from: number; readonly end: number }> {
    const shingles = this.#hashes()
    const known = other.#set()
    let from = -1
    let end = -1
    for (let at = 0; at < shingles.length; at++) {
      if (!known.has(shingles[at] ?? 0)) continue
      if (at > end) {
        if (end - from >= PASSAGE_UNITS_MIN) yield { from, end }
        from = at
      }
      end = at + PASSAGE_UNITS
    }
    if (end - from >= PASSAGE_UNITS_MIN) yield { from, end }
  }

  get #units(): TextUnits {
    this.#read ??= textUnits(this.#text)
    return this.#read
  }

  #hashes(): Uint32Array {
    this.#shingles ??= passageHashes(this.#units.hashes)
    return this.#shingles
  }

  #set(): ShingleSet {
    this.#known ??= new ShingleSet(this.#hashes())
    return this.#known
  }
}

/** Hashes by open addressing: several times faster than a Set to make, and to ask. */
class ShingleSet {
  readonly #slots: Uint32Array
  readonly #mask: number
  #hasZero = false

  constructor(hashes: Uint32Array) {
    this.#mask = 2 ** (33 - Math.clz32(hashes.length)) - 1
    this.#slots = new Uint32Array(this.#mask + 1)
    for (const hash of hashes) {
      if (hash === 0) this.#hasZero = true
      else this.#slots[this.#slotOf(hash)] = hash
    }
  }

  has(hash: number): boolean {
    return hash === 0 ? this.#hasZero : this.#slots[this.#slotOf(hash)] === hash
  }

  #slotOf(hash: number): number {
    let slot = hash & this.#mask
    while (this.#slots[slot] !== 0 && this.#slots[slot] !== hash) slot = (slot + 1) & this.#mask
    return slot
  }
}
