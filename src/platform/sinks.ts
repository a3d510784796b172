/**
 * Metrics and trace sinks of the user's, held so that they can do no harm: what they throw, at once or by a promise
 * that rejects later, is warned about once and otherwise ignored. Their promises are not awaited.
 */

import type { MetricLabels, MetricsSink, Tracer, TraceSpan } from './telemetry.ts'

class Containment {
  #hasWarned = false

  /** `send` is one of the functions below: a function for each of the ten calls of a put would have to be made. */
  run<S, A, B, C, T>(
    send: (sink: S, first: A, second: B, third: C) => T,
    sink: S,
    first: A,
    second: B,
    third: C,
  ): T | undefined {
    try {
      const result = send(sink, first, second, third)
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

type Labels = MetricLabels | undefined
type Attribute = number | string | boolean

const count = (sink: MetricsSink, name: string, delta: number, labels: Labels) =>
  sink.counter(name, delta, labels)
const measure = (sink: MetricsSink, name: string, value: number, labels: Labels) =>
  sink.histogram(name, value, labels)
const gauge = (sink: MetricsSink, name: string, value: number, labels: Labels) =>
  sink.gauge(name, value, labels)
const startSpan = (tracer: Tracer, name: string) => tracer.startSpan(name)
const setAttribute = (span: TraceSpan, name: string, value: Attribute) =>
  span.setAttribute(name, value)
const addEvent = (span: TraceSpan, name: string) => span.addEvent(name)
const end = (span: TraceSpan) => span.end()

export class ContainedMetrics implements MetricsSink {
  readonly #sink: MetricsSink
  readonly #containment: Containment

  constructor(sink: MetricsSink, containment: Containment = new Containment()) {
    this.#sink = sink
    this.#containment = containment
  }

  counter(name: string, delta: number, labels?: MetricLabels): void {
    this.#containment.run(count, this.#sink, name, delta, labels)
  }

  histogram(name: string, value: number, labels?: MetricLabels): void {
    this.#containment.run(measure, this.#sink, name, value, labels)
  }

  gauge(name: string, value: number, labels?: MetricLabels): void {
    this.#containment.run(gauge, this.#sink, name, value, labels)
  }
}

class ContainedSpan implements TraceSpan {
  readonly #span: TraceSpan
  readonly #containment: Containment

  constructor(span: TraceSpan, containment: Containment) {
    this.#span = span
    this.#containment = containment
  }

  setAttribute(name: string, value: Attribute): void {
    this.#containment.run(setAttribute, this.#span, name, value, undefined)
  }

  addEvent(name: string): void {
    this.#containment.run(addEvent, this.#span, name, undefined, undefined)
  }

  end(): void {
    this.#containment.run(end, this.#span, undefined, undefined, undefined)
  }
}

export class ContainedTracer {
  readonly #tracer: Tracer
  readonly #containment: Containment

  constructor(tracer: Tracer, containment: Containment) {
    this.#tracer = tracer
    this.#containment = containment
  }

  /** `undefined` of a tracer that fails. */
  startSpan(name: string): TraceSpan | undefined {
    const span = this.#containment.run(startSpan, this.#tracer, name, undefined, undefined)
    return span && new ContainedSpan(span, this.#containment)
  }
}

/** Both warn once together. */
export function containedSinks(
  metrics: MetricsSink | undefined,
  tracer: Tracer | undefined,
): {
  readonly metrics: MetricsSink | undefined
  readonly tracer: ContainedTracer | undefined
} {
  const containment = new Containment()
  return {
    metrics: metrics && new ContainedMetrics(metrics, containment),
    tracer: tracer && new ContainedTracer(tracer, containment),
  }
}
