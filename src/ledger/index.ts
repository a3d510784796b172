/** The ledger: which documents were processed, when, in which run, with which outcome. */

export type { Claim, ClaimOptions, ClaimOutcome, Claimed } from './claims.ts'
export type { Forgotten, Pruned } from './forgetting.ts'
export type { DocumentName } from './document-name.ts'
export type { Ledger } from './ledger.ts'
export { type DocumentRow, type Rank, type Writable } from './document-row.ts'
export {
  countDocument,
  type DocumentLine,
  ID_BYTES,
  putDocument,
  removeDocument,
} from './documents.ts'
export {
  type LedgerLine,
  type LineInput,
  type PreparedLine,
  type Recorded,
  lookLine,
  prepareLine,
  recordLine,
  supersedeLine,
} from './lines.ts'
export type { LineCounts, LedgerRun, LinesOptions, RunLine } from './listing.ts'
export { DOCUMENT_ID_BYTES_MAX, NAME_BYTES_MAX, documentKey, runName } from './names.ts'
export { openLedger } from './open.ts'
export type { LedgerOptions } from './options.ts'
export type { Exists, ReconcileOptions, ReconcileReport } from './reconcile.ts'
export {
  type FinalStatus,
  type Line,
  type LineStatus,
  type RunRow,
  type RunStatus,
  type ShardRow,
  documents,
  ledgerSpaces,
  lines,
  runs,
} from './rows.ts'
export { type RunInput, type StartedRun, requireRunning, runCell } from './runs.ts'
export {
  type HeldShard,
  type LeaseOptions,
  type Leased,
  type Shard,
  type ShardLease,
  checkLeaseOptions,
  finishShard,
  isFree,
  leaseOne,
  leaseShard,
  noteProgress,
  readShardValue,
  releaseShard,
  renewShard,
  shardCell,
  shardValue,
} from './shards.ts'
export { findSettings, writeJobSettings } from './settings.ts'
export { documentTallyChecks, storedLedger } from './stored.ts'
export { dropLines, dropShards } from './undo.ts'
export type { ClaimedWork, WithClaimResult } from './with-claim.ts'
