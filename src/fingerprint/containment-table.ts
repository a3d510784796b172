/**
 * The inverted table of winnowed fingerprints: finds the texts that share enough of them with a text for one to be
 * contained in the other. 16 bytes a fingerprint, and 40 a text.
 *
 * The estimate of a candidate is an upper bound: the share of the fingerprints of either text that the other has,
 * whichever is more, and four standard errors. Fingerprints of more texts than `bucketMax` are passed over, and counted.
 */

import type { Bytes } from '../platform/bytes.ts'
import { ChainedTables } from './chained-tables.ts'
import { rowInPage, uint32Rows } from './paged-rows.ts'
import {
  type Candidate,
  type CandidateQuery,
  type Candidates,
  checkedQuery,
  FULLEST_COUNT,
  type SimilarityTable,
  type TableStats,
} from './similarity-table.ts'
import { SlotIds } from './slot-ids.ts'
import { type Fingerprints, isAt } from './winnowing.ts'

/** First posting, number of postings, level. */
const TEXT_WIDTH = 3
const ERRORS = 4
/** Postings that no text has any more are removed once they are so many, and most. */
const UNUSED_MIN = 4096

export class ContainmentTable implements SimilarityTable<Fingerprints> {
  readonly #ids = new SlotIds()
  /** A row a slot of an id. */
  readonly #texts = uint32Rows(TEXT_WIDTH)
  /** A row a posting: the slot of its text. */
  #owners = uint32Rows(1)
  #chains = new ChainedTables(1)
  #postings = 0
  #unused = 0
  readonly #key = new Uint32Array(1)

  get size(): number {
    return this.#ids.size
  }

  get bytes(): number {
    return this.#ids.bytes + this.#texts.bytes + this.#owners.bytes + this.#chains.bytes
  }

  insert(id: Bytes, { hashes, level }: Fingerprints): void {
    const before = this.#ids.size
    const slot = this.#ids.take(id)
    if (this.#ids.size === before) this.#unlink(slot)
    this.#texts.reserve(slot + 1)
    const row = rowInPage(slot) * TEXT_WIDTH
    this.#texts.page(slot).set([this.#postings, hashes.length, level], row)
    this.#append(slot, hashes)
  }

  remove(id: Bytes): boolean {
    const slot = this.#ids.find(id)
    if (slot === undefined) return false
    this.#unlink(slot)
    this.#ids.release(slot)
    if (this.#unused > UNUSED_MIN && this.#unused * 2 > this.#postings) this.#compact()
    return true
  }

  query({ hashes, level }: Fingerprints, query: CandidateQuery = {}): Candidates {
    const { estimateMin, limit, bucketMax } = checkedQuery(query, 0)
    const shared = new Map<number, number>()
    let passedOver = 0
    for (const hash of hashes) if (!this.#count(hash, bucketMax, shared)) passedOver++
    const atLevel: number[] = []
    const found: Candidate[] = []
    for (const [slot, count] of shared) {
      const row = rowInPage(slot) * TEXT_WIDTH
      const page = this.#texts.page(slot)
      const theirLevel = page[row + 2] ?? 0
      const common = Math.max(level, theirLevel)
      const own = (atLevel[common] ??= hashes.filter((hash) => isAt(common, hash)).length)
      const theirs = (page[row + 1] ?? 0) / 2 ** (common - theirLevel)
      // Whether they share what was passed over is not known: it does not count, or as if they did.
      const estimate = Math.max(upper(count, own - passedOver), upper(count + passedOver, theirs))
      if (estimate >= estimateMin) found.push({ id: this.#ids.idOf(slot), estimate })
    }
    found.sort((one, other) => other.estimate - one.estimate || one.id.compare(other.id))
    return {
      candidates: found.slice(0, limit),
      compared: shared.size,
      bucketsPassedOver: passedOver + Math.max(0, found.length - limit),
    }
  }

  *memory(isFilled: boolean): Generator<Uint8Array> {
    if (!isFilled && this.#unused > 0) this.#compact()
    yield* this.#ids.memory(isFilled)
    yield* this.#texts.memory(this.#ids.slots)
    const counts = Uint32Array.of(this.#postings)
    yield new Uint8Array(counts.buffer)
    if (isFilled) {
      this.#postings = counts[0] ?? 0
      this.#chains.make(this.#postings)
    }
    yield* this.#owners.memory(this.#postings)
    yield* this.#chains.memory()
  }

  stats(): TableStats {
    return {
      representatives: this.size,
      bands: 1,
      bytes: {
        buckets: this.#chains.bytes,
        signatures: this.#owners.bytes + this.#texts.bytes,
        ids: this.#ids.bytes,
      },
      ...this.#chains.census(FULLEST_COUNT),
    }
  }

  #append(slot: number, hashes: Iterable<number>): void {
    for (const hash of hashes) {
      const posting = this.#postings++
      this.#owners.reserve(posting + 1)
      this.#owners.page(posting)[rowInPage(posting)] = slot
      this.#key[0] = hash
      this.#chains.put(posting, this.#key)
    }
  }

  #unlink(slot: number): void {
    const row = rowInPage(slot) * TEXT_WIDTH
    const [first = 0, count = 0] = this.#texts.page(slot).subarray(row, row + TEXT_WIDTH)
    for (let posting = first; posting < first + count; posting++) this.#chains.unlink(posting)
    this.#unused += count
  }

  /** Whether there are few enough texts with the fingerprint to be counted. */
  #count(hash: number, bucketMax: number, shared: Map<number, number>): boolean {
    let size = 0
    const first = this.#chains.firstOf(hash)
    for (let link = first; link !== 0; link = this.#chains.nextOf(link - 1)) {
      if (++size > bucketMax) return false
    }
    for (let link = first; link !== 0; link = this.#chains.nextOf(link - 1)) {
      const slot = this.#owners.page(link - 1)[rowInPage(link - 1)] ?? 0
      shared.set(slot, (shared.get(slot) ?? 0) + 1)
    }
    return true
  }

  /** The postings of all texts again, without those that no text has any more. */
  #compact(): void {
    const [chains, owners, postings] = [this.#chains, this.#owners, this.#postings]
    this.#chains = new ChainedTables(1)
    this.#owners = uint32Rows(1)
    this.#postings = this.#unused = 0
    let last = -1
    for (let posting = 0; posting < postings; posting++) {
      if (!chains.isLinked(posting)) continue
      const slot = owners.page(posting)[rowInPage(posting)] ?? 0
      if (slot !== last) this.#texts.page(slot)[rowInPage(slot) * TEXT_WIDTH] = this.#postings
      last = slot
      this.#append(slot, [chains.keyOf(posting)])
    }
  }
}

/** The most that the share may be of which `count` in `of` is a sample. */
function upper(count: number, of: number): number {
  if (of <= count) return 1
  const share = count / of
  return Math.min(1, share + ERRORS * Math.sqrt((share * (1 - share)) / of))
}
