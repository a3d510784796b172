/**
 * Finds all SimHashes within a few bits of one, exactly, without looking at all of them.
 *
 * Four tables are keyed by 16 of the 64 bits each. If two hashes differ in k bits, they differ in at most
 * ⌊k/4⌋ bits in one of the four parts, so the buckets of all keys that near hold every answer.
 */

import { PrestigeError } from '../platform/errors.ts'
import { bitCount } from './exact-similarity.ts'
import type { SimHash, SimHashFingerprint } from './simhash.ts'

export const DISTANCE_MAX = 8

export interface SimHashMatch<Id> {
  readonly id: Id
  readonly distance: number
}

/** A hash by itself, or a fingerprint, which knows whether it is one of nothing. */
export type Searched = SimHash & Partial<Pick<SimHashFingerprint, 'isEmpty'>>

const PARTS = 4
const KEYS = 0x10000
const NONE = -1
const FIRST_CAPACITY = 64

/** What to change in a key to get all keys within a few bits of it. */
const changesWithin: readonly (readonly number[])[] = [0, 1, 2].map((radius) => {
  const changes = [0]
  for (let first = 0; radius > 0 && first < 16; first++) changes.push(1 << first)
  for (let first = 0; radius > 1 && first < 16; first++) {
    for (let second = first + 1; second < 16; second++) changes.push((1 << first) | (1 << second))
  }
  return changes
})

export class SimHashIndex<Id extends string | number | bigint | object> {
  readonly #rowOf = new Map<Id, number>()
  readonly #ids: (Id | undefined)[] = []
  readonly #free: number[] = []
  /** When each row was added, counted in additions. */
  readonly #order: number[] = []
  #additions = 0
  readonly #heads = new Int32Array(PARTS * KEYS).fill(NONE)
  #low = new Uint32Array(FIRST_CAPACITY)
  #high = new Uint32Array(FIRST_CAPACITY)
  /** Chains in both directions, so that removing needs no search. Part p of row r is at r * 4 + p. */
  #next = new Int32Array(FIRST_CAPACITY * PARTS)
  #previous = new Int32Array(FIRST_CAPACITY * PARTS)

  get size(): number {
    return this.#rowOf.size
  }

  /** Adding an id again gives it the new hash. Nothing is like nothing: fingerprints of it are refused. */
  add(id: Id, hash: Searched): void {
    if (hash.isEmpty) {
      throw new PrestigeError('INVALID_VALUE', 'A SimHash of nothing cannot be searched for.')
    }
    this.remove(id)
    const row = this.#free.pop() ?? this.#ids.length
    if (row >= this.#low.length) this.#grow()
    this.#ids[row] = id
    this.#order[row] = this.#additions++
    this.#rowOf.set(id, row)
    this.#low[row] = hash.low
    this.#high[row] = hash.high
    for (let part = 0; part < PARTS; part++) this.#link(row, part)
  }

  /** Whether it was there. */
  remove(id: Id): boolean {
    const row = this.#rowOf.get(id)
    if (row === undefined) return false
    for (let part = 0; part < PARTS; part++) this.#unlink(row, part)
    this.#rowOf.delete(id)
    this.#ids[row] = undefined
    this.#free.push(row)
    return true
  }

  /** All within `distanceMax` bits, the nearest first, those equally near in the order of adding. */
  query(hash: Searched, distanceMax = 3): SimHashMatch<Id>[] {
    if (!Number.isInteger(distanceMax) || distanceMax < 0 || distanceMax > DISTANCE_MAX) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        `A distance to search within is a whole number from 0 to ${DISTANCE_MAX}, not ${distanceMax}.`,
      )
    }
    if (hash.isEmpty) return []
    const found = new Map<number, number>()
    for (let part = 0; part < PARTS; part++) {
      const key = keyOf(hash.low, hash.high, part)
      for (const change of changesWithin[Math.floor(distanceMax / PARTS)] ?? []) {
        this.#collect(part * KEYS + (key ^ change), part, hash, distanceMax, found)
      }
    }
    return this.#matches(found)
  }

  #collect(
    head: number,
    part: number,
    hash: SimHash,
    distanceMax: number,
    found: Map<number, number>,
  ): void {
    let row = this.#heads[head] ?? NONE
    while (row !== NONE) {
      const low = (this.#low[row] ?? 0) ^ hash.low
      const distance = bitCount(low) + bitCount((this.#high[row] ?? 0) ^ hash.high)
      if (distance <= distanceMax) found.set(row, distance)
      row = this.#next[row * PARTS + part] ?? NONE
    }
  }

  #matches(found: ReadonlyMap<number, number>): SimHashMatch<Id>[] {
    const orderOf = (row: number) => this.#order[row] ?? 0
    return [...found]
      .toSorted((a, b) => a[1] - b[1] || orderOf(a[0]) - orderOf(b[0]))
      .flatMap(([row, distance]) => {
        const id = this.#ids[row]
        return id === undefined ? [] : [{ id, distance }]
      })
  }

  #headOf(row: number, part: number): number {
    return part * KEYS + keyOf(this.#low[row] ?? 0, this.#high[row] ?? 0, part)
  }

  #link(row: number, part: number): void {
    const head = this.#headOf(row, part)
    const after = this.#heads[head] ?? NONE
    this.#next[row * PARTS + part] = after
    this.#previous[row * PARTS + part] = NONE
    if (after !== NONE) this.#previous[after * PARTS + part] = row
    this.#heads[head] = row
  }

  #unlink(row: number, part: number): void {
    const before = this.#previous[row * PARTS + part] ?? NONE
    const after = this.#next[row * PARTS + part] ?? NONE
    if (before === NONE) this.#heads[this.#headOf(row, part)] = after
    else this.#next[before * PARTS + part] = after
    if (after !== NONE) this.#previous[after * PARTS + part] = before
  }

  #grow(): void {
    const rows = this.#low.length * 2
    this.#low = enlarged(this.#low, new Uint32Array(rows))
    this.#high = enlarged(this.#high, new Uint32Array(rows))
    this.#next = enlarged(this.#next, new Int32Array(rows * PARTS))
    this.#previous = enlarged(this.#previous, new Int32Array(rows * PARTS))
  }
}

function enlarged<A extends Uint32Array | Int32Array>(from: A, to: A): A {
  to.set(from)
  return to
}

/** The 16 bits of a part: 0 and 1 in the low half, 2 and 3 in the high one. */
function keyOf(low: number, high: number, part: number): number {
  return ((part < 2 ? low : high) >>> ((part & 1) * 16)) & 0xffff
}
