/**
 * A graph of neighbours (HNSW, by the package `usearch`), for more vectors than a scan is good for. It looks at few
 * and may miss one; what it proposes is measured in floats.
 *
 * Removals really remove: from the graph, and from the vectors. A key of the graph is never given twice.
 */

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { GraphOptions } from './options.ts'
import {
  Best,
  checkedSearch,
  type SearchOptions,
  type VectorIndex,
  type VectorMatch,
  VectorRows,
} from './vector-index.ts'

/** What is used of `usearch`. */
export interface Graph {
  add(key: bigint, vector: Float32Array): void
  remove(key: bigint): number | number[]
  search(vector: Float32Array, k: number, threads: number): { readonly keys: BigUint64Array }
  size(): number
  save(path: string): void
  load(path: string): void
}

export async function openGraph(dimensions: number, options: GraphOptions): Promise<Graph> {
  const { Index, MetricKind, ScalarKind } = await import('usearch').catch((cause: unknown) => {
    throw new PrestigeError(
      'MODEL_NOT_FOUND',
      'The graph index is not installed. Run: npm install usearch. Or use the engine scan, which needs nothing.',
      { cause },
    )
  })
  return new Index({
    dimensions,
    metric: MetricKind.Cos,
    quantization: ScalarKind.I8,
    connectivity: options.m,
    expansion_add: options.efConstruction,
    expansion_search: options.efSearch,
    multi: false,
  })
}

export class GraphIndex implements VectorIndex {
  readonly engine = 'hnsw'
  readonly dimensions: number
  readonly rows: VectorRows
  readonly options: GraphOptions
  readonly #graph: Graph
  readonly #keyOf: number[] = []
  readonly #slotOf = new Map<number, number>()
  #nextKey = 0

  constructor(dimensions: number, graph: Graph, options: GraphOptions) {
    this.dimensions = dimensions
    this.rows = new VectorRows(dimensions)
    this.#graph = graph
    this.options = options
  }

  get size(): number {
    return this.rows.ids.size
  }

  get graph(): Graph {
    return this.#graph
  }

  add(id: Bytes, vector: Float32Array): void {
    const square = this.rows.squareOf(vector)
    const known = this.rows.ids.find(id)
    if (known !== undefined) this.#unlink(known)
    const slot = this.rows.put(id, vector)
    const key = this.#nextKey++
    this.link(slot, key)
    const length = Math.sqrt(square)
    this.#graph.add(
      BigInt(key),
      vector.map((number) => number / length),
    )
  }

  /** Says that the graph has the vector of a slot under this key. */
  link(slot: number, key: number): void {
    this.#keyOf[slot] = key
    this.#slotOf.set(key, slot)
    this.#nextKey = Math.max(this.#nextKey, key + 1)
  }

  keyOf(slot: number): number {
    return this.#keyOf[slot] ?? 0
  }

  remove(id: Bytes): boolean {
    const slot = this.rows.ids.find(id)
    if (slot === undefined) return false
    this.#unlink(slot)
    this.rows.remove(id)
    return true
  }

  #unlink(slot: number): void {
    const key = this.keyOf(slot)
    this.#graph.remove(BigInt(key))
    this.#slotOf.delete(key)
  }

  searchNow(vector: Float32Array, k: number, options: SearchOptions = {}): VectorMatch[] {
    const { similarityMin } = checkedSearch(k, options)
    const square = this.rows.squareOf(vector)
    const best = new Best(this.rows, k, similarityMin)
    if (this.size === 0) return []
    const length = Math.sqrt(square)
    const asked = Math.min(Math.max(k, this.options.searchK), this.size)
    const direction = vector.map((number) => number / length)
    for (const key of this.#graph.search(direction, asked, 1).keys) {
      const slot = this.#slotOf.get(Number(key))
      if (slot !== undefined) best.offer(slot, this.rows.cosine(vector, square, slot))
    }
    return best.matches()
  }

  /** A search takes about a millisecond, so it is done at once. */
  async search(
    vector: Float32Array,
    k: number,
    options: SearchOptions = {},
  ): Promise<VectorMatch[]> {
    options.signal?.throwIfAborted()
    return this.searchNow(vector, k, options)
  }
}
