/**
 * Measurements of the corpus job while it goes on. Sent once for every batch of decisions, never for each document: a
 * job without a sink has none of this, and one with a sink pays a pass over the decisions of a batch.
 *
 * Rates are of all documents since the state was opened. Documents that were decided about before are not counted.
 */

import { ContainedMetrics } from '../platform/sinks.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import type { Decision } from './decision/decision.ts'
import type { PreparedDocument } from './decision/prepare.ts'

const PREFIX = 'prestige.dedupe'
/** Of further sources, all together are one: a sink keeps a series for every name. */
const SOURCES_MAX = 100
const OTHER_SOURCES = 'other'

interface SourceCounts {
  documents: number
  /** Dropped in favour of a document of another source. */
  lost: number
}

export class JobMetrics {
  readonly #sink: MetricsSink
  readonly #sources = new Map<string, SourceCounts>()
  #documents = 0
  #dropped = 0
  #crossSource = 0
  #chunkBytes = 0
  #reusedBytes = 0

  constructor(sink: MetricsSink) {
    this.#sink = new ContainedMetrics(sink)
  }

  /** `ms`: how long it took to decide about all of them, in one transaction. */
  onBatch(prepared: readonly PreparedDocument[], decisions: readonly Decision[], ms: number): void {
    const counts = new Counts()
    const touched = new Map<string, SourceCounts>()
    for (const [at, decision] of decisions.entries()) {
      if (decision.isKnown && !decision.isRepeated) continue
      this.#add(decision, prepared[at], counts, touched)
    }
    this.#sink.histogram(`${PREFIX}.decide.latency_us`, ms * 1000)
    this.#sink.histogram(`${PREFIX}.decide.documents`, decisions.length)
    counts.send(this.#sink)
    this.#sendRates(touched)
  }

  #add(
    decision: Decision,
    document: PreparedDocument | undefined,
    counts: Counts,
    touched: Map<string, SourceCounts>,
  ): void {
    const { action, method, of, source, supersedes, spans = [] } = decision
    const name =
      this.#sources.has(source) || this.#sources.size < SOURCES_MAX ? source : OTHER_SOURCES
    const ofSource = this.#sources.get(name) ?? { documents: 0, lost: 0 }
    this.#sources.set(name, ofSource)
    touched.set(name, ofSource)
    this.#documents++
    ofSource.documents++
    counts.add('documents', { action })
    counts.add('source_documents', { source: name })
    if (method !== undefined && action !== 'keep') counts.add('duplicates', { method })
    if (supersedes) counts.add('superseded', {}, supersedes.length)
    const isElsewhere = of !== undefined && of.source !== source
    if (isElsewhere && action !== 'keep') {
      this.#crossSource++
      counts.add('cross_source_duplicates', {})
    }
    if (action === 'drop') {
      this.#dropped++
      if (isElsewhere) ofSource.lost++
      counts.add('source_dropped', { source: name })
    }
    if (!document || document.chunks.length === 0) return
    this.#chunkBytes += document.formBytes
    // Places found by containment are of the text, not of its chunks.
    if (decision.containment) return
    for (const { start, end } of spans) this.#reusedBytes += end - start
  }

  #sendRates(touched: ReadonlyMap<string, SourceCounts>): void {
    if (this.#documents === 0) return
    const sink = this.#sink
    sink.gauge(`${PREFIX}.duplication_rate`, this.#dropped / this.#documents)
    sink.gauge(`${PREFIX}.collision_rate`, this.#crossSource / this.#documents)
    if (this.#chunkBytes > 0) {
      sink.gauge(`${PREFIX}.chunk_reuse_rate`, this.#reusedBytes / this.#chunkBytes)
    }
    for (const [source, { documents, lost }] of touched) {
      sink.gauge(`${PREFIX}.dominance`, lost / documents, { source })
    }
  }
}

/** Counters of one batch, each sent once. */
class Counts {
  readonly #all = new Map<string, { name: string; labels: Record<string, string>; count: number }>()

  add(name: string, labels: Record<string, string>, count = 1): void {
    const key = `${name} ${Object.values(labels).join(' ')}`
    const known = this.#all.get(key)
    if (known) known.count += count
    else this.#all.set(key, { name, labels, count })
  }

  send(sink: MetricsSink): void {
    for (const { name, labels, count } of this.#all.values()) {
      sink.counter(`${PREFIX}.${name}`, count, labels)
    }
  }
}
