/** The plain truth the tables of representatives are held against: everything is compared with everything. */

import type { Candidate, CandidateQuery, SimilarityTable } from '../src/fingerprint/index.ts'

export interface Similarity<Signature> {
  /** One key a band; two signatures are candidates if they share one. */
  keysOf(signature: Signature): ArrayLike<number>
  estimate(first: Signature, second: Signature): number
}

/** 16 bytes that begin with a time, as ids of the store do, and go on with something that is not in order. */
export function idOf(number: number): Buffer {
  const id = Buffer.alloc(16)
  id.writeUIntBE(1_700_000_000_000 + number, 0, 6)
  id.writeUInt32BE(Math.imul(number, 0x9e3779b1) >>> 0, 12)
  return id
}

export class TableModel<Signature> {
  readonly #similarity: Similarity<Signature>
  readonly #all = new Map<string, { id: Buffer; signature: Signature }>()

  constructor(similarity: Similarity<Signature>) {
    this.#similarity = similarity
  }

  get size(): number {
    return this.#all.size
  }

  insert(id: Buffer, signature: Signature): void {
    this.#all.set(id.toString('hex'), { id, signature })
  }

  remove(id: Buffer): boolean {
    return this.#all.delete(id.toString('hex'))
  }

  query(signature: Signature, query: CandidateQuery = {}): Candidate[] {
    const { estimateMin = -1, limit = 100, bucketMax = Infinity } = query
    const keys = Array.from(this.#similarity.keysOf(signature))
    const all = [...this.#all.values()].map(({ id, signature: own }) => ({
      id,
      signature: own,
      keys: this.#similarity.keysOf(own),
    }))
    const isOpen = keys.map(
      (key, band) => all.filter((one) => one.keys[band] === key).length <= bucketMax,
    )
    return all
      .filter((one) => keys.some((key, band) => isOpen[band] && one.keys[band] === key))
      .map((one) => ({
        id: one.id,
        estimate: this.#similarity.estimate(one.signature, signature),
      }))
      .filter(({ estimate }) => estimate >= estimateMin)
      .toSorted((a, b) => b.estimate - a.estimate || Buffer.compare(a.id, b.id))
      .slice(0, limit)
  }

  /** The same representatives in a table, in the order their places are given. */
  pourInto<Table extends SimilarityTable<Signature>>(
    table: Table,
    order: readonly number[],
  ): Table {
    const all = [...this.#all.values()]
    for (const place of order) table.insert(all[place]!.id, all[place]!.signature)
    return table
  }
}

export function shuffled(count: number, next: () => number): number[] {
  const order = Array.from({ length: count }, (_, at) => at)
  for (let at = count - 1; at > 0; at--) {
    const other = Math.floor((next() / 2 ** 32) * (at + 1))
    const held = order[at]!
    order[at] = order[other]!
    order[other] = held
  }
  return order
}
