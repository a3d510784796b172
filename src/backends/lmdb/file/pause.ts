/** Keeps commits of other processes out while something is read that they could overwrite. */

export interface CommitPause {
  /** Nothing is committed by anyone while `work` runs. */
  run<T>(work: () => T): Promise<T>
  close(): void
}
