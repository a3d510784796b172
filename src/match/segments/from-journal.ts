/** A segment made from rows of the journal: their band keys, sorted band by band. */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { latin1 } from '../../platform/bytes.ts'
import { type Backend, rowsOf } from '../../backends/index.ts'
import {
  BandSegment,
  filterBits,
  type SealedPlace,
  SegmentWriter,
} from '../../fingerprint/index.ts'
import { insertsIn, type NearSpaces, sequenceKey, sequenceOf } from '../rows.ts'
import type { SignatureLayout } from '../scheme/scheme.ts'

const PAGE_ROWS = 250
/** Place of a representative and key of a band are sorted as one number, of which 53 bits are exact. */
const PLACE_BITS = 21
const REPRESENTATIVES_MAX = 2 ** PLACE_BITS
const CHUNK_ROWS = 1024

/**
 * Memory that sealing a representative needs besides: its keys and its number, its entry sorted and in a page, and its
 * part of the filter.
 */
export function sealingBytes(bands: number): number {
  return 4 * (bands + 1) + 8 + 8 + 1.5 * bands
}

/** Inserts of one partition: keys and numbers of its representatives, in the order of the journal. */
class Arrivals {
  readonly partition: Buffer
  readonly #width: number
  readonly #chunks: Uint32Array[] = []
  count = 0

  constructor(partition: Buffer, bands: number) {
    this.partition = partition
    this.#width = bands + 1
  }

  add(keys: Uint32Array, number: number): void {
    const row = this.count % CHUNK_ROWS
    if (row === 0) this.#chunks.push(new Uint32Array(CHUNK_ROWS * this.#width))
    const chunk = this.#chunks.at(-1)
    chunk?.set(keys, row * this.#width)
    if (chunk) chunk[row * this.#width + this.#width - 1] = number
    this.count++
  }

  /** The entries of a band, in their order. */
  write(writer: SegmentWriter, place: SealedPlace, band: number): void {
    writer.beginBand(place, band)
    const sorted = new Float64Array(this.count)
    for (let at = 0; at < this.count; at++)
      sorted[at] = this.#word(at, band) * REPRESENTATIVES_MAX + at
    sorted.sort()
    for (const both of sorted) {
      const at = both % REPRESENTATIVES_MAX
      writer.add((both - at) / REPRESENTATIVES_MAX, this.#word(at, this.#width - 1))
    }
  }

  #word(row: number, word: number): number {
    const chunk = this.#chunks[Math.floor(row / CHUNK_ROWS)]
    return chunk?.[(row % CHUNK_ROWS) * this.#width + word] ?? 0
  }
}

/** The rows of the journal that a segment is made of. */
export interface JournalRange {
  /** They begin after it. */
  readonly from: number
  readonly upTo: number
}

export interface FromJournal {
  /** The last row that is in it; there may be more than one segment takes. */
  readonly to: number
  readonly nonce: Buffer
  readonly removals: number
  readonly representatives: number
  /** Makes it. What is finished meanwhile is to be taken from the writer. */
  write(filterBytesMax: number, entriesElsewhere: number): Generator<SegmentWriter>
}

/** `undefined` if there is nothing in the range. */
export async function readArrivals<Signature>(
  backend: Backend,
  { journal }: NearSpaces,
  scheme: SignatureLayout<Signature>,
  { from, upTo }: JournalRange,
  pageEntries: number,
): Promise<FromJournal | undefined> {
  const { bands } = scheme.banding
  const parts = new Map<string, Arrivals>()
  const end = sequenceKey(upTo + 1)
  let last: { readonly to: number; readonly nonce: Buffer } | undefined
  let [removals, representatives] = [0, 0]
  let isFull = false
  for (let isLast = false; !isLast;) {
    const start = sequenceKey((last?.to ?? from) + 1)
    const page = await backend.read(() => rowsOf(journal, { start, end, limit: PAGE_ROWS }))
    for (const { key, value } of page) {
      const to = sequenceOf(key)
      // All of a block, or nothing of it.
      isFull ||= representatives + (value.kind === 'block' ? value.count : 1) > REPRESENTATIVES_MAX
      if (isFull) break
      last = { to, nonce: value.nonce }
      if (value.kind === 'remove') removals++
      for (const { sequence, partition, signature } of insertsIn(value, to)) {
        const name = latin1(partition)
        const part = parts.get(name) ?? new Arrivals(Buffer.from(partition), bands)
        parts.set(name, part)
        part.add(scheme.bandKeys(scheme.borrowed(signature)), sequence - from)
        representatives++
      }
    }
    isLast = page.length < PAGE_ROWS || isFull
    await nextTurn()
  }
  if (!last) return undefined
  const sorted = [...parts.values()].toSorted((a, b) => a.partition.compare(b.partition))
  const counted = sorted.map((part) => ({
    partition: part.partition,
    representatives: part.count,
  }))
  const write = function* (filterBytesMax: number, entriesElsewhere: number) {
    const bits = filterBits(filterBytesMax, entriesElsewhere + representatives * bands)
    const layout = { bands, pageEntries, filterBits: bits, parts: counted }
    const writer = new SegmentWriter(BandSegment.empty(layout))
    for (const [at, place] of writer.segment.places.entries()) {
      for (let band = 0; band < bands; band++) {
        sorted[at]?.write(writer, place, band)
        yield writer
      }
    }
    writer.end()
    yield writer
  }
  // Copied: the row it is cut from is longer.
  return { to: last.to, nonce: Buffer.from(last.nonce), removals, representatives, write }
}
