/** The ledger: which documents were processed, when, in which run, with which outcome. */

export type { Claim, ClaimOutcome } from './claims.ts'
export type { Ledger } from './ledger.ts'
export {
  type DocumentRow,
  type Rank,
  type CutFor,
  type RowContainment,
  type RowVeto,
  type Writable,
} from './document-row.ts'
export { countDocument, ID_BYTES, putDocument, removeDocument } from './documents.ts'
export { type LedgerLine, lookLine } from './lines.ts'
export { countsOf, type LineCounts, type LedgerRun, type RunLine } from './listing.ts'
export { NAME_BYTES_MAX, documentKey, runName, sourceName } from './names.ts'
export { openLedger } from './open.ts'
export type { LedgerOptions } from './options.ts'
export {
  type FinalStatus,
  type LineStatus,
  type RunRow,
  type ShardRow,
  documents,
  jsonCodec,
  ledgerSpaces,
  lines,
  rejects,
  runs,
  STATUSES,
} from './rows.ts'
export { requireRunning, runCell } from './runs.ts'
export {
  type HeldShard,
  type ShardLease,
  checkLeaseOptions,
  finishShard,
  isFree,
  leaseOne,
  noteProgress,
  readShardValue,
  releaseShard,
  renewShard,
  shardCell,
  shardValue,
} from './shards.ts'
export { findSettings, noteFingerprints, writeJobSettings } from './settings.ts'
export { documentTallyChecks, storedLedger } from './stored.ts'
export { dropLines, dropShards } from './undo.ts'
