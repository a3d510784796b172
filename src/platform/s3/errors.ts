/** Failures of S3, of its client and of the network: what may pass by itself, and what the user has to change. */

import { codeOf, PrestigeError } from '../errors.ts'

const MISSING = new Set(['NoSuchKey', 'NotFound', 'NoSuchUpload'])
const DENIED = new Set([
  'AccessDenied',
  'Forbidden',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
  'InvalidToken',
  'TokenRefreshRequired',
  'AllAccessDisabled',
])
const OTHER_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
])
const PASSING = new Set([
  'SlowDown',
  'ServiceUnavailable',
  'InternalError',
  'RequestTimeout',
  'RequestTimeTooSkewed',
  'TimeoutError',
  'IncompleteBody',
])
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EHOST|ENET|ERR_STREAM|EPROTO|EADDR)/

export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

function statusOf(error: unknown): number {
  if (!(error instanceof Error) || !('$metadata' in error)) return 0
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } } // safe: every field may be missing
  return $metadata?.httpStatusCode ?? 0
}

/** There is no such object. */
export function isMissing(error: unknown): boolean {
  return MISSING.has(nameOf(error))
}

/** The object is no longer the one that was asked for by its ETag. */
export function isOtherVersion(error: unknown): boolean {
  return nameOf(error) === 'PreconditionFailed' || statusOf(error) === 412
}

/** The same request may succeed a moment later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof PrestigeError) return false
  const isServer = statusOf(error) >= 500 || statusOf(error) === 429
  if (PASSING.has(nameOf(error)) || NETWORK.test(codeOf(error)) || isServer) return true
  return error instanceof Error && /socket hang up|network|aborted|premature/i.test(error.message)
}

export type Purpose = 'read' | 'write' | 'list'

const RIGHTS: Readonly<Record<Purpose, string>> = {
  read: 's3:GetObject',
  list: 's3:ListBucket',
  write: 's3:PutObject and s3:AbortMultipartUpload (and s3:DeleteObject to remove outputs)',
}

/** The error to report, and what to do about it. */
export function s3Failure(error: unknown, path: string, purpose: Purpose): PrestigeError {
  if (error instanceof PrestigeError) return error
  const name = nameOf(error)
  const said = error instanceof Error ? error.message : String(error)
  const made = (code: ConstructorParameters<typeof PrestigeError>[0], message: string) =>
    new PrestigeError(code, message, { cause: error })
  if (name === 'NoSuchBucket') {
    return made(
      'FILE_NOT_FOUND',
      `${path}: there is no such bucket. Check its name (aws s3 ls), and set AWS_ENDPOINT_URL_S3 if it is not on AWS.`,
    )
  }
  if (name === 'CredentialsProviderError' || /could not load credentials/i.test(said)) {
    return made(
      'ACCESS_DENIED',
      'No AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role.',
    )
  }
  if (DENIED.has(name) || statusOf(error) === 403) {
    return made(
      'ACCESS_DENIED',
      `S3 refuses access to ${path} (${name || 'status 403'}). The credentials need ${RIGHTS[purpose]} there.`,
    )
  }
  if (OTHER_REGION.has(name) || /region is missing/i.test(said)) {
    const why = OTHER_REGION.has(name)
      ? 'its bucket is in another region'
      : 'no region is configured'
    return made('INVALID_OPTIONS', `${path}: ${why}. Set AWS_REGION to the region of the bucket.`)
  }
  if (isMissing(error)) return made('FILE_NOT_FOUND', `${path} is not there. Check the path.`)
  if (mayPass(error)) {
    return made(
      'BACKEND_UNAVAILABLE',
      `S3 cannot be reached for ${path} (${codeOf(error) || name}: ${said}). The request was repeated; try again later.`,
    )
  }
  const [code, verb] =
    purpose === 'write'
      ? (['OUTPUT_FAILED', 'written'] as const)
      : (['INPUT_UNREADABLE', 'read'] as const)
  return made(code, `${path} cannot be ${verb} (${name || 'no name'}: ${said}).`)
}
