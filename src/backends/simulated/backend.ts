/**
 * A make-believe remote engine for tests: optimistic as redis and dynamodb are, with every read, every
 * page of a scan and every commit a separate step, and a seed that decides who steps next and what fails.
 *
 * Everything that happens is decided by the seed: the same seed gives the same history, to the last step.
 * Bodies are run twice and compared. Not for production, and not fast.
 */

import { createHash } from 'node:crypto'

import { type Bytes, copyOf, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { BackendLimits, BackendOptions, Cell, Range, Space } from '../contract.ts'
import { cellName } from '../kit/draft.ts'
import { namespacePrefix, within } from '../kit/namespace.ts'
import type { Commit, CommitOutcome, Versioned } from '../kit/optimistic.ts'
import {
  OptimisticBackend,
  type ScannableEngine,
  type SendRequest,
} from '../kit/optimistic-backend.ts'
import { type Page, type PageRange, pagesOf, type RawRow } from '../kit/pages.ts'

export interface SimulatedFaults {
  /** How likely a commit is refused although nothing has changed. */
  readonly conflict: number
  /** How likely a commit is applied and its reply lost. */
  readonly lostReply: number
  /** How likely a request fails before it does anything. */
  readonly failure: number
}

export const NO_FAULTS: SimulatedFaults = { conflict: 0, lostReply: 0, failure: 0 }

interface Waiter {
  readonly worker: string
  readonly resume: () => void
}

export interface SimulatedRow {
  readonly key: Buffer
  readonly bytes: Bytes
  readonly version: string
}

const LIMITS: BackendLimits = { keyBytesMax: 2048, valueBytesMax: 4096, cellsMax: 100 }

/** Mulberry32: small, good enough to choose schedules with, and the same everywhere. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The server, the network and the clock that all simulated workers share. */
export class SimulatedWorld {
  /** Milliseconds; moved by whoever drives the simulation. */
  time = 1_000_000
  steps = 0
  faults: SimulatedFaults
  /** Called after every commit that was applied. */
  onChange: () => void = () => {}
  /** Of the backends that are opened from now on. */
  limits: BackendLimits = LIMITS
  /** Every body is run twice and compared. Not those of a call that can be given up: that comes from outside. */
  audits = true
  /** No step is taken while a file is read or written, so that files do not decide what happens either. */
  waitsForFiles = false
  readonly random: () => number
  readonly #rows = new Map<string, Map<string, SimulatedRow>>()
  readonly #applied = new Set<string>()
  readonly #crashed = new Set<string>()
  #waiting: Waiter[] = []
  /** Of crashed workers. Held, so that what they had open is not swept away from under them. */
  readonly #gone: Waiter[] = []
  #pumping = false
  #versions = 0

  constructor(seed: number, faults: SimulatedFaults = NO_FAULTS) {
    this.random = seededRandom(seed)
    this.faults = faults
  }

  open(worker: string, options: Partial<BackendOptions> = {}): SimulatedBackend {
    return new SimulatedBackend(this, worker, options)
  }

  /** Nothing this worker has under way ever goes on; what it has committed stays. */
  crash(worker: string): void {
    this.#crashed.add(worker)
    this.#gone.push(...this.#waiting.filter((waiter) => waiter.worker === worker))
    this.#waiting = this.#waiting.filter((waiter) => waiter.worker !== worker)
  }

  /** The rows of a space as they are, for invariants. Tallies too. */
  rows(space: Space<unknown>): SimulatedRow[] {
    const rows = [...(this.#rows.get(space.name)?.values() ?? [])]
    return rows.toSorted((one, other) => one.key.compare(other.key))
  }

  /** One step of a worker: resolves when the seed says so. */
  pause(worker: string): Promise<void> {
    return new Promise((resume) => {
      const waiter = { worker, resume }
      if (this.#crashed.has(worker)) {
        this.#gone.push(waiter)
        return
      }
      this.#waiting.push(waiter)
      this.#pump()
    })
  }

  newVersion(): string {
    return String(++this.#versions)
  }

  fetchOne(name: string, space: Space<unknown>): Versioned | undefined {
    return this.#rows.get(space.name)?.get(name)
  }

  apply({ version, checks, writes, additions }: Commit, nameOf: NameOf): CommitOutcome {
    if (this.#applied.has(version)) return { applied: true }
    const fresh = new Map<string, Versioned | undefined>()
    let unchanged = this.random() >= this.faults.conflict || checks.length === 0
    for (const check of checks) {
      const now = this.fetchOne(nameOf(check.key), check.space)
      fresh.set(cellName(check.space, check.key), now)
      if (now?.version !== check.version) unchanged = false
    }
    if (!unchanged) return { applied: false, fresh }
    for (const { space, key, bytes } of writes) this.#write(space, nameOf(key), bytes, version)
    for (const { space, key, delta } of additions) {
      const current = this.fetchOne(nameOf(key), space)
      const sum = (current ? space.codec.decode(copyOf(current.bytes)) : 0) + delta
      this.#write(space, nameOf(key), space.codec.encode(sum), version)
    }
    this.#applied.add(version)
    if (writes.length > 0) this.onChange()
    return { applied: true }
  }

  #write(space: Space<unknown>, name: string, bytes: Bytes | undefined, version: string): void {
    const rows = this.#rows.get(space.name) ?? new Map<string, SimulatedRow>()
    this.#rows.set(space.name, rows)
    if (bytes === undefined) rows.delete(name)
    else rows.set(name, { key: Buffer.from(name, 'latin1'), bytes: copyOf(bytes), version })
  }

  /** One waiter a turn of the event loop: everything it sets off has settled before the next is chosen. */
  #pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    setImmediate(() => {
      this.#pumping = false
      if (this.waitsForFiles && areFilesInUse()) return this.#pump()
      const at = Math.floor(this.random() * this.#waiting.length)
      const [chosen] = this.#waiting.splice(at, 1)
      this.steps++
      chosen?.resume()
      if (this.#waiting.length > 0) this.#pump()
    })
  }
}

function areFilesInUse(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(?:FS|Close|Dir)/.test(name))
}

type NameOf = (key: Bytes) => string

/** One worker's way to the world. */
class SimulatedEngine implements ScannableEngine {
  readonly name = 'simulated backend'
  readonly fetchIsAtomic = false
  readonly limits: BackendLimits
  readonly #world: SimulatedWorld
  readonly #worker: string
  readonly #prefix: Buffer

  constructor(world: SimulatedWorld, worker: string, namespace: string | undefined) {
    this.#world = world
    this.limits = world.limits
    this.#worker = worker
    this.#prefix = namespacePrefix(namespace)
  }

  /** One row a step, each from its own moment, as a paged scan of a remote engine may be. */
  scan(space: Space<unknown>, range: Range, send: SendRequest): AsyncIterable<RawRow> {
    return pagesOf(range, (page) => send(() => this.#page(space, page)))
  }

  async #page(space: Space<unknown>, range: PageRange): Promise<Page> {
    await this.#step()
    const { start, end } = within(this.#prefix, range)
    const row = this.#world
      .rows(space)
      .find(({ key }) => key.compare(start) >= 0 && key.compare(end) < 0)
    if (row === undefined) return { rows: [], isLast: true }
    const key = row.key.subarray(this.#prefix.byteLength)
    return { rows: [{ key, bytes: row.bytes }], isLast: false }
  }

  async close(): Promise<void> {}

  async fetch(cells: readonly Cell<unknown>[]): Promise<(Versioned | undefined)[]> {
    const found: (Versioned | undefined)[] = []
    for (const { space, key } of cells) {
      await this.#step()
      found.push(this.#world.fetchOne(this.#name(key), space))
    }
    return found
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    await this.#step()
    const outcome = this.#world.apply(commit, (key) => this.#name(key))
    if (outcome.applied && this.#world.random() < this.#world.faults.lostReply) throw unavailable()
    return outcome
  }

  async #step(): Promise<void> {
    await this.#world.pause(this.#worker)
    if (this.#world.random() < this.#world.faults.failure) throw unavailable()
  }

  #name(key: Bytes): string {
    return latin1(this.#prefix) + latin1(key)
  }
}

export class SimulatedBackend extends OptimisticBackend {
  constructor(world: SimulatedWorld, worker: string, options: Partial<BackendOptions>) {
    // A worker that comes back after a crash makes other ids than before, as real ones do.
    const opening = `${worker} ${world.newVersion()}`
    const random = (count: number) => nameDigest(opening).subarray(0, count)
    const clock = () => world.time
    super(
      new SimulatedEngine(world, worker, options.namespace),
      { ...options, clock: options.clock ?? clock, random: options.random ?? random },
      {
        newVersion: () => world.newVersion(),
        sleep: () => world.pause(worker),
        random: world.random,
        audit: world.audits,
      },
    )
  }
}

/** Every worker makes ids of its own, the same on every run. */
function nameDigest(worker: string): Buffer {
  return createHash('sha256').update(worker).digest()
}

function unavailable(): PrestigeError {
  return new PrestigeError('BACKEND_UNAVAILABLE', 'The simulated network failed.')
}
