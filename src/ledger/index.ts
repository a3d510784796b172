/** The ledger: which documents were processed, when, in which run, with which outcome. */

export type { Claim, ClaimOptions, ClaimOutcome, Claimed } from './claims.ts'
export type { Forgotten, Pruned } from './forgetting.ts'
export type { Ledger } from './ledger.ts'
export {
  type LedgerLine,
  type LineInput,
  type PreparedLine,
  type Recorded,
  lookLine,
  prepareLine,
  recordLine,
  recordOfRunning,
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
  ledgerSpaces,
} from './rows.ts'
export {
  type RunInput,
  type StartedRun,
  finishRun,
  openShards,
  requireRunning,
  runCell,
  startRun,
} from './runs.ts'
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
export { ledgerChecks, ledgerTallyChecks, storedLedger } from './stored.ts'
export { dropRun, dropShards, takeBack } from './undo.ts'
export type { ClaimedWork, WithClaimResult } from './with-claim.ts'
