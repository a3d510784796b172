/** The near duplicates of an import: how many there are, and the most similar of them. */

import type { Receipt } from '../../index.ts'

const KEPT_MAX = 10

export interface NearMatch {
  readonly similarity: number
  readonly key: Buffer
  /** The first key of what it is like. */
  readonly firstKey: Buffer
}

export class NearMatches {
  readonly #most: NearMatch[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  get most(): readonly NearMatch[] {
    return this.#most
  }

  add(key: Buffer, { method, similarity = 0, of }: Receipt): void {
    if (method !== 'near' || of === undefined) return
    this.#count++
    this.#most.push({ similarity, key, firstKey: of.firstKey })
    this.#most.sort((one, other) => other.similarity - one.similarity)
    if (this.#most.length > KEPT_MAX) this.#most.pop()
  }
}
