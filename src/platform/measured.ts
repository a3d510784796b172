/** Operations as measurements: how often each was called, how it ended, how long it took. */

import { PrestigeError } from './errors.ts'
import type { MetricsSink } from './telemetry.ts'

/** Sends `PREFIX.calls` and `PREFIX.latency_us` when the work has ended. Without a sink there is only the work. */
export async function measured<T>(
  sink: MetricsSink | undefined,
  prefix: string,
  operation: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!sink) return work()
  const started = performance.now()
  let status = 'ok'
  try {
    return await work()
  } catch (error) {
    status = error instanceof PrestigeError ? error.code : 'error'
    throw error
  } finally {
    sink.counter(`${prefix}.calls`, 1, { operation, status })
    const us = (performance.now() - started) * 1000
    sink.histogram(`${prefix}.latency_us`, us, { operation })
  }
}
