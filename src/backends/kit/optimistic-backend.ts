/**
 * A backend over an engine that cannot hold a transaction open (redis, dynamodb, simulated): all of the contract but
 * the bytes. An engine fetches cells with versions, commits what is still valid, and scans; see optimistic.ts.
 */

import { randomBytes } from 'node:crypto'

import { copyOf } from '../../platform/bytes.ts'
import type {
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Range,
  ReadBody,
  Row,
  Space,
} from '../contract.ts'
import { Gate } from './gate.ts'
import { checkedClock, IdSource, systemRandom } from './ids.ts'
import { LiveView } from './live-view.ts'
import {
  type OptimisticEngine,
  type OptimisticOptions,
  OptimisticRunner,
  type Retrying,
  type Tappable,
} from './optimistic.ts'
import type { RawRow } from './pages.ts'
import { requireWhole } from './serial.ts'

/** Sends one request of a scan: refuses it once the backend is closed, and repeats it if it failed in passing. */
export type SendRequest = <T>(request: () => Promise<T>) => Promise<T>

/** What an `OptimisticBackend` needs of an engine: transactions, scans, limits, and an end. */
export interface ScannableEngine extends OptimisticEngine {
  /** In messages: `redis backend`. */
  readonly name: string
  readonly limits: BackendLimits
  /**
   * Rows of an ordered space in byte order (see `pagesOf`); of any other, and of tallies, all rows in any order. Every
   * request goes through `send`.
   */
  scan(space: Space<unknown>, range: Range, send: SendRequest): AsyncIterable<RawRow>
  /** Called once, when nothing is under way. */
  close(): Promise<void>
}

/** What an engine may decide otherwise than by default. */
export type OptimisticTuning = Partial<Omit<OptimisticOptions, 'engine' | 'limits' | 'ids' | 'now'>>

const ATTEMPTS_MAX = 1000
const VERSION_BYTES = 8

export class OptimisticBackend implements Backend {
  readonly serial = false
  readonly snapshots = false
  readonly limits: BackendLimits
  readonly #engine: ScannableEngine
  readonly #clock: () => number
  readonly #gate: Gate
  readonly #runner: OptimisticRunner

  constructor(
    engine: ScannableEngine,
    { clock, random, tap, retriesMax }: Partial<BackendOptions> & Tappable & Retrying,
    tuning: OptimisticTuning = {},
  ) {
    this.#engine = engine
    this.limits = engine.limits
    this.#clock = checkedClock(clock)
    this.#gate = new Gate(engine.name)
    this.#runner = new OptimisticRunner({
      engine: tap?.(engine) ?? engine,
      limits: engine.limits,
      ids: new IdSource(this.#clock, random ?? systemRandom),
      now: this.#clock,
      newVersion: randomVersions(VERSION_BYTES),
      sleep: pause,
      random: Math.random,
      attemptsMax: ATTEMPTS_MAX,
      audit: false,
      ...tuning,
      ...(retriesMax !== undefined && { attemptsMax: retriesMax + 1 }),
    })
  }

  now(): number {
    return this.#clock()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#gate.pass(() => this.#runner.read(body, args))
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return this.#gate.pass(() => this.#runner.run(body, args))
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    const send: SendRequest = (request) => this.#gate.pass(() => this.#runner.untilSent(request))
    this.#gate.assertOpen()
    requireWhole(space, range)
    for await (const { key, bytes } of this.#engine.scan(space, range, send)) {
      yield { key: copyOf(key), value: space.codec.decode(copyOf(bytes), key) }
    }
  }

  async snapshot(): Promise<Backend> {
    this.#gate.assertOpen()
    return new LiveView(this)
  }

  close(): Promise<void> {
    return this.#gate.close(() => this.#engine.close())
  }
}

/** Random latin1 texts, drawn many at a time. Never those of options: versions have to differ everywhere. */
function randomVersions(bytes: number): () => string {
  const pool = Buffer.allocUnsafe(512 * bytes)
  let at = pool.byteLength
  return () => {
    if (at === pool.byteLength) {
      pool.set(randomBytes(pool.byteLength))
      at = 0
    }
    at += bytes
    return pool.toString('latin1', at - bytes, at)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
