/**
 * A backend over an engine that runs one transaction at a time (memory, lmdb): all of the contract but the bytes.
 *
 * An engine gives synchronous reads, and a way to run work alone and then to apply what it recorded.
 */

import type {
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Range,
  ReadBody,
  Row,
  RowReader,
  Space,
} from '../contract.ts'
import { Draft, ReadDraft } from './draft.ts'
import { Gate } from './gate.ts'
import { checkedClock, IdSource, systemRandom } from './ids.ts'
import { checkWrites } from './limits.ts'
import { LiveView, readOnlySnapshot } from './live-view.ts'
import { type Page, type PageRange, pagesOf } from './pages.ts'
import { drive, requireWhole, type SerialReader } from './serial.ts'

/** What a `SerialBackend` needs of an engine. */
export interface SerialEngine extends SerialReader {
  /** In messages: `memory backend`. */
  readonly name: string
  readonly limits: BackendLimits
  /** Runs `work`, which calls the reading methods of this engine, against one moment. */
  read<T>(work: () => T): T | Promise<T>
  /**
   * Runs `work` alone: it calls the reading methods and returns what to apply. Applies all of it, or nothing, and
   * resolves when it is as durable as this engine makes it. What `work` throws is passed on, and nothing applied.
   */
  write(work: () => Draft): Promise<void>
  /** The next rows of a scan; called within `read`. */
  page(space: Space<unknown>, range: PageRange): Page
  /** What is committed now, for as long as it is open: an engine whose `write` is never called. */
  snapshot(): SerialEngine | Promise<SerialEngine>
  /** Called once, when nothing is under way. */
  close(): Promise<void>
}

export class SerialBackend implements Backend {
  readonly serial = true
  readonly snapshots = true
  readonly limits: BackendLimits
  readonly #engine: SerialEngine
  readonly #clock: () => number
  readonly #ids: IdSource
  readonly #gate: Gate
  readonly #rows: RowReader

  constructor(engine: SerialEngine, { clock, random }: Omit<BackendOptions, 'spaces'>) {
    this.#engine = engine
    this.limits = engine.limits
    this.#clock = checkedClock(clock)
    this.#ids = new IdSource(this.#clock, random ?? systemRandom)
    this.#gate = new Gate(engine.name)
    this.#rows = {
      now: this.#clock,
      get: (space, key) => {
        const bytes = engine.get(space, key)
        return bytes && space.codec.decode(bytes, key)
      },
    }
  }

  now(): number {
    return this.#clock()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    this.#gate.assertOpen()
    return this.#engine.read(() => {
      this.#gate.assertOpen()
      return drive(this.#engine, body(new ReadDraft(this.#clock()), ...args), undefined)
    })
  }

  peek<T>(look: (rows: RowReader) => T): T | Promise<T> {
    this.#gate.assertOpen()
    return this.#engine.read(() => {
      this.#gate.assertOpen()
      return look(this.#rows)
    })
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    this.#gate.enter()
    try {
      const ended: { result?: T } = {}
      await this.#engine.write(() => {
        const draft = new Draft(true, this.#ids, this.#clock())
        ended.result = drive(this.#engine, body(draft, ...args), draft)
        checkWrites(draft, this.limits)
        return draft
      })
      return ended.result as T // safe: an engine resolves only after the work has returned
    } finally {
      this.#gate.leave()
    }
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    requireWhole(space, range)
    const rows = pagesOf(range, (page) => {
      this.#gate.assertOpen()
      return this.#engine.read(() => this.#engine.page(space, page))
    })
    for await (const { key, bytes } of rows) yield { key, value: space.codec.decode(bytes, key) }
  }

  async snapshot(): Promise<Backend> {
    this.#gate.enter()
    try {
      const moment = this.#clock()
      return new SerialSnapshot(await this.#engine.snapshot(), moment, () => this.#gate.leave())
    } catch (error) {
      this.#gate.leave()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#gate.close(() => this.#engine.close())
  }
}

/** Its backend is closed after it. */
class SerialSnapshot extends SerialBackend {
  readonly #onClosed: () => void
  #closing: Promise<void> | undefined

  constructor(engine: SerialEngine, moment: number, onClosed: () => void) {
    super(engine, { clock: () => moment })
    this.#onClosed = onClosed
  }

  override async run(): Promise<never> {
    throw readOnlySnapshot()
  }

  /** Of a moment that is held already there is no other: it holds this one longer. */
  override snapshot(): Promise<Backend> {
    return Promise.resolve(new LiveView(this))
  }

  override close(): Promise<void> {
    this.#closing ??= super.close().finally(this.#onClosed)
    return this.#closing
  }
}
