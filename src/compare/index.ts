/**
 * The module that measures similarity: what two texts share, how they align, and which threshold separates
 * duplicates from the rest.
 *
 * Invariant: pure. Nothing here reads a file or a store, and the same input gives the same answer everywhere.
 */

export { alignTexts } from './align.ts'
export type { Alignment, Span } from './align.ts'
export { compareTexts } from './compare-texts.ts'
export type { Comparison } from './compare-texts.ts'
export { guardsOption, judgementOptions } from './options.ts'
export type { CompareOptions, JudgementOptions, TuneOptions } from './options.ts'
export { scoreThresholds, tune } from './tune.ts'
export type {
  Goal,
  LabelledPair,
  MeasuredPair,
  TextTuning,
  ThresholdScore,
  ThresholdTuning,
  Tuning,
} from './tune.ts'
export { thresholdSvg } from './threshold-svg.ts'
export type { Rate } from './wilson.ts'
export { type Tokens, tokenText, tokensOf } from './tokens.ts'
export type { Wanted } from './tune.ts'
export { guardNames, readGuards, veto, vetoesOf } from './guards/veto.ts'
export type { Basis, GuardOptions, GuardName, Guards, Veto } from './guards/veto.ts'
export { oppositesOf } from './guards/opposites.ts'
export { readingOf } from './guards/reading.ts'
export type { Reading } from './guards/reading.ts'
export { type Passage, PassageText } from './passages.ts'
export { PrecisionUnproven } from './review.ts'
export type { Mistake, NextLabels } from './review.ts'
export type { PrecisionPromise, PrecisionShortfall } from './promise.ts'
export { defaultJudge } from './judge/default-judge.ts'
export type { DefaultJudgeOptions } from './judge/default-judge.ts'
export { judged, Judged } from './judge/features.ts'
export { fitJudge } from './judge/fit-judge.ts'
export type { FitOptions, JudgePair } from './judge/fit-judge.ts'
export { explainJudgement, judgeTexts } from './judge/judge-texts.ts'
export type { Contribution, Flip, JudgeExtra, Judgement } from './judge/judge-texts.ts'
export { cutFor, readJudge } from './judge/model.ts'
export type { JudgeCut, JudgeFeature, JudgeModel } from './judge/model.ts'
export { tuneJudge } from './judge/tune-judge.ts'
export type { JudgeTuneOptions, JudgeTuning, OpenJudgePair } from './judge/tune-judge.ts'
