/** Backups of stores: which there are, whether they are sound, restoring and forgetting them. A store makes its own. */

export { checkBackup, forgetBackups, listBackups, restoreBackup } from '../store/index.ts'
export type {
  BackupInfo,
  BackupProblem,
  CheckBackupOptions,
  CheckedBackups,
  ForgetOptions,
  ForgottenBackups,
  RestoredBackup,
  RestoreOptions,
} from '../store/index.ts'
