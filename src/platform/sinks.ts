/**
 * Metrics and trace sinks of the user's, held so that they can do no harm: what they throw, at once or by a promise
 * that rejects later, is warned about once and otherwise ignored. Their promises are not awaited.
 */

import type { MetricLabels, MetricsSink, Tracer, TraceSpan } from './telemetry.ts'

class Containment {
  #hasWarned = false

  run<T>(send: () => T): T | undefined {
    try {
      const result = send()
      if (isThenable(result)) result.then(undefined, (error: unknown) => this.#warn(error))
      return result
    } catch (error) {
      this.#warn(error)
      return undefined
    }
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    process.emitWarning(`A metrics or trace sink failed: ${String(error)}`)
  }
}

/** Sinks are typed to return nothing, and async ones return promises all the same. */
function isThenable(result: unknown): result is PromiseLike<unknown> {
  return (
    typeof result === 'object' &&
    result !== null &&
    'then' in result &&
    typeof result.then === 'function'
  )
}

export class ContainedMetrics implements MetricsSink {
  readonly #sink: MetricsSink
  readonly #containment: Containment

  constructor(sink: MetricsSink, containment: Containment = new Containment()) {
    this.#sink = sink
    this.#containment = containment
  }

  counter(name: string, delta: number, labels?: MetricLabels): void {
    this.#containment.run(() => this.#sink.counter(name, delta, labels))
  }

  histogram(name: string, value: number, labels?: MetricLabels): void {
    this.#containment.run(() => this.#sink.histogram(name, value, labels))
  }

  gauge(name: string, value: number, labels?: MetricLabels): void {
    this.#containment.run(() => this.#sink.gauge(name, value, labels))
  }
}

class ContainedTracer implements Tracer {
  readonly #tracer: Tracer
  readonly #containment: Containment

  constructor(tracer: Tracer, containment: Containment) {
    this.#tracer = tracer
    this.#containment = containment
  }

  startSpan(name: string): TraceSpan {
    const containment = this.#containment
    const span = containment.run(() => this.#tracer.startSpan(name))
    return {
      setAttribute: (attribute, value) =>
        containment.run(() => span?.setAttribute(attribute, value)),
      addEvent: (event) => containment.run(() => span?.addEvent(event)),
      end: () => containment.run(() => span?.end()),
    }
  }
}

/** Both warn once together. */
export function containedSinks(
  metrics: MetricsSink | undefined,
  tracer: Tracer | undefined,
): { readonly metrics: MetricsSink | undefined; readonly tracer: Tracer | undefined } {
  const containment = new Containment()
  return {
    metrics: metrics && new ContainedMetrics(metrics, containment),
    tracer: tracer && new ContainedTracer(tracer, containment),
  }
}
