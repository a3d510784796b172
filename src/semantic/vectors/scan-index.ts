/**
 * Looks at every vector, and misses none: by codes of eight bits first, then exactly where codes leave it open.
 *
 * A code is off by a known length, so the true cosine of a pair lies within a known distance of that of its codes.
 * Whatever could still be among the best is measured in floats; so the answer is that of a search in floats. Of most
 * vectors a third of the codes is enough, the head: what follows it adds to a cosine as much as both tails are
 * long, and no more. Heads lie side by side, because reading them is what a search costs. For up to some 200,000
 * vectors.
 */

import { setImmediate } from 'node:timers/promises'

import type { Bytes } from '../../platform/bytes.ts'
import {
  CODE_MAX,
  type CodeRows,
  codeRows,
  float32Rows,
  type KernelsName,
  rowInPage,
} from '../../fingerprint/index.ts'
import {
  Best,
  checkedSearch,
  type SearchOptions,
  STEP_ROWS,
  type VectorIndex,
  type VectorMatch,
  VectorRows,
} from './vector-index.ts'

const TURN_MS = 5
/** Margin for what is lost in single and double precision. */
const SLACK = 1e-6
/** Candidates are sifted when there are so many. */
const SIFT_AT = 16_384
const HEAD_SHARE = 3
/** Codes are multiplied so many at a time. */
const LANES = 16
/** Numbers that are kept of a slot beside its codes. */
const WORTH = 3

export interface ScanOptions {
  /** Numbers in a vector. */
  readonly dimensions: number
  /** For tests: which kernels to use. */
  readonly kernels?: KernelsName
  /** A search lets others have their turn after this long. */
  readonly turnMs?: number
}

export class ScanIndex implements VectorIndex {
  readonly engine = 'scan'
  readonly dimensions: number
  readonly rows: VectorRows
  /** Codes of as many dimensions are the head. */
  readonly #head: number
  readonly #heads: CodeRows
  readonly #tails: CodeRows
  /** Of every slot: its step, how far its codes are off, and the length of its tail; NaN where it is free. */
  readonly #worth = float32Rows(WORTH)
  readonly #scratch: Int8Array
  readonly #turnMs: number
  /** Vectors that went or became others. */
  #changes = 0

  constructor(options: ScanOptions) {
    this.rows = new VectorRows(options.dimensions)
    this.dimensions = options.dimensions
    this.#turnMs = options.turnMs ?? TURN_MS
    const head = Math.ceil(options.dimensions / HEAD_SHARE / LANES) * LANES
    this.#head = Math.min(options.dimensions, head)
    this.#heads = codeRows(this.#head, options.kernels)
    this.#tails = codeRows(options.dimensions - this.#head, options.kernels)
    this.#scratch = new Int8Array(options.dimensions)
  }

  get size(): number {
    return this.rows.ids.size
  }

  /** Reserved, used or not. */
  get bytes(): number {
    return this.rows.bytes + this.#heads.bytes + this.#tails.bytes + this.#worth.bytes
  }

  add(id: Bytes, vector: Float32Array): void {
    const square = this.rows.squareOf(vector)
    if (this.rows.ids.find(id) !== undefined) this.#changes++
    const slot = this.rows.put(id, vector)
    const { step, off, tail } = encode(vector, square, this.#scratch, this.#head)
    this.#putCodes(slot, this.#scratch)
    this.#worth.reserve(slot + 1)
    this.#worth.page(slot).set([step, off, tail], rowInPage(slot) * WORTH)
  }

  #putCodes(slot: number, codes: Int8Array): void {
    this.#heads.put(slot, codes.subarray(0, this.#head))
    this.#tails.put(slot, codes.subarray(this.#head))
  }

  remove(id: Bytes): boolean {
    const slot = this.rows.remove(id)
    if (slot === undefined) return false
    this.#changes++
    this.#worth.page(slot).set([NaN, NaN, NaN], rowInPage(slot) * WORTH)
    this.#putCodes(slot, this.#scratch.fill(0))
    return true
  }

  searchNow(vector: Float32Array, k: number, options: SearchOptions = {}): VectorMatch[] {
    const steps = this.#steps(vector, k, options)
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
    }
  }

  async search(
    vector: Float32Array,
    k: number,
    options: SearchOptions = {},
  ): Promise<VectorMatch[]> {
    const own = vector.slice()
    options.signal?.throwIfAborted()
    const steps = this.#steps(own, k, options)
    const changes = this.#changes
    let since = performance.now()
    for (;;) {
      const { done, value } = steps.next()
      // What went meanwhile may have kept others out of the answer.
      if (done) return changes === this.#changes ? value : this.searchNow(own, k, options)
      if (performance.now() - since < this.#turnMs) continue
      await setImmediate()
      options.signal?.throwIfAborted()
      since = performance.now()
    }
  }

  /** A step a chunk. Vectors may come and go between steps. */
  *#steps(
    vector: Float32Array,
    k: number,
    options: SearchOptions,
  ): Generator<undefined, VectorMatch[]> {
    const { similarityMin } = checkedSearch(k, options)
    const square = this.rows.squareOf(vector)
    const codes = new Int8Array(this.dimensions)
    const query = encode(vector, square, codes, this.#head)
    const head = Int16Array.from(codes.subarray(0, this.#head))
    const tail = Int16Array.from(codes.subarray(this.#head))
    const sieve = new Sieve(k, similarityMin, query)
    for (let from = 0; from < this.rows.ids.slots; from += STEP_ROWS) {
      const count = Math.min(STEP_ROWS, this.rows.ids.slots - from)
      const heads = this.#heads.dots(head, from, count)
      const worth = this.#worth.page(from).subarray(rowInPage(from) * WORTH)
      const open = sieve.open(heads, worth)
      const tails = open
        ? this.#tails.dotsOf(tail, from, open)
        : this.#tails.dots(tail, from, count)
      sieve.pour(from, heads, tails, worth, open)
      yield
    }
    const best = new Best(this.rows, k, similarityMin)
    for (const { slot, most } of sieve.left()) {
      if (most < best.least) break
      if (!this.rows.ids.isTaken(slot)) continue
      best.offer(slot, this.rows.cosine(vector, square, slot))
    }
    return best.matches()
  }
}

interface Encoded {
  /** What a step of the codes is worth. */
  readonly step: number
  /** The length by which codes are off. */
  readonly off: number
  /** The length of what follows the head. */
  readonly tail: number
}

/** Codes of the vector's direction into `codes`. Lengths are rounded up. */
function encode(vector: Float32Array, square: number, codes: Int8Array, head: number): Encoded {
  const length = Math.sqrt(square)
  let greatest = 0
  for (const number of vector) greatest = Math.max(greatest, Math.abs(number))
  const step = Math.fround(greatest / length / CODE_MAX)
  let off = 0
  let tail = 0
  for (let at = 0; at < vector.length; at++) {
    const exact = (vector[at] ?? 0) / length
    const code = Math.max(-CODE_MAX, Math.min(CODE_MAX, Math.round(exact / step)))
    codes[at] = code
    off += (exact - code * step) ** 2
    if (at >= head) tail += exact * exact
  }
  return { step, off: Math.sqrt(off) * (1 + SLACK), tail: Math.sqrt(tail) * (1 + SLACK) }
}

/** Keeps what could still be among the `k` best, by what is known of it for sure. */
class Sieve {
  readonly #k: number
  readonly #query: Encoded
  readonly #open = new Int32Array(STEP_ROWS)
  /** The greatest least similarities, ascending: `k` vectors are at least so similar. */
  readonly #leasts: number[] = []
  #floor: number
  #slots: number[] = []
  #mosts: number[] = []

  constructor(k: number, similarityMin: number, query: Encoded) {
    this.#k = k
    this.#query = query
    this.#floor = similarityMin - SLACK
  }

  /**
   * Which of these vectors the products of their heads leave open. A part of a vector is off by no more than the whole,
   * and the product of two tails is at most that of their lengths. `undefined`, for all, where so little similarity is
   * asked for that tails alone may have it. Good until the next call.
   */
  open(heads: Int32Array, worth: Float32Array): Int32Array | undefined {
    const { step, off, tail } = this.#query
    if (this.#floor <= tail * tail) return undefined
    const short = this.#floor - off - SLACK
    const open = this.#open
    let count = 0
    for (let at = 0, own = 0; at < heads.length; at++, own += WORTH) {
      const about = (heads[at] ?? 0) * (worth[own] ?? NaN) * step
      const more = (worth[own + 1] ?? NaN) * (1 + off) + (worth[own + 2] ?? NaN) * tail
      if (about + more >= short) open[count++] = at
    }
    return open.subarray(0, count)
  }

  /** Products of the heads of all vectors from slot `from` on, and of the tails of all, or of those that are open. */
  pour(
    from: number,
    heads: Int32Array,
    tails: Int32Array,
    worth: Float32Array,
    open: Int32Array | undefined,
  ): void {
    const { step, off } = this.#query
    for (let at = 0; at < tails.length; at++) {
      const row = open ? (open[at] ?? 0) : at
      const about = ((heads[row] ?? 0) + (tails[at] ?? 0)) * (worth[row * WORTH] ?? NaN) * step
      // |uv - u'v'| ≤ |u - u'| |v| + |u'| |v - v'|, with |v| = 1 and |u'| ≤ 1 + |u - u'|.
      const own = worth[row * WORTH + 1] ?? NaN
      const apart = own + (1 + own) * off + SLACK
      if (!(about + apart >= this.#floor)) continue
      this.#slots.push(from + row)
      this.#mosts.push(about + apart)
      this.#raise(about - apart)
    }
    if (this.#slots.length > SIFT_AT) this.#sift()
  }

  #raise(least: number): void {
    if (this.#leasts.length === this.#k && least <= (this.#leasts[0] ?? 0)) return
    let at = 0
    while (at < this.#leasts.length && (this.#leasts[at] ?? 0) < least) at++
    this.#leasts.splice(at, 0, least)
    if (this.#leasts.length > this.#k) this.#leasts.shift()
    if (this.#leasts.length === this.#k) {
      this.#floor = Math.max(this.#floor, (this.#leasts[0] ?? 0) - SLACK)
    }
  }

  #sift(): void {
    const kept = this.#mosts.flatMap((most, at) => (most >= this.#floor ? [at] : []))
    this.#slots = kept.map((at) => this.#slots[at] ?? 0)
    this.#mosts = kept.map((at) => this.#mosts[at] ?? 0)
  }

  /** The most promising first. */
  left(): { readonly slot: number; readonly most: number }[] {
    this.#sift()
    return this.#slots
      .map((slot, at) => ({ slot, most: this.#mosts[at] ?? 0 }))
      .toSorted((first, second) => second.most - first.most)
  }
}
