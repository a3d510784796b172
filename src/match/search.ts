/**
 * From a text to the representative it is a near duplicate of: candidates of all bands, ranked by the estimate
 * of the whole signature, measured exactly; the most similar wins, of equals the oldest.
 *
 * Invariant: the answer depends on the representatives that are there, never on the order in which they came.
 * Measuring ends when no candidate left can be more similar than the last of the hits that are wanted.
 */

import { type Cell, glance, type Scope, type Transaction } from '../backends/index.ts'
import type { NearIndex } from './match-index.ts'
import type { Representative } from './rows.ts'

/** One place to look: a group, and the signature of what is looked for as that group would have it. */
export interface Look<Signature> {
  readonly group: Buffer
  readonly signature: Signature
}

export interface Candidate<Signature> {
  readonly look: Look<Signature>
  readonly id: Buffer
  readonly estimate: number
  readonly row: Representative
}

export interface Hit<Signature> extends Candidate<Signature> {
  readonly similarity: number
}

export interface Search<Signature> {
  readonly index: NearIndex<Signature>
  readonly looks: readonly Look<Signature>[]
  readonly similarityMin: number
  /** How many hits are wanted (1): the best so many are found, whatever else is. */
  readonly hitsMax?: number | undefined
  /** How similar the candidate is; `undefined` if it does not count, because it has expired. */
  measure(candidate: Candidate<Signature>): Transaction<number | undefined>
}

/** Where the row of a candidate is not needed to measure it: only those of hits are read. */
export interface RowlessSearch<Signature> extends Omit<Search<Signature>, 'measure'> {
  /** The same. What can be determined without reading is returned at once. */
  measureAlone(
    candidate: Omit<Candidate<Signature>, 'row'>,
  ): Transaction<number | undefined> | number | undefined
}

export interface Searched<Signature> {
  /** What is similar enough among those measured, the best first. */
  readonly hits: readonly Hit<Signature>[]
  readonly candidates: number
  readonly compared: number
  readonly passedOver: number
  /** What "there is nothing" relies on. */
  readonly relied: readonly Cell<unknown>[]
}

/** Relies on nothing yet: that is up to who decides by it. `scope` is given by those who may write. */
export function* search<Signature>(
  wanted: Search<Signature> | RowlessSearch<Signature>,
  scope: Scope | undefined,
): Transaction<Searched<Signature>> {
  const { index, looks, similarityMin, hitsMax = 1 } = wanted
  const estimateMin = index.likeness.estimateMin(similarityMin)
  const relied: Cell<unknown>[] = []
  const ranked: Omit<Candidate<Signature>, 'row'>[] = []
  let passedOver = 0
  for (const look of looks) {
    const found = yield* index.find(look.group, look.signature, estimateMin, scope)
    for (const { id, estimate } of found.candidates) ranked.push({ look, id, estimate })
    relied.push(...found.relied)
    passedOver += found.passedOver
  }
  if (looks.length > 1) ranked.sort((one, other) => other.estimate - one.estimate)
  const isRowless = 'measureAlone' in wanted
  const hits: Hit<Signature>[] = []
  let least = similarityMin
  let compared = 0
  for (const ranking of ranked) {
    const { look, id, estimate } = ranking
    if (index.likeness.similarityMax(estimate) < least) break
    let similarity: number | undefined
    if (isRowless) {
      const made = wanted.measureAlone(ranking)
      similarity = typeof made === 'object' ? yield* made : made
      compared++
      if (similarity === undefined || similarity < similarityMin) continue
    }
    const [row] = yield* glance(index.representative(look.group, id))
    if (!row) continue
    if (!isRowless) {
      similarity = yield* wanted.measure({ look, id, estimate, row })
      compared++
    }
    if (similarity === undefined || similarity < similarityMin) continue
    hits.push({ look, id, estimate, row, similarity })
    if (hits.length > 1)
      hits.sort((one, other) => other.similarity - one.similarity || one.id.compare(other.id))
    least = hits[hitsMax - 1]?.similarity ?? similarityMin
  }
  return { hits, candidates: ranked.length, compared, passedOver, relied }
}
