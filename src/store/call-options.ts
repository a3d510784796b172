/** What one call can be limited by. */

import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { checkedTimeout } from '../platform/deadline.ts'

export interface CallOptions {
  /** Gives the call up when it is aborted: `ABORTED`, whose `outcome` says what was done. */
  readonly signal?: AbortSignal | undefined
  /** Gives the call up after so many milliseconds: `TIMED_OUT`, whose `outcome` says what was done. */
  readonly timeoutMs?: number | undefined
  /**
   * How often a transaction is run again because others changed the same rows, before it fails with `CONTENDED`. Only on
   * Redis and DynamoDB: elsewhere transactions run one after another, and it is refused.
   */
  readonly retriesMax?: number | undefined
}

export const CALL_OPTIONS = ['signal', 'timeoutMs', 'retriesMax'] as const

export function isLimited(options: CallOptions): boolean {
  const { signal, timeoutMs, retriesMax } = options
  return signal !== undefined || timeoutMs !== undefined || retriesMax !== undefined
}

export function checkedCall(
  options: CallOptions,
  { serial }: Pick<Backend, 'serial'>,
): CallOptions {
  const { signal, timeoutMs, retriesMax } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new PrestigeError('INVALID_OPTIONS', 'signal is an AbortSignal.')
  }
  return {
    signal,
    timeoutMs: checkedTimeout(timeoutMs),
    retriesMax: checkedRetries(retriesMax, serial),
  }
}

function checkedRetries(retriesMax: number | undefined, isSerial: boolean): number | undefined {
  if (retriesMax === undefined) return undefined
  requireRetries(retriesMax)
  if (!isSerial) return retriesMax
  throw new PrestigeError(
    'INVALID_OPTIONS',
    'retriesMax cannot be used here: transactions of this engine run one after another, so none is run again because of another.',
  )
}

export function requireRetries(retriesMax: number): void {
  if (Number.isInteger(retriesMax) && retriesMax >= 0) return
  const message = `retriesMax is a whole number from 0 on, not ${String(retriesMax)}.`
  throw new PrestigeError('INVALID_OPTIONS', message)
}
