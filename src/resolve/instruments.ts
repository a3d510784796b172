/**
 * Measurements of the resolver, under the names of the one it grew from: `lsh.dedup.` for texts, `lsh.vector.`
 * for vectors. A sink that fails must not turn an answer into a failure: see sinks.ts.
 */

import type { MetricLabels, MetricsSink } from '../platform/telemetry.ts'
import { ContainedMetrics } from '../platform/sinks.ts'
import type { Ended } from './resolve.ts'

/** Where an answer came from: a representative itself, memory, rows, a measurement, nowhere. */
export type ResultLabel = 'l1_hit' | 'l2_hit' | 'l3_hit' | 'match' | 'new'

const LABELS = { exact: 'l1_hit', known: 'l3_hit', match: 'match', new: 'new' } as const
const PREFIXES = { text: 'lsh.dedup', vector: 'lsh.vector' } as const

export class Instruments {
  readonly #sink: MetricsSink
  readonly #labelGroups: boolean

  constructor(sink: MetricsSink, labelGroups: boolean) {
    this.#sink = new ContainedMetrics(sink)
    this.#labelGroups = labelGroups
  }

  resolved(
    kind: 'text' | 'vector',
    group: string,
    ended: Ended,
    fromMemory: boolean,
    seconds: number,
  ): void {
    const result: ResultLabel = fromMemory ? 'l2_hit' : LABELS[ended.status]
    const labels: MetricLabels = this.#labelGroups ? { result, group } : { result }
    const prefix = PREFIXES[kind]
    this.#sink.histogram(`${prefix}.upsert.duration`, seconds, labels)
    this.#sink.counter(`${prefix}.upsert.total`, 1, labels)
    if (ended.status === 'new') this.#sink.counter(`${prefix}.new_id.total`, 1, labels)
    if (fromMemory || ended.status === 'exact' || ended.status === 'known') return
    this.#sink.histogram(`${prefix}.candidates.count`, ended.candidates, labels)
    this.#sink.histogram(`${prefix}.exact_compare.count`, ended.compared, labels)
    if (ended.passedOver > 0) {
      this.#sink.counter(`${prefix}.buckets_passed_over.total`, ended.passedOver, labels)
    }
  }
}
