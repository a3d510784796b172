/**
 * Metrics and spans for OpenTelemetry. What is needed of its meters and tracers is described here as shapes, so that
 * every release of `@opentelemetry/api` with synchronous gauges (1.9 and later) will do, and none is loaded.
 */

import type { MetricLabels, MetricsSink, Tracer, TraceSpan } from '../platform/telemetry.ts'
import { infoOf } from './catalogue.ts'

interface InstrumentInfo {
  readonly unit?: string
  readonly description?: string
  readonly advice?: { explicitBucketBoundaries?: number[] }
}

interface Recording {
  record(value: number, attributes?: Record<string, string>): void
}

/** What is used of a `Meter` of `@opentelemetry/api`. */
export interface MeterLike {
  createCounter(
    name: string,
    options?: InstrumentInfo,
  ): { add(value: number, attributes?: Record<string, string>): void }
  createHistogram(name: string, options?: InstrumentInfo): Recording
  createGauge(name: string, options?: InstrumentInfo): Recording
}

/** What is used of a `Span` of `@opentelemetry/api`. */
export interface SpanLike {
  setAttribute(name: string, value: number | string | boolean): unknown
  setStatus(status: { code: 2; message?: string }): unknown
  addEvent(name: string): unknown
  end(): void
}

/** What is used of a `Tracer` of `@opentelemetry/api`. */
export interface TracerLike {
  startSpan(name: string): SpanLike
}

export interface OpenTelemetryOptions {
  /** Attributes of every measurement, such as the name of the store. */
  readonly attributes?: MetricLabels | undefined
}

/** SpanStatusCode.ERROR */
const ERROR = 2
/** A key that is not there is no failure. */
const FINE: ReadonlySet<unknown> = new Set(['ok', 'not_found'])

/** Instruments are created when something is measured for the first time, and kept. */
class MeterSink implements MetricsSink {
  readonly #meter: MeterLike
  readonly #attributes: MetricLabels
  readonly #counters = new Map<string, ReturnType<MeterLike['createCounter']>>()
  readonly #histograms = new Map<string, Recording>()
  readonly #gauges = new Map<string, Recording>()

  constructor(meter: MeterLike, attributes: MetricLabels) {
    this.#meter = meter
    this.#attributes = attributes
  }

  counter(name: string, delta: number, labels?: MetricLabels): void {
    let counter = this.#counters.get(name)
    if (!counter) {
      counter = this.#meter.createCounter(name, optionsOf(name))
      this.#counters.set(name, counter)
    }
    counter.add(delta, this.#with(labels))
  }

  histogram(name: string, value: number, labels?: MetricLabels): void {
    let histogram = this.#histograms.get(name)
    if (!histogram) {
      const advice = { explicitBucketBoundaries: [...infoOf(name).buckets] }
      histogram = this.#meter.createHistogram(name, { ...optionsOf(name), advice })
      this.#histograms.set(name, histogram)
    }
    histogram.record(value, this.#with(labels))
  }

  gauge(name: string, value: number, labels?: MetricLabels): void {
    let gauge = this.#gauges.get(name)
    if (!gauge) {
      gauge = this.#meter.createGauge(name, optionsOf(name))
      this.#gauges.set(name, gauge)
    }
    gauge.record(value, this.#with(labels))
  }

  #with(labels: MetricLabels | undefined): MetricLabels {
    return labels ? { ...this.#attributes, ...labels } : this.#attributes
  }
}

function optionsOf(name: string): InstrumentInfo {
  const { unit, description } = infoOf(name)
  return { unit, description }
}

class OpenTelemetrySpan implements TraceSpan {
  readonly #span: SpanLike

  constructor(span: SpanLike) {
    this.#span = span
  }

  setAttribute(name: string, value: number | string | boolean): void {
    this.#span.setAttribute(name, value)
    if (name !== 'status' || FINE.has(value)) return
    this.#span.setStatus({ code: ERROR, message: String(value) })
  }

  addEvent(name: string): void {
    this.#span.addEvent(name)
  }

  end(): void {
    this.#span.end()
  }
}

/** A metrics sink for the option `metrics`: counters, histograms and gauges with units, descriptions and buckets. */
export function openTelemetryMetrics(
  meter: MeterLike,
  options: OpenTelemetryOptions = {},
): MetricsSink {
  return new MeterSink(meter, { ...options.attributes })
}

/** A tracer for the option `tracer`. The status of the span of an operation that failed is an error, with its code. */
export function openTelemetryTracer(tracer: TracerLike): Tracer {
  return { startSpan: (name) => new OpenTelemetrySpan(tracer.startSpan(name)) }
}
