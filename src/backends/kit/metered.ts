/**
 * A backend whose verbs are measured: transactions, how often they had to be run again, and how long they took. Only
 * where somebody gave a sink; else the backend is used as it is.
 */

import { PrestigeError } from '../../platform/errors.ts'
import { ContainedMetrics } from '../../platform/sinks.ts'
import type { MetricsSink } from '../../platform/telemetry.ts'
import type {
  Backend,
  BackendLimits,
  Body,
  EngineFile,
  Range,
  ReadBody,
  ReadScope,
  Row,
  Scope,
  Space,
} from '../contract.ts'

export class MeteredBackend implements Backend {
  readonly limits: BackendLimits
  readonly serial: boolean
  readonly file: EngineFile | undefined
  readonly snapshots: boolean
  readonly #backend: Backend
  readonly #sink: MetricsSink

  constructor(backend: Backend, sink: MetricsSink) {
    this.limits = backend.limits
    this.serial = backend.serial
    this.file = backend.file
    this.snapshots = backend.snapshots
    this.#backend = backend
    this.#sink = new ContainedMetrics(sink)
  }

  now(): number {
    return this.#backend.now()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#measured('read', (count) =>
      this.#backend.read(
        (scope: ReadScope, ...given: A) => {
          count()
          return body(scope, ...given)
        },
        ...args,
      ),
    )
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return this.#measured('run', (count) =>
      this.#backend.run(
        (scope: Scope, ...given: A) => {
          count()
          return body(scope, ...given)
        },
        ...args,
      ),
    )
  }

  async *scan<V>(space: Space<V>, range?: Range): AsyncGenerator<Row<V>> {
    let rows = 0
    try {
      for await (const row of this.#backend.scan(space, range)) {
        rows++
        yield row
      }
    } finally {
      this.#sink.counter('prestige.engine.scans', 1)
      this.#sink.counter('prestige.engine.scanned_rows', rows)
    }
  }

  async snapshot(): Promise<Backend> {
    return new MeteredBackend(await this.#backend.snapshot(), this.#sink)
  }

  close(): Promise<void> {
    return this.#backend.close()
  }

  async #measured<T>(verb: 'read' | 'run', work: (count: () => void) => Promise<T>): Promise<T> {
    const started = performance.now()
    let attempts = 0
    let status = 'ok'
    try {
      return await work(() => attempts++)
    } catch (error) {
      status = error instanceof PrestigeError ? error.code : 'error'
      throw error
    } finally {
      const sink = this.#sink
      sink.counter('prestige.engine.transactions', 1, { verb, status })
      if (attempts > 1) sink.counter('prestige.engine.retries', attempts - 1, { verb })
      sink.histogram('prestige.engine.latency_us', (performance.now() - started) * 1000, { verb })
    }
  }
}

export function metered(backend: Backend, sink: MetricsSink | undefined): Backend {
  return sink ? new MeteredBackend(backend, sink) : backend
}
