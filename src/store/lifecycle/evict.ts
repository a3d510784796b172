/**
 * Eviction: the least recently used keys go until a store is small enough.
 *
 * Any number of processes may evict at once. Each key goes in a transaction of its own that looks again, and each slice
 * begins with the size that the store has by then, so that two of them do not take twice as much.
 */

import type { Backend } from '../../backends/index.ts'
import type { StoreCore } from '../core.ts'
import { readCounts } from '../tallies.ts'
import { recency } from './rows.ts'
import {
  type Candidate,
  findCandidates,
  type Gone,
  keyOfUse,
  leastUsed,
  References,
  takeLeastUsed,
  TIME_BYTES,
} from './victims.ts'

const KEYS_AT_ONCE = 32
/** How often a store is searched for keys whose use nobody recorded. */
const FILL_AGAIN_MS = 10 * 60 * 1000

export interface Size {
  readonly keys: number
  readonly bytes: number
}

/** What went, or would go. */
export interface Evicted {
  readonly keys: number
  /** Contents that no other key shares. */
  readonly contents: number
  /** Their bytes. */
  readonly bytes: number
}

export interface Eviction {
  readonly to: Partial<Size>
  /** Only say what would go. */
  readonly isDryRun?: boolean
  /** They stay: keys as latin1. */
  readonly spared?: { has(name: string): boolean } | undefined
  /** Not more than these at a time. */
  readonly keysMax?: number
  readonly onKey?: ((key: Buffer, freedBytes: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * The bytes are those of distinct contents, before they are compressed and share chunks: at least what is stored. What is
 * stored of long values shrinks only when their chunks are collected, so it would say nothing about the next victim.
 */
export async function sizeOf(backend: Backend): Promise<Size> {
  const { keys, contentBytes } = await backend.read(readCounts)
  return { keys, bytes: contentBytes }
}

export function isWithin(
  size: Size,
  { keys = Infinity, bytes = Infinity }: Partial<Size>,
): boolean {
  return size.keys <= keys && size.bytes <= bytes
}

export class Evictor {
  readonly #core: StoreCore
  #filledAt = -Infinity

  constructor(core: StoreCore) {
    this.#core = core
  }

  /** Notes of this process are to be written, and uses of all keys recorded, before. */
  async evict(eviction: Eviction): Promise<Evicted> {
    const { backend } = this.#core
    const round = new Round(this.#core, eviction, await sizeOf(backend))
    await round.run()
    if (round.isDone || eviction.isDryRun || !this.#isFillDue()) return round.evicted
    await this.#core.lifecycle.recordAllPuts()
    this.#filledAt = backend.now()
    await round.run()
    return round.evicted
  }

  #isFillDue(): boolean {
    return this.#core.backend.now() - this.#filledAt >= FILL_AGAIN_MS
  }
}

/** One pass over the keys, the least recently used first. */
class Round {
  readonly evicted = { keys: 0, contents: 0, bytes: 0 }
  readonly #core: StoreCore
  readonly #how: Eviction
  readonly #references: References
  /** As it is; as it would be in a dry run; and never more than what was there without what went since. */
  #size: Size

  constructor(core: StoreCore, how: Eviction, size: Size) {
    this.#core = core
    this.#how = how
    this.#size = size
    this.#references = new References(core.backend)
  }

  get isDone(): boolean {
    const { to, keysMax = Infinity } = this.#how
    return isWithin(this.#size, to) || this.evicted.keys >= keysMax
  }

  async run(): Promise<void> {
    let slice: Buffer[] = []
    if (this.isDone) return
    const { spared } = this.#how
    for await (const row of this.#rows()) {
      if (spared?.has(keyName(row))) continue
      slice.push(row)
      if (slice.length < KEYS_AT_ONCE) continue
      await this.#take(slice)
      if (this.isDone) return
      slice = []
    }
    await this.#take(slice)
  }

  /** As `recency` has them, the least recently used first. A dry run does not make rows that are not there. */
  async *#rows(): AsyncGenerator<Buffer> {
    const { backend, lifecycle } = this.#core
    const { isFilled, keepsRecency } = lifecycle.tracking
    if (this.#how.isDryRun && !isFilled) yield* leastUsed(backend, keepsRecency)
    else for await (const { key } of backend.scan(recency)) yield key
  }

  async #take(slice: readonly Buffer[]): Promise<void> {
    if (slice.length === 0) return
    const keys = slice.map(keyOfUse)
    const found = await this.#core.backend.read(findCandidates, keys)
    const byKey = new Map(found.map((one) => [one.key.toString('latin1'), one]))
    const rows = slice.map((row) => ({ row, candidate: byKey.get(keyName(row)) }))
    for (let from = 0; from < rows.length && !this.isDone;) {
      this.#how.signal?.throwIfAborted()
      const count = this.#countNeeded(rows.slice(from).map(({ candidate }) => candidate))
      const some = rows.slice(from, from + count)
      from += count
      if (this.#how.isDryRun) await this.#plan(some.map(({ candidate }) => candidate))
      else await this.#takeAll(some.map(({ row }) => row))
    }
  }

  /** So many of the first that the goal is reached if none of them shares its content. */
  #countNeeded(candidates: readonly (Candidate | undefined)[]): number {
    const { to, keysMax = Infinity } = this.#how
    let { keys, bytes } = this.#size
    let { keys: gone } = this.evicted
    let count = 0
    for (const candidate of candidates) {
      if (isWithin({ keys, bytes }, to) || gone >= keysMax) break
      count++
      if (!candidate) continue
      gone++
      keys--
      bytes -= candidate.entry.bytes
    }
    return Math.max(1, count)
  }

  async #plan(candidates: readonly (Candidate | undefined)[]): Promise<void> {
    for (const candidate of candidates) {
      if (candidate) this.#note(candidate.key, await this.#references.drop(candidate.entry))
    }
  }

  async #takeAll(rows: readonly Buffer[]): Promise<void> {
    const { backend, preparation } = this.#core
    const { keeping } = preparation
    const gone = await Promise.all(
      rows.map((row) => {
        const usedUntil = row.readUIntBE(0, TIME_BYTES)
        const how = { gc: 'immediate', why: 'evict', keeping } as const
        const victim = { key: keyOfUse(row), usedUntil, ...how }
        return backend.run(takeLeastUsed, victim)
      }),
    )
    const freed = await finishAll(this.#core, gone)
    for (const [at, row] of rows.entries()) {
      if (gone[at]) this.#note(keyOfUse(row), freed[at])
    }
    const now = await sizeOf(backend)
    const { keys, bytes } = this.#size
    this.#size = { keys: Math.min(keys, now.keys), bytes: Math.min(bytes, now.bytes) }
  }

  #note(key: Buffer, freed: number | undefined): void {
    const { keys, bytes } = this.#size
    this.#size = { keys: keys - 1, bytes: bytes - (freed ?? 0) }
    addGone(this.evicted, freed)
    this.#how.onKey?.(key, freed ?? 0)
  }
}

/** `freed`: the bytes of its content, unless another key shares that. */
export function addGone(
  sum: { keys: number; contents: number; bytes: number },
  freed: number | undefined,
): void {
  sum.keys++
  if (freed === undefined) return
  sum.contents++
  sum.bytes += freed
}

function keyName(row: Buffer): string {
  return row.toString('latin1', TIME_BYTES)
}

/**
 * What is left to do when keys are gone: for each of them the bytes that this frees, or nothing if another key shares
 * its content.
 */
export function finishAll(
  core: StoreCore,
  gone: readonly (Gone | undefined)[],
): Promise<readonly (number | undefined)[]> {
  return core.inBatch(() => finishEach(core, gone))
}

async function finishEach(
  core: StoreCore,
  gone: readonly (Gone | undefined)[],
): Promise<readonly (number | undefined)[]> {
  const freed = gone.map((one) => (one?.end.swept ? one.bytes : undefined))
  if (core.preparation.gc === 'never') return freed
  // Of several keys of one content, the last one frees it.
  const last = new Map<string, number>()
  for (const [at, one] of gone.entries()) {
    if (one?.end.released) last.set(one.end.released.toString('latin1'), at)
  }
  await Promise.all(
    [...last.values()].map(async (at) => {
      const one = gone[at]
      if (one?.end.released && (await core.collectReleased(one.end.released))) freed[at] = one.bytes
    }),
  )
  for (const one of gone) if (one?.end.swept) await core.finishSweep(one.end.swept)
  return freed
}
