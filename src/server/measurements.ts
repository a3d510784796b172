/** What the server measures, rendered at /metrics with the names of the C++ server. */

import type { MetricLabels, MetricsSink } from '../platform/telemetry.ts'
import { prometheusSink } from '../telemetry/index.ts'

/** Milliseconds, as the C++ server has them. */
const MILLISECONDS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

export class Measurements {
  readonly #prometheus = prometheusSink({
    buckets: {
      'prestige.http.request_duration_ms': MILLISECONDS,
      'prestige.proxy.upstream_latency_ms': MILLISECONDS,
    },
  })
  readonly sink: MetricsSink

  constructor(other: MetricsSink | undefined) {
    this.sink = other ? both(this.#prometheus, other) : this.#prometheus
  }

  get contentType(): string {
    return this.#prometheus.contentType
  }

  /** The path is that of the route, so that there are only as many series as routes. */
  request(method: string, path: string, status: number, ms: number): void {
    const known = /^(?:GET|HEAD|PUT|POST|DELETE|OPTIONS)$/.test(method) ? method : 'other'
    const labels = { method: known, path, status: String(status) }
    this.sink.counter('prestige.http.requests_total', 1, labels)
    this.sink.histogram('prestige.http.request_duration_ms', ms, { method: known, path })
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
