/** The front door: all that is public. */

export { archiveStore, openStore, reembedStore, restoreStore } from './store/open.ts'
export type { Restored } from './store/open.ts'
export { openResolver } from './resolve/open.ts'
export { dedupe, openDedupe } from './dedupe/open.ts'
export type { DedupeOptions } from './dedupe/open.ts'
export type { Deduper, DedupeStreamOptions, Job, PlanJob, RunInfo } from './dedupe/deduper.ts'
export type { AgainstResult } from './dedupe/against.ts'
export type { Action, Decision, Named } from './dedupe/decision/decision.ts'
export type { DedupeConfig, KeepRule } from './dedupe/config/config.ts'
export type { Sharing, Timers } from './dedupe/phases/leases.ts'
export type { DocumentLike } from './dedupe/decision/prepare.ts'
export type { JobResult, Manifest, PlanResult, Undone } from './dedupe/job.ts'
export type { Prefer, Ranked } from './dedupe/decision/rank.ts'
export { dedupeSpaces } from './dedupe/rows.ts'
export type { Summary } from './dedupe/phases/summary.ts'
export type { Watcher } from './dedupe/phases/decide-run.ts'
export { readJobConfig } from './dedupe/config/job-config.ts'
export type { JobConfig } from './dedupe/config/job-config.ts'
export type { ListingInput, ReadingInput } from './input/index.ts'
export type {
  Resolution,
  ResolveItem,
  ResolveOutcome,
  Resolver,
  ResolverValue,
} from './resolve/resolver.ts'
export { resolverOptionsFrom } from './resolve/options.ts'
export type { ResolverInput, VectorInput } from './resolve/options.ts'
export type { ResolverSettings, VectorSettings } from './resolve/settings.ts'
export type { ClusterMember, Told } from './resolve/members.ts'
export type { Cluster, GroupStats, StatsOptions } from './resolve/stats.ts'
export type { PairExplanation, VectorComparison } from './resolve/explain.ts'
export type { Status } from './resolve/resolve.ts'
export type { Vector } from './resolve/subject.ts'
export { resolverSpaces } from './resolve/rows.ts'
export { approximateThreshold } from './resolve/approximate-threshold.ts'
export { openLedger } from './ledger/open.ts'
export type { Ledger } from './ledger/ledger.ts'
export type { LedgerInput } from './ledger/options.ts'
export type { Claim, Claimed, ClaimOptions, ClaimOutcome } from './ledger/claims.ts'
export type { ClaimedWork, WithClaimResult } from './ledger/with-claim.ts'
export { lookLine, prepareLine, recordLine, supersedeLine } from './ledger/lines.ts'
export type { LedgerLine, LineInput, PreparedLine, Recorded } from './ledger/lines.ts'
export type { LineCounts, LinesOptions, Run, RunLine } from './ledger/listing.ts'
export type { Exists, ReconcileOptions, ReconcileReport } from './ledger/reconcile.ts'
export type { Forgotten, Pruned } from './ledger/forgetting.ts'
export type { RunInput, StartedRun } from './ledger/runs.ts'
export { finishShard, leaseShard, noteProgress, shardValue } from './ledger/shards.ts'
export type { HeldShard, Leased, LeaseOptions, Shard, ShardLease } from './ledger/shards.ts'
export { ledgerSpaces } from './ledger/rows.ts'
export type { FinalStatus, Line, LineStatus, RunRow, RunStatus } from './ledger/rows.ts'
export type { PutItem, Store } from './store/store.ts'
export type { Stats } from './store/stats.ts'
export type { SemanticInput, Judge, Rerank } from './store/semantic/options.ts'
export type { SemanticVeto } from './store/semantic/arbiter.ts'
export type { Refused } from './store/semantic/store-semantic.ts'
export type { Reembedded, ReembedInput } from './store/semantic/reembed.ts'
export type { ListOptions } from './store/list.ts'
export type { Similar, SimilarOptions } from './store/similar.ts'
export type { StoreInput } from './store/options.ts'
export type { NearSettings, SemanticSettings, StoreSettings } from './store/settings.ts'
export { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './store/prepare.ts'
export type { Key, PutOptions, Value } from './store/prepare.ts'
export type { KeyOutcome, Method, Origin, Receipt } from './store/receipt.ts'
export { storeSpaces } from './store/rows.ts'
export type { ContentOutcome } from './store/rows.ts'
export type { Explanation, ExplainOptions } from './store/explain.ts'
export type { Items, ManyOptions, Outcome } from './platform/many.ts'
export type { Collected } from './store/collect.ts'
export type { Problem, ProblemKind, VerifyOptions, VerifyReport } from './store/verify/verify.ts'
export type { Counts } from './store/tallies.ts'
export { PrestigeError, errorCodes } from './platform/errors.ts'
export type { ErrorCode, ErrorKind } from './platform/errors.ts'
export type { MetricLabels, MetricsSink, Tracer, TraceSpan } from './platform/telemetry.ts'
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
export { cell, first, read, rows, rowsOf, tallies } from './backends/contract.ts'
export type { Bytes } from './platform/bytes.ts'
export { alignTexts, chooseThreshold, compareTexts, thresholdSvg, tune } from './compare/index.ts'
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
} from './compare/index.ts'
