/** What the server measures, rendered at /metrics with the names of the C++ server. */

import type { MetricLabels, MetricsSink } from '../platform/telemetry.ts'
import { prometheusSink } from '../telemetry/index.ts'

/** Milliseconds, as the C++ server has them. */
const MILLISECONDS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

const LATENCY = '.latency_us'
const OPERATION_AT = 'prestige.'.length
/** So many of the last calls are kept for percentiles. */
const LAST_CALLS = 1024

export interface OperationTimes {
  readonly calls: number
  readonly p50Us: number
  readonly p99Us: number
}

class Latencies {
  readonly #last = new Float64Array(LAST_CALLS)
  #calls = 0

  add(us: number): void {
    this.#last[this.#calls++ % LAST_CALLS] = us
  }

  times(): OperationTimes {
    const sorted = this.#last.slice(0, Math.min(this.#calls, LAST_CALLS)).toSorted()
    const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
    return { calls: this.#calls, p50Us: at(0.5), p99Us: at(0.99) }
  }
}
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS'])

export class Measurements {
  readonly #prometheus = prometheusSink({
    buckets: {
      'prestige.http.request_duration_ms': MILLISECONDS,
      'prestige.proxy.upstream_latency_ms': MILLISECONDS,
    },
  })
  readonly #latencies = new Map<string, Latencies>()
  /** The same objects again, whose text the sink need not make again. There are as many as routes, methods and codes. */
  readonly #labels = new Map<string, Record<'counted' | 'timed', MetricLabels>>()
  readonly sink: MetricsSink

  constructor(other: MetricsSink | undefined) {
    const sink = both(this.#prometheus, this.#recorder())
    this.sink = other ? both(sink, other) : sink
  }

  #recorder(): MetricsSink {
    return {
      counter: () => undefined,
      gauge: () => undefined,
      histogram: (metric, value) => {
        if (!metric.endsWith(LATENCY)) return
        const name = metric.slice(OPERATION_AT, -LATENCY.length)
        let latencies = this.#latencies.get(name)
        if (!latencies) this.#latencies.set(name, (latencies = new Latencies()))
        latencies.add(value)
      },
    }
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

  /** Of the operations of stores, by name. Times are of the last calls. */
  operations(): Readonly<Record<string, OperationTimes>> {
    return Object.fromEntries([...this.#latencies].map(([name, one]) => [name, one.times()]))
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
