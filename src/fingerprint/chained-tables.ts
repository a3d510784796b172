/**
 * Several hash tables over the same slots, one for each band: slot s has a key in every table, and all slots
 * of one key can be found. Twelve bytes a key: the head of a bucket's chain, the next slot in it, and the key.
 *
 * There are as many buckets as slots. They are split one at a time as slots come (linear hashing), so no
 * insertion waits for a whole table to be rebuilt, and the memory of a slot is the same at every size. New
 * slots are chained when somebody next looks; if they are most of the table by then, all chains are made
 * in one pass.
 *
 * Not here: what slots stand for, and which of them are in use.
 */

import { PrestigeError } from '../platform/errors.ts'
import { int32Rows, rowInPage } from './paged-rows.ts'

export interface Collected {
  /** Every slot once, in no particular order. */
  readonly slots: readonly number[]
  /** Tables whose bucket was fuller than asked for, and was not looked at. */
  readonly passedOver: readonly number[]
}

export interface FullBucket {
  readonly band: number
  readonly key: number
  readonly size: number
}

export interface Census {
  /** The fullest first. */
  readonly fullestBuckets: readonly FullBucket[]
  readonly chainLongest: number
  /** Of chains that are not empty. */
  readonly chainMean: number
}

/** In place of the next slot: this one is in no chain. A link is a slot plus one, and 0 is the end. */
const UNLINKED = -1
const NONE: number[] = []

export class ChainedTables {
  readonly #width: number
  /** A row a bucket: the first link of its chain in every table. */
  readonly #heads
  /** A row a slot: next link and key in every table. */
  readonly #entries
  /** Tables whose bucket was looked at, in the search that is under way. */
  readonly #looked: Uint16Array
  #slots = 0
  #buckets = 0
  /** Bits of a key that may name a bucket: the least 2^n - 1 that covers all buckets. */
  #mask = 0

  constructor(width: number) {
    this.#width = width
    this.#heads = int32Rows(width)
    this.#entries = int32Rows(width * 2)
    this.#looked = new Uint16Array(width)
  }

  get bytes(): number {
    this.settle()
    return this.#heads.bytes + this.#entries.bytes
  }

  /** Gives a slot its keys. It is the next one that was never used, or is in no chain. */
  put(slot: number, keys: Uint32Array): void {
    this.#entries.reserve(slot + 1)
    const page = this.#entries.page(slot)
    let at = rowInPage(slot) * this.#width * 2
    for (let table = 0; table < this.#width; table++, at += 2) page[at + 1] = keys[table] ?? 0
    if (slot >= this.#slots) this.#slots = slot + 1
    if (slot < this.#buckets) this.#link(slot)
  }

  /** Takes a slot out of its chains. Costs a traversal of each. */
  unlink(slot: number): void {
    this.settle()
    const page = this.#entries.page(slot)
    let at = rowInPage(slot) * this.#width * 2
    for (let table = 0; table < this.#width; table++, at += 2) {
      this.#replaceLink(table, page[at + 1] ?? 0, slot + 1, page[at] ?? 0)
      page[at] = UNLINKED
    }
  }

  isLinked(slot: number): boolean {
    return this.#entries.page(slot)[rowInPage(slot) * this.#width * 2] !== UNLINKED
  }

  /** The key of a slot in the first table. */
  keyOf(slot: number): number {
    return (this.#entries.page(slot)[rowInPage(slot) * this.#width * 2 + 1] ?? 0) >>> 0
  }

  /** The first link to a slot with this key in the first table, or 0. Others follow by `nextOf`. */
  firstOf(key: number): number {
    this.settle()
    const bucket = this.#bucketOf(key)
    return this.#skipTo(key | 0, this.#heads.page(bucket)[rowInPage(bucket) * this.#width] ?? 0)
  }

  nextOf(slot: number): number {
    const page = this.#entries.page(slot)
    const at = rowInPage(slot) * this.#width * 2
    return this.#skipTo(page[at + 1] ?? 0, page[at] ?? 0)
  }

  /**
   * All slots that have one of the keys in its table, except for buckets of more than `bucketMax`. `elsewhere`: what
   * a bucket has beside its slots here, by table; it counts too.
   */
  collect(keys: Uint32Array, bucketMax: number, elsewhere?: Uint32Array): Collected {
    this.settle()
    const slots: number[] = []
    let passedOver: number[] = NONE
    let looked = 0
    for (let table = 0; table < this.#width; table++) {
      const before = slots.length
      const max = bucketMax - (elsewhere?.[table] ?? 0)
      if (max >= 0 && this.#collectFrom(table, keys, max, looked, slots)) {
        this.#looked[looked++] = table
      } else {
        slots.length = before
        if (passedOver === NONE) passedOver = []
        passedOver.push(table)
      }
    }
    return { slots, passedOver }
  }

  /** Chains what came since somebody last looked. */
  settle(): void {
    if (this.#buckets === this.#slots) return
    this.#heads.reserve(this.#slots)
    if (this.#slots - this.#buckets > this.#buckets && this.#slots > 2) {
      this.#linkAll()
      return
    }
    while (this.#buckets < this.#slots) {
      this.#split(this.#buckets)
      this.#link(this.#buckets - 1)
    }
  }

  /** Makes room for so many slots, all of them chained, whose memory is filled next. Nothing was here before. */
  make(slots: number): void {
    this.#slots = slots
    this.#setBuckets(slots)
  }

  /** All it holds: to be kept, or to be filled. */
  *memory(): Generator<Uint8Array> {
    this.settle()
    yield* this.#heads.memory(this.#buckets)
    yield* this.#entries.memory(this.#slots)
  }

  /** Traverses all chains, which takes a second for a million slots. */
  census(fullestCount: number): Census {
    this.settle()
    const fullest: FullBucket[] = []
    let [chains, links, longest] = [0, 0, 0]
    for (let bucket = 0; bucket < this.#buckets; bucket++) {
      for (let table = 0; table < this.#width; table++) {
        const length = this.#chainLength(bucket, table)
        if (length === 0) continue
        chains++
        links += length
        longest = Math.max(longest, length)
        if (fullest.length === fullestCount && length <= (fullest.at(-1)?.size ?? 0)) continue
        fullest.push(...this.#bucketsOf(bucket, table))
        fullest.sort((a, b) => b.size - a.size || a.band - b.band || a.key - b.key)
        fullest.length = Math.min(fullest.length, fullestCount)
      }
    }
    return {
      fullestBuckets: fullest,
      chainLongest: longest,
      chainMean: chains === 0 ? 0 : links / chains,
    }
  }

  #bucketOf(key: number): number {
    const bucket = key & this.#mask
    return bucket < this.#buckets ? bucket : bucket & (this.#mask >>> 1)
  }

  #skipTo(key: number, from: number): number {
    let link = from
    while (link !== 0) {
      const page = this.#entries.page(link - 1)
      const at = rowInPage(link - 1) * this.#width * 2
      if (page[at + 1] === key) return link
      link = page[at] ?? 0
    }
    return 0
  }

  /** False if the bucket holds more than `bucketMax`. */
  #collectFrom(
    table: number,
    keys: Uint32Array,
    bucketMax: number,
    looked: number,
    slots: number[],
  ): boolean {
    const wanted = (keys[table] ?? 0) | 0
    const bucket = this.#bucketOf(wanted)
    let link = this.#heads.page(bucket)[rowInPage(bucket) * this.#width + table] ?? 0
    let found = 0
    while (link !== 0) {
      const page = this.#entries.page(link - 1)
      const row = rowInPage(link - 1) * this.#width * 2
      if (page[row + table * 2 + 1] === wanted) {
        if (++found > bucketMax) return false
        if (!this.#isKnown(page, row, keys, looked)) slots.push(link - 1)
      }
      link = page[row + table * 2] ?? 0
    }
    return true
  }

  /** Whether a table that was looked at already found this slot: its keys stand side by side. */
  #isKnown(page: Int32Array, row: number, keys: Uint32Array, looked: number): boolean {
    for (let count = 0; count < looked; count++) {
      const table = this.#looked[count] ?? 0
      if (page[row + table * 2 + 1] === ((keys[table] ?? 0) | 0)) return true
    }
    return false
  }

  #link(slot: number): void {
    const page = this.#entries.page(slot)
    let at = rowInPage(slot) * this.#width * 2
    for (let table = 0; table < this.#width; table++, at += 2) {
      const bucket = this.#bucketOf(page[at + 1] ?? 0)
      const heads = this.#heads.page(bucket)
      const head = rowInPage(bucket) * this.#width + table
      page[at] = heads[head] ?? 0
      heads[head] = slot + 1
    }
  }

  /** One table after another, on heads that lie close together until they are done: twice as fast. */
  #linkAll(): void {
    this.#setBuckets(this.#slots)
    const heads = new Int32Array(this.#buckets)
    for (let table = 0; table < this.#width; table++) {
      heads.fill(0)
      this.#linkTable(table, heads)
      for (let bucket = 0; bucket < this.#buckets; bucket++) {
        const page = this.#heads.page(bucket)
        page[rowInPage(bucket) * this.#width + table] = heads[bucket] ?? 0
      }
    }
  }

  #linkTable(table: number, heads: Int32Array): void {
    for (let slot = 0; slot < this.#slots; slot++) {
      const page = this.#entries.page(slot)
      const at = (rowInPage(slot) * this.#width + table) * 2
      if (page[at] === UNLINKED) continue
      const bucket = this.#bucketOf(page[at + 1] ?? 0)
      page[at] = heads[bucket] ?? 0
      heads[bucket] = slot + 1
    }
  }

  #setBuckets(buckets: number): void {
    this.#buckets = buckets
    this.#mask = buckets < 2 ? 0 : 2 ** (32 - Math.clz32(buckets - 1)) - 1
  }

  /** Adds a bucket, and moves to it what is its own now from the one bucket that had it before. */
  #split(added: number): void {
    this.#setBuckets(added + 1)
    if (added === 0) return
    const from = added & (this.#mask >>> 1)
    const heads = this.#heads.page(from)
    const newHeads = this.#heads.page(added)
    let head = rowInPage(from) * this.#width
    let newHead = rowInPage(added) * this.#width
    for (let table = 0; table < this.#width; table++, head++, newHead++) {
      let link = heads[head] ?? 0
      let stays = 0
      let goes = 0
      while (link !== 0) {
        const page = this.#entries.page(link - 1)
        const at = (rowInPage(link - 1) * this.#width + table) * 2
        const next = page[at] ?? 0
        const isGoing = ((page[at + 1] ?? 0) & this.#mask) === added
        page[at] = isGoing ? goes : stays
        if (isGoing) goes = link
        else stays = link
        link = next
      }
      heads[head] = stays
      newHeads[newHead] = goes
    }
  }

  /** In the chain of a key, whatever leads to `link` leads to `next` from now on. */
  #replaceLink(table: number, key: number, link: number, next: number): void {
    const bucket = this.#bucketOf(key)
    let page = this.#heads.page(bucket)
    let at = rowInPage(bucket) * this.#width + table
    while (page[at] !== link) {
      const slot = (page[at] ?? 0) - 1
      if (slot < 0) throw new PrestigeError('INVALID_VALUE', `Slot ${link - 1} is in no chain.`)
      page = this.#entries.page(slot)
      at = (rowInPage(slot) * this.#width + table) * 2
    }
    page[at] = next
  }

  #chainLength(bucket: number, table: number): number {
    let length = 0
    let link = this.#heads.page(bucket)[rowInPage(bucket) * this.#width + table] ?? 0
    for (; link !== 0; length++) link = this.#nextIn(table, link)
    return length
  }

  #bucketsOf(bucket: number, table: number): FullBucket[] {
    const sizes = new Map<number, number>()
    let link = this.#heads.page(bucket)[rowInPage(bucket) * this.#width + table] ?? 0
    while (link !== 0) {
      const at = (rowInPage(link - 1) * this.#width + table) * 2
      const key = (this.#entries.page(link - 1)[at + 1] ?? 0) >>> 0
      sizes.set(key, (sizes.get(key) ?? 0) + 1)
      link = this.#nextIn(table, link)
    }
    return [...sizes].map(([key, size]) => ({ band: table, key, size }))
  }

  #nextIn(table: number, link: number): number {
    const at = (rowInPage(link - 1) * this.#width + table) * 2
    return this.#entries.page(link - 1)[at] ?? 0
  }
}
