/**
 * Which repeated contents saved an import most, in bounded memory.
 *
 * Only contents met twice are remembered. When there are too many of those, the half that saved least is forgotten;
 * from then on the numbers are lower bounds, and `isExact` says so.
 */

import type { Receipt } from '../../index.ts'

const REMEMBERED_MAX = 100_000

export interface RepeatedContent {
  readonly firstKey: Buffer
  /** Files of this import that had it. */
  readonly times: number
  readonly bytes: number
  readonly bytesSaved: number
}

export class RepeatedContents {
  readonly #seen = new Map<string, RepeatedContent>()
  readonly #startedAt: number
  readonly #rememberedMax: number
  isExact = true

  /** `startedAt`: a content stored since then was first met in this import. */
  constructor(startedAt: number, rememberedMax: number = REMEMBERED_MAX) {
    this.#startedAt = startedAt
    this.#rememberedMax = rememberedMax
  }

  add({ content, of, contentId, bytes, bytesSaved }: Receipt): void {
    if (content !== 'duplicate' || of === undefined) return
    const before = this.#seen.get(contentId) ?? {
      firstKey: of.firstKey,
      times: of.storedAt >= this.#startedAt ? 1 : 0,
      bytes,
      bytesSaved: 0,
    }
    const { times, bytesSaved: saved } = before
    this.#seen.set(contentId, { ...before, times: times + 1, bytesSaved: saved + bytesSaved })
    if (this.#seen.size > this.#rememberedMax) this.#forgetHalf()
  }

  top(count: number): RepeatedContent[] {
    const repeated = [...this.#seen.values()].filter(({ times }) => times > 1)
    return repeated.toSorted(bySaving).slice(0, count)
  }

  #forgetHalf(): void {
    this.isExact = false
    const ids = [...this.#seen.entries()]
      .toSorted(([, a], [, b]) => bySaving(a, b))
      .map(([id]) => id)
    for (const id of ids.slice(ids.length >> 1)) this.#seen.delete(id)
  }
}

function bySaving(a: RepeatedContent, b: RepeatedContent): number {
  return b.bytesSaved - a.bytesSaved || b.times - a.times
}
