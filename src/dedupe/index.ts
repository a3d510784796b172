/** The corpus job: documents in; kept, dropped and linked documents out. */

export type { AgainstResult } from './against.ts'
export { type CommandConfig, commandNames } from './config/command-options.ts'
export { configYaml } from './config/config-text.ts'
export { type DedupeConfig, type KeepRule, nearThreshold } from './config/config.ts'
export { type JobConfig, type Layer, environmentLayer, readJobConfig } from './config/job-config.ts'
export { type Decision, type Method, METHODS, type Named } from './decision/decision.ts'
export { keysInFile } from './decision/identity.ts'
export { DIGEST_BYTES, type DocumentLike } from './decision/prepare.ts'
export type { DedupeStreamOptions, Deduper, Job, RunInfo } from './deduper.ts'
export type { JobResult } from './job.ts'
export { hex, named } from './names.ts'
export { type DedupeOptions, dedupe, openDedupe, openForJob } from './open.ts'
export { entriesOf } from './output/lines.ts'
export { isShown, recordPath, REPORTS, showRecords } from './output/records.ts'
export type { PassageDocumentLine, PassageLine } from './passages/find-passages.ts'
export { type CutSpan, restoreText } from './passages/restore-text.ts'
export type { Redo } from './phases/again.ts'
export type { Said } from './phases/again-settings.ts'
export type { PairCounts } from './phases/bounded.ts'
export { type ClusterSample, sizesOf } from './phases/cluster-sizes.ts'
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
export type { Undone } from './phases/take-back.ts'
export { type SketchCounts, writeSketches } from './sketches/write-sketches.ts'
export { type DocumentRow, dedupeSpaces, documents, pending } from './rows.ts'
export { storedState } from './stored.ts'
export { type RunRow, type RunStatus, findRun, isTakenBack, listRuns } from './runs.ts'
export { holdsDocuments } from './state-settings.ts'
