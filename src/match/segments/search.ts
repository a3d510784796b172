/**
 * Searches what is sealed together with the tables in memory. The answer is the one that tables of everything would
 * give: the same candidates in the same order, and the same buckets passed over.
 *
 * Of an entry that is found, the journal has the id and the signature; if it has none, the representative has gone. So
 * only where a bucket may be too full does it matter how many of its entries are of such.
 */

import { type Bytes, equalBytes, latin1 } from '../../platform/bytes.ts'
import { glance, type Transaction } from '../../backends/index.ts'
import {
  type Candidate,
  type Candidates,
  type GroupedTables,
  numbersIn,
  type PageRange,
} from '../../fingerprint/index.ts'
import { readChanges } from '../journal.ts'
import type { NearSpaces } from '../rows.ts'
import type { SignatureLayout } from '../scheme/scheme.ts'
import { pageCell, type Segment } from './rows.ts'

export interface Searching<Signature> {
  readonly spaces: NearSpaces
  readonly scheme: SignatureLayout<Signature>
  readonly segments: readonly Segment[]
  /** Of what came after them. */
  readonly tables: GroupedTables<Signature>
  /** At most so many entries are of representatives that have gone. */
  readonly removals: number
}

export interface Asked<Signature> {
  readonly partition: Bytes
  readonly signature: Signature
  readonly query: ViewQuery
}

export interface ViewQuery {
  readonly estimateMin: number
  readonly limit: number
  readonly bucketMax: number
}

/** What segments have of one band's key. */
interface Bucket {
  /** Or more, where `sequences` are not all. */
  count: number
  /** Journal rows; `undefined`: too many to be looked at. */
  sequences: number[] | undefined
}

/** `undefined` if a segment cannot be read. */
export function* searchSealed<Signature>(
  searching: Searching<Signature>,
  asked: Asked<Signature>,
): Transaction<Candidates | undefined> {
  const { tables, removals, scheme } = searching
  const { partition, signature, query } = asked
  const keys = scheme.bandKeys(signature)
  const ranges = rangesOf(searching.segments, latin1(partition), keys)
  // As for most of what is searched: no filter lets it pass.
  if (ranges.length === 0) return tables.query(latin1(partition), signature, query)
  const buckets = yield* bucketsOf(searching.spaces, ranges, keys, query.bucketMax + removals)
  if (!buckets) return undefined
  const elsewhere = Uint32Array.from(buckets, (bucket) => bucket?.count ?? 0)
  const search = () => tables.query(latin1(partition), signature, { ...query, elsewhere })
  let found = search()
  let passed = passedOver(found, elsewhere, query.bucketMax)
  if (
    removals > 0 &&
    (yield* countLiving(searching, buckets, passed, elsewhere, query.bucketMax))
  ) {
    found = search()
    passed = passedOver(found, elsewhere, query.bucketMax)
  }
  const sequences = new Set<number>()
  buckets.forEach((bucket, band) => {
    if (passed.has(band)) return
    for (const sequence of bucket?.sequences ?? []) sequences.add(sequence)
  })
  const { candidates, compared, bandsPassedOver } = found
  const all = [...candidates, ...(yield* candidatesAt(searching, asked, sequences))]
  if (all.length > candidates.length) {
    all.sort((one, other) => other.estimate - one.estimate || one.id.compare(other.id))
  }
  return {
    candidates: all.slice(0, query.limit),
    compared: compared + sequences.size,
    bucketsPassedOver: passed.size,
    ...(bandsPassedOver && { bandsPassedOver: [...passed] }),
  }
}

function passedOver(
  { bandsPassedOver = [] }: Candidates,
  elsewhere: Uint32Array,
  bucketMax: number,
): Set<number> {
  const passed = new Set(bandsPassedOver)
  elsewhere.forEach((count, band) => {
    if (count > bucketMax) passed.add(band)
  })
  return passed
}

/** Pages of a segment that may have the key of a band. */
interface BandRange extends PageRange {
  readonly segment: Segment
  readonly band: number
}

function rangesOf(
  segments: readonly Segment[],
  partition: string,
  keys: Uint32Array,
): readonly BandRange[] {
  const ranges: BandRange[] = []
  for (const segment of segments) {
    const { entries } = segment
    const place = entries.place(partition)
    if (!place) continue
    for (let band = 0; band < keys.length; band++) {
      const range = entries.find(place, band, keys[band] ?? 0)
      if (range) ranges.push({ ...range, segment, band })
    }
  }
  return ranges
}

/** By band. Of buckets with more than `most` entries only the least number is known. */
function* bucketsOf(
  spaces: NearSpaces,
  ranges: readonly BandRange[],
  keys: Uint32Array,
  most: number,
): Transaction<(Bucket | undefined)[] | undefined> {
  const least = new Uint32Array(keys.length)
  for (const { band, entriesMin } of ranges) least[band] = (least[band] ?? 0) + entriesMin
  const buckets: (Bucket | undefined)[] = Array.from(keys, () => undefined)
  const wanted: { readonly range: BandRange; readonly page: number }[] = []
  for (const range of ranges) {
    const count = least[range.band] ?? 0
    const isTooFull = count > most
    // What is too full already need not be read.
    buckets[range.band] = isTooFull ? { count, sequences: undefined } : { count: 0, sequences: [] }
    if (isTooFull) continue
    for (let page = range.from; page < range.to; page++) wanted.push({ range, page })
  }
  const cells = wanted.map(({ range, page }) => pageCell(spaces, range.segment.id, page))
  const pages = yield* glance(...cells)
  for (const [at, { range, page }] of wanted.entries()) {
    const { segment, band } = range
    const bytes = pages[at]
    const numbers = bytes && numbersIn(bytes, segment.entries.firstKey(page), keys[band] ?? 0)
    const bucket = buckets[band]
    if (!numbers) return undefined
    for (const number of numbers) bucket?.sequences?.push(segment.from + number)
    if (bucket) bucket.count += numbers.length
  }
  return buckets
}

/** Counts those of full buckets that are still there, where that may matter; whether it did. */
function* countLiving<Signature>(
  { spaces, removals }: Searching<Signature>,
  buckets: readonly (Bucket | undefined)[],
  passed: ReadonlySet<number>,
  elsewhere: Uint32Array,
  bucketMax: number,
): Transaction<boolean> {
  let hasChanged = false
  for (const band of passed) {
    const { count = 0, sequences } = buckets[band] ?? {}
    if (!sequences || count === 0 || count - removals > bucketMax) continue
    let living = 0
    for (const row of yield* readChanges(spaces, sequences)) {
      if (row?.kind === 'insert') living++
    }
    hasChanged ||= living !== count
    elsewhere[band] = living
  }
  return hasChanged
}

function* candidatesAt<Signature>(
  { spaces, scheme }: Searching<Signature>,
  { partition, signature, query }: Asked<Signature>,
  sequences: ReadonlySet<number>,
): Transaction<Candidate[]> {
  const found: Candidate[] = []
  if (sequences.size === 0) return found
  const inOrder = [...sequences].toSorted((one, other) => one - other)
  for (const row of yield* readChanges(spaces, inOrder)) {
    if (row?.kind !== 'insert' || !equalBytes(row.partition, partition)) continue
    const estimate = scheme.estimate(signature, scheme.borrowed(row.signature))
    if (estimate >= query.estimateMin) found.push({ id: Buffer.from(row.id), estimate })
  }
  return found
}
