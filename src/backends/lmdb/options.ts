/** What a directory is opened with. Public types lead here, and so not to the declarations of the native package. */

import type { BackendOptions } from '../contract.ts'

/** What an acknowledged write survives: `fsync`, a power failure; `os`, a crash of the process. */
export type Durability = 'fsync' | 'os'

export interface LmdbOptions extends BackendOptions {
  /** `fsync` (default): what is acknowledged survives a power failure. `os`: only a crash of the process. */
  readonly durability?: Durability | undefined
  /** Make the directory when it is not there (default). Otherwise a missing store is an error. */
  readonly create?: boolean | undefined
  /** How long to wait for other processes that commit or open, in milliseconds (default 30,000). Then: CONTENDED. */
  readonly timeoutMs?: number | undefined
}
