/**
 * Chooses a threshold by example: labelled pairs in, and out comes what every threshold would have got right,
 * the one that serves the goal best, and the bands that find pairs for it.
 *
 * Pure and deterministic. A pair counts as found where its exact similarity is at least the threshold; that
 * bands can miss a pair is reported separately, as `expectedRecall`. A precision that is asked for is promised or
 * refused (promise.ts). Not here: reading files of pairs, and the picture (threshold-svg.ts).
 */

import { PrestigeError } from '../platform/errors.ts'
import {
  type Banding,
  chooseBands,
  collisionProbability,
  jaccard,
  requireSlots,
  shingleHashes,
  type TextInput,
} from '../fingerprint/index.ts'
import { readOptions } from '../platform/options.ts'
import { canonicalText, commonShape, profileOf } from './compare-texts.ts'
import { type TuneOptions, tuneOptions } from './options.ts'
import {
  type PrecisionPromise,
  promiseOf,
  type PromiseOutcome,
  type ScoredPair,
} from './promise.ts'
import {
  type Mistake,
  mistakesOf,
  type NextLabels,
  nextLabels,
  PrecisionUnproven,
} from './review.ts'
import { type Rate, rateOf, wilson } from './wilson.ts'

export interface LabelledPair {
  readonly a: TextInput
  readonly b: TextInput
  /** What a person says. `undefined`: nobody has yet; such pairs are only proposed for labelling. */
  readonly isDuplicate: boolean | undefined
}

/** A pair whose similarity is known: of texts, vectors, or whatever else has one between 0 and 1. */
export interface MeasuredPair {
  readonly similarity: number
  /** `undefined`: not labelled. */
  readonly isDuplicate: boolean | undefined
}

/** What one threshold would have got right. */
export interface ThresholdScore {
  readonly threshold: number
  readonly truePositives: number
  readonly falsePositives: number
  readonly falseNegatives: number
  /** Of the pairs called duplicates, how many are. */
  readonly precision: Rate
  /** Of the duplicates, how many are called so. */
  readonly recall: Rate
  /** The harmonic mean of the two. */
  readonly f1: Rate
}

export interface HistogramBin {
  readonly from: number
  /** Not in the bin itself, but in the last one. */
  readonly to: number
  readonly duplicates: number
  readonly different: number
}

export type Goal =
  | { readonly kind: 'f1' }
  | { readonly kind: 'precision' | 'recall'; readonly min: number }

/** What a threshold is chosen by, however pairs are found. */
export interface ThresholdTuning {
  /** Labelled ones. */
  readonly pairs: number
  readonly duplicates: number
  readonly different: number
  readonly goal: Goal
  readonly threshold: number
  /** The scores of that threshold. */
  readonly chosen: ThresholdScore
  /** Where a precision was asked for: what holds, with its confidence. */
  readonly promise: PrecisionPromise | undefined
  /** The labelled pairs that the threshold gets wrong, the farthest from it first. */
  readonly mistakes: readonly Mistake[]
  /** What would make it surer. */
  readonly next: NextLabels
  /** By similarity, ascending. */
  readonly thresholds: readonly ThresholdScore[]
  readonly histogram: readonly HistogramBin[]
}

export interface Tuning extends ThresholdTuning {
  readonly slots: number
  readonly banding: Banding
  /** Recall with bands: a duplicate is found if it is similar enough and happens to share a band. */
  readonly expectedRecall: number
}

export interface TextTuning extends Tuning {
  /** Shingle profile → how many pairs were cut by it. More than one: fix the profile and tune again. */
  readonly profiles: Readonly<Record<string, number>>
}

/** Below, 64 slots could not promise to find a pair. */
const THRESHOLD_MIN_PERCENT = 5
const percents: readonly number[] = Array.from(
  { length: 101 - THRESHOLD_MIN_PERCENT },
  (_, at) => (THRESHOLD_MIN_PERCENT + at) / 100,
)
const BINS = 20

/** Measures the pairs and chooses. `precision` or `recallMin` say what matters; without them, F1 does. */
export function tune(pairs: Iterable<LabelledPair>, options: TuneOptions = {}): TextTuning {
  const { profile, canonical } = readOptions(tuneOptions, options, 'How to tune')
  const profiles: Record<string, number> = {}
  const measured: MeasuredPair[] = []
  for (const { a, b, isDuplicate } of pairs) {
    const [first, second] = [canonicalText(a, canonical), canonicalText(b, canonical)]
    const cut = profileOf(commonShape(first, second, profile))
    profiles[cut] = (profiles[cut] ?? 0) + 1
    const similarity = jaccard(shingleHashes(first, cut), shingleHashes(second, cut))
    measured.push({ similarity, isDuplicate })
  }
  return { ...chooseThreshold(measured, options), profiles }
}

/** The same for pairs whose similarity is known. */
export function chooseThreshold(
  measured: readonly MeasuredPair[],
  options: TuneOptions = {},
): Tuning {
  const read = readOptions(tuneOptions, options, 'How to tune')
  const slots = requireSlots(read.slots)
  const scored = scoreThresholds(measured, read)
  const { threshold, duplicates } = scored
  const banding = chooseBands({ slots, threshold })
  return {
    ...scored,
    slots,
    banding,
    expectedRecall: expectedRecall(measured, duplicates, threshold, banding),
  }
}

/** The same where no bands find the pairs, as of meaning. */
export function scoreThresholds(
  measured: readonly MeasuredPair[],
  wanted: Wanted = {},
  promised: Promising = (scored, precision) => promiseOf(scored, precision, percents),
): ThresholdTuning {
  const goal = goalOf(wanted)
  const duplicates = requireBothLabels(measured)
  const labelled = measured.filter(({ isDuplicate }) => isDuplicate !== undefined)
  const thresholds = percents.map((threshold) => scoreOf(labelled, threshold))
  const outcome = goal.kind === 'precision' ? promised(scoredOf(labelled), goal.min) : undefined
  if (outcome?.shortfall) throw new PrecisionUnproven(measured, outcome.shortfall)
  const promise = outcome?.promise
  const chosen = promise ? scoreOf(labelled, promise.cut) : choose(thresholds, goal)
  return {
    pairs: labelled.length,
    duplicates,
    different: labelled.length - duplicates,
    goal,
    threshold: chosen.threshold,
    chosen,
    promise,
    mistakes: mistakesOf(measured, chosen.threshold),
    next: nextLabels(measured, chosen.threshold),
    thresholds,
    histogram: histogramOf(labelled),
  }
}

type Promising = (scored: readonly ScoredPair[], precision: number) => PromiseOutcome

function scoredOf(labelled: readonly MeasuredPair[]): ScoredPair[] {
  return labelled.map(({ similarity, isDuplicate }) => ({
    score: similarity,
    isDuplicate: isDuplicate === true,
  }))
}

export interface Wanted {
  readonly precision?: number | undefined
  readonly recallMin?: number | undefined
}

function goalOf({ precision, recallMin }: Wanted): Goal {
  if (precision !== undefined && recallMin !== undefined) {
    throw new PrestigeError('INVALID_OPTIONS', 'Give precision or recallMin, not both.')
  }
  if (precision !== undefined) return { kind: 'precision', min: precision }
  if (recallMin !== undefined) return { kind: 'recall', min: recallMin }
  return { kind: 'f1' }
}

function requireBothLabels(measured: readonly MeasuredPair[]): number {
  let duplicates = 0
  let different = 0
  for (const { similarity, isDuplicate } of measured) {
    if (!(similarity >= 0 && similarity <= 1)) {
      throw new PrestigeError('INVALID_VALUE', `A similarity is 0 to 1, not ${String(similarity)}.`)
    }
    if (isDuplicate) duplicates++
    else if (isDuplicate === false) different++
  }
  if (duplicates > 0 && different > 0) return duplicates
  throw new PrestigeError(
    'INVALID_VALUE',
    `A threshold needs examples of both kinds, and there are ${duplicates} duplicates and ` +
      `${different} different pairs.`,
  )
}

function scoreOf(measured: readonly MeasuredPair[], threshold: number): ThresholdScore {
  let truePositives = 0
  let falsePositives = 0
  let falseNegatives = 0
  for (const { similarity, isDuplicate } of measured) {
    const isCalled = similarity >= threshold
    if (isCalled && isDuplicate) truePositives++
    else if (isCalled) falsePositives++
    else if (isDuplicate) falseNegatives++
  }
  return {
    threshold,
    truePositives,
    falsePositives,
    falseNegatives,
    precision: rateOf(truePositives, truePositives + falsePositives),
    recall: rateOf(truePositives, truePositives + falseNegatives),
    f1: f1Of(truePositives, falsePositives + falseNegatives),
  }
}

/** F1 is 2s / (1 + s) of the share s = right / (right + wrong), so its interval is that of the share, bent. */
function f1Of(right: number, wrong: number): Rate {
  const bend = (share: number) => (2 * share) / (1 + share)
  const { low, high } = wilson(right, right + wrong)
  return { value: bend(right / (right + wrong)), low: bend(low), high: bend(high) }
}

function choose(scores: readonly ThresholdScore[], goal: Goal): ThresholdScore {
  if (goal.kind !== 'recall') return middleOfBest(scores)
  const chosen = scores.findLast(({ recall }) => (recall.value ?? 0) >= goal.min)
  if (chosen) return chosen
  const best = Math.max(...scores.map(({ recall }) => recall.value ?? 0))
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `No threshold has a recall of ${goal.min} on these pairs; the best has ${best.toFixed(3)}.`,
  )
}

/**
 * Where duplicates and others lie apart, every threshold between them is as good on these pairs. The middle of
 * the longest stretch of equals is the furthest from both, and so the best guess about pairs to come.
 */
function middleOfBest(scores: readonly ThresholdScore[]): ThresholdScore {
  const best = Math.max(...scores.map(({ f1 }) => f1.value ?? 0))
  let longest: ThresholdScore[] = []
  let stretch: ThresholdScore[] = []
  for (const score of scores) {
    stretch = score.f1.value === best ? [...stretch, score] : []
    if (stretch.length > longest.length) longest = stretch
  }
  const middle = longest[(longest.length - 1) >> 1]
  if (middle) return middle
  throw new PrestigeError('INVALID_VALUE', 'No threshold tells any of these pairs apart.')
}

function expectedRecall(
  measured: readonly MeasuredPair[],
  duplicates: number,
  threshold: number,
  { bands, rows }: Banding,
): number {
  let found = 0
  for (const { similarity, isDuplicate } of measured) {
    if (isDuplicate && similarity >= threshold) {
      found += collisionProbability(similarity, bands, rows)
    }
  }
  return found / duplicates
}

function histogramOf(measured: readonly MeasuredPair[]): HistogramBin[] {
  const duplicates = new Uint32Array(BINS)
  const different = new Uint32Array(BINS)
  for (const { similarity, isDuplicate } of measured) {
    const bins = isDuplicate ? duplicates : different
    const bin = Math.min(BINS - 1, Math.floor(similarity * BINS))
    bins[bin] = (bins[bin] ?? 0) + 1
  }
  return Array.from({ length: BINS }, (_, bin) => ({
    from: bin / BINS,
    to: (bin + 1) / BINS,
    duplicates: duplicates[bin] ?? 0,
    different: different[bin] ?? 0,
  }))
}
