/** What a person should look at after tuning: pairs that are called wrongly, and pairs to label next. */

import { PrestigeError } from '../platform/errors.ts'
import type { PrecisionShortfall } from './promise.ts'
import type { MeasuredPair } from './tune.ts'

export interface Mistake {
  /** Number of the pair as given, from 0. */
  readonly pair: number
  readonly similarity: number
  /** What a person says, and the threshold does not. */
  readonly isDuplicate: boolean
}

export interface NextLabels {
  /** Pairs of such a similarity say the most about the threshold. */
  readonly from: number
  readonly to: number
  /** Of the pairs given without a label: those nearest to the threshold, by number. */
  readonly pairs: readonly number[]
}

/** On either side of a threshold. */
const NEXT_WIDTH = 0.05
const NEXT_MAX = 20

export function mistakesOf(measured: readonly MeasuredPair[], threshold: number): Mistake[] {
  const mistakes: Mistake[] = []
  measured.forEach(({ similarity, isDuplicate }, pair) => {
    if (isDuplicate === undefined || similarity >= threshold === isDuplicate) return
    mistakes.push({ pair, similarity, isDuplicate })
  })
  const distance = ({ similarity }: Mistake) => Math.abs(similarity - threshold)
  return mistakes.toSorted((one, other) => distance(other) - distance(one) || one.pair - other.pair)
}

export function nextLabels(measured: readonly MeasuredPair[], threshold: number): NextLabels {
  const open = measured
    .map(({ similarity, isDuplicate }, pair) => ({ similarity, isDuplicate, pair }))
    .filter(({ isDuplicate }) => isDuplicate === undefined)
    .map(({ similarity, pair }) => ({ distance: Math.abs(similarity - threshold), pair }))
    .toSorted((one, other) => one.distance - other.distance || one.pair - other.pair)
  return {
    from: hundredths(Math.max(0, threshold - NEXT_WIDTH)),
    to: hundredths(Math.min(1, threshold + NEXT_WIDTH)),
    pairs: open.slice(0, NEXT_MAX).map(({ pair }) => pair),
  }
}

const hundredths = (value: number) => Math.round(value * 100) / 100

/** A precision was asked for that the labelled pairs do not prove. */
export class PrecisionUnproven extends PrestigeError {
  readonly shortfall: PrecisionShortfall
  /** At the cut that comes closest. */
  readonly mistakes: readonly Mistake[]
  readonly next: NextLabels

  constructor(measured: readonly MeasuredPair[], shortfall: PrecisionShortfall) {
    super('PRECISION_UNPROVEN', messageOf(shortfall))
    const cut = shortfall.cut ?? 1
    this.shortfall = shortfall
    this.mistakes = mistakesOf(measured, cut)
    this.next = nextLabels(measured, cut)
  }
}

function messageOf({ precision, cut, called, right, low, morePairs }: PrecisionShortfall): string {
  const problem = `These pairs do not prove a precision of ${precision}.`
  if (cut === undefined)
    return `${problem} None of them is similar enough to be called a duplicate.`
  const closest =
    `The closest is a cut of ${cut}: of ${called} pairs at or above it ${right} are duplicates, which proves ` +
    `${low.toFixed(3)} with a confidence of 95 %.`
  const missing =
    morePairs === undefined
      ? 'More pairs like these would not help: ask for less precision, or try --judge.'
      : `It would take about ${morePairs} more labelled pairs like these; the most informative ones are near the cut.`
  return `${problem} ${closest} ${missing}`
}
