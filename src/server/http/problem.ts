/** What goes wrong in a request, as RFC 9457 problem details with a stable code. */

import {
  type ErrorCode,
  type ErrorKind,
  PrestigeError,
  prestigeError,
} from '../../platform/errors.ts'
import { lightResponse } from './light.ts'

const STATUS_OF_KIND: Readonly<Record<ErrorKind, number>> = {
  missing: 404,
  invalid: 400,
  conflict: 409,
  unavailable: 503,
  corrupt: 500,
}

/** Where the kind says too little. */
const STATUS_OF_CODE: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  METHOD_NOT_ALLOWED: 405,
  RUN_ENDED: 409,
  RUN_RELIED_ON: 409,
  PRECONDITION_FAILED: 412,
  BODY_TOO_LARGE: 413,
  RANGE_NOT_SATISFIABLE: 416,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  ABORTED: 499,
  CONTENDED: 503,
  TIMED_OUT: 504,
  OVERLOADED: 503,
  BACKEND_FULL: 507,
  // A fault of the server or of its settings, which no client can mend.
  UNEXPECTED: 500,
  SERVER_UNFIT: 500,
  PACKAGE_MISSING: 501,
  SETTINGS_MISMATCH: 500,
  READ_ONLY: 403,
  UPSTREAM_FAILED: 502,
}

/** An error of a request, with headers that its answer must have. */
export class HttpProblem extends PrestigeError {
  readonly headers: Readonly<Record<string, string>>
  /** Where it is not that of the code. */
  readonly status: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    status?: number,
  ) {
    super(code, message)
    this.headers = headers
    this.status = status
  }
}

export function statusOf(error: PrestigeError): number {
  const own = error instanceof HttpProblem ? error.status : undefined
  return own ?? STATUS_OF_CODE[error.code] ?? STATUS_OF_KIND[error.kind]
}

export interface ProblemDetails {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ErrorCode
  readonly requestId: string
  /** The same under the names that the C++ server has. */
  readonly error: string
  readonly message: string
}

/**
 * What was thrown, as an answer. What is no error of ours may have anything in its message: it is logged and not sent.
 * The text is ASCII-safe JSON, so that nothing a client sent can become a header or markup.
 */
export function problemResponse(thrown: unknown, requestId: string): Response {
  const error = prestigeError(thrown)
  const status = statusOf(error)
  const isOurs = error.code !== 'UNEXPECTED'
  const detail = isOurs
    ? error.message
    : 'The server failed. Its log has the cause, under this request id.'
  const details: ProblemDetails = {
    type: `urn:prestige:error:${error.code}`,
    title: titleOf(error.code),
    status,
    detail,
    code: error.code,
    requestId,
    error: titleOf(error.code),
    message: detail,
  }
  const own = error instanceof HttpProblem ? error.headers : {}
  return lightResponse(JSON.stringify(details), status, {
    'content-type': 'application/problem+json',
    // The answer to a HEAD has no body to say it.
    'prestige-code': error.code,
    ...(error.retryable && { 'retry-after': '1' }),
    ...own,
  })
}

function titleOf(code: ErrorCode): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
