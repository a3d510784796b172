/**
 * Classifies failures of DynamoDB, of its client and of the network between them: what may pass by itself, what
 * leaves it open whether a request was performed, and what somebody has to do something about.
 */

import type { AttributeValue } from '@aws-sdk/client-dynamodb'

import { PrestigeError } from '../../platform/errors.ts'
import type { DynamoLocation } from './location.ts'

/** Refused because there was too much of it, or because another transaction has the item: nothing was done. */
const PASSING = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'Throttling',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'LimitExceededException',
])
/** Of one item of a cancelled transaction. */
const PASSING_REASONS = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
])
/** It may have been performed, or may yet be. */
const OPEN = new Set([
  'TransactionInProgressException',
  'InternalServerError',
  'InternalServerErrorException',
  'ServiceUnavailable',
  'ServiceUnavailableException',
  'TimeoutError',
  'RequestTimeout',
  'RequestTimeoutException',
])
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EHOST|ENET|ERR_STREAM|EPROTO|EADDR)/
const DENIED = new Set([
  'AccessDeniedException',
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'ExpiredTokenException',
  'ExpiredToken',
  'IncompleteSignatureException',
])

interface Cancelled {
  readonly CancellationReasons?: readonly Reason[]
}

/** What became of one item of a cancelled transaction. */
export interface Reason {
  readonly Code?: string | undefined
  readonly Message?: string | undefined
  readonly Item?: Record<string, AttributeValue> | undefined
}

export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

function statusOf(error: unknown): number {
  if (!(error instanceof Error) || !('$metadata' in error)) return 0
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } } // safe: every field may be missing
  return $metadata?.httpStatusCode ?? 0
}

/** One reason an item, in the order of the items; `undefined`: it is no cancelled transaction. */
export function reasonsOf(error: unknown): readonly Reason[] | undefined {
  if (nameOf(error) !== 'TransactionCanceledException') return undefined
  return (error as Cancelled).CancellationReasons ?? [] // safe: by its name it has this field, or none
}

export function isPassingReason({ Code }: Reason): boolean {
  return Code !== undefined && PASSING_REASONS.has(Code)
}

/** The request may or may not have been performed: only the very same may be sent again. */
export function isOpen(error: unknown): boolean {
  if (OPEN.has(nameOf(error)) || NETWORK.test(codeOf(error)) || statusOf(error) >= 500) return true
  return error instanceof Error && /socket hang up|network|aborted/i.test(error.message)
}

/** The same request may succeed a moment later. */
export function mayPass(error: unknown): boolean {
  return PASSING.has(nameOf(error)) || isOpen(error)
}

/** The error to report, and what to do about it. */
export function explained(error: unknown, { table, shown, region }: DynamoLocation): PrestigeError {
  if (error instanceof PrestigeError) return error
  const name = nameOf(error)
  const said = error instanceof Error ? error.message : String(error)
  const because = { cause: error }
  if (name === 'ResourceNotFoundException') {
    return new PrestigeError(
      'STORE_NOT_FOUND',
      `There is no table ${table} in ${region}. Make it: prestige dynamodb create-tables '${shown}'`,
      because,
    )
  }
  if (name === 'CredentialsProviderError' || /could not load credentials/i.test(said)) {
    return new PrestigeError(
      'ACCESS_DENIED',
      'No AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role.',
      because,
    )
  }
  if (DENIED.has(name)) {
    return new PrestigeError(
      'ACCESS_DENIED',
      `DynamoDB refuses this request on table ${table}: ${said} The rights that are needed are in docs/dynamodb.md.`,
      because,
    )
  }
  if (mayPass(error) || reasonsOf(error)?.some(isPassingReason)) {
    const what = NETWORK.test(codeOf(error)) ? 'cannot be reached' : 'does not do what it is asked'
    return new PrestigeError(
      'BACKEND_UNAVAILABLE',
      `DynamoDB in ${region} ${what} (${name || 'no answer'}: ${said}). It was tried several times; try again later.`,
      because,
    )
  }
  return new PrestigeError('BODY_MISUSE', `DynamoDB refuses a request: ${name}: ${said}`, because)
}
