/** Which windows of a run are in enough documents, of this run and all before it. */

import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Backend } from '../../backends/index.ts'
import { PART_SIZE, PARTS, windowRows, type WindowsRow } from './count-windows.ts'

export interface SharedWindows {
  /** Hash of a window → in how many documents it is. Only those that are in enough. */
  readonly documents: ReadonlyMap<number, number>
  /** Shards of the run that have any of them. */
  readonly shards: ReadonlySet<number>
  /** Earlier runs with documents that have some of them, from when there were not yet enough. */
  readonly earlier: ReadonlySet<string>
}

export async function sharedWindows(
  backend: Backend,
  run: string,
  others: readonly string[],
  documentsMin: number,
): Promise<SharedWindows> {
  const documents = new Map<number, number>()
  const shards = new Set<number>()
  const earlier = new Set<string>()
  for (let part = 0; part < PARTS; part++) {
    // Leases are renewed meanwhile.
    await nextTurn()
    const own = await Counted.of(backend, run, part)
    if (own.values.length === 0) continue
    const before = new Uint32Array(own.values.length)
    for (const other of others)
      await own.addFrom(backend, other, part, (at) => (before[at] = (before[at] ?? 0) + 1))
    const isShared = (at: number) => own.countAt(at) + (before[at] ?? 0) >= documentsMin
    const isNew = (at: number) => isShared(at) && (before[at] ?? 0) < documentsMin
    for (const [at, value] of own.values.entries()) {
      if (!isShared(at)) continue
      documents.set(part * PART_SIZE + value, own.countAt(at) + (before[at] ?? 0))
    }
    for (const shard of own.shardsWith(isShared)) shards.add(shard)
    if (!own.values.some((_value, at) => isNew(at) && (before[at] ?? 0) > 0)) continue
    for (const other of others) {
      await own.addFrom(backend, other, part, (at) => isNew(at) && earlier.add(other))
    }
  }
  return { documents, shards, earlier }
}

/** The windows of a run that are in one part: each once, in order. */
class Counted {
  readonly values: Float64Array
  readonly #counts: Uint32Array
  readonly #rows: readonly WindowsRow[]

  static async of(backend: Backend, run: string, part: number): Promise<Counted> {
    const rows: WindowsRow[] = []
    for await (const row of windowRows(backend, run, part)) rows.push(row)
    return new Counted(rows)
  }

  constructor(rows: readonly WindowsRow[]) {
    this.#rows = rows
    const all = new Float64Array(rows.reduce((sum, { hashes }) => sum + hashes.length, 0))
    let end = 0
    for (const { hashes } of rows) {
      all.set(hashes, end)
      end += hashes.length
    }
    all.sort()
    let count = 0
    for (const value of all) {
      if (count === 0 || all[count - 1] !== value) all[count++] = value
    }
    this.values = all.subarray(0, count)
    this.#counts = new Uint32Array(count)
    const add = (at: number) => (this.#counts[at] = this.countAt(at) + 1)
    for (const { hashes, isCounted } of rows) if (isCounted) this.#match(hashes, add)
  }

  countAt(at: number): number {
    return this.#counts[at] ?? 0
  }

  /** Calls `each` with the place of a value for every document of another run that has it. */
  async addFrom(
    backend: Backend,
    run: string,
    part: number,
    each: (at: number) => unknown,
  ): Promise<void> {
    for await (const { hashes, isCounted } of windowRows(backend, run, part)) {
      if (isCounted) this.#match(hashes, each)
    }
  }

  *shardsWith(isWanted: (at: number) => boolean): Generator<number> {
    for (const { shard, hashes } of this.#rows) {
      let isFound = false
      this.#match(hashes, (at) => (isFound ||= isWanted(at)))
      if (isFound) yield shard
    }
  }

  /** Both are in order, so what is looked for is never before the last one found. */
  #match(hashes: Float64Array, each: (at: number) => unknown): void {
    let from = 0
    for (const hash of hashes) {
      from = this.#placeOf(hash, from)
      if (from >= this.values.length) return
      if (this.values[from] === hash) each(from)
    }
  }

  /** The first place from there on whose value is not smaller: in growing steps, then by halves. */
  #placeOf(hash: number, from: number): number {
    const { values } = this
    let step = 1
    let low = from
    while (low + step < values.length && (values[low + step] ?? 0) < hash) {
      low += step
      step *= 2
    }
    let high = Math.min(low + step, values.length)
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((values[middle] ?? 0) < hash) low = middle + 1
      else high = middle
    }
    return low
  }
}
