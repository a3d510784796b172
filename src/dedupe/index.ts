/** The corpus job: documents in; kept, dropped and linked documents out. */

export type { AgainstResult } from './against.ts'
export { type CommandConfig, commandNames } from './config/command-options.ts'
export { configYaml } from './config/config-text.ts'
export { type DedupeConfig, type KeepRule, nearThreshold } from './config/config.ts'
export {
  type JobConfig,
  type Layer,
  environmentLayer,
  namedLayer,
  readJobConfig,
  saidIn,
} from './config/job-config.ts'
export { type Decision, type Method, METHODS, type Named } from './decision/decision.ts'
export type { DocumentLike } from './decision/prepare.ts'
export type { DedupeStreamOptions, Deduper, Job, RunInfo } from './deduper.ts'
export type { JobResult, PlanResult } from './job.ts'
export { hex, named } from './names.ts'
export { type DedupeOptions, dedupe, openDedupe, openForJob } from './open.ts'
export { type ChangedSetting, changedSettings } from './inspect/changed-settings.ts'
export type {
  CloseCall,
  CloseCalls,
  CloseCallsOptions,
  CloseDecision,
} from './inspect/close-calls.ts'
export type { ClusteredDocument, ClustersOptions, DocumentCluster } from './inspect/clusters.ts'
export type { DocumentFilter, DocumentInfo, DocumentStatus } from './inspect/document-info.ts'
export type { DocumentExplanation, NearDocument } from './inspect/explain.ts'
export { documentsOfIds, similarId, type StoredDocument } from './inspect/find-documents.ts'
export type { OtherOutcome } from './inspect/other-outcomes.ts'
export { type RejectedPiece, rejectsOf } from './inspect/rejected.ts'
export { summariseAll } from './inspect/summarise-all.ts'
export { type DocumentPlace, type FoundText, textsOf } from './inspect/texts.ts'
export { isShown, recordPath, REPORTS, showRecords } from './output/records.ts'
export type { PassageDocumentLine, PassageLine } from './passages/find-passages.ts'
export { type CutSpan, restoreText } from './passages/restore-text.ts'
export { type UncutDocument, uncutDocuments } from './passages/uncut.ts'
export type { Redo } from './phases/again.ts'
export type { Said } from './phases/again-settings.ts'
export { requireKnownSettings } from './phases/begin-run.ts'
export type { PairCounts } from './phases/bounded.ts'
export { type ClusterSample, sizesOf } from './phases/cluster-sizes.ts'
export { manifestIn } from './phases/publish-run.ts'
export type { JobEvents } from './phases/decide-run.ts'
export type { WorkerOptions } from './phases/leases.ts'
export type { EarlierRun } from './phases/publish-run.ts'
export {
  type PairSample,
  type PassageSample,
  type SourceCounts,
  type Summary,
  summarise,
} from './phases/summary.ts'
export { type Undone, wouldUndo } from './phases/take-back.ts'
export { type SketchCounts, writeSketches } from './sketches/write-sketches.ts'
export { type DocumentRow, dedupeSpaces, documents, pending } from './rows.ts'
export { storedState } from './stored.ts'
export {
  type RunHead,
  type RunRow,
  type RunStatus,
  findRun,
  isOpen,
  isTakenBack,
  listRuns,
  readRun,
} from './runs.ts'
export { holdsDocuments } from './state-settings.ts'
