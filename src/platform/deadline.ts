/** A signal that may come from a caller, from a clock, or from both. */

import { type CallOutcome, PrestigeError } from './errors.ts'

const TIMEOUT_MS_MAX = 2 ** 31 - 1

export function checkedTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined) return undefined
  if (Number.isFinite(timeoutMs) && timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX) return timeoutMs
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `timeoutMs is a number of milliseconds greater than 0 and at most ${TIMEOUT_MS_MAX}, not ${String(timeoutMs)}.`,
  )
}

const HAPPENED: Readonly<Record<CallOutcome, string>> = {
  'not-done': 'Nothing was written.',
  done: 'What was asked for is done.',
  partial: 'Some of it was done; the same call goes on with the rest.',
  unknown:
    'Whether it was done is not known: the engine has not answered. Read the key to find out.',
}

export function abortedError(what: string, outcome: CallOutcome, cause: unknown): PrestigeError {
  const message = `${what} was aborted. ${HAPPENED[outcome]}`
  return new PrestigeError('ABORTED', message, { cause, outcome })
}

export function timedOutError(
  what: string,
  outcome: CallOutcome,
  timeoutMs: number,
): PrestigeError {
  const message = `${what} did not end within ${timeoutMs} ms. ${HAPPENED[outcome]}`
  return new PrestigeError('TIMED_OUT', message, { outcome })
}

export interface Deadline {
  /** Absent if there is neither a signal nor a time. */
  readonly signal: AbortSignal | undefined
  /** To be called when the work has ended. */
  readonly clear: () => void
}

/** `late`: what the signal's reason is when the time is over. */
export function deadlineOf(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  late: (timeoutMs: number) => Error,
): Deadline {
  const checked = checkedTimeout(timeoutMs)
  if (checked === undefined) return { signal, clear: () => {} }
  const clock = new AbortController()
  const timer = setTimeout(() => clock.abort(late(checked)), checked)
  // Work that is under way keeps the process; a listing that nobody reads on must not.
  // In a browser a timer is a number.
  if (typeof timer === 'object') timer.unref()
  const either = signal ? AbortSignal.any([signal, clock.signal]) : clock.signal
  return { signal: either, clear: () => clearTimeout(timer) }
}
