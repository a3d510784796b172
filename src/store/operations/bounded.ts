/**
 * A call that its caller can give up: by a signal or after a time, with a true answer to "was it done?".
 *
 * The call works on a view of the engine. Once it is given up, no decisive transaction can commit any more: its body
 * throws before it ends, in whatever attempt, and on whatever engine. So up to that point the answer is `not-done`, at
 * once, even if the engine still has to take back what it began. From there on the engine decides, and it is waited for
 * a moment; then the answer is what it said, or `unknown`.
 *
 * What the call has to clean up (parts of a long value) goes on behind it; closing the store waits for that.
 */

import type {
  Backend,
  Body,
  Range,
  ReadBody,
  Row,
  Space,
  Transaction,
} from '../../backends/index.ts'
import { abortedError, timedOutError } from '../../platform/deadline.ts'
import { type CallOutcome, PrestigeError } from '../../platform/errors.ts'
import { type CallOptions, checkedCall } from '../call-options.ts'

/** How long an engine that is committing is waited for after a call was given up. */
const GRACE_MS = 100

export interface Bounds {
  /** In messages: `The put`. */
  readonly what: string
  /** Whether a transaction that ends like this does what was asked for. Absent: the call only reads. */
  readonly isDecisive?: ((end: unknown) => boolean) | undefined
  /** There are several decisive transactions. */
  readonly inSteps?: boolean
}

export async function bounded<T>(
  engine: Backend,
  options: CallOptions,
  bounds: Bounds,
  work: (backend: Backend) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs, retriesMax } = checkedCall(options, engine)
  const { what } = bounds
  const aborted = (outcome: CallOutcome) => abortedError(what, outcome, signal?.reason)
  if (signal?.aborted) throw aborted('not-done')
  const backend = new BoundedBackend(engine, bounds, retriesMax ?? Infinity)
  const { promise, resolve, reject } = withResolvers<T>()
  let grace: NodeJS.Timeout | undefined
  const giveUp = (errorOf: (outcome: CallOutcome) => PrestigeError) => {
    if (grace) return
    const { outcome } = backend
    backend.stop(errorOf)
    if (outcome === 'not-done' || outcome === 'partial') reject(errorOf(outcome))
    else grace = setTimeout(() => reject(errorOf(backend.outcome)), GRACE_MS)
  }
  const abort = () => giveUp(aborted)
  const late = (outcome: CallOutcome) => timedOutError(what, outcome, timeoutMs ?? 0)
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => giveUp(late), timeoutMs)
  signal?.addEventListener('abort', abort)
  // It settles the call unless that was given up before, and fails unnoticed then: the caller has the answer.
  work(backend)
    .then(resolve, reject)
    .finally(() => {
      clearTimeout(timer)
      clearTimeout(grace)
      signal?.removeEventListener('abort', abort)
    })
    .catch(reject)
  return promise
}

function withResolvers<T>(): {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (reason: unknown) => void
} {
  let resolve: (value: T) => void = () => {}
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle))
  return { promise, resolve, reject }
}

/** An engine as one call sees it. */
class BoundedBackend implements Backend {
  readonly limits: Backend['limits']
  readonly serial: boolean
  readonly snapshots: boolean
  readonly #engine: Backend
  readonly #bounds: Bounds
  readonly #retriesMax: number
  #outcome: CallOutcome = 'not-done'
  #settled: CallOutcome = 'not-done'
  #stopped: ((outcome: CallOutcome) => PrestigeError) | undefined
  #isDelivered = false

  constructor(engine: Backend, bounds: Bounds, retriesMax: number) {
    this.limits = engine.limits
    this.serial = engine.serial
    this.snapshots = engine.snapshots
    this.#engine = engine
    this.#bounds = bounds
    this.#retriesMax = retriesMax
  }

  /** `unknown` while a decisive transaction is with the engine. */
  get outcome(): CallOutcome {
    return this.#outcome
  }

  stop(errorOf: (outcome: CallOutcome) => PrestigeError): void {
    this.#stopped = errorOf
  }

  now(): number {
    return this.#engine.now()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    this.#deliver()
    return this.#engine.read(
      guarded(body, (runs) => this.#begin(runs)),
      ...args,
    )
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    this.#deliver()
    const begin = (runs: number) => this.#begin(runs)
    const end = await this.#engine.run(
      guarded(body, begin, (end) => this.#decide(end)),
      ...args,
    )
    if (this.#bounds.isDecisive?.(end)) {
      this.#outcome = this.#settled = this.#bounds.inSteps ? 'partial' : 'done'
    }
    return end
  }

  async *scan<V>(space: Space<V>, range?: Range): AsyncGenerator<Row<V>> {
    for await (const row of this.#engine.scan(space, range)) {
      this.#deliver()
      yield row
    }
  }

  snapshot(): Promise<Backend> {
    return this.#engine.snapshot()
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  /** Once: what is done to clean up after it must pass. */
  #deliver(): void {
    if (!this.#stopped || this.#isDelivered || this.#settled === 'done') return
    this.#isDelivered = true
    throw this.#stopped(this.#settled)
  }

  /** Whoever is run again has not been committed. */
  #begin(runs: number): void {
    this.#outcome = this.#settled
    this.#deliver()
    if (runs - 1 <= this.#retriesMax) return
    throw new PrestigeError(
      'CONTENDED',
      `${this.#bounds.what} was given up after ${runs - 1} attempts (retriesMax: ${this.#retriesMax}): others changed the same rows every time. Try again, or allow more retries.`,
    )
  }

  /** The last moment at which a transaction can be stopped. */
  #decide(end: unknown): void {
    if (!this.#bounds.isDecisive?.(end)) return
    if (this.#stopped) {
      this.#isDelivered = true
      throw this.#stopped(this.#settled)
    }
    // Steps may run side by side: some of them may be done from now on.
    if (this.#bounds.inSteps) this.#settled = 'partial'
    this.#outcome = this.#bounds.inSteps ? 'partial' : 'unknown'
  }
}

function guarded<S, A extends readonly unknown[], T>(
  body: (scope: S, ...args: A) => Transaction<T>,
  begin: (runs: number) => void,
  decide?: (end: T) => void,
): (scope: S, ...args: A) => Transaction<T> {
  let runs = 0
  return function* (scope, ...args) {
    begin(++runs)
    const end = yield* body(scope, ...args)
    decide?.(end)
    return end
  }
}
