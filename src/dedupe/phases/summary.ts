/** Results of a run, counted from its rows: for the report, and for the guards that stop a run. */

import { EMPTY } from '../../platform/bytes.ts'
import type { Backend } from '../../backends/index.ts'
import {
  ByName,
  ByPair,
  countIn,
  type Counts,
  emptyRecord,
  type PairCounts,
  Top,
} from './bounded.ts'
import { ClusterCounter, type ClusterSample } from './cluster-sizes.ts'
import type { Decision, Method, Named } from '../decision/decision.ts'
import { type Line, linesOf } from '../output/lines.ts'
import { isCut } from '../output/kept-of-shard.ts'
import type { Outcome } from './outcome.ts'
import { rejectsIn } from './rejects.ts'
import { UNRANKED } from '../decision/rank.ts'
import type { BatchEntry, DocumentRow } from '../rows.ts'
import { supersededEarlier } from '../output/superseded.ts'

export interface SourceCounts {
  documents: number
  kept: number
  dropped: number
  linked: number
  bytes: number
  bytesDropped: number
}

/** A document, and what it was measured against. */
export interface PairSample extends Named {
  readonly of: Named
  readonly action: DocumentRow['action']
  readonly method: Method
  readonly similarity: number
}

/** A document that shares passages with others, and the first of those. */
export interface PassageSample extends Named {
  readonly of: Named
  readonly spans: number
  readonly bytes: number
}

export interface Summary {
  /** All that was decided about: kept, dropped and linked. */
  documents: number
  kept: number
  /** Left out of the output: duplicates, superseded and repeated ones. */
  dropped: number
  linked: number
  /** Documents that this run met before: the same id, file and text. They are dropped. */
  repeated: number
  rejected: number
  /** Of these, those that are only counted: `rejects.jsonl` has a limit. */
  rejectsUnrecorded: number
  /** Documents of this run that a better copy has replaced since. */
  superseded: number
  /** Documents of changed files that an earlier run had decided about, and that are as they were. */
  unchanged: number
  /** Documents of this run that replaced a worse copy, of this run or an earlier one. */
  superseding: number
  /** Documents that earlier runs kept and that a better copy of this run has replaced: they have left `kept/`. */
  supersededEarlier: number
  /** Duplicates of texts that documents of this run had before: no copy of these is kept now. */
  orphaned: number
  bytes: number
  bytesDropped: number
  /** Documents that are kept without passages that others have, by containment.action cut: they are linked. */
  cut: number
  bytesCut: number
  possibleMisses: number
  /** For each rule of `keep`: documents without the value that it compares (`newest`, `quality`). */
  readonly unranked: number[]
  readonly droppedByMethod: Partial<Record<Method, number>>
  readonly linkedByMethod: Partial<Record<Method, number>>
  readonly bySource: Record<string, SourceCounts>
  /** Documents of each type, where the inputs name one. */
  readonly byType: Record<string, { documents: number }>
  /** Of sources that came when there were too many to count separately. */
  readonly otherSources: SourceCounts
  /** How often a document of the first source came and was found to be like one of the second. */
  readonly collisions: PairCounts
  /** Of these, between two sources. */
  crossSource: number
  /** How often a document of the first source was left out and one of the second kept in its place. */
  readonly survivals: PairCounts
  /** Linked by passages that others have too; bytes are of canonical text. */
  readonly passages: { documents: number; spans: number; bytes: number }
  longestPassages: readonly PassageSample[]
  readonly rejectsByReason: Counts
  /** Near duplicates by similarity, in hundredths; 1 counts to the last. */
  readonly histogram: { readonly near: number[]; readonly simhash: number[] }
  clusters: number
  /** See `sizesOf` for the sizes that share a place. */
  clusterSizes: number[]
  largestClusters: ClusterSample[]
  /** The least similar pairs that were taken for duplicates. */
  closestCalls: readonly PairSample[]
}

const HISTOGRAM_BINS = 100
const CLOSEST = 12
const LONGEST = 5
export async function summarise(
  backend: Backend,
  run: string,
  clusterCounter: ClusterCounter = new ClusterCounter(),
  outcome?: Outcome,
): Promise<Summary> {
  const counting = new Counting()
  for await (const page of linesOf(backend, run)) {
    for (const line of page) {
      const { shard, entry, row } = line
      counting.add(line)
      outcome?.note(shard, entry, row)
      outcome?.rejected.addDocument(shard)
      if (entry.isRepeated) continue
      if (row.run === run) counting.addOrphaned(row)
      else counting.addUnchanged()
      if (row.run === run && row.orphaned) outcome?.orphaning.push(entry.key)
      if (row.cluster) clusterCounter.note(row.cluster)
    }
    const superseding = page.filter(({ entry, row }) => isSuperseding(run, entry, row))
    if (superseding.length === 0) continue
    const earlier = await backend.read(supersededEarlier, run, superseding)
    counting.addSupersededEarlier(earlier.length)
    for (const { shard, entry } of earlier) outcome?.noteSuperseding(shard, entry)
  }
  const summary = counting.summary()
  for await (const { shard, reason, count, reject } of rejectsIn(backend, run)) {
    countReject(summary, reason, count)
    if (!reject) summary.rejectsUnrecorded += count
    outcome?.rejected.addReject(shard, reason, count, reject)
  }
  const { clusters: all, sizes, largest } = await clusterCounter.count(backend, run)
  return { ...summary, clusters: all, clusterSizes: sizes, largestClusters: largest }
}

function isSuperseding(run: string, { isRepeated }: BatchEntry, row: DocumentRow): boolean {
  return !isRepeated && row.run === run && (row.supersedes?.length ?? 0) > 0
}

export function countReject(summary: Summary, reason: string, number: number): void {
  summary.rejected += number
  countIn(summary.rejectsByReason, reason, number)
}

/** Adds up lines. */
export class Counting {
  readonly #sources = new ByName(noCounts)
  readonly #types = new ByName(() => ({ documents: 0 }))
  readonly #collisions = new ByPair()
  readonly #survivals = new ByPair()
  readonly #closest = new Top<PairSample>(CLOSEST, byLikeness)
  readonly #longest = new Top<PassageSample>(LONGEST, byLength)
  readonly #sum: Summary = {
    documents: 0,
    kept: 0,
    dropped: 0,
    linked: 0,
    repeated: 0,
    rejected: 0,
    rejectsUnrecorded: 0,
    superseded: 0,
    unchanged: 0,
    superseding: 0,
    supersededEarlier: 0,
    orphaned: 0,
    bytes: 0,
    bytesDropped: 0,
    cut: 0,
    bytesCut: 0,
    possibleMisses: 0,
    unranked: [],
    droppedByMethod: {},
    linkedByMethod: {},
    bySource: this.#sources.record,
    byType: this.#types.record,
    otherSources: this.#sources.others,
    collisions: this.#collisions,
    crossSource: 0,
    survivals: this.#survivals,
    passages: { documents: 0, spans: 0, bytes: 0 },
    longestPassages: [],
    rejectsByReason: emptyRecord(),
    histogram: { near: bins(), simhash: bins() },
    clusters: 0,
    clusterSizes: [],
    largestClusters: [],
    closestCalls: [],
  }

  summary(): Summary {
    const [closestCalls, longestPassages] = [this.#closest.items, this.#longest.items]
    return { ...this.#sum, closestCalls, longestPassages }
  }

  addUnchanged(): void {
    this.#sum.unchanged++
  }

  addSupersededEarlier(count: number): void {
    this.#sum.supersededEarlier += count
  }

  addOrphaned({ orphaned = 0 }: DocumentRow): void {
    this.#sum.orphaned += orphaned
  }

  /** A decision that is kept in no row. */
  addDecision(decision: Decision, bytes: number): void {
    const { of, representative: centre, method, similarity, spans, ...others } = decision
    const { containment: _containment, cut, ...rest } = others
    const places = spans?.map(({ start, end }) => [start, end, ''] as const)
    const row = {
      ...rest,
      run: '',
      session: '',
      digest: EMPTY,
      bytes,
      at: 0,
      rank: [],
      supersedes: [],
      ...(places && { spans: places }),
      ...(cut && { cutFor: [] }),
    }
    const entry = { position: 0, key: EMPTY, isRepeated: false }
    this.add({ shard: 0, entry, row, of, centre: centre ?? of, method, similarity })
  }

  add(line: Line): void {
    const { entry, row } = line
    const sum = this.#sum
    const both = [sum, this.#sources.of(row.source)]
    for (const one of both) one.documents++
    for (const one of both) one.bytes += row.bytes
    if (row.type !== undefined) this.#types.of(row.type).documents++
    if (entry.isRepeated) sum.repeated++
    for (const [at, value] of row.rank.entries())
      sum.unranked[at] = (sum.unranked[at] ?? 0) + (value === UNRANKED ? 1 : 0)
    const isDropped = entry.isRepeated || row.action === 'drop' || row.action === 'superseded'
    for (const one of both) {
      if (isDropped) one.bytesDropped += row.bytes
      if (isDropped) one.dropped++
      else if (row.action === 'link') one.linked++
      else one.kept++
    }
    if (!entry.isRepeated) this.#addOwn(line, isDropped)
  }

  /** Of a document that this run has decided about. */
  #addOwn(line: Line, isDropped: boolean): void {
    const { row, of, method } = line
    const sum = this.#sum
    if (row.possibleMiss) sum.possibleMisses++
    if (row.action === 'superseded') sum.superseded++
    if (row.supersedes?.length) sum.superseding++
    if (method && isDropped) addTo(sum.droppedByMethod, method)
    if (method && row.action === 'link') addTo(sum.linkedByMethod, method)
    if (of && isDropped) this.#survivals.add(row.source, of.source)
    if (isCut(row)) {
      sum.cut++
      sum.bytesCut += bytesOf(row.spans ?? [])
    }
    this.#addCollision(line)
    this.#addPassages(line)
  }

  /** It came, and something like it was there. */
  #addCollision({ row, centre, method, similarity = 1 }: Line): void {
    if (!centre || row.vetoes || (!row.cluster && !row.spans && !row.like)) return
    this.#collisions.add(row.source, centre.source)
    if (row.source !== centre.source) this.#sum.crossSource++
    if (!row.cluster || (method !== 'near' && method !== 'simhash')) return
    const bin = Math.min(HISTOGRAM_BINS - 1, Math.floor(similarity * HISTOGRAM_BINS + 1e-9))
    const counts = this.#sum.histogram[method]
    counts[bin] = (counts[bin] ?? 0) + 1
    const { id, source, action } = row
    this.#closest.add({ id, source, of: centre, action, method, similarity })
  }

  #addPassages({ row, centre, method }: Line): void {
    if (!row.spans || method === 'containment') return
    const bytes = bytesOf(row.spans)
    const { passages } = this.#sum
    passages.documents++
    passages.spans += row.spans.length
    passages.bytes += bytes
    const { id, source, spans, cluster } = row
    if (centre && !cluster)
      this.#longest.add({ id, source, of: centre, spans: spans.length, bytes })
  }
}

function addTo(counts: Partial<Record<Method, number>>, method: Method): void {
  counts[method] = (counts[method] ?? 0) + 1
}

function bytesOf(spans: NonNullable<DocumentRow['spans']>): number {
  return spans.reduce((sum, [start, end]) => sum + end - start, 0)
}

function byLikeness(one: PairSample, other: PairSample): number {
  return one.similarity - other.similarity || (one.id < other.id ? -1 : 1)
}

function byLength(one: PassageSample, other: PassageSample): number {
  return other.bytes - one.bytes || (one.id < other.id ? -1 : 1)
}

function bins(): number[] {
  return Array.from({ length: HISTOGRAM_BINS }, () => 0)
}

function noCounts(): SourceCounts {
  return { documents: 0, kept: 0, dropped: 0, linked: 0, bytes: 0, bytesDropped: 0 }
}
