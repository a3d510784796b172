/**
 * Which id has which slot: 16 bytes on one side, a dense number on the other. 28 bytes an id.
 *
 * The slot of a released id is given to the next new one. Ids are ordered by their bytes; those the store
 * makes begin with a time, so the first in order is the oldest.
 */

import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { ChainedTables } from './chained-tables.ts'
import { mix } from './mix.ts'
import { rowInPage, uint32Rows } from './paged-rows.ts'

export const ID_BYTES = 16
const ID_WORDS = 4

export class SlotIds {
  /** A row a slot: the id, most significant word first; of a free slot, the next free one plus one. */
  readonly #words = uint32Rows(ID_WORDS)
  readonly #tables = new ChainedTables(1)
  readonly #asked = new Uint32Array(ID_WORDS)
  readonly #key = new Uint32Array(1)
  /** No id that was ever here is greater, so a greater one is new without a look: rows come in that order. */
  readonly #greatest = new Uint32Array(ID_WORDS)
  /** The first free slot plus one; 0 where all are taken. */
  #free = 0
  #size = 0
  #slots = 0

  get size(): number {
    return this.#size
  }

  /** Slots that were ever used: all slots are below. */
  get slots(): number {
    return this.#slots
  }

  get bytes(): number {
    return this.#words.bytes + this.#tables.bytes
  }

  find(id: Bytes): number | undefined {
    this.#ask(id)
    const slot = this.#findAsked()
    return slot < 0 ? undefined : slot
  }

  /** The slot of an id, which gets one if it has none. */
  take(id: Bytes): number {
    this.#ask(id)
    const isNew = this.#slots === 0 || compareWords(this.#asked, 0, this.#greatest, 0) > 0
    const known = isNew ? -1 : this.#findAsked()
    if (known >= 0) return known
    if (isNew) this.#greatest.set(this.#asked)
    const slot = this.#freeSlot()
    this.#words.page(slot).set(this.#asked, rowInPage(slot) * ID_WORDS)
    this.#tables.put(slot, this.#key)
    this.#size++
    return slot
  }

  release(slot: number): void {
    this.#tables.unlink(slot)
    this.#words.page(slot)[rowInPage(slot) * ID_WORDS] = this.#free
    this.#free = slot + 1
    this.#size--
  }

  isTaken(slot: number): boolean {
    return this.#tables.isLinked(slot)
  }

  idOf(slot: number): Buffer {
    const id = Buffer.allocUnsafe(ID_BYTES)
    const page = this.#words.page(slot)
    const row = rowInPage(slot) * ID_WORDS
    for (let word = 0; word < ID_WORDS; word++) id.writeUInt32BE(page[row + word] ?? 0, word * 4)
    return id
  }

  /** See `SimilarityTable.memory`. */
  *memory(isFilled: boolean): Generator<Uint8Array> {
    const counts = Uint32Array.of(this.#slots, this.#size, this.#free)
    yield new Uint8Array(counts.buffer)
    if (isFilled) {
      ;[this.#slots = 0, this.#size = 0, this.#free = 0] = counts
      this.#tables.make(this.#slots)
    }
    yield new Uint8Array(this.#greatest.buffer)
    yield* this.#words.memory(this.#slots)
    yield* this.#tables.memory()
  }

  /** As the ids' bytes compare. */
  compare(first: number, second: number): number {
    const row = rowInPage(first) * ID_WORDS
    const otherRow = rowInPage(second) * ID_WORDS
    return compareWords(this.#words.page(first), row, this.#words.page(second), otherRow)
  }

  /** Below 0 where there is none. */
  #findAsked(): number {
    let link = this.#tables.firstOf(this.#key[0] ?? 0)
    while (link !== 0) {
      const slot = link - 1
      const row = rowInPage(slot) * ID_WORDS
      if (compareWords(this.#words.page(slot), row, this.#asked, 0) === 0) return slot
      link = this.#tables.nextOf(slot)
    }
    return -1
  }

  /** Puts the words of an id and its key where the others find them. */
  #ask(id: Bytes): void {
    if (id.length !== ID_BYTES) {
      throw new PrestigeError('INVALID_VALUE', `An id has ${ID_BYTES} bytes, not ${id.length}.`)
    }
    let key = 0
    for (let word = 0; word < ID_WORDS; word++) {
      const at = word * 4
      const value =
        ((id[at] ?? 0) << 24) |
        ((id[at + 1] ?? 0) << 16) |
        ((id[at + 2] ?? 0) << 8) |
        (id[at + 3] ?? 0)
      this.#asked[word] = value
      key = mix((key + value) | 0)
    }
    this.#key[0] = key
  }

  #freeSlot(): number {
    if (this.#free > 0) {
      const slot = this.#free - 1
      this.#free = this.#words.page(slot)[rowInPage(slot) * ID_WORDS] ?? 0
      return slot
    }
    this.#words.reserve(this.#slots + 1)
    return this.#slots++
  }
}

function compareWords(own: Uint32Array, from: number, theirs: Uint32Array, start: number): number {
  for (let word = 0; word < ID_WORDS; word++) {
    const difference = (own[from + word] ?? 0) - (theirs[start + word] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
