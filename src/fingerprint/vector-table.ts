/**
 * The table of similar vectors of one group, over packed bits of hyperplanes.
 *
 * Up to `scanMax` representatives all bits are compared, which misses nothing: at a cosine of 0.5, bands
 * would return most of a table anyway. Larger tables look at what shares a band, if there are any bands.
 * Either way, candidates are ranked by all of their bits.
 */

import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Banding, chooseBands, requireBanding, ROWS_MAX } from './bands.ts'
import { ChainedTables } from './chained-tables.ts'
import { cosineFromBits } from './hyperplanes.ts'
import { mix, ROUND_STEP } from './mix.ts'
import { rowInPage, uint32Rows } from './paged-rows.ts'
import { Ranking } from './ranking.ts'
import {
  type CandidateQuery,
  type Candidates,
  checkedQuery,
  FULLEST_COUNT,
  type SimilarityTable,
  type TableStats,
} from './similarity-table.ts'
import { SlotIds } from './slot-ids.ts'

export interface VectorTableOptions {
  /** Bits of a signature, a multiple of 8. */
  readonly bits: number
  /** For large tables. Without it all bits are always compared. See `chooseVectorBands`. */
  readonly banding?: Banding | undefined
  /** The largest table that is scanned although there are bands. */
  readonly scanMax?: number | undefined
}

const DEFAULT_SCAN_MAX = 100_000
const WORD_BITS = 32

/** Bands of bits that find vectors of at least this cosine. */
export function chooseVectorBands(bits: number, cosineMin: number): Banding {
  return chooseBands({ slots: bits, threshold: 1 - Math.acos(cosineMin) / Math.PI })
}

export class VectorTable implements SimilarityTable<Uint8Array> {
  readonly #bits: number
  readonly #words: number
  readonly #banding: Banding | undefined
  readonly #scanMax: number
  readonly #ids = new SlotIds()
  readonly #signatures
  /** Made when the table first outgrows scanning. */
  #tables: ChainedTables | undefined
  readonly #asked: Uint32Array
  readonly #keys: Uint32Array

  constructor({ bits, banding, scanMax = DEFAULT_SCAN_MAX }: VectorTableOptions) {
    if (!Number.isInteger(bits) || bits < 8 || bits % 8 !== 0) {
      throw new PrestigeError('INVALID_OPTIONS', `bits is a multiple of 8, not ${bits}.`)
    }
    if (scanMax !== Infinity && !(Number.isInteger(scanMax) && scanMax >= 0)) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        `scanMax is a whole number from 0, not ${scanMax}.`,
      )
    }
    if (banding) requireBanding(banding, bits)
    if (banding && banding.rows > ROWS_MAX) {
      throw new PrestigeError('INVALID_OPTIONS', `A band of bits has at most ${ROWS_MAX} rows.`)
    }
    this.#bits = bits
    this.#words = Math.ceil(bits / WORD_BITS)
    this.#banding = banding
    this.#scanMax = scanMax
    this.#signatures = uint32Rows(this.#words)
    this.#asked = new Uint32Array(this.#words)
    this.#keys = new Uint32Array(banding?.bands ?? 0)
  }

  get size(): number {
    return this.#ids.size
  }

  get bytes(): number {
    return this.#ids.bytes + this.#signatures.bytes + (this.#tables?.bytes ?? 0)
  }

  insert(id: Bytes, signature: Uint8Array): void {
    this.#ask(signature)
    const before = this.#ids.size
    const slot = this.#ids.take(id)
    if (this.#ids.size === before) this.#tables?.unlink(slot)
    this.#signatures.reserve(slot + 1)
    this.#signatures.page(slot).set(this.#asked, rowInPage(slot) * this.#words)
    if (this.#tables) this.#chain(this.#tables, slot)
    else if (this.#banding && this.size > this.#scanMax) this.#startBands(this.#banding)
  }

  remove(id: Bytes): boolean {
    const slot = this.#ids.find(id)
    if (slot === undefined) return false
    this.#tables?.unlink(slot)
    this.#ids.release(slot)
    return true
  }

  query(signature: Uint8Array, query: CandidateQuery = {}): Candidates {
    const checked = checkedQuery(query, -1)
    this.#ask(signature)
    const ranking = new Ranking(checked.limit, this.#equalMin(checked.estimateMin), this.#bits)
    const tables = this.size > this.#scanMax ? this.#tables : undefined
    const { bucketMax } = checked
    const looked = tables
      ? this.#lookUp(ranking, tables, bucketMax, query.elsewhere)
      : this.#scan(ranking)
    const estimateOf = (equal: number) => cosineFromBits(this.#bits - equal, this.#bits)
    return { candidates: ranking.best(this.#ids, estimateOf), ...looked }
  }

  *memory(isFilled: boolean): Generator<Uint8Array> {
    yield* this.#ids.memory(isFilled)
    const { slots } = this.#ids
    yield* this.#signatures.memory(slots)
    const hasBands = Uint8Array.of(this.#tables ? 1 : 0)
    yield hasBands
    if (isFilled && hasBands[0] === 1) {
      this.#tables = new ChainedTables(this.#keys.length)
      this.#tables.make(slots)
    }
    if (this.#tables) yield* this.#tables.memory()
  }

  stats(): TableStats {
    return {
      representatives: this.size,
      bands: this.#tables ? this.#keys.length : 0,
      bytes: {
        buckets: this.#tables?.bytes ?? 0,
        signatures: this.#signatures.bytes,
        ids: this.#ids.bytes,
      },
      ...(this.#tables?.census(FULLEST_COUNT) ?? {
        fullestBuckets: [],
        chainLongest: 0,
        chainMean: 0,
      }),
    }
  }

  #lookUp(
    ranking: Ranking,
    tables: ChainedTables,
    bucketMax: number,
    elsewhere: Uint32Array | undefined,
  ): Looked {
    this.#writeKeys(this.#asked, 0)
    const { slots, passedOver } = tables.collect(this.#keys, bucketMax, elsewhere)
    for (const slot of slots) ranking.show(slot, this.#equalBits(slot))
    const passed = { bucketsPassedOver: passedOver.length, bandsPassedOver: passedOver }
    return { compared: slots.length, ...passed }
  }

  #scan(ranking: Ranking): Looked {
    const end = this.#ids.slots
    for (let slot = 0; slot < end; slot++) {
      const equal = this.#equalBits(slot)
      if (equal >= ranking.floor && this.#ids.isTaken(slot)) ranking.show(slot, equal)
    }
    return { compared: this.size, bucketsPassedOver: 0 }
  }

  #equalBits(slot: number): number {
    const row = rowInPage(slot) * this.#words
    return this.#bits - differingBits(this.#signatures.page(slot), row, this.#asked)
  }

  /** The least number of equal bits that gives at least this cosine. */
  #equalMin(cosineMin: number): number {
    let distance = Math.round((this.#bits * Math.acos(cosineMin)) / Math.PI)
    if (cosineFromBits(distance, this.#bits) < cosineMin) distance--
    return this.#bits - distance
  }

  #ask(signature: Uint8Array): void {
    if (signature.length * 8 !== this.#bits) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `A signature of ${signature.length * 8} bits does not compare with those of ${this.#bits}.`,
      )
    }
    pack(signature, this.#asked)
  }

  /** More slots are taken than ever before, so none is free. */
  #startBands({ bands }: Banding): void {
    this.#tables = new ChainedTables(bands)
    for (let slot = 0; slot < this.#ids.slots; slot++) this.#chain(this.#tables, slot)
  }

  #chain(tables: ChainedTables, slot: number): void {
    this.#writeKeys(this.#signatures.page(slot), rowInPage(slot) * this.#words)
    tables.put(slot, this.#keys)
  }

  #writeKeys(page: Uint32Array, row: number): void {
    writeBandKeys(page, row, this.#banding?.rows ?? 0, this.#keys)
  }
}

function writeBandKeys(page: Uint32Array, row: number, rows: number, keys: Uint32Array): void {
  for (let band = 0; band < keys.length; band++) {
    const bits = bitsAt(page, row, band * rows, rows)
    keys[band] = mix(bits ^ Math.imul(band + 1, ROUND_STEP))
  }
}

/** One 32-bit number a band of packed bits, as the table's own. */
export function vectorBandKeys(signature: Uint8Array, banding: Banding): Uint32Array {
  requireBanding(banding, signature.length * 8)
  const words = new Uint32Array(Math.ceil(signature.length / 4))
  pack(signature, words)
  const keys = new Uint32Array(banding.bands)
  writeBandKeys(words, 0, banding.rows, keys)
  return keys
}

/** First bit of the first byte first, on every machine. */
function pack(signature: Uint8Array, words: Uint32Array): void {
  for (let word = 0; word < words.length; word++) {
    const at = word * 4
    words[word] =
      (signature[at] ?? 0) |
      ((signature[at + 1] ?? 0) << 8) |
      ((signature[at + 2] ?? 0) << 16) |
      ((signature[at + 3] ?? 0) << 24)
  }
}

type Looked = Omit<Candidates, 'candidates'>

/** Between a row of a page and all of `asked`. Two words at a time: counts of four bits have room for both. */
function differingBits(page: Uint32Array, row: number, asked: Uint32Array): number {
  const words = asked.length
  let distance = 0
  for (let word = 0; word < words; word += 2) {
    const at = row + word
    const first = countsOfFour((page[at] ?? 0) ^ (asked[word] ?? 0))
    const hasSecond = word + 1 < words
    const second = hasSecond ? countsOfFour((page[at + 1] ?? 0) ^ (asked[word + 1] ?? 0)) : 0
    const both = (first + second) | 0
    distance += Math.imul((both & 0x0f0f0f0f) + ((both >>> 4) & 0x0f0f0f0f), 0x01010101) >>> 24
  }
  return distance
}

/** The bits that are set in each four of 32. */
function countsOfFour(value: number): number {
  const counts = (value - ((value >>> 1) & 0x55555555)) | 0
  return ((counts & 0x33333333) + ((counts >>> 2) & 0x33333333)) | 0
}

/** Up to 32 bits from a place on, which may lie in two words. */
function bitsAt(page: Uint32Array, row: number, from: number, count: number): number {
  const word = row + (from >>> 5)
  const shift = from & 31
  const low = (page[word] ?? 0) >>> shift
  const isInTwo = shift + count > WORD_BITS
  const high = isInTwo ? (page[word + 1] ?? 0) << (WORD_BITS - shift) : 0
  return (low | high) & (count === WORD_BITS ? -1 : (1 << count) - 1)
}
