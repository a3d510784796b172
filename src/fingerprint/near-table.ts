/**
 * The near-duplicate table of one group: finds the representatives whose sketch may be similar.
 *
 * All bands are looked up, and what they find is ranked by the full sketch. All sketches are of one profile
 * and one `hashVersion`; whoever fills the table sees to that, and keeps empty sketches out.
 */

import type { Bytes } from '../bytes.ts'
import { PrestigeError } from '../errors.ts'
import { type Banding, requireBanding, writeBands } from './bands.ts'
import { ChainedTables } from './chained-tables.ts'
import { rowInPage, uint16Rows } from './paged-rows.ts'
import { Ranking } from './ranking.ts'
import {
  type CandidateQuery,
  type Candidates,
  checkedQuery,
  FULLEST_COUNT,
  type SimilarityTable,
  type TableStats,
} from './similarity-table.ts'
import { requireSlots } from './similarity-sketch.ts'
import { SlotIds } from './slot-ids.ts'

export interface NearTableOptions extends Banding {
  /** Slots of a sketch. */
  readonly slots: number
}

/** Slots are compared in steps of as many; sketches are multiples of it. */
const STEP = 16

export class NearTable implements SimilarityTable<Uint16Array> {
  readonly #slots: number
  readonly #rows: number
  readonly #ids = new SlotIds()
  readonly #sketches
  readonly #tables: ChainedTables
  readonly #keys: Uint32Array

  constructor({ slots, bands, rows }: NearTableOptions) {
    this.#slots = requireSlots(slots)
    requireBanding({ bands, rows }, slots)
    this.#rows = rows
    this.#keys = new Uint32Array(bands)
    this.#sketches = uint16Rows(slots)
    this.#tables = new ChainedTables(bands)
  }

  get size(): number {
    return this.#ids.size
  }

  insert(id: Bytes, sketch: Uint16Array): void {
    this.#askFor(sketch)
    const before = this.#ids.size
    const slot = this.#ids.take(id)
    if (this.#ids.size === before) this.#tables.unlink(slot)
    this.#sketches.reserve(slot + 1)
    this.#sketches.page(slot).set(sketch, rowInPage(slot) * this.#slots)
    this.#tables.put(slot, this.#keys)
  }

  remove(id: Bytes): boolean {
    const slot = this.#ids.find(id)
    if (slot === undefined) return false
    this.#tables.unlink(slot)
    this.#ids.release(slot)
    return true
  }

  query(sketch: Uint16Array, query: CandidateQuery = {}): Candidates {
    const { estimateMin, limit, bucketMax } = checkedQuery(query, 0)
    this.#askFor(sketch)
    const { slots, passedOver } = this.#tables.collect(this.#keys, bucketMax)
    const ranking = new Ranking(limit, this.#equalMin(estimateMin), this.#slots)
    for (const slot of slots) ranking.show(slot, this.#equalSlots(slot, sketch, ranking.floor))
    return {
      candidates: ranking.best(this.#ids, (equal) => equal / this.#slots),
      compared: slots.length,
      bucketsPassedOver: passedOver,
    }
  }

  /** Chains what was inserted since the last query, which would do it otherwise. */
  settle(): void {
    this.#tables.settle()
  }

  *memory(isFilled: boolean): Generator<Uint8Array> {
    yield* this.#ids.memory(isFilled)
    const { slots } = this.#ids
    if (isFilled) this.#tables.make(slots)
    yield* this.#sketches.memory(slots)
    yield* this.#tables.memory()
  }

  stats(): TableStats {
    return {
      representatives: this.size,
      bands: this.#keys.length,
      bytes: {
        buckets: this.#tables.bytes,
        signatures: this.#sketches.bytes,
        ids: this.#ids.bytes,
      },
      ...this.#tables.census(FULLEST_COUNT),
    }
  }

  #askFor(sketch: Uint16Array): void {
    if (sketch.length !== this.#slots) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `A sketch of ${sketch.length} slots does not compare with those of ${this.#slots}.`,
      )
    }
    writeBands(sketch, this.#rows, this.#keys)
  }

  /** The least number of equal slots that gives at least this estimate. */
  #equalMin(estimateMin: number): number {
    let equal = Math.ceil(estimateMin * this.#slots)
    // The product is rounded, so the number above may be one too many.
    if (equal > 0 && (equal - 1) / this.#slots >= estimateMin) equal--
    return equal
  }

  /** Or less than `enough`, as soon as it cannot be as much. */
  #equalSlots(slot: number, sketch: Uint16Array, enough: number): number {
    const page = this.#sketches.page(slot)
    const row = rowInPage(slot) * this.#slots
    let equal = 0
    for (let from = 0; from < sketch.length; from += STEP) {
      if (equal + sketch.length - from < enough) return equal
      for (let at = from; at < from + STEP; at++) {
        if (page[row + at] === sketch[at]) equal++
      }
    }
    return equal
  }
}
