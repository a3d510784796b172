/**
 * A sealed part of an index: which representatives have which key in which band, sorted and cut into pages that are
 * kept elsewhere. Here is only what tells which pages a search needs, if any: the first key of every page, and a
 * filter that most keys that are not there do not pass.
 *
 * Pages are in order of partition, band, key and number of the representative; an entry is a key and a number. Every
 * representative has one entry a band, so the number of representatives of a partition says where everything is.
 *
 * All of it is one piece of memory, which is kept as it is:
 * bands, entries of a page, bits of the filter an entry, number of partitions;
 * of every partition its sixteen bytes and the number of its representatives;
 * the first key of every page; the blocks of the filter.
 */

import { type Bytes, latin1 } from '../platform/bytes.ts'
import { mix } from './mix.ts'

export const ENTRY_WORDS = 2
/** An entry of fewer bits has a filter that lets too much pass to be worth its memory. */
const BITS_MIN = 5
const BITS_MAX = 12
const HEAD_WORDS = 4
const ID_BYTES = 16
const PART_WORDS = ID_BYTES / 4 + 1
/** A key sets one bit in each word of its block. */
const BLOCK_WORDS = 8
const BLOCK_BITS = BLOCK_WORDS * 32
const SALTS = Int32Array.from({ length: BLOCK_WORDS }, (_, word) => mix(word + 1) | 1)

/** The representatives of one partition. */
export interface SealedPart {
  readonly partition: Buffer
  readonly representatives: number
}

export interface SegmentLayout {
  readonly bands: number
  readonly pageEntries: number
  /** Of the filter, for an entry; 0: there is no filter. */
  readonly filterBits: number
  readonly parts: readonly SealedPart[]
}

/** Where the entries of a partition are. Those of a band follow those of the band before. */
export interface SealedPlace extends SealedPart {
  readonly firstPage: number
  /** Of each band. */
  readonly pages: number
  readonly firstBlock: number
  /** Of each band. */
  readonly blocks: number
}

/** Pages that may have a key, and how many entries at least have it. */
export interface PageRange {
  readonly from: number
  /** Exclusive. */
  readonly to: number
  readonly entriesMin: number
}

/** As many as fit into the memory, or none. */
export function filterBits(bytesMax: number, entries: number): number {
  const bits = Math.min(BITS_MAX, Math.floor((bytesMax * 8) / Math.max(1, entries)))
  return bits < BITS_MIN ? 0 : bits
}

function placesOf({ bands, pageEntries, filterBits: bits, parts }: SegmentLayout): SealedPlace[] {
  let firstPage = 0
  let firstBlock = 0
  return parts.map(({ partition, representatives }) => {
    const pages = Math.ceil(representatives / pageEntries)
    const blocks = Math.ceil((representatives * bits) / BLOCK_BITS)
    const place = { partition, representatives, firstPage, pages, firstBlock, blocks }
    firstPage += pages * bands
    firstBlock += blocks * bands
    return place
  })
}

export class BandSegment {
  readonly bands: number
  readonly pageEntries: number
  /** In order of their bytes. */
  readonly places: readonly SealedPlace[]
  readonly pages: number
  readonly representatives: number
  readonly #words: Uint32Array
  readonly #firstsAt: number
  readonly #filterAt: number
  readonly #length: number
  readonly #byName = new Map<string, SealedPlace>()

  private constructor(layout: SegmentLayout, words?: Uint32Array) {
    this.bands = layout.bands
    this.pageEntries = layout.pageEntries
    this.places = placesOf(layout)
    for (const place of this.places) this.#byName.set(latin1(place.partition), place)
    const last = this.places.at(-1)
    this.pages = last ? last.firstPage + last.pages * layout.bands : 0
    this.representatives = this.places.reduce(
      (sum, { representatives }) => sum + representatives,
      0,
    )
    const blocks = last ? last.firstBlock + last.blocks * layout.bands : 0
    this.#firstsAt = HEAD_WORDS + layout.parts.length * PART_WORDS
    this.#filterAt = this.#firstsAt + this.pages
    this.#length = this.#filterAt + blocks * BLOCK_WORDS
    this.#words = words ?? new Uint32Array(this.#length)
    if (!words) this.#writeLayout(layout)
  }

  /** To be filled by a `SegmentWriter`. */
  static empty(layout: SegmentLayout): BandSegment {
    return new BandSegment(layout)
  }

  /** `undefined` if it is not the memory of one. It is not copied. */
  static of(memory: Uint32Array): BandSegment | undefined {
    const [bands = 0, pageEntries = 0, bits = 0, count = 0] = memory
    if (memory.length < HEAD_WORDS + count * PART_WORDS) return undefined
    const parts: SealedPart[] = []
    for (let at = HEAD_WORDS; parts.length < count; at += PART_WORDS) {
      const partition = Buffer.from(memory.slice(at, at + PART_WORDS - 1).buffer)
      parts.push({ partition, representatives: memory[at + PART_WORDS - 1] ?? 0 })
    }
    const segment = new BandSegment({ bands, pageEntries, filterBits: bits, parts }, memory)
    return segment.memory.length === segment.#length ? segment : undefined
  }

  get memory(): Uint32Array {
    return this.#words
  }

  get bytes(): number {
    return this.#words.byteLength
  }

  place(partition: string): SealedPlace | undefined {
    return this.#byName.get(partition)
  }

  /** Where a key may be in a band; `undefined`: it is not there. */
  find(place: SealedPlace, band: number, key: number): PageRange | undefined {
    if (!this.#passes(place, band, key)) return undefined
    const start = this.#firstsAt + place.firstPage + band * place.pages
    const end = start + place.pages
    const after = this.#firstAbove(start, end, key)
    if (after === start) return undefined
    const from = Math.max(start, this.#firstAbove(start, end, key - 1) - 1)
    const entriesMin = Math.max(0, after - from - 2) * this.pageEntries
    return { from: from - this.#firstsAt, to: after - this.#firstsAt, entriesMin }
  }

  firstKey(page: number): number {
    return this.#words[this.#firstsAt + page] ?? 0
  }

  setFirstKey(page: number, key: number): void {
    this.#words[this.#firstsAt + page] = key
  }

  addToFilter(place: SealedPlace, band: number, key: number): void {
    if (place.blocks === 0) return
    const words = this.#words
    const block = this.#blockOf(place, band, key)
    const mixed = mix(key)
    for (let word = 0; word < BLOCK_WORDS; word++) {
      const bit = Math.imul(mixed, SALTS[word] ?? 0) >>> 27
      words[block + word] = (words[block + word] ?? 0) | (1 << bit)
    }
  }

  #passes(place: SealedPlace, band: number, key: number): boolean {
    if (place.blocks === 0) return true
    const block = this.#blockOf(place, band, key)
    const mixed = mix(key)
    for (let word = 0; word < BLOCK_WORDS; word++) {
      const bit = Math.imul(mixed, SALTS[word] ?? 0) >>> 27
      if (((this.#words[block + word] ?? 0) & (1 << bit)) === 0) return false
    }
    return true
  }

  /** Keys come in order when a filter is filled, so blocks are in the order of keys. */
  #blockOf({ firstBlock, blocks }: SealedPlace, band: number, key: number): number {
    const block = Math.floor((key / 2 ** 32) * blocks)
    return this.#filterAt + (firstBlock + band * blocks + block) * BLOCK_WORDS
  }

  /** The first page, by its place in memory, whose first key is greater. */
  #firstAbove(start: number, end: number, key: number): number {
    let low = start
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#words[middle] ?? 0) > key) high = middle
      else low = middle + 1
    }
    return low
  }

  #writeLayout({ bands, pageEntries, filterBits: bits, parts }: SegmentLayout): void {
    this.#words.set([bands, pageEntries, bits, parts.length])
    const bytes = new Uint8Array(this.#words.buffer)
    parts.forEach(({ partition, representatives }, at) => {
      const word = HEAD_WORDS + at * PART_WORDS
      bytes.set(partition, word * 4)
      this.#words[word + PART_WORDS - 1] = representatives
    })
  }
}

export interface SegmentPage {
  readonly number: number
  readonly bytes: Uint8Array
}

/** Takes the entries of a segment in their order, and makes its pages, filter and first keys. */
export class SegmentWriter {
  readonly segment: BandSegment
  #done: SegmentPage[] = []
  #place: SealedPlace | undefined
  #band = 0
  #page = 0
  #words = new Uint32Array(0)
  #filled = 0

  constructor(segment: BandSegment) {
    this.segment = segment
  }

  /** Ends the band before. */
  beginBand(place: SealedPlace, band: number): void {
    this.end()
    this.#place = place
    this.#band = band
  }

  add(key: number, number: number): void {
    if (this.#filled === 0) {
      this.#words = new Uint32Array(this.segment.pageEntries * ENTRY_WORDS)
      this.segment.setFirstKey(this.#page, key)
    }
    this.#words[this.#filled] = key
    this.#words[this.#filled + 1] = number
    this.#filled += ENTRY_WORDS
    if (this.#place) this.segment.addToFilter(this.#place, this.#band, key)
    if (this.#filled === this.#words.length) this.end()
  }

  end(): void {
    if (this.#filled === 0) return
    const bytes = new Uint8Array(this.#words.buffer, 0, this.#filled * 4)
    this.#done.push({ number: this.#page++, bytes })
    this.#filled = 0
  }

  get waiting(): number {
    return this.#done.length
  }

  /** The pages that were finished since. */
  take(): SegmentPage[] {
    const done = this.#done
    this.#done = []
    return done
  }
}

/** The numbers of a page's entries with a key; `undefined` if it is not this page. */
export function numbersIn(bytes: Bytes, firstKey: number, key: number): number[] | undefined {
  const words = wordsOf(bytes)
  if (words.length < ENTRY_WORDS || words.length % ENTRY_WORDS !== 0) return undefined
  if (words[0] !== firstKey) return undefined
  let low = 0
  let high = words.length / ENTRY_WORDS
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((words[middle * ENTRY_WORDS] ?? 0) < key) low = middle + 1
    else high = middle
  }
  const numbers: number[] = []
  for (let at = low * ENTRY_WORDS; words[at] === key; at += ENTRY_WORDS) {
    numbers.push(words[at + 1] ?? 0)
  }
  return numbers
}

/** As they lie in memory. */
export function wordsOf(bytes: Bytes): Uint32Array {
  if (bytes.byteOffset % 4 === 0) {
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2)
  }
  const copy = new Uint8Array(bytes.byteLength)
  copy.set(bytes)
  return new Uint32Array(copy.buffer, 0, copy.byteLength >>> 2)
}
