/**
 * How large the clusters of a run are, and what the largest are made of.
 *
 * A run of few clusters is counted as its lines go by. One of many is counted from the rows of members, which lie
 * cluster by cluster: that reads those of other runs too, and holds one cluster at a time.
 */

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import { Top } from './bounded.ts'
import { fromHex, hex } from '../names.ts'
import type { Named } from '../decision/decision.ts'
import { clusters, type DocumentRow, documents, members } from '../rows.ts'

/** So many clusters are counted in memory. */
const HELD_MAX = 100_000
const LARGEST = 10
const SAMPLES = 5
const KEY_BYTES = 16

export interface ClusterMember extends Named {
  readonly method: string
  readonly similarity: number
}

export interface ClusterSample extends Named {
  /** Documents of this run that belong to it, and its centre, which may be of an earlier one. */
  readonly size: number
  /** Which of them is kept. */
  readonly survivor: Named
  readonly members: readonly ClusterMember[]
}

export interface ClusterSizes {
  readonly clusters: number
  /** Clusters of 2, 3, 4, up to 8, up to 16 documents, and so on. */
  readonly sizes: number[]
  readonly largest: ClusterSample[]
}

/** The place of a size in `sizes`, and the sizes that share a place. */
export function sizeClass(size: number): number {
  return size <= 4 ? size - 2 : Math.ceil(Math.log2(size))
}

export function sizesOf(place: number): readonly [from: number, to: number] {
  return place <= 2 ? [place + 2, place + 2] : [2 ** (place - 1) + 1, 2 ** place]
}

interface Counted {
  readonly cluster: string
  readonly size: number
}

export class ClusterCounter {
  #held: Map<string, number> | undefined = new Map()
  readonly #heldMax: number

  constructor(heldMax: number = HELD_MAX) {
    this.#heldMax = heldMax
  }

  /** A document of the run belongs to this cluster. */
  note(cluster: string): void {
    this.#held?.set(cluster, (this.#held.get(cluster) ?? 0) + 1)
    if (this.#held && this.#held.size > this.#heldMax) this.#held = undefined
  }

  async count(backend: Backend, run: string): Promise<ClusterSizes> {
    const top = new Top<Counted>(LARGEST, byCount)
    const sizes: number[] = []
    let count = 0
    for await (const counted of this.#held ? heldOf(this.#held) : scanned(backend, run)) {
      count++
      const place = sizeClass(counted.size)
      while (sizes.length <= place) sizes.push(0)
      sizes[place] = (sizes[place] ?? 0) + 1
      top.add(counted)
    }
    const largest: ClusterSample[] = []
    for (const counted of top.items) largest.push(await sampleOf(backend, run, counted))
    return { clusters: count, sizes, largest }
  }
}

function byCount(one: Counted, other: Counted): number {
  return other.size - one.size || (one.cluster < other.cluster ? -1 : 1)
}

async function* heldOf(held: ReadonlyMap<string, number>): AsyncGenerator<Counted> {
  for (const [cluster, count] of held) yield { cluster, size: count + 1 }
}

async function* scanned(backend: Backend, run: string): AsyncGenerator<Counted> {
  const name = Buffer.from(run)
  let cluster = ''
  let count = 0
  for await (const { key, value } of backend.scan(members)) {
    const centre = hex(key.subarray(0, KEY_BYTES))
    if (centre !== cluster && count > 0) yield { cluster, size: count + 1 }
    if (centre !== cluster) [cluster, count] = [centre, 0]
    if (name.equals(value)) count++
  }
  if (count > 0) yield { cluster, size: count + 1 }
}

async function sampleOf(
  backend: Backend,
  run: string,
  { cluster, size }: Counted,
): Promise<ClusterSample> {
  const centreKey = fromHex(cluster)
  const found: ClusterMember[] = []
  const range = { start: centreKey, end: endOfPrefix(centreKey) }
  for await (const { key, value } of backend.scan(members, range)) {
    if (Buffer.from(value).toString() !== run) continue
    const row = await backend.read(documentAt, key.subarray(KEY_BYTES))
    // It may have changed since, and belong elsewhere.
    if (row?.cluster !== cluster) continue
    const { id, source, method = '', similarity = 1 } = row
    found.push({ id, source, method, similarity })
    if (found.length === SAMPLES) break
  }
  const [centre, survivor] = await backend.read(headsOf, centreKey)
  const { id, source } = centre ?? { id: cluster, source: '' }
  const kept = survivor ? { id: survivor.id, source: survivor.source } : { id, source }
  return { id, source, size, survivor: kept, members: found }
}

function* documentAt(_scope: unknown, key: Buffer): Transaction<DocumentRow | undefined> {
  return (yield* read(cell(documents, key)))[0]
}

function* headsOf(
  _scope: unknown,
  key: Buffer,
): Transaction<readonly [DocumentRow | undefined, DocumentRow | undefined]> {
  const [centre, cluster] = yield* read(cell(documents, key), cell(clusters, key))
  if (!cluster) return [centre, centre]
  return [centre, (yield* read(cell(documents, fromHex(cluster.survivor))))[0]]
}
