/** The front door: what programs call, and its types. Engines have subpaths of their own. */

export { archiveStore, openStore, reembedStore, restoreStore } from './store/index.ts'
export type {
  Compacted,
  BackupOptions,
  BackupProgress,
  BackupReport,
  ChangeFeedOptions,
  ChangesOptions,
  ContentOrigin,
  EvictOptions,
  Explanation,
  Head,
  JsonValue,
  Judge,
  Metadata,
  NearOptions,
  GetStreamOptions,
  PruneOptions,
  PutItem,
  PutOptions,
  Receipt,
  Rerank,
  SemanticOptions,
  Similar,
  SimilarOptions,
  Store,
  StoreChange,
  StoreKey,
  StoreOptions,
  StoreSettings,
  StoreHealth,
  StoreStats,
  StoreStream,
  StoreValue,
  TransactionOperation,
  VerifyReport,
} from './store/index.ts'
export { openResolver, resolverOptionsFrom } from './resolve/index.ts'
export type {
  ClusterMember,
  GroupStats,
  PairExplanation,
  RepresentativeInfo,
  Resolution,
  ResolveItem,
  ResolveOutcome,
  Resolver,
  ResolverOptions,
  ResolverSettings,
  ResolverValue,
  VectorOptions,
} from './resolve/index.ts'
export { openLedger } from './ledger/index.ts'
export type {
  Claim,
  ClaimOutcome,
  Ledger,
  LedgerLine,
  LedgerOptions,
  LedgerRun,
} from './ledger/index.ts'
export { openFingerprints } from './fingerprint-store/index.ts'
export type {
  FingerprintAnswer,
  FingerprintInput,
  FingerprintMatch,
  FingerprintQuery,
  Fingerprints,
  FingerprintsOptions,
  FingerprintVerdict,
} from './fingerprint-store/index.ts'
export { dedupe, openDedupe } from './dedupe/index.ts'
export type {
  Decision,
  DedupeConfig,
  DedupeOptions,
  Deduper,
  DedupeStreamOptions,
  DocumentLike,
  Job,
  JobEvents,
  JobResult,
  Summary,
  WorkerOptions,
} from './dedupe/index.ts'
export { alignTexts, compareTexts, thresholdSvg, tune } from './compare/index.ts'
export type {
  CompareOptions,
  Comparison,
  LabelledPair,
  TuneOptions,
  Tuning,
} from './compare/index.ts'
export { archiveLocation, listLocation, restoreLocation, verifyLocation } from './location/index.ts'
export { errorCodes, PrestigeError } from './platform/errors.ts'
export type { ErrorCode, ErrorKind } from './platform/errors.ts'
export type { ItemOutcome } from './platform/many.ts'
export type { MetricsSink, Tracer } from './platform/telemetry.ts'
export type { Backend } from './backends/index.ts'
export type { CanonicalInput } from './canonical/index.ts'
