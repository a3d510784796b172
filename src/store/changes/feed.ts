/**
 * The feed of changes of one open store: records a change in the transaction that makes it, and wakes those that follow.
 * A store without a feed has none of this.
 */

import {
  type Backend,
  type BackendLimits,
  type Body,
  cell,
  type EngineFile,
  type Range,
  type ReadBody,
  type Row,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { nextPlace, sequenceKey } from '../../match/index.ts'
import { changeHeads, changeJournal, type RecordedChange } from './rows.ts'
import type { ChangeSettings } from './settings.ts'

/**
 * Where transactions run at the same time: the number of the first change of each that is under way. An attempt of a
 * transaction has a scope of its own. A weak map costs the collector of garbage too much to be used everywhere.
 */
const begun = new WeakMap<Scope, number>()

export class ChangeFeed {
  readonly settings: ChangeSettings
  readonly #waiting = new Set<() => void>()
  #commits = 0
  #isEnded = false
  /** Where transactions run one after another: the last one, and the number of its first change. */
  #scope: Scope | undefined
  #first = 0

  constructor(settings: ChangeSettings) {
    this.settings = settings
  }

  /** To be called in the transaction that makes the change. */
  *record(scope: Scope, change: RecordedChange): Transaction<void> {
    const { sequence, nonce } = yield* nextPlace(scope, changeHeads)
    const transaction = this.#firstOf(scope, sequence)
    const { kind, key, digest, bytes, previous } = change
    const row = { kind, key, digest, bytes, previous, nonce, transaction, at: scope.now() }
    scope.write(cell(changeJournal, sequenceKey(sequence)), row)
  }

  /** The number of the first change of this transaction; if it has none yet, of this one. */
  #firstOf(scope: Scope, sequence: number): number {
    if (scope.serial) {
      if (this.#scope !== scope) this.#first = sequence
      this.#scope = scope
      return this.#first
    }
    const first = begun.get(scope) ?? sequence
    begun.set(scope, first)
    return first
  }

  /** Grows with every transaction of this store: what was read before the last one may be outdated. */
  get commits(): number {
    return this.#commits
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  noteCommit(): void {
    this.#commits++
    this.#scope = undefined
    this.#wake()
  }

  /** Nobody waits any more. */
  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  /** Until something was committed here since `commits`, or so much time has passed. False: nothing will follow. */
  async wait(commits: number, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    const isOver = () => this.#isEnded || signal?.aborted === true
    if (isOver() || this.#commits > commits) return !isOver()
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        this.#waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener('abort', end)
      this.#waiting.add(end)
    })
    return !isOver()
  }

  #wake(): void {
    // Each takes itself out, which a set allows meanwhile.
    if (this.#waiting.size > 0) for (const end of this.#waiting) end()
  }
}

/** A backend whose commits wake those that follow a feed. */
export class WakingBackend implements Backend {
  readonly limits: BackendLimits
  readonly serial: boolean
  readonly file: EngineFile | undefined
  readonly snapshots: boolean
  readonly peek: Backend['peek']
  readonly #backend: Backend
  readonly #feed: ChangeFeed

  constructor(backend: Backend, feed: ChangeFeed) {
    this.limits = backend.limits
    this.serial = backend.serial
    this.file = backend.file
    this.snapshots = backend.snapshots
    this.peek = backend.peek?.bind(backend)
    this.#backend = backend
    this.#feed = feed
  }

  now(): number {
    return this.#backend.now()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#backend.read(body, ...args)
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    try {
      return await this.#backend.run(body, ...args)
    } finally {
      this.#feed.noteCommit()
    }
  }

  scan<V>(space: Space<V>, range?: Range): AsyncIterable<Row<V>> {
    return this.#backend.scan(space, range)
  }

  snapshot(): Promise<Backend> {
    return this.#backend.snapshot()
  }

  close(): Promise<void> {
    return this.#backend.close()
  }
}
