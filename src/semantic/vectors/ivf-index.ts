/**
 * Vectors in lists by the centres they are nearest to, as product codes (IVF and PQ), for more vectors than a scan is
 * good for. It looks at few lists and may miss one; what it proposes is measured in floats, which need not be in memory.
 *
 * Until there are enough vectors to learn centres and codes from, all are looked at. Then it learns, in turns with other
 * work, and does so again when it has grown much; the lists before serve until the new ones are complete. Vectors come
 * and go at any time.
 */

import type { Bytes } from '../../platform/bytes.ts'
import { type KernelsName, randomWords } from '../../fingerprint/index.ts'
import { CodedLists, widthOf } from './coded-lists.ts'
import type { ListOptions } from './options.ts'
import type { RowNumbers } from './row-numbers.ts'
import {
  Best,
  checkedSearch,
  type SearchOptions,
  turns,
  type VectorIndex,
  type VectorMatch,
  VectorRows,
} from './vector-index.ts'

/** Vectors from which lists are worth their while. */
export const LEARN_MIN = 1024
/** It learns again when it has so many times the vectors it learned from. */
const GROWTH = 4
const LISTS_MAX = 8192
/** Vectors of a list that centres are learned from. */
const SAMPLE_OF_LIST = 20
/** Lists for the square root of the number of vectors. */
const LISTS_SHARE = 2
/** Where codes leave it open, so many times as many candidates are measured as are wanted. */
const SPARE = 4
/** So many are measured at least, by which it is known how far codes are off. */
const MEASURED_MIN = 16
/** Codes are hardly ever off by as many standard deviations. */
const SPREADS = 4
const TURN_MS = 5
const SEED = 1024

export interface IvfOptions extends ListOptions {
  /** Numbers in a vector. */
  readonly dimensions: number
  /** Where the numbers of vectors are. Default: in memory. */
  readonly numbers?: RowNumbers
  /** For tests: which kernels to use. */
  readonly kernels?: KernelsName
  /** Learning lets others have their turn after this long. */
  readonly turnMs?: number
}

export class IvfIndex implements VectorIndex {
  readonly engine = 'ivf'
  readonly dimensions: number
  readonly rows: VectorRows
  readonly #options: IvfOptions
  #lists: CodedLists | undefined
  #learning: Promise<void> | undefined
  /** The lists that will be used next. Slots below `end` are in them already, and are kept up to date. */
  #next: { readonly lists: CodedLists; end: number } | undefined
  #isLoading = false
  #isClosed = false

  constructor(options: IvfOptions) {
    this.#options = options
    this.dimensions = options.dimensions
    this.rows = new VectorRows(options.dimensions, options.numbers)
  }

  get size(): number {
    return this.rows.ids.size
  }

  /** Of memory. */
  get bytes(): number {
    return this.rows.bytes + (this.#lists?.bytes ?? 0)
  }

  get lists(): CodedLists | undefined {
    return this.#lists
  }

  /** Vectors that are added before `load` ends are put into lists all at once. */
  async load(fill: () => Promise<void>): Promise<void> {
    this.#isLoading = true
    try {
      await fill()
    } finally {
      this.#isLoading = false
    }
    await this.#learnIfGrown()
  }

  /** Takes lists that were saved, of the vectors that are there. */
  use(lists: CodedLists): void {
    this.#lists = lists
  }

  add(id: Bytes, vector: Float32Array): void {
    const square = this.rows.squareOf(vector)
    const known = this.rows.ids.find(id)
    if (known !== undefined) this.#unlist(known)
    const slot = this.rows.put(id, vector)
    for (const lists of this.#listsOf(slot)) lists.add([slot], this.#unitOf(vector, square))
    // What fails is tried again with the next vector; the lists before stay in use.
    this.#learnIfGrown().catch(() => undefined)
  }

  remove(id: Bytes): boolean {
    const slot = this.rows.ids.find(id)
    if (slot === undefined) return false
    this.#unlist(slot)
    this.rows.remove(id)
    return true
  }

  #unlist(slot: number): void {
    for (const lists of this.#listsOf(slot)) lists.remove(slot, this.#unitAt(slot))
  }

  #listsOf(slot: number): CodedLists[] {
    const next = this.#next && slot < this.#next.end ? [this.#next.lists] : []
    return this.#lists ? [this.#lists, ...next] : next
  }

  #unitAt(slot: number): Float32Array {
    return this.#unitOf(this.rows.vectorAt(slot), this.rows.squareAt(slot))
  }

  #unitOf(vector: Float32Array, square: number): Float32Array {
    const unit = new Float32Array(widthOf(this.dimensions))
    const length = Math.sqrt(square)
    for (let at = 0; at < vector.length; at++) unit[at] = (vector[at] ?? 0) / length
    return unit
  }

  searchNow(vector: Float32Array, k: number, options: SearchOptions = {}): VectorMatch[] {
    const { similarityMin } = checkedSearch(k, options)
    const square = this.rows.squareOf(vector)
    const best = new Best(this.rows, k, similarityMin)
    if (this.#lists)
      this.#measure(this.#lists, vector, square, Math.max(k, this.#options.searchK), best)
    else
      for (const slot of this.#takenSlots())
        best.offer(slot, this.rows.cosine(vector, square, slot))
    return best.matches()
  }

  /** Proposals in floats, until codes would have to be off by more than they are elsewhere. */
  #measure(
    lists: CodedLists,
    vector: Float32Array,
    square: number,
    wanted: number,
    best: Best,
  ): void {
    const unit = this.#unitOf(vector, square)
    const { slots, scores } = lists.propose(unit, this.#options.probes, wanted * SPARE)
    let sum = 0
    let squares = 0
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] ?? 0
      const score = scores[at] ?? 0
      const mean = sum / at
      const spread = Math.sqrt(Math.max(0, squares / at - mean * mean))
      if (at >= MEASURED_MIN && score + mean + SPREADS * spread < best.least) return
      const similarity = this.rows.cosine(vector, square, slot)
      best.offer(slot, similarity)
      sum += similarity - score
      squares += (similarity - score) ** 2
    }
  }

  *#takenSlots(): Generator<number> {
    const { ids } = this.rows
    for (let slot = 0; slot < ids.slots; slot++) if (ids.isTaken(slot)) yield slot
  }

  /** A search takes about a millisecond, so it is done at once. */
  async search(
    vector: Float32Array,
    k: number,
    options: SearchOptions = {},
  ): Promise<VectorMatch[]> {
    options.signal?.throwIfAborted()
    return this.searchNow(vector, k, options)
  }

  /** Resolves when nothing is being learned. */
  async settled(): Promise<void> {
    await this.#learning
  }

  /** Stops learning, and closes files. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#learning?.catch(() => undefined)
    this.rows.close()
  }

  async #learnIfGrown(): Promise<void> {
    const learnedFrom = ((this.#lists?.shape.lists ?? 0) / LISTS_SHARE) ** 2
    if (this.size < Math.max(LEARN_MIN, learnedFrom * GROWTH)) return
    if (this.#isLoading || this.#isClosed || this.#learning) return
    this.#learning = this.#learn()
    try {
      await this.#learning
    } finally {
      this.#learning = undefined
      this.#next = undefined
    }
  }

  async #learn(): Promise<void> {
    const { dimensions, kernels } = this.#options
    const count = Math.min(LISTS_MAX, Math.round(LISTS_SHARE * Math.sqrt(this.size)))
    const lists = new CodedLists({ dimensions, lists: count }, kernels)
    const turn = this.#turnUnlessClosed()
    await lists.train(await this.#sample(count * SAMPLE_OF_LIST, turn), turn)
    const next = { lists, end: 0 }
    this.#next = next
    while (next.end < this.rows.ids.slots) {
      const from = next.end
      next.end = Math.min(this.rows.ids.slots, from + lists.slice)
      this.#addAll(lists, from, next.end)
      await turn()
    }
    this.#lists = lists
  }

  /** Directions of some vectors, all over the index. */
  async #sample(countMax: number, turn: () => Promise<void>): Promise<Float32Array> {
    const width = widthOf(this.dimensions)
    const { ids } = this.rows
    const random = randomWords(SEED)
    const step = Math.max(1, this.size / countMax)
    const sample = new Float32Array(Math.min(countMax, this.size) * width)
    let at = 0
    let nth = 0
    for (let slot = 0; slot < ids.slots && at < sample.length; slot++) {
      // One of every `step` that are taken, which one is left to chance.
      if (!ids.isTaken(slot) || nth++ < (at / width + random() / 2 ** 32) * step - 1) continue
      sample.set(this.#unitAt(slot), at)
      at += width
      await turn()
    }
    return sample.subarray(0, at)
  }

  #addAll(lists: CodedLists, from: number, end: number): void {
    const width = widthOf(this.dimensions)
    const slots: number[] = []
    const units = new Float32Array((end - from) * width)
    for (let slot = from; slot < end; slot++) {
      if (!this.rows.ids.isTaken(slot)) continue
      units.set(this.#unitAt(slot), slots.length * width)
      slots.push(slot)
    }
    if (slots.length > 0) lists.add(slots, units)
  }

  #turnUnlessClosed(): () => Promise<void> {
    const turn = turns(this.#options.turnMs ?? TURN_MS)
    return async () => {
      await turn()
      if (this.#isClosed) throw new Error('The index was closed.')
    }
  }
}
