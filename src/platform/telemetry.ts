/** Nouns that several modules share. Types only. */

/** Where measurements go. Names are those of the original: `prestige.put.calls`, `prestige.get.latency_us` … */
export interface MetricsSink {
  counter(name: string, delta: number, labels?: MetricLabels): void
  histogram(name: string, value: number, labels?: MetricLabels): void
  gauge(name: string, value: number, labels?: MetricLabels): void
}

export type MetricLabels = Readonly<Record<string, string>>

export interface TraceSpan {
  setAttribute(name: string, value: number | string | boolean): void
  addEvent(name: string): void
  end(): void
}

/** Where spans go: `prestige.Put`, `prestige.Get`, `prestige.Delete`. */
export interface Tracer {
  startSpan(name: string): TraceSpan
}
