/**
 * Fits a judge to labelled pairs, and finds out what it can promise.
 *
 * The same pairs in any order give the same bytes: they are sorted by their content, and a pair's fold depends on its
 * texts only. Promises rest on probabilities of pairs by a judge that was fitted without them (five folds).
 */

import * as v from 'valibot'

import { digestOf, type TextInput } from '../../fingerprint/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { given, readOptions } from '../../platform/options.ts'
import { promiseOf, type ScoredPair } from '../promise.ts'
import { featureNames, features, type Judged, judged, measure, planOf } from './features.ts'
import { fitLogistic, sigmoid } from './logistic.ts'
import { JUDGE_FORMAT, JUDGE_VERSION, type JudgeCut, type JudgeModel, sealed } from './model.ts'

export interface JudgePair {
  readonly a: TextInput | Judged
  readonly b: TextInput | Judged
  /** What a person says. */
  readonly isDuplicate: boolean
  /** Of their meaning, from -1 to 1. All pairs have one, or none has. */
  readonly cosine?: number | undefined
}

export interface FitOptions {
  /** What the pairs are, for whoever reads the judge. Default: `labelled pairs`. */
  readonly name?: string | undefined
  /** The id of the embedder that made the cosines. Default: none. */
  readonly embedder?: string | undefined
  /** How strongly weights are kept small (L2). Default: 1. */
  readonly penalty?: number | undefined
}

const isText = (value: unknown) => typeof value === 'string'
const isPenalty = (value: unknown) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0

const fitOptions = v.strictObject({
  name: v.optional(given<string>(isText, 'a text'), 'labelled pairs'),
  embedder: v.optional(given<string>(isText, 'the id of an embedder')),
  penalty: v.optional(given<number>(isPenalty, 'a number above 0'), 1),
}) satisfies v.GenericSchema<FitOptions>

const FOLDS = 5
/** Of either kind; fewer fit no judge worth its name. */
const LABELS_MIN = 10
/** What promises are looked for; one in between is that of the next higher. */
const PRECISIONS = [
  ...[50, 55, 60, 65, 70, 75, 80, 85, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99].map(
    (percent) => percent / 100,
  ),
  0.995,
  0.999,
]
/** Probabilities in even steps of their logit, from strict to lenient. They do not depend on labels. */
export const judgeCuts: readonly number[] = Array.from({ length: 261 }, (_, at) =>
  rounded(sigmoid(9 - at / 20)),
)

interface Row {
  /** Where the pair was in the input. */
  readonly at: number
  readonly key: string
  readonly fold: number
  readonly values: readonly number[]
  readonly isDuplicate: boolean
}

export interface FittedJudge {
  readonly model: JudgeModel
  /** Per pair as given: its probability by a judge that was fitted without it. */
  readonly probabilities: readonly number[]
}

export function fitJudge(pairs: Iterable<JudgePair>, options: FitOptions = {}): JudgeModel {
  return fitAndScore(pairs, options).model
}

export function fitAndScore(pairs: Iterable<JudgePair>, options: FitOptions = {}): FittedJudge {
  const { name, embedder, penalty } = readOptions(fitOptions, options, 'How a judge is fitted')
  const all = [...pairs]
  const needsCosine = requirePairs(all)
  const names = featureNames(needsCosine)
  const rows = rowsOf(all, names)
  const probabilities: number[] = Array.from({ length: rows.length }, () => 0)
  for (let fold = 0; fold < FOLDS; fold++) {
    const fitted = weightsOf(
      rows.filter((row) => row.fold !== fold),
      names,
      penalty,
    )
    for (const row of rows) {
      if (row.fold === fold) probabilities[row.at] = probabilityOf(fitted, row.values)
    }
  }
  const scored = rows.map(({ at, isDuplicate }) => ({ score: probabilities[at] ?? 0, isDuplicate }))
  const model = sealed({
    format: JUDGE_FORMAT,
    version: JUDGE_VERSION,
    ...weightsOf(rows, names, penalty),
    needsCosine,
    embedder: embedder ?? null,
    calibration: calibrationOf(scored),
    trainedOn: {
      name,
      pairs: rows.length,
      duplicates: rows.filter(({ isDuplicate }) => isDuplicate).length,
      folds: FOLDS,
      penalty,
    },
  })
  return { model, probabilities }
}

/** Whether they have cosines. */
function requirePairs(pairs: readonly JudgePair[]): boolean {
  const duplicates = pairs.filter(({ isDuplicate }) => isDuplicate).length
  const different = pairs.length - duplicates
  if (duplicates < LABELS_MIN || different < LABELS_MIN) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `A judge needs at least ${LABELS_MIN} pairs of either kind, and there are ${duplicates} duplicates and ` +
        `${different} different pairs.`,
    )
  }
  const withCosine = pairs.filter(({ cosine }) => cosine !== undefined)
  for (const { cosine } of withCosine) requireCosine(cosine)
  if (withCosine.length === 0 || withCosine.length === pairs.length) return withCosine.length > 0
  throw new PrestigeError(
    'INVALID_VALUE',
    `${withCosine.length} of ${pairs.length} pairs have a cosine. Give it for all of them, or for none.`,
  )
}

export function requireCosine(cosine: unknown): number {
  if (typeof cosine === 'number' && cosine >= -1.000_001 && cosine <= 1.000_001) return cosine
  throw new PrestigeError('INVALID_VALUE', `A cosine is from -1 to 1, not ${String(cosine)}.`)
}

function rowsOf(pairs: readonly JudgePair[], names: readonly string[]): Row[] {
  const plan = planOf(names)
  const rows = pairs.map(({ a, b, isDuplicate, cosine }, at): Row => {
    const [first, second] = [judged(a), judged(b)]
    const values = measure(plan, first, second, cosine ?? 0)
    const texts = [first, second].map(({ canonical }) => digestOf(canonical).toString('hex'))
    const content = texts.toSorted().join(' ')
    const fold = digestOf(Buffer.from(content)).readUInt32LE() % FOLDS
    return { at, key: `${content} ${isDuplicate} ${values.join(' ')}`, fold, values, isDuplicate }
  })
  // Where keys are equal, so are the rows but for where they were.
  return rows.toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
}

type Weights = Pick<JudgeModel, 'bias' | 'features'>

function weightsOf(rows: readonly Row[], names: readonly string[], penalty: number): Weights {
  const means = names.map((_, at) => meanOf(rows.map(({ values }) => values[at] ?? 0)))
  const scales = names.map((_, at) => {
    const mean = means[at] ?? 0
    const variance = meanOf(rows.map(({ values }) => ((values[at] ?? 0) - mean) ** 2))
    return rounded(Math.sqrt(variance)) || 1
  })
  const { bias, weights } = fitLogistic({
    rows: rows.map(({ values }) =>
      Float64Array.from(values, (value, at) => (value - (means[at] ?? 0)) / (scales[at] ?? 1)),
    ),
    labels: rows.map(({ isDuplicate }) => isDuplicate),
    signs: names.map((name) => features.get(name)?.sign ?? 0),
    penalty,
  })
  return {
    bias: rounded(bias),
    features: names.map((name, at) => ({
      name,
      mean: means[at] ?? 0,
      scale: scales[at] ?? 1,
      weight: rounded(weights[at] ?? 0),
    })),
  }
}

/** So that the last bits of an exponential, which may differ between machines, do not matter. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6 || 0
}

function meanOf(values: readonly number[]): number {
  return rounded(values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length))
}

export function logitOf({ bias, features: list }: Weights, values: readonly number[]): number {
  let logit = bias
  for (let at = 0; at < list.length; at++) {
    const one = list[at]
    if (one) logit += (one.weight * ((values[at] ?? 0) - one.mean)) / one.scale
  }
  return logit
}

function probabilityOf(weights: Weights, values: readonly number[]): number {
  return rounded(sigmoid(logitOf(weights, values)))
}

function calibrationOf(scored: readonly ScoredPair[]): JudgeCut[] {
  const duplicates = scored.filter(({ isDuplicate }) => isDuplicate).length
  const cuts: JudgeCut[] = []
  for (const precision of PRECISIONS) {
    const { promise } = promiseOf(scored, precision, judgeCuts)
    if (promise === undefined) continue
    const { cut, low, right } = promise
    cuts.push({ precision, cut, low: rounded(low), recall: rounded(right / duplicates) })
  }
  return monotone(cuts)
}

/** A cut that promises more is never below one that promises less: what holds for the higher holds for the lower. */
function monotone(cuts: readonly JudgeCut[]): JudgeCut[] {
  const result: JudgeCut[] = []
  for (const one of cuts.toReversed()) {
    const stricter = result[0]
    result.unshift(
      stricter && stricter.cut < one.cut ? { ...stricter, precision: one.precision } : one,
    )
  }
  return result
}
