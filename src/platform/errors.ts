/**
 * Every failure prestige raises is a PrestigeError with a stable code.
 *
 * A code says what happened; a kind says what the caller can do about it. Doors (CLI, HTTP) map kinds,
 * so a new code edits none of them. Codes are public: renaming one is a breaking change.
 */

const KIND_OF = {
  KEY_NOT_FOUND: 'missing',
  STORE_NOT_FOUND: 'missing',
  FILE_NOT_FOUND: 'missing',
  INVALID_OPTIONS: 'invalid',
  INVALID_LOCATION: 'invalid',
  INVALID_KEY: 'invalid',
  INVALID_VALUE: 'invalid',
  INVALID_USAGE: 'invalid',
  UNREADABLE_VALUE: 'invalid',
  SETTINGS_MISMATCH: 'invalid',
  FORMAT_UNSUPPORTED: 'invalid',
  SERVER_UNFIT: 'invalid',
  ACCESS_DENIED: 'invalid',
  PACKAGE_MISSING: 'invalid',
  TARGET_NOT_EMPTY: 'invalid',
  INPUT_CHANGED: 'invalid',
  INPUT_REJECTED: 'invalid',
  GUARD_STOPPED: 'invalid',
  RUN_RELIED_ON: 'invalid',
  PRECISION_UNPROVEN: 'invalid',
  READ_ONLY: 'invalid',
  BODY_MISUSE: 'invalid',
  BODY_NOT_DETERMINISTIC: 'invalid',
  MODEL_NOT_FOUND: 'missing',
  MODEL_CORRUPT: 'corrupt',
  EMBEDDER_FAULTY: 'invalid',
  EMBEDDER_MISMATCH: 'invalid',
  EMBEDDER_FAILED: 'unavailable',
  CALLBACK_TIMEOUT: 'unavailable',
  RUN_NOT_FOUND: 'missing',
  RUN_ENDED: 'invalid',
  CONTENDED: 'conflict',
  CLAIM_LOST: 'conflict',
  PRECONDITION_FAILED: 'conflict',
  ABORTED: 'unavailable',
  TIMED_OUT: 'unavailable',
  BACKEND_CLOSED: 'unavailable',
  BACKEND_UNAVAILABLE: 'unavailable',
  BACKEND_FULL: 'unavailable',
  WORKER_FAILED: 'unavailable',
  UNEXPECTED: 'invalid',
  INPUT_UNREADABLE: 'unavailable',
  OUTPUT_FAILED: 'unavailable',
  CONTENT_CORRUPT: 'corrupt',
  ARCHIVE_BROKEN: 'corrupt',
  BACKUP_NOT_FOUND: 'missing',
  BACKUP_BROKEN: 'corrupt',
  RESTORE_UNFINISHED: 'invalid',
  INVALID_REQUEST: 'invalid',
  ROUTE_NOT_FOUND: 'missing',
  METHOD_NOT_ALLOWED: 'invalid',
  UNSUPPORTED_MEDIA_TYPE: 'invalid',
  BODY_TOO_LARGE: 'invalid',
  RANGE_NOT_SATISFIABLE: 'invalid',
  UNAUTHENTICATED: 'invalid',
  FORBIDDEN: 'invalid',
  RATE_LIMITED: 'unavailable',
  OVERLOADED: 'unavailable',
  UPSTREAM_FAILED: 'unavailable',
  CHANGES_OFF: 'invalid',
  CURSOR_EXPIRED: 'invalid',
  CURSOR_UNKNOWN: 'invalid',
} as const

export type ErrorCode = keyof typeof KIND_OF
export type ErrorKind = (typeof KIND_OF)[ErrorCode]

/**
 * What became of a call that was given up. `not-done`: nothing was written, and nothing will be. `done`: everything that
 * was asked for is stored. `partial`: of work in several steps, some are done. `unknown`: the engine has not answered.
 */
export type CallOutcome = 'not-done' | 'done' | 'partial' | 'unknown'

/** The same call never succeeds by being made again: the state it met has to change, or the caller has ended it. */
const NEVER_RETRIED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BACKEND_CLOSED',
  'CLAIM_LOST',
  'PRECONDITION_FAILED',
  'ABORTED',
])

export class PrestigeError extends Error {
  override readonly name = 'PrestigeError'
  readonly code: ErrorCode
  /** Of `ABORTED` and `TIMED_OUT`. */
  declare readonly outcome?: CallOutcome

  constructor(
    code: ErrorCode,
    message: string,
    options?: { readonly cause?: unknown; readonly outcome?: CallOutcome },
  ) {
    super(message, options)
    this.code = code
    if (options?.outcome !== undefined) this.outcome = options.outcome
  }

  get kind(): ErrorKind {
    return KIND_OF[this.code]
  }

  /** What an error is to others: in logs and replies `JSON.stringify` would keep the code alone. */
  toJSON(): Readonly<
    Record<'name' | 'code' | 'kind' | 'message', string> & { outcome?: CallOutcome }
  > {
    const { name, code, kind, message, outcome } = this
    return { name, code, kind, message, ...(outcome && { outcome }) }
  }

  /** Trying the same call again may succeed. Corruption, bad input, what was closed or lost never heal by it. */
  get retryable(): boolean {
    if (NEVER_RETRIED.has(this.code)) return false
    return this.kind === 'conflict' || this.kind === 'unavailable'
  }
}

/** What was thrown, if it is ours; else an error with a code whose `cause` it is. */
export function prestigeError(thrown: unknown): PrestigeError {
  if (thrown instanceof PrestigeError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new PrestigeError('UNEXPECTED', message, { cause: thrown })
}

export const errorCodes: readonly ErrorCode[] = Object.freeze(
  Object.keys(KIND_OF) as ErrorCode[], // safe: the keys of a constant object literal
)

/** The code of an error of ours or of the operating system, such as ENOENT; empty if it has none. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' ? error.code : ''
}
