/** The front door: all that is public. */

export { openStore } from './open-store.ts'
export type { ListOptions, PutItem, Stats, Store } from './store/store.ts'
export type { StoreInput } from './store/options.ts'
export type { StoreSettings } from './store/settings.ts'
export { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './store/prepare.ts'
export type { Key, PutOptions, Value } from './store/prepare.ts'
export type { KeyOutcome, Method, Origin, Receipt } from './store/receipt.ts'
export { storeSpaces } from './store/rows.ts'
export type { ContentOutcome } from './store/rows.ts'
export type { Explanation, ExplainOptions } from './store/explain.ts'
export type { Items, ManyOptions, Outcome } from './store/many.ts'
export type { Collected } from './store/collect.ts'
export type { Problem, ProblemKind, VerifyOptions, VerifyReport } from './store/verify/verify.ts'
export type { Counts } from './store/tallies.ts'
export { PrestigeError, errorCodes } from './errors.ts'
export type { ErrorCode, ErrorKind } from './errors.ts'
export type { MetricsSink, Tracer, TraceSpan } from './model.ts'
export { canonicalProfile } from './canonical/index.ts'
export type {
  CanonicalFunction,
  CanonicalInput,
  CanonicalName,
  CanonicalProfile,
} from './canonical/index.ts'
export type {
  Ask,
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Cell,
  Codec,
  Range,
  ReadBody,
  ReadScope,
  Row,
  Scope,
  Space,
  Transaction,
} from './backends/contract.ts'
export { cell, first, read, rows, tallies } from './backends/contract.ts'
export type { Bytes } from './bytes.ts'
export { alignTexts, chooseThreshold, compareTexts, thresholdSvg, tune } from './decide/index.ts'
export type {
  Alignment,
  AlignOptions,
  CompareOptions,
  Comparison,
  Goal,
  HistogramBin,
  LabelledPair,
  MeasuredPair,
  Rate,
  Span,
  TextTuning,
  ThresholdScore,
  TuneOptions,
  Tuning,
} from './decide/index.ts'
