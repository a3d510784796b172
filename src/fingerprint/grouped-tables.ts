/**
 * One table a group. A search sees the table of its own group and no other, because it holds no other.
 *
 * A group's table is made by its first representative and dropped with its last. It begins with a few
 * kilobytes, so a million small groups are possible.
 */

import type { Bytes } from '../platform/bytes.ts'
import { NearTable, type NearTableOptions } from './near-table.ts'
import {
  type CandidateQuery,
  type Candidates,
  NO_CANDIDATES,
  type SimilarityTable,
  type TableStats,
} from './similarity-table.ts'
import { VectorTable, type VectorTableOptions } from './vector-table.ts'

export class GroupedTables<Signature> {
  readonly #make: () => SimilarityTable<Signature>
  readonly #tables = new Map<string, SimilarityTable<Signature>>()

  constructor(make: () => SimilarityTable<Signature>) {
    this.#make = make
  }

  get groups(): IterableIterator<string> {
    return this.#tables.keys()
  }

  /** Representatives of all groups. */
  get size(): number {
    let sum = 0
    for (const { size } of this.#tables.values()) sum += size
    return sum
  }

  /** Of all that the tables hold, used or not. */
  get bytes(): number {
    let sum = 0
    for (const { bytes } of this.#tables.values()) sum += bytes
    return sum
  }

  /** Representatives of a group. */
  sizeOf(group: string): number {
    return this.#tables.get(group)?.size ?? 0
  }

  insert(group: string, id: Bytes, signature: Signature): void {
    const known = this.#tables.get(group)
    const table = known ?? this.#make()
    table.insert(id, signature)
    if (!known) this.#tables.set(group, table)
  }

  remove(group: string, id: Bytes): boolean {
    const table = this.#tables.get(group)
    const isRemoved = table?.remove(id) ?? false
    if (table?.size === 0) this.#tables.delete(group)
    return isRemoved
  }

  removeGroup(group: string): boolean {
    return this.#tables.delete(group)
  }

  query(group: string, signature: Signature, query: CandidateQuery = {}): Candidates {
    return this.#tables.get(group)?.query(signature, query) ?? NO_CANDIDATES
  }

  /** All that all tables hold, group by group. See `SimilarityTable.memory`. */
  *memory(): Generator<Uint8Array> {
    yield bytesOf(Uint32Array.of(this.#tables.size))
    for (const [group, table] of this.#tables) {
      const name = Buffer.from(group)
      yield bytesOf(Uint32Array.of(name.byteLength))
      yield name
      yield* table.memory(false)
    }
  }

  /** The memory of tables that are made meanwhile, each piece to be filled before the next one is asked for. */
  *memoryToFill(): Generator<Uint8Array> {
    const count = new Uint32Array(1)
    yield bytesOf(count)
    for (let left = count[0] ?? 0; left > 0; left--) {
      const length = new Uint32Array(1)
      yield bytesOf(length)
      const name = Buffer.alloc(length[0] ?? 0)
      yield name
      const table = this.#make()
      yield* table.memory(true)
      this.#tables.set(name.toString(), table)
    }
  }

  stats(group: string): TableStats | undefined {
    return this.#tables.get(group)?.stats()
  }
}

function bytesOf(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer)
}

/** Near-duplicate tables, by sketches. A group is also one profile and one `hashVersion`. */
export class NearTables extends GroupedTables<Uint16Array> {
  constructor(options: NearTableOptions) {
    super(() => new NearTable(options))
  }
}

/** Tables of similar vectors, by packed bits of hyperplanes. A group is also one choice of planes. */
export class VectorTables extends GroupedTables<Uint8Array> {
  constructor(options: VectorTableOptions) {
    super(() => new VectorTable(options))
  }
}
