/** A report as measurements, under the names that dashboards of the original know. */

import type { Method } from '../dedupe/index.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import { ContainedMetrics } from '../platform/sinks.ts'
import type { Report } from './report.ts'

const PREFIX = 'global_fingerprints'

/**
 * Adds a run to the counters: call it once for each run. Rejected input was never checked. A sink that fails is warned
 * about once.
 */
export function sendMetrics(report: Report, to: MetricsSink): void {
  const sink = new ContainedMetrics(to)
  const { documents, methods, collisions } = report
  const hits = (method: Method) => {
    const found = methods.find((line) => line.method === method)
    return found ? found.dropped + found.linked : 0
  }
  const counters = {
    total_checked: documents.in,
    total_dropped: documents.dropped,
    total_kept: documents.kept,
    total_kept_linked: documents.linked,
    exact_hits: hits('exact'),
    canonical_hits: hits('canonical'),
    simhash_hits: hits('simhash'),
    minhash_hits: hits('near'),
    containment_hits: hits('containment'),
    chunk_hits: hits('chunk'),
    semantic_hits: hits('semantic'),
    cross_dataset_collisions: collisions.crossSource,
  }
  for (const [name, count] of Object.entries(counters)) sink.counter(`${PREFIX}.${name}`, count)
  sink.gauge(`${PREFIX}.duplication_rate_pct`, report.duplicationRate * 100)
  for (const { source, dropped, kept, linked } of report.sources) {
    const labels = { source }
    sink.counter(`${PREFIX}.source_dropped`, dropped, labels)
    sink.counter(`${PREFIX}.source_kept`, kept, labels)
    sink.counter(`${PREFIX}.source_kept_linked`, linked, labels)
  }
}
