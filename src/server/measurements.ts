/** What the server measures, rendered at /metrics with the names of the C++ server. */

import type { MetricLabels, MetricsSink } from '../platform/telemetry.ts'
import { prometheusSink } from '../telemetry/index.ts'

/** Milliseconds, as the C++ server has them. */
const MILLISECONDS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS'])

export class Measurements {
  readonly #prometheus = prometheusSink({
    buckets: {
      'prestige.http.request_duration_ms': MILLISECONDS,
      'prestige.proxy.upstream_latency_ms': MILLISECONDS,
    },
  })
  /** The same objects again, whose text the sink need not make again. There are as many as routes, methods and codes. */
  readonly #labels = new Map<string, Record<'counted' | 'timed', MetricLabels>>()
  readonly sink: MetricsSink

  constructor(other: MetricsSink | undefined) {
    this.sink = other ? both(this.#prometheus, other) : this.#prometheus
  }

  get contentType(): string {
    return this.#prometheus.contentType
  }

  /** The path is that of the route, so that there are only as many series as routes. */
  request(method: string, path: string, status: number, ms: number): void {
    const known = METHODS.has(method) ? method : 'other'
    const key = `${status} ${known} ${path}`
    let labels = this.#labels.get(key)
    if (!labels) {
      const common = { method: known, path }
      labels = {
        counted: Object.freeze({ ...common, status: String(status) }),
        timed: Object.freeze(common),
      }
      this.#labels.set(key, labels)
    }
    this.sink.counter('prestige.http.requests_total', 1, labels.counted)
    this.sink.histogram('prestige.http.request_duration_ms', ms, labels.timed)
  }

  render(): string {
    return this.#prometheus.render()
  }
}

function both(one: MetricsSink, other: MetricsSink): MetricsSink {
  return {
    counter(name: string, delta: number, labels?: MetricLabels) {
      one.counter(name, delta, labels)
      other.counter(name, delta, labels)
    },
    histogram(name: string, value: number, labels?: MetricLabels) {
      one.histogram(name, value, labels)
      other.histogram(name, value, labels)
    },
    gauge(name: string, value: number, labels?: MetricLabels) {
      one.gauge(name, value, labels)
      other.gauge(name, value, labels)
    },
  }
}
