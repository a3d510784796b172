/**
 * What every index of vectors has in common: how it is asked, and how it answers.
 *
 * Invariant: a similarity in an answer is the exact cosine of the vectors in floats, the same as `vectorCosine`
 * gives, whatever found the candidate. What was removed is never found.
 *
 * An index is a view of stored vectors. It may be lost at any time, and is made again from them.
 */

import { setImmediate } from 'node:timers/promises'

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { DOTS_MAX, SlotIds } from '../../fingerprint/index.ts'
import { MemoryNumbers, type RowNumbers } from './row-numbers.ts'

export interface VectorMatch {
  /** 16 bytes. */
  readonly id: Buffer
  readonly similarity: number
}

export interface SearchOptions {
  /** What is less similar is left out. */
  readonly threshold?: number | undefined
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

export type EngineName = 'scan' | 'hnsw' | 'ivf'

export interface VectorIndex {
  readonly engine: EngineName
  readonly dimensions: number
  readonly size: number
  /** An id that is there already gets the new vector. */
  add(id: Bytes, vector: Float32Array): void
  /** Whether it was there. */
  remove(id: Bytes): boolean
  /** The `k` most similar, the most similar first; of equals, the lowest id. Lets others have their turn. */
  search(vector: Float32Array, k: number, options?: SearchOptions): Promise<VectorMatch[]>
  /** The same at once, for inside a transaction, which cannot wait. */
  searchNow(vector: Float32Array, k: number, options?: SearchOptions): VectorMatch[]
}

/** Vectors as they are stored, by slot. */
export class VectorRows {
  readonly dimensions: number
  readonly ids: SlotIds = new SlotIds()
  readonly #numbers: RowNumbers

  constructor(dimensions: number, numbers?: RowNumbers) {
    if (!Number.isInteger(dimensions) || dimensions < 1) {
      throw new PrestigeError('INVALID_OPTIONS', `dimensions is a whole number, not ${dimensions}.`)
    }
    this.dimensions = dimensions
    this.#numbers = numbers ?? new MemoryNumbers(dimensions)
  }

  get bytes(): number {
    return this.#numbers.bytes + this.ids.bytes
  }

  /** A vector that has a direction, of the right dimensions; and the square of its length. */
  squareOf(vector: Float32Array): number {
    if (vector.length !== this.dimensions) {
      throw new PrestigeError(
        'EMBEDDER_MISMATCH',
        `This index holds vectors of ${this.dimensions} dimensions; this one has ${vector.length}. Use the embedder that made the others.`,
      )
    }
    let square = 0
    for (let at = 0; at < vector.length; at++) square += (vector[at] ?? 0) * (vector[at] ?? 0)
    if (square > 0 && Number.isFinite(square)) return square
    throw new PrestigeError(
      'INVALID_VALUE',
      'A vector of zeros, or one with numbers that are not finite, has no direction.',
    )
  }

  put(id: Bytes, vector: Float32Array): number {
    const square = this.squareOf(vector)
    const slot = this.ids.take(id)
    this.#numbers.put(slot, vector, square)
    return slot
  }

  /** The slot that was freed. */
  remove(id: Bytes): number | undefined {
    const slot = this.ids.find(id)
    if (slot === undefined) return undefined
    this.#numbers.clear(slot)
    this.ids.release(slot)
    return slot
  }

  /** Good until the next call. */
  vectorAt(slot: number): Float32Array {
    return this.#numbers.at(slot)
  }

  /** The square of a vector's length. */
  squareAt(slot: number): number {
    return this.#numbers.squareAt(slot)
  }

  /** To the last bit what `vectorCosine` gives. */
  cosine(vector: Float32Array, square: number, slot: number): number {
    const row = this.#numbers.at(slot)
    let dot = 0
    for (let at = 0; at < this.dimensions; at++) dot += (vector[at] ?? 0) * (row[at] ?? 0)
    const other = this.#numbers.squareAt(slot)
    return Math.min(1, Math.max(-1, dot / Math.sqrt(square * other)))
  }

  close(): void {
    this.#numbers.close()
  }
}

/** The best so far, by exact similarity. */
export class Best {
  readonly #rows: VectorRows
  readonly #k: number
  readonly #similarityMin: number
  readonly #slots: number[] = []
  readonly #similarities: number[] = []

  constructor(rows: VectorRows, k: number, similarityMin: number) {
    this.#rows = rows
    this.#k = k
    this.#similarityMin = similarityMin
  }

  /** What is less similar cannot be among the best. */
  get least(): number {
    if (this.#slots.length < this.#k) return this.#similarityMin
    return this.#similarities.at(-1) ?? this.#similarityMin
  }

  offer(slot: number, similarity: number): void {
    if (similarity < this.#similarityMin) return
    let at = this.#slots.length
    while (at > 0 && this.#isBefore(slot, similarity, at - 1)) at--
    if (at >= this.#k) return
    this.#slots.splice(at, 0, slot)
    this.#similarities.splice(at, 0, similarity)
    if (this.#slots.length > this.#k) {
      this.#slots.pop()
      this.#similarities.pop()
    }
  }

  #isBefore(slot: number, similarity: number, at: number): boolean {
    const other = this.#similarities[at] ?? 0
    if (similarity !== other) return similarity > other
    return this.#rows.ids.compare(slot, this.#slots[at] ?? 0) < 0
  }

  matches(): VectorMatch[] {
    return this.#slots.map((slot, at) => ({
      id: this.#rows.ids.idOf(slot),
      similarity: this.#similarities[at] ?? 0,
    }))
  }
}

export interface CheckedSearch {
  readonly similarityMin: number
  readonly signal: AbortSignal | undefined
}

export function checkedSearch(k: number, options: SearchOptions): CheckedSearch {
  const { threshold: similarityMin = -1, signal } = options
  if (!Number.isInteger(k) || k < 1) {
    throw new PrestigeError('INVALID_OPTIONS', `k is a whole number from 1, not ${k}.`)
  }
  if (!(similarityMin >= -1 && similarityMin <= 1)) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `threshold: must be a number from -1 to 1, not ${similarityMin}.`,
    )
  }
  return { similarityMin, signal }
}

/** Rows that are looked at before others may have their turn. Pages of rows are cut into whole steps. */
export const STEP_ROWS: number = DOTS_MAX / 4

/** To be awaited often in long work: lets others have their turn when it has gone on for so long. */
export function turns(turnMs: number): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < turnMs) return
    await setImmediate()
    since = performance.now()
  }
}
