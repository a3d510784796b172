/**
 * Metrics and spans of the store's operations, under the names that the C++ unique value store uses. A store without a sink
 * has no observer, and pays one comparison an operation.
 *
 * What is noted is sent at once, under names that were made beforehand: nothing is collected in between, so that a put
 * allocates one object for it. A sink that fails must not turn a put that was done into one that failed: see sinks.ts.
 */

import type { Body, Scope, Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { containedSinks, type ContainedTracer } from '../platform/sinks.ts'
import type { MetricsSink, Tracer, TraceSpan } from '../platform/telemetry.ts'
import type { StoreStats } from './stats.ts'

export type Operation = 'get' | 'put' | 'delete'
const SPAN_OF = { get: 'prestige.Get', put: 'prestige.Put', delete: 'prestige.Delete' } as const

/** What is measured of operations. The full name has the operation before it: `prestige.put.calls`. */
const SHORT_NAMES = [
  'calls',
  'ok_total',
  'not_found_total',
  'expired_total',
  'error_total',
  'timed_out_total',
  'retry_total',
  'dedup_hit_total',
  'dedup_miss_total',
  'object_created_total',
  'noop_overwrite_total',
  'embed_error_total',
  'latency_us',
  'attempts',
  'sha256_us',
  'normalize_us',
  'embed_us',
  'commit_us',
  'value_bytes',
  'user_lookup_us',
  'object_lookup_us',
] as const

type ShortName = (typeof SHORT_NAMES)[number]
type FullName = `prestige.${string}`
export type MetricName = ShortName | FullName
type FullNames = Readonly<Record<string, FullName>>

function namesOf(operation: Operation): FullNames {
  return Object.fromEntries(
    SHORT_NAMES.map((name): [string, FullName] => [name, `prestige.${operation}.${name}`]),
  )
}

const NAMES = { get: namesOf('get'), put: namesOf('put'), delete: namesOf('delete') } as const

/** Notes of one operation, from its start to its end. */
export class Notes {
  attempts = 0
  /** Time between the transactions of a put, for embedding and comparing. */
  embeddingMs = 0
  sha256Us = 0
  normalizeUs = 0
  readonly #names: FullNames
  readonly #metrics: MetricsSink | undefined
  readonly #span: TraceSpan | undefined
  readonly #startedAt = performance.now()
  #askedAt = this.#startedAt
  #endedAt: number | undefined
  #status = 'ok'

  constructor(operation: Operation, metrics: MetricsSink | undefined, span: TraceSpan | undefined) {
    this.#names = NAMES[operation]
    this.#metrics = metrics
    this.#span = span
  }

  count(name: MetricName, delta = 1): void {
    if (name === 'not_found_total') this.#status = 'not_found'
    this.#metrics?.counter(this.#names[name] ?? name, delta)
  }

  measure(name: MetricName, value: number): void {
    this.#metrics?.histogram(this.#names[name] ?? name, value)
  }

  attribute(name: string, value: number | string | boolean): void {
    this.#span?.setAttribute(name, value)
  }

  event(name: string): void {
    this.#span?.addEvent(name)
  }

  /** The engine is about to be asked for a transaction. */
  ask(): void {
    this.#askedAt = performance.now()
  }

  /** Milliseconds since the engine was asked. */
  get askedMs(): number {
    return performance.now() - this.#askedAt
  }

  /** Nothing is left to do, and the operation ends now. Returns milliseconds since the engine was asked. */
  finish(): number {
    this.#endedAt = performance.now()
    return this.#endedAt - this.#askedAt
  }

  /** A transaction is run. */
  attempt(): void {
    this.attempts++
    if (this.attempts > 1) this.#span?.addEvent('retry.commit')
    else this.#metrics?.histogram('prestige.txn.wait_us', this.askedMs * 1000)
  }

  /** Counts how often a body had to be run. */
  counting<A extends readonly unknown[], T>(body: Body<A, T>): Body<A, T> {
    return (scope: Scope, ...args: A): Transaction<T> => {
      this.attempt()
      return body(scope, ...args)
    }
  }

  fail(error: unknown): void {
    this.#status = error instanceof PrestigeError ? error.code : 'error'
    this.count(this.#status === 'CONTENDED' ? 'timed_out_total' : 'error_total')
  }

  end(): void {
    const latencyUs = ((this.#endedAt ?? performance.now()) - this.#startedAt) * 1000
    const { attempts } = this
    this.count('calls')
    if (this.#status === 'ok') this.count('ok_total')
    if (attempts > 1) this.count('retry_total', attempts - 1)
    this.measure('latency_us', latencyUs)
    if (attempts > 0) this.measure('attempts', attempts)
    const span = this.#span
    if (!span) return
    span.setAttribute('latency_us', latencyUs)
    span.setAttribute('attempts', attempts)
    span.setAttribute('status', this.#status)
    span.end()
  }
}

export class Observer {
  readonly #metrics: MetricsSink | undefined
  readonly #tracer: ContainedTracer | undefined

  constructor(metrics: MetricsSink | undefined, tracer: Tracer | undefined) {
    const contained = containedSinks(metrics, tracer)
    this.#metrics = contained.metrics
    this.#tracer = contained.tracer
  }

  /** Whoever begins must end, whatever happens. */
  begin(operation: Operation): Notes {
    return new Notes(operation, this.#metrics, this.#tracer?.startSpan(SPAN_OF[operation]))
  }

  async observe<T>(operation: Operation, work: (notes: Notes) => Promise<T>): Promise<T> {
    const notes = this.begin(operation)
    try {
      return await work(notes)
    } catch (error) {
      notes.fail(error)
      throw error
    } finally {
      notes.end()
    }
  }

  /** A count that belongs to no single operation. */
  count(name: FullName, delta = 1): void {
    if (delta !== 0) this.#metrics?.counter(name, delta)
  }

  stats({ keys, contents, contentBytes, dedupRatio }: StoreStats): void {
    this.#metrics?.gauge('prestige.store.total_keys', keys)
    this.#metrics?.gauge('prestige.store.total_objects', contents)
    this.#metrics?.gauge('prestige.store.total_bytes', contentBytes)
    this.#metrics?.gauge('prestige.store.dedup_ratio', dedupRatio)
  }
}
