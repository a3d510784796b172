/**
 * What one open store does about the use of its keys: it notes reads, extends sliding expiries, and evicts what exceeds
 * its bounds. Of a store that has no such rows, nothing of this is ever called but `tracksReads`.
 */

import { type Bytes, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Cell,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { collectAll } from '../collecting-steps.ts'
import type { StoreCore } from '../core.ts'
import { entries } from '../rows.ts'
import { cleanUp } from '../transactions/prerequisites.ts'
import type { Prepared } from '../transactions/put.ts'
import { type Evicted, type Eviction, Evictor, isWithin, type Size, sizeOf } from './evict.ts'
import { extend, isDue, slidingOf } from './expiry.ts'
import type { CheckedLifecycleOptions } from './options.ts'
import { sliding, uses } from './rows.ts'
import { FILLED, ON, PINS, RECENCY, SLIDING, type Tracking } from './tracking.ts'
import { recordAllPuts, UseNotes } from './use-notes.ts'

const RECENCY_MS = 60_000
const EVICT_TO = 0.9
/** Puts of other processes are noticed after this time at the latest. */
const LOOK_AGAIN_MS = 1000
/** One put waits for the eviction of so many keys, unless the store is still too large. */
const KEYS_A_PUT = 1024
const ROUNDS_MAX = 1000

export class Lifecycle {
  readonly tracking: Tracking
  readonly #core: StoreCore
  readonly #options: CheckedLifecycleOptions
  readonly #bounds: Partial<Size> | undefined
  readonly #notes: UseNotes
  readonly #evictor: Evictor
  /** What may be put before the size of the store is looked at again. */
  #budget: Size = { keys: 0, bytes: 0 }
  #lookedAt = -Infinity
  #evicting: Promise<boolean> | undefined
  /** Keys of puts that wait for room, and how many do: none is evicted before its put has resolved. */
  readonly #spared = new Map<string, number>()

  constructor(core: StoreCore, tracking: Tracking, options: CheckedLifecycleOptions) {
    const { maxBytes, maxKeys, recencyMs = RECENCY_MS } = options
    this.tracking = tracking
    this.#core = core
    this.#options = options
    const isBounded = maxBytes !== undefined || maxKeys !== undefined
    this.#bounds = isBounded
      ? {
          ...(maxBytes !== undefined && { bytes: maxBytes }),
          ...(maxKeys !== undefined && { keys: maxKeys }),
        }
      : undefined
    this.#notes = new UseNotes(core.backend, recencyMs, (count) => {
      core.observer?.count('prestige.lru.update_total', count)
    })
    this.#evictor = new Evictor(core)
  }

  /** Reads may have to be noted, or extend an expiry. */
  get tracksReads(): boolean {
    return (this.tracking.keepsRecency || this.tracking.hasSliding) && !this.#options.readOnly
  }

  /** To be awaited after a put where it is true. */
  get isBounded(): boolean {
    return this.#bounds !== undefined
  }

  /** Finds out which rows the store has, and begins to keep those that were asked for. */
  async open(): Promise<void> {
    const { maxBytes, maxKeys, recencyMs, expiry, readOnly } = this.#options
    if (this.isBounded) requireCollecting(this.#core)
    Object.assign(this.tracking, await this.#core.backend.read(findFlags))
    if (readOnly) return
    if ((maxBytes ?? maxKeys ?? recencyMs) !== undefined) await this.keepRecency()
    if (expiry === 'sliding') await this.keepSliding()
  }

  /** From now on, in all processes that open the store. */
  async keepRecency(): Promise<void> {
    const { tracking } = this
    if (tracking.keepsRecency) return
    const { backend } = this.#core
    // Before any of its puts records a use: keys that are there have none.
    const isEmpty = (await sizeOf(backend)).keys === 0
    await this.#keep('keepsRecency', async () => {
      tracking.isFilled = await backend.run(raiseFlag, RECENCY, isEmpty ? FILLED : ON)
    })
  }

  async keepSliding(): Promise<void> {
    if (this.tracking.hasSliding) return
    await this.#keep('hasSliding', () => this.#core.backend.run(raiseFlag, SLIDING, ON))
  }

  async keepPins(): Promise<void> {
    if (this.tracking.hasPins) return
    await this.#keep('hasPins', () => this.#core.backend.run(raiseFlag, PINS, ON))
  }

  /** Before others can know of it, so that nothing of this process is missing once they do. */
  async #keep(
    what: 'keepsRecency' | 'hasSliding' | 'hasPins',
    record: () => Promise<unknown>,
  ): Promise<void> {
    this.tracking[what] = true
    try {
      await record()
    } catch (error) {
      this.tracking[what] = false
      throw error
    }
  }

  /** After a value was read, where `tracksReads`: notes the use, and extends a sliding expiry that is due. */
  async used(key: Bytes): Promise<void> {
    const { backend, observer } = this.#core
    if (!this.tracking.hasSliding && this.#notes.isRecent(key, backend.now())) {
      observer?.count('prestige.lru.skip_total', 1)
      return
    }
    const { isThere, usedAt, extends: isDueNow, now } = await backend.read(findUse, key)
    if (!isThere) return
    if (isDueNow) await cleanUp(() => backend.run(extend, key))
    if (!this.tracking.keepsRecency) return
    if (!this.#notes.add(key, usedAt, now)) observer?.count('prestige.lru.skip_total', 1)
  }

  /** Writes what was noted of reads. */
  writeNotes(): Promise<void> {
    return this.#notes.write()
  }

  /** What was read last may not be recorded, and nothing else is lost. */
  async close(): Promise<void> {
    await cleanUp(() => this.#notes.write())
  }

  async recordAllPuts(): Promise<void> {
    const { backend } = this.#core
    await recordAllPuts(backend)
    if (this.tracking.isFilled) return
    this.tracking.isFilled = await backend.run(raiseFlag, RECENCY, FILLED)
  }

  async evict(eviction: Eviction): Promise<Evicted> {
    const { backend, preparation } = this.#core
    requireCollecting(this.#core)
    if (!eviction.isDryRun) await collectAll(backend, preparation.keeping)
    return this.#evictNow(eviction)
  }

  async #evictNow(eviction: Eviction): Promise<Evicted> {
    // What was noted of reads is written sooner or later, whoever asks.
    if (this.tracking.keepsRecency) await this.#notes.write()
    if (eviction.isDryRun) return this.#evictor.evict(eviction)
    await this.keepRecency()
    if (!this.tracking.isFilled) await this.recordAllPuts()
    const evicted = await this.#evictor.evict(eviction)
    this.#core.observer?.count('prestige.evict.deleted_total', evicted.keys)
    return evicted
  }

  /** After puts: waits until the store is within its bounds, or nothing is left that may go. */
  async makeRoom(puts: readonly Pick<Prepared, 'key' | 'bytes'>[]): Promise<void> {
    const now = this.#core.backend.now()
    const { keys: keysLeft, bytes: bytesLeft } = this.#budget
    const bytes = puts.reduce((sum, put) => sum + put.bytes, 0)
    this.#budget = { keys: keysLeft - puts.length, bytes: bytesLeft - bytes }
    const isNear = this.#budget.keys < 0 || this.#budget.bytes < 0
    if (!isNear && now - this.#lookedAt < LOOK_AGAIN_MS) return
    const names = puts.map(({ key }) => latin1(key))
    for (const name of names) this.#spared.set(name, (this.#spared.get(name) ?? 0) + 1)
    try {
      await cleanUp(() => this.#reduce())
    } finally {
      for (const name of names) this.#spareNoMore(name)
    }
  }

  #spareNoMore(name: string): void {
    const count = (this.#spared.get(name) ?? 0) - 1
    if (count > 0) this.#spared.set(name, count)
    else this.#spared.delete(name)
  }

  async #reduce(): Promise<void> {
    const bounds = this.#bounds
    if (!bounds) return
    for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
      const size = await sizeOf(this.#core.backend)
      if (isWithin(size, bounds)) return this.#allow(bounds, size)
      if (this.#evicting) {
        await this.#evicting
        continue
      }
      this.#evicting = this.#evictAbove(bounds)
      try {
        if (!(await this.#evicting)) return
      } finally {
        this.#evicting = undefined
      }
    }
  }

  /** What nobody can read goes before what somebody may want. Whether the store is smaller now. */
  async #evictAbove(bounds: Partial<Size>): Promise<boolean> {
    const { backend, preparation } = this.#core
    await collectAll(backend, preparation.keeping)
    if (isWithin(await sizeOf(backend), bounds)) return true
    const { evictTo = EVICT_TO } = this.#options
    const { keys = Infinity, bytes = Infinity } = bounds
    const to = { keys: Math.floor(keys * evictTo), bytes: Math.floor(bytes * evictTo) }
    const evicted = await this.#evictNow({ to, spared: this.#spared, keysMax: KEYS_A_PUT })
    return evicted.keys > 0
  }

  /** A quarter of what is left: others put at the same time. */
  #allow({ keys = Infinity, bytes = Infinity }: Partial<Size>, size: Size): void {
    this.#budget = {
      keys: Math.floor((keys - size.keys) / 4),
      bytes: Math.floor((bytes - size.bytes) / 4),
    }
    this.#lookedAt = this.#core.backend.now()
  }
}

function requireCollecting({ preparation: { gc } }: StoreCore): void {
  if (gc !== 'never') return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    "This store is open with gc: 'never', which keeps every content, so its size has no bound: maxBytes, maxKeys and evict need another gc.",
  )
}

interface Use {
  readonly isThere: boolean
  readonly usedAt: number | undefined
  /** A read extends the key's expiry now. */
  readonly extends: boolean
  readonly now: number
}

function* findUse(scope: ReadScope, key: Bytes): Transaction<Use> {
  const now = scope.now()
  const [entry, usedAt, row] = yield* read(cell(entries, key), cell(uses, key), cell(sliding, key))
  const slides = slidingOf(entry, row)
  const isThere = entry?.isLive(now) ?? false
  return { isThere, usedAt, extends: slides !== undefined && isDue(slides, now), now }
}

function* findFlags(_scope: ReadScope): Transaction<Partial<Tracking>> {
  const [kept, slides, pinned] = yield* read(RECENCY, SLIDING, PINS)
  return {
    keepsRecency: kept !== undefined,
    isFilled: kept?.[0] === FILLED[0],
    hasSliding: slides !== undefined,
    hasPins: pinned !== undefined,
  }
}

/** Whether it is at its highest by now. */
function* raiseFlag(scope: Scope, flag: Cell<Bytes>, to: Bytes): Transaction<boolean> {
  const [before] = yield* read(flag)
  if ((before?.[0] ?? 0) < (to[0] ?? 0)) scope.write(flag, to)
  return Math.max(before?.[0] ?? 0, to[0] ?? 0) === FILLED[0]
}
