/** The unique value store: keys to values, each distinct value kept once. */

export type { Compacted } from './compact.ts'
export {
  type BackupProblem,
  type CheckBackupOptions,
  type CheckedBackups,
  checkBackup,
} from './backup/check-backup.ts'
export {
  type BackupInfo,
  type ForgetOptions,
  type ForgottenBackups,
  forgetBackups,
  listBackups,
} from './backup/list-backups.ts'
export { type RestoredBackup, type RestoreOptions, restoreBackup } from './backup/restore-backup.ts'
export type { BackupOptions, BackupProgress, BackupReport } from './backup/write-backup.ts'
export type { ChangesOptions, StoreChange } from './changes/read.ts'
export type { ChangeFeedOptions } from './changes/settings.ts'
export type { Explanation } from './explain.ts'
export { type Restored, archiveStore, openStore, reembedStore, restoreStore } from './open.ts'
export type { Head } from './operations/get.ts'
export { type JsonValue, jsonText } from './operations/json.ts'
export type { TransactionOperation } from './operations/transaction.ts'
export type { GetStreamOptions } from './operations/get-stream.ts'
export type { ChunkOptions, NearOptions, StoreOptions } from './options.ts'
export type { Evicted } from './lifecycle/evict.ts'
export type { EvictOptions, ExpireOptions } from './lifecycle/operations.ts'
export type { PruneOptions } from './lifecycle/prune.ts'
export {
  type StoreKey,
  type PutItem,
  type PutOptions,
  VALUE_BYTES_MAX,
  type StoreStream,
  type StoreValue,
} from './prepare.ts'
export type { Method, ContentOrigin, Receipt, Refused } from './receipt.ts'
export { storeSpaces } from './rows.ts'
export type { SemanticVeto } from './semantic/arbiter.ts'
export type { Judge, Rerank, SemanticOptions } from './semantic/options.ts'
export { type ShownSettings as StoreSettings } from './settings.ts'
export { storedStore } from './stored.ts'
export type { Similar, SimilarOptions } from './similar.ts'
export type { StoreHealth } from './health.ts'
export type { StoreStats } from './stats.ts'
export type { Store } from './store.ts'
export { type Lost, damagedPages, salvageStore, verifyStore } from './verify-location.ts'
export type { Problem, VerifyReport } from './verify/verify.ts'
