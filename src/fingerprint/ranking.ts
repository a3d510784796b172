/**
 * Keeps the best of the slots it is shown: those with the highest scores, and of equals the oldest ids.
 *
 * Scores are small whole numbers and are counted, once there are more than asked for. So the least score
 * that can still win is known at any time (`floor`). The answer does not depend on the order of showing.
 */

import type { Candidate } from './similarity-table.ts'
import type { SlotIds } from './slot-ids.ts'

export class Ranking {
  readonly #limit: number
  readonly #scoreMax: number
  readonly #slots: number[] = []
  readonly #scores: number[] = []
  #counts: Uint32Array | undefined
  #floor: number
  /** Shown slots with a score above the floor. */
  #above = 0

  constructor(limit: number, scoreMin: number, scoreMax: number) {
    this.#limit = limit
    this.#floor = scoreMin
    this.#scoreMax = scoreMax
  }

  /** A lower score need not be shown. */
  get floor(): number {
    return this.#floor
  }

  show(slot: number, score: number): void {
    if (score < this.#floor) return
    this.#slots.push(slot)
    this.#scores.push(score)
    if (this.#counts) this.#count(this.#counts, score)
    else if (this.#scores.length > this.#limit) {
      const counts = new Uint32Array(this.#scoreMax + 1)
      for (const shown of this.#scores) this.#count(counts, shown)
      this.#counts = counts
    }
  }

  #count(counts: Uint32Array, score: number): void {
    counts[score] = (counts[score] ?? 0) + 1
    if (score > this.#floor) this.#above++
    while (this.#above >= this.#limit) {
      this.#floor++
      this.#above -= counts[this.#floor] ?? 0
    }
  }

  best(ids: SlotIds, estimateOf: (score: number) => number): Candidate[] {
    const kept: { slot: number; score: number }[] = []
    this.#slots.forEach((slot, at) => {
      const score = this.#scores[at] ?? 0
      if (score >= this.#floor) kept.push({ slot, score })
    })
    kept.sort((a, b) => b.score - a.score || ids.compare(a.slot, b.slot))
    return kept
      .slice(0, this.#limit)
      .map(({ slot, score }) => ({ id: ids.idOf(slot), estimate: estimateOf(score) }))
  }
}
