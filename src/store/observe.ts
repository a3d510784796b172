/**
 * Metrics and spans of the store's operations, under the names that the C++ unique value store uses. A store without a sink
 * has no observer, and pays one comparison an operation.
 *
 * A sink that fails must not turn a put that was done into one that failed: see sinks.ts.
 */

import type { Body, Scope, Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { MetricsSink, Tracer } from '../platform/telemetry.ts'
import { containedSinks } from '../platform/sinks.ts'

export type Operation = 'get' | 'put' | 'delete'
const SPAN_OF = { get: 'prestige.Get', put: 'prestige.Put', delete: 'prestige.Delete' } as const

/** What an operation notes while it runs. Everything is sent when it has ended. */
export class Notes {
  attempts = 0
  /** Time between the transactions of a put, for embedding and comparing. */
  embeddingMs = 0
  sha256Us = 0
  normalizeUs = 0
  readonly counters: [string, number][] = []
  readonly histograms: [string, number][] = []
  readonly attributes: [string, number | string | boolean][] = []
  readonly events: string[] = []

  count(name: string, delta = 1): void {
    this.counters.push([name, delta])
  }

  measure(name: string, value: number): void {
    this.histograms.push([name, value])
  }

  attribute(name: string, value: number | string | boolean): void {
    this.attributes.push([name, value])
  }

  /** Counts how often a body had to be run. */
  counting<A extends readonly unknown[], T>(body: Body<A, T>): Body<A, T> {
    return (scope: Scope, ...args: A): Transaction<T> => {
      this.attempts++
      return body(scope, ...args)
    }
  }
}

export class Observer {
  readonly #metrics: MetricsSink | undefined
  readonly #tracer: Tracer | undefined

  constructor(metrics: MetricsSink | undefined, tracer: Tracer | undefined) {
    const contained = containedSinks(metrics, tracer)
    this.#metrics = contained.metrics
    this.#tracer = contained.tracer
  }

  async observe<T>(operation: Operation, work: (notes: Notes) => Promise<T>): Promise<T> {
    const notes = new Notes()
    const started = performance.now()
    const span = this.#tracer?.startSpan(SPAN_OF[operation])
    let status = 'ok'
    try {
      const result = await work(notes)
      if (notes.counters.some(([name]) => name === 'not_found_total')) status = 'not_found'
      return result
    } catch (error) {
      status = error instanceof PrestigeError ? error.code : 'error'
      notes.count(status === 'CONTENDED' ? 'timed_out_total' : 'error_total')
      throw error
    } finally {
      const latencyUs = (performance.now() - started) * 1000
      this.#sendMetrics(operation, notes, latencyUs, status)
      for (const [name, value] of notes.attributes) span?.setAttribute(name, value)
      span?.setAttribute('latency_us', latencyUs)
      span?.setAttribute('attempts', notes.attempts)
      span?.setAttribute('status', status)
      for (let retry = 1; retry < notes.attempts; retry++) span?.addEvent('retry.commit')
      for (const event of notes.events) span?.addEvent(event)
      span?.end()
    }
  }

  /** A count that belongs to no single operation. */
  count(name: string, delta: number): void {
    if (delta !== 0) this.#metrics?.counter(name, delta)
  }

  gauge(name: string, value: number): void {
    this.#metrics?.gauge(name, value)
  }

  #sendMetrics(operation: Operation, notes: Notes, latencyUs: number, status: string): void {
    const metrics = this.#metrics
    if (metrics === undefined) return
    metrics.counter(`prestige.${operation}.calls`, 1)
    if (status === 'ok') metrics.counter(`prestige.${operation}.ok_total`, 1)
    for (const [name, delta] of notes.counters) {
      metrics.counter(name.includes('.') ? name : `prestige.${operation}.${name}`, delta)
    }
    if (notes.attempts > 1) metrics.counter(`prestige.${operation}.retry_total`, notes.attempts - 1)
    metrics.histogram(`prestige.${operation}.latency_us`, latencyUs)
    if (notes.attempts > 0) metrics.histogram(`prestige.${operation}.attempts`, notes.attempts)
    for (const [name, value] of notes.histograms) {
      metrics.histogram(name.includes('.') ? name : `prestige.${operation}.${name}`, value)
    }
  }
}
