/** Options that are a time: a date, a moment, or an age. */

import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { readDuration } from '../print/units.ts'

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/
const AGE = /^[\d.]+(?:ms|s|m|h|d)$/

/** `2026-01-31` (UTC), `2026-01-31T12:00:00Z`, or `90d`: so long before now. */
export function timeGiven(
  invocation: Invocation,
  option: 'since' | 'until' | 'older-than',
  now: number = Date.now(),
): number | undefined {
  const text = invocation.text(option)
  if (text === undefined) return undefined
  if (AGE.test(text)) return now - readDuration(text, option)
  const time = ISO.test(text) ? Date.parse(text) : NaN
  if (Number.isFinite(time)) return time
  throw usageFailure(
    `--${option} takes a date (2026-01-31), a time (2026-01-31T12:00:00Z) or an age (90d, 12h), not ${JSON.stringify(text)}.`,
  )
}
