/**
 * The module that measures similarity: what two texts share, how they align, and which threshold separates
 * duplicates from the rest.
 *
 * Invariant: pure. Nothing here reads a file or a store, and the same input gives the same answer everywhere.
 */

export { alignTexts } from './align.ts'
export type { Span } from './align.ts'
export { compareTexts } from './compare-texts.ts'
export type { Comparison } from './compare-texts.ts'
export type { CompareOptions, TuneOptions } from './options.ts'
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
export { readingOf } from './guards/reading.ts'
export type { Reading } from './guards/reading.ts'
export { type Passage, PassageText } from './passages.ts'
