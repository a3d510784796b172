/** Where texts are packed, by their digests: a hash table of 24 bytes a slot, because a state may have many millions. */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'

const WORDS = 4
const SLOTS_MIN = 1024
/** More full, and searches get long. */
const LOAD_MAX = 0.6
/** Places in one pack. */
const PACK_TEXTS = 0x1_00_00

export interface TextPlace {
  /** Key of the pack. */
  readonly pack: Buffer
  readonly at: number
}

export class TextPlaces {
  readonly #packs: Buffer[] = []
  #digests = new Uint32Array(SLOTS_MIN * WORDS)
  /** Number of the pack and place in it, plus one; 0: the slot is free. */
  #places = new Float64Array(SLOTS_MIN)
  #count = 0

  /** A pack with texts of these digests; `undefined`: there is no text in this place. */
  addPack(key: Buffer, digests: readonly (Bytes | undefined)[]): void {
    const first = this.#packs.length * PACK_TEXTS + 1
    this.#packs.push(Buffer.from(key))
    for (const [at, digest] of digests.entries()) if (digest) this.#add(wordsOf(digest), first + at)
  }

  find(digest: Bytes): TextPlace | undefined {
    const found = (this.#places[this.#slotOf(wordsOf(digest))] ?? 0) - 1
    const pack = found < 0 ? undefined : this.#packs[Math.floor(found / PACK_TEXTS)]
    return pack && { pack, at: found % PACK_TEXTS }
  }

  /** The first of several places stays. */
  #add(words: readonly number[], place: number): void {
    const slot = this.#slotOf(words)
    if (this.#places[slot] !== 0) return
    this.#places[slot] = place
    this.#digests.set(words, slot * WORDS)
    if (++this.#count > this.#places.length * LOAD_MAX) this.#grow()
  }

  /** The slot that has this digest, or that would. */
  #slotOf(words: readonly number[]): number {
    const mask = this.#places.length - 1
    let slot = (words[0] ?? 0) & mask
    while (this.#places[slot] !== 0 && !this.#isAt(slot, words)) slot = (slot + 1) & mask
    return slot
  }

  #isAt(slot: number, words: readonly number[]): boolean {
    return words.every((word, at) => this.#digests[slot * WORDS + at] === word)
  }

  #grow(): void {
    const [digests, places] = [this.#digests, this.#places]
    this.#digests = new Uint32Array(digests.length * 2)
    this.#places = new Float64Array(places.length * 2)
    for (const [slot, place] of places.entries()) {
      if (place === 0) continue
      const words = [...digests.subarray(slot * WORDS, (slot + 1) * WORDS)]
      const next = this.#slotOf(words)
      this.#places[next] = place
      this.#digests.set(words, next * WORDS)
    }
  }
}

function wordsOf(digest: Bytes): number[] {
  const bytes = asBuffer(digest)
  return [0, 4, 8, 12].map((at) => bytes.readUInt32LE(at))
}
