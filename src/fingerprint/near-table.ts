/**
 * The near-duplicate table of one group: finds the representatives whose sketch may be similar.
 *
 * All bands are looked up, and what they find is ranked by the full sketch. All sketches are of one profile
 * and one `hashVersion`; whoever fills the table sees to that, and keeps empty sketches out.
 */

import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Banding, requireBanding, writeBands } from './bands.ts'
import { ChainedTables } from './chained-tables.ts'
import { rowInPage, uint32Rows } from './paged-rows.ts'
import { Ranking } from './ranking.ts'
import {
  type CandidateQuery,
  type Candidates,
  checkedQuery,
  FULLEST_COUNT,
  NO_CANDIDATES,
  type SimilarityTable,
  type TableStats,
} from './similarity-table.ts'
import { requireSlots } from './similarity-sketch.ts'
import { SlotIds } from './slot-ids.ts'

export interface NearTableOptions extends Banding {
  /** Slots of a sketch. */
  readonly slots: number
}

/** Words of two slots each. So many are compared before the next look at whether it can still be enough. */
const STEP = 8

export class NearTable implements SimilarityTable<Uint16Array> {
  readonly #slots: number
  readonly #rows: number
  readonly #ids = new SlotIds()
  /** A row a slot, two slots of its sketch in each word: half the steps to compare. */
  readonly #sketches
  readonly #tables: ChainedTables
  readonly #keys: Uint32Array
  readonly #asked: Uint16Array
  readonly #askedWords: Uint32Array

  constructor({ slots, bands, rows }: NearTableOptions) {
    this.#slots = requireSlots(slots)
    requireBanding({ bands, rows }, slots)
    this.#rows = rows
    this.#keys = new Uint32Array(bands)
    this.#askedWords = new Uint32Array(slots / 2)
    this.#asked = new Uint16Array(this.#askedWords.buffer)
    this.#sketches = uint32Rows(slots / 2)
    this.#tables = new ChainedTables(bands)
  }

  get size(): number {
    return this.#ids.size
  }

  get bytes(): number {
    return this.#ids.bytes + this.#sketches.bytes + this.#tables.bytes
  }

  insert(id: Bytes, sketch: Uint16Array): void {
    this.#askFor(sketch)
    const before = this.#ids.size
    const slot = this.#ids.take(id)
    if (this.#ids.size === before) this.#tables.unlink(slot)
    this.#sketches.reserve(slot + 1)
    this.#sketches.page(slot).set(this.#askedWords, rowInPage(slot) * this.#askedWords.length)
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
    const { slots, passedOver } = this.#tables.collect(this.#keys, bucketMax, query.elsewhere)
    const passed = { bucketsPassedOver: passedOver.length, bandsPassedOver: passedOver }
    if (slots.length === 0) return { ...NO_CANDIDATES, ...passed }
    const ranking = new Ranking(limit, this.#equalMin(estimateMin), this.#slots)
    for (const slot of slots) ranking.show(slot, this.#equalSlots(slot, ranking.floor))
    return {
      candidates: ranking.best(this.#ids, (equal) => equal / this.#slots),
      compared: slots.length,
      ...passed,
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
    this.#asked.set(sketch)
    writeBands(this.#asked, this.#rows, this.#keys)
  }

  /** The least number of equal slots that gives at least this estimate. */
  #equalMin(estimateMin: number): number {
    let equal = Math.ceil(estimateMin * this.#slots)
    // The product is rounded, so the number above may be one too many.
    if (equal > 0 && (equal - 1) / this.#slots >= estimateMin) equal--
    return equal
  }

  /** Or less than `enough`, as soon as it cannot be as much. */
  #equalSlots(slot: number, enough: number): number {
    const asked = this.#askedWords
    const page = this.#sketches.page(slot)
    const row = rowInPage(slot) * asked.length
    const differentMax = asked.length * 2 - enough
    let different = 0
    for (let from = 0; from < asked.length; from += STEP) {
      for (let at = from; at < from + STEP; at++) {
        const bits = (page[row + at] ?? 0) ^ (asked[at] ?? 0)
        if (bits === 0) continue
        different += (bits & 0xffff) !== 0 && bits >>> 16 !== 0 ? 2 : 1
      }
      if (different > differentMax) return -1
    }
    return asked.length * 2 - different
  }
}
