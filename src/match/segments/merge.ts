/**
 * Segments that follow one another, made one. Entries are merged page by page, so it takes little memory, and none is
 * looked at: those of representatives that have gone stay.
 */

import { latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Backend, glance } from '../../backends/index.ts'
import {
  BandSegment,
  ENTRY_WORDS,
  filterBits,
  SegmentWriter,
  wordsOf,
} from '../../fingerprint/index.ts'
import type { NearSpaces } from '../rows.ts'
import { pageCell, type Segment } from './rows.ts'

const PAGES_TOGETHER = 32
/** Pages that are finished before they are to be taken. */
const FINISHED_MAX = 128

/** The entries of one band of one segment, one after another. */
class Cursor {
  readonly #backend: Backend
  readonly #spaces: NearSpaces
  readonly #segment: Segment
  readonly #shift: number
  #page: number
  readonly #endPage: number
  #pages: Uint32Array[] = []
  #words: Uint32Array = new Uint32Array(0)
  #at = 0

  constructor(
    backend: Backend,
    spaces: NearSpaces,
    segment: Segment,
    shift: number,
    pages: { readonly from: number; readonly to: number },
  ) {
    this.#backend = backend
    this.#spaces = spaces
    this.#segment = segment
    this.#shift = shift
    this.#page = pages.from
    this.#endPage = pages.to
  }

  /** Infinity at the end. */
  get key(): number {
    return this.#words[this.#at] ?? Infinity
  }

  get number(): number {
    return (this.#words[this.#at + 1] ?? 0) + this.#shift
  }

  /** Whether the next entry is in memory, or there is none. */
  get isReady(): boolean {
    return (
      this.#at < this.#words.length || (this.#pages.length === 0 && this.#page >= this.#endPage)
    )
  }

  step(): void {
    this.#at += ENTRY_WORDS
    if (this.#at < this.#words.length) return
    const next = this.#pages.shift()
    if (next) [this.#words, this.#at] = [next, 0]
  }

  async fetch(): Promise<void> {
    const { id } = this.#segment
    const from = this.#page
    const to = Math.min(this.#endPage, from + PAGES_TOGETHER)
    const cells = Array.from({ length: to - from }, (_, at) =>
      pageCell(this.#spaces, id, from + at),
    )
    const pages = await this.#backend.read(() => glance(...cells))
    this.#pages = pages.map((page, at) => this.#checked(page && wordsOf(page), from + at))
    this.#page = to
    const next = this.#pages.shift()
    if (next) [this.#words, this.#at] = [next, 0]
  }

  /** Others may have removed it: then what is merged here is of no use. */
  #checked(words: Uint32Array | undefined, page: number): Uint32Array {
    const { entries } = this.#segment
    if (words?.[0] === entries.firstKey(page) && words.length % ENTRY_WORDS === 0) return words
    throw new SegmentGone()
  }
}

/** A segment was removed or is damaged. */
export class SegmentGone extends PrestigeError {
  constructor() {
    super('CONTENT_CORRUPT', 'A segment of the index cannot be read. It will be rebuilt.')
  }
}

/** What is finished meanwhile is to be taken from the writer. */
export async function* mergeSegments(
  backend: Backend,
  spaces: NearSpaces,
  segments: readonly Segment[],
  filterBytesMax: number,
  entriesElsewhere: number,
): AsyncGenerator<SegmentWriter> {
  const [first] = segments
  if (!first) return
  const { bands, pageEntries } = first.entries
  const parts = partsOf(segments)
  const entries = parts.reduce((sum, { representatives }) => sum + representatives * bands, 0)
  const bits = filterBits(filterBytesMax, entriesElsewhere + entries)
  const writer = new SegmentWriter(
    BandSegment.empty({ bands, pageEntries, filterBits: bits, parts }),
  )
  for (const place of writer.segment.places) {
    for (let band = 0; band < bands; band++) {
      writer.beginBand(place, band)
      const cursors = segments.flatMap((segment) => {
        const own = segment.entries.place(latin1(place.partition))
        if (!own) return []
        const from = own.firstPage + band * own.pages
        const pages = { from, to: from + own.pages }
        return [new Cursor(backend, spaces, segment, segment.from - first.from, pages)]
      })
      for (;;) {
        for (const cursor of cursors) if (!cursor.isReady) await cursor.fetch()
        if (!mergeSome(cursors, writer)) break
        if (writer.waiting >= FINISHED_MAX) yield writer
      }
    }
  }
  writer.end()
  yield writer
}

function partsOf(segments: readonly Segment[]) {
  const sums = new Map<string, { readonly partition: Buffer; readonly representatives: number }>()
  for (const { entries } of segments) {
    for (const { partition, representatives } of entries.places) {
      const name = latin1(partition)
      const sum = representatives + (sums.get(name)?.representatives ?? 0)
      sums.set(name, { partition, representatives: sum })
    }
  }
  return [...sums.values()].toSorted((a, b) => a.partition.compare(b.partition))
}

/** As far as all that is needed is in memory; whether there is more. */
function mergeSome(cursors: readonly Cursor[], writer: SegmentWriter): boolean {
  for (;;) {
    let least: Cursor | undefined
    // Numbers of a later segment are greater, so of equal keys the earlier one is next.
    for (const cursor of cursors) {
      if (cursor.key < (least?.key ?? Infinity)) least = cursor
    }
    if (!least) return false
    writer.add(least.key, least.number)
    least.step()
    if (!least.isReady || writer.waiting >= FINISHED_MAX) return true
  }
}
