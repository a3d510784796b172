/**
 * Keeps rows that never change close by, for engines where every read is paid for: in this process, and behind that,
 * if given, in a cache that machines share.
 *
 * Only rows of immutable spaces, and only those that were found: a miss is asked again every time. A row that another
 * has removed meanwhile may still be answered, as it was; whoever found its address relies on where that stands, so no
 * result that leaves rests on it. What is checked at a commit is checked by the engine.
 */

import type { Bytes } from '../../platform/bytes.ts'
import type { Cell } from '../contract.ts'
import { cellName } from './draft.ts'
import type { OptimisticEngine, Versioned } from './optimistic.ts'

/** A cache that machines share. It may forget whatever it likes; what it answers must be what was put. */
export interface SharedRows {
  get(names: readonly string[]): Promise<readonly (Versioned | undefined)[]>
  set(rows: readonly (readonly [name: string, row: Versioned])[]): Promise<void>
}

export interface CacheOptions {
  /** How much is kept in this process. */
  readonly bytesMax: number
  readonly shared?: SharedRows | undefined
}

const ROW_OVERHEAD = 200

export class RowCache {
  readonly #bytesMax: number
  readonly #shared: SharedRows | undefined
  /** The least lately used first. */
  readonly #rows = new Map<string, Versioned>()
  #bytes = 0
  hits = 0
  sharedHits = 0
  misses = 0

  constructor({ bytesMax, shared }: CacheOptions) {
    this.#bytesMax = bytesMax
    this.#shared = shared
  }

  /** The engine, with this before it. */
  before(engine: OptimisticEngine): OptimisticEngine {
    return {
      fetchIsAtomic: engine.fetchIsAtomic,
      fetch: (cells) => this.#fetch(engine, cells),
      commit: async (commit) => {
        const outcome = await engine.commit(commit)
        if (!outcome.applied) return outcome
        for (const { space, key } of commit.writes) {
          // Removed; or damaged, and written again as it was.
          if (space.immutable) this.#drop(cellName(space, key))
        }
        return outcome
      },
    }
  }

  async #fetch(
    engine: OptimisticEngine,
    cells: readonly Cell<unknown>[],
  ): Promise<readonly (Versioned | undefined)[]> {
    const names = cells.map(({ space, key }) => (space.immutable ? cellName(space, key) : ''))
    const found = names.map((name) => (name === '' ? undefined : this.#get(name)))
    await this.#fromShared(names, found)
    const missing = cells.filter((_, at) => !found[at])
    if (missing.length === 0) return found
    const fetched = await engine.fetch(missing)
    const fresh: [string, Versioned][] = []
    let next = 0
    for (const [at, name] of names.entries()) {
      if (found[at]) continue
      const row = fetched[next++]
      found[at] = row
      if (name === '') continue
      this.misses++
      if (row) fresh.push([name, row])
    }
    for (const [name, row] of fresh) this.#keep(name, row)
    if (fresh.length > 0) void this.#shared?.set(fresh)
    return found
  }

  async #fromShared(names: readonly string[], found: (Versioned | undefined)[]): Promise<void> {
    const wanted = names.filter((name, at) => name !== '' && !found[at])
    if (!this.#shared || wanted.length === 0) return
    const rows = await this.#shared.get(wanted)
    let next = 0
    for (const [at, name] of names.entries()) {
      if (name === '' || found[at]) continue
      const row = rows[next++]
      if (!row) continue
      this.sharedHits++
      found[at] = row
      this.#keep(name, row)
    }
  }

  #get(name: string): Versioned | undefined {
    const row = this.#rows.get(name)
    if (!row) return undefined
    this.hits++
    this.#rows.delete(name)
    this.#rows.set(name, row)
    return row
  }

  #keep(name: string, row: Versioned): void {
    const weight = weightOf(name, row)
    if (weight > this.#bytesMax / 4 || this.#rows.has(name)) return
    // A copy: what was fetched may be a part of a much larger reply.
    this.#rows.set(name, { bytes: Buffer.from(row.bytes), version: row.version })
    this.#bytes += weight
    for (const [oldest] of this.#rows) {
      if (this.#bytes <= this.#bytesMax) return
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    const row = this.#rows.get(name)
    if (!row) return
    this.#rows.delete(name)
    this.#bytes -= weightOf(name, row)
  }
}

function weightOf(name: string, { bytes }: { readonly bytes: Bytes }): number {
  return ROW_OVERHEAD + name.length + bytes.byteLength
}
