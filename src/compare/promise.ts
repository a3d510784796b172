/**
 * Precision that is promised: a cut is chosen such that, with a confidence of 95 %, at least the wanted share of what
 * it calls duplicates are duplicates, among pairs of the same kind as those that were labelled.
 *
 * Of many cuts, some look good by chance. So cuts are tested from strict to lenient, and the first that fails ends the
 * sequence (fixed-sequence testing). A sequence may start at five places, chosen by numbers of pairs and never by
 * labels, so that a bad stretch of strict cuts does not hide a good one; each has a fifth of the error allowed. The test is exact (binomial, as in Clopper and Pearson).
 */

export interface ScoredPair {
  readonly score: number
  readonly isDuplicate: boolean
}

/** What holds with a confidence of 95 % at a cut. */
export interface PrecisionPromise {
  readonly precision: number
  readonly cut: number
  /** Labelled pairs at or above the cut, and how many of them are duplicates. */
  readonly called: number
  readonly right: number
  /** Lower bound of the precision, corrected for choosing among cuts. */
  readonly low: number
  readonly confidence: number
}

/** Why nothing can be promised. */
export interface PrecisionShortfall {
  readonly precision: number
  /** The cut that comes closest, and what was counted there; none where there are no pairs. */
  readonly cut: number | undefined
  readonly called: number
  readonly right: number
  readonly low: number
  /** Estimate of the labelled pairs of the same mix that are missing; `undefined`: more of them would not help. */
  readonly morePairs: number | undefined
}

export type PromiseOutcome =
  | { readonly promise: PrecisionPromise; readonly shortfall?: undefined }
  | { readonly promise?: undefined; readonly shortfall: PrecisionShortfall }

export const CONFIDENCE = 0.95
const STARTS = 5
const ERROR_MAX = (1 - CONFIDENCE) / STARTS
/** One-sided quantile of the normal distribution at ERROR_MAX, for estimates of numbers of pairs. */
const Z = 2.3263478740408408
const BISECTIONS = 50

interface Counted {
  readonly cut: number
  readonly called: number
  readonly right: number
}

/** `cuts` do not depend on labels. */
export function promiseOf(
  scored: readonly ScoredPair[],
  precision: number,
  cuts: readonly number[],
): PromiseOutcome {
  const counted = countsAt(scored, cuts)
  const least = provingPairs(precision)
  let best: Counted | undefined
  for (let number = 0; number < STARTS; number++) {
    // In even proportions between the least number that can prove it and all pairs.
    const pairs = least * (scored.length / least) ** (number / STARTS)
    const start = counted.findIndex(({ called }) => called >= Math.max(least, pairs))
    if (start < 0) break
    for (const one of counted.slice(start)) {
      if (!isProven(one, precision)) break
      if (best === undefined || one.cut < best.cut) best = one
    }
  }
  if (best === undefined) return { shortfall: shortfallOf(scored, precision, cuts) }
  return { promise: { precision, ...promised(best) } }
}

/** What holds at a cut that was promised before. */
export function cutPromise(
  scored: readonly ScoredPair[],
  cut: number,
): Omit<PrecisionPromise, 'precision'> {
  return promised(countsAt(scored, [cut])[0] ?? { cut, called: 0, right: 0 })
}

function promised(counted: Counted): Omit<PrecisionPromise, 'precision'> {
  return { ...counted, low: lowerBound(counted), confidence: CONFIDENCE }
}

/** From the strictest cut on; cuts that call the same pairs count once, as the strictest of them. */
function countsAt(scored: readonly ScoredPair[], cuts: readonly number[]): Counted[] {
  const sorted = scored.toSorted((first, second) => second.score - first.score)
  const counted: Counted[] = []
  let called = 0
  let right = 0
  for (const cut of cuts.toSorted((first, second) => second - first)) {
    while (called < sorted.length && (sorted[called]?.score ?? 0) >= cut) {
      if (sorted[called]?.isDuplicate) right++
      called++
    }
    if (called === 0) continue
    if (counted.at(-1)?.called === called) continue
    counted.push({ cut, called, right })
  }
  return counted
}

/** So many pairs, all right, prove a precision. */
function provingPairs(precision: number): number {
  return precision >= 1 ? Infinity : Math.ceil(Math.log(ERROR_MAX) / Math.log(precision))
}

/** Were the precision not above `precision`, so many right ones would come up less often than the error allowed. */
function isProven({ called, right }: Counted, precision: number): boolean {
  if (right <= called * precision) return false
  const wrong = called - right
  // The chance of at most so many wrong ones: the largest term first, and each below it is smaller.
  let logTerm = right * Math.log(precision) + wrong * Math.log1p(-precision)
  for (let at = 1; at <= wrong; at++) logTerm += Math.log((right + at) / at)
  let term = Math.exp(logTerm)
  let chance = 0
  for (let at = wrong; at >= 0 && term > chance * 1e-12; at--) {
    chance += term
    term *= (at / (called - at + 1)) * (precision / (1 - precision))
  }
  return chance <= ERROR_MAX
}

/** The highest precision that is proven. */
export function lowerBound(counted: Pick<Counted, 'called' | 'right'>): number {
  const { called, right } = counted
  if (right === 0) return 0
  let low = 0
  let high = right === called ? ERROR_MAX ** (1 / called) : right / called
  if (right === called) return high
  for (let step = 0; step < BISECTIONS; step++) {
    const middle = (low + high) / 2
    if (isProven({ cut: 0, called, right }, middle)) low = middle
    else high = middle
  }
  return low
}

export function shortfallOf(
  scored: readonly ScoredPair[],
  precision: number,
  cuts: readonly number[],
): PrecisionShortfall {
  const more = countsAt(scored, cuts).map((one) => ({
    cut: one.cut,
    called: one.called,
    right: one.right,
    low: lowerBound(one),
    morePairs: morePairs(one, scored.length, precision),
  }))
  const closest = more.reduce<(typeof more)[number] | undefined>((best, one) => {
    if (best === undefined) return one
    const [own, others] = [one.morePairs ?? Infinity, best.morePairs ?? Infinity]
    return own < others || (own === others && one.low > best.low) ? one : best
  }, undefined)
  return closest
    ? { precision, ...closest }
    : { precision, cut: undefined, called: 0, right: 0, low: 0, morePairs: undefined }
}

/** How many more pairs of the same mix would prove it, if this cut goes on as it did. */
function morePairs(
  { called, right }: Counted,
  pairs: number,
  precision: number,
): number | undefined {
  const share = right / called
  if (share <= precision) return undefined
  const spread = (Z / (share - precision)) ** 2 * precision * (1 - precision)
  const needed = Math.max(provingPairs(precision), spread)
  if (!Number.isFinite(needed)) return undefined
  return Math.max(1, Math.ceil((needed / called) * pairs) - pairs)
}
