/** A judge by example: fitted to labelled pairs, with the least probability that serves the goal. */

import { cutPromise, shortfallOf } from '../promise.ts'
import { scoreThresholds, type LabelledPair, type ThresholdTuning, type Wanted } from '../tune.ts'
import { fitAndScore, type FitOptions, judgeCuts, type JudgePair } from './fit-judge.ts'
import { judged } from './features.ts'
import { judgeTexts } from './judge-texts.ts'
import type { JudgeModel } from './model.ts'

export interface JudgeTuneOptions extends FitOptions, Wanted {}

export interface OpenJudgePair extends Omit<LabelledPair, 'a' | 'b'>, Pick<JudgePair, 'a' | 'b'> {
  /** Of their meaning, from -1 to 1. All pairs have one, or none has. */
  readonly cosine?: number | undefined
}

/** Similarities and thresholds are probabilities, by judges that were fitted without the pair. */
export interface JudgeTuning extends ThresholdTuning {
  readonly judge: JudgeModel
}

export function tuneJudge(
  pairs: Iterable<OpenJudgePair>,
  { precision, recallMin, ...options }: JudgeTuneOptions = {},
): JudgeTuning {
  const all = [...pairs]
  const labelled: JudgePair[] = []
  for (const pair of all) {
    const { isDuplicate } = pair
    if (isDuplicate !== undefined) labelled.push({ ...pair, isDuplicate })
  }
  const { model, probabilities } = fitAndScore(labelled, options)
  let next = 0
  const measured = all.map(({ a, b, isDuplicate, cosine }) => ({
    isDuplicate,
    similarity:
      isDuplicate === undefined
        ? judgeTexts(model, judged(a), judged(b), { cosine }).probability
        : (probabilities[next++] ?? 0),
  }))
  const tuning = scoreThresholds(measured, { precision, recallMin }, (scored, wanted) => {
    // The cut that `cutFor` will give whoever uses the judge.
    const kept = model.calibration.find((one) => one.precision >= wanted)
    if (kept) return { promise: { ...cutPromise(scored, kept.cut), precision: wanted } }
    return { shortfall: shortfallOf(scored, wanted, judgeCuts) }
  })
  return { ...tuning, judge: model }
}
