/** Options that say how many: whole numbers, up to what is held in memory. */

import { PrestigeError } from '../../platform/errors.ts'

export function countOption(
  name: string,
  value: number | undefined,
  { min = 1, max = Infinity, unsaid }: { min?: number; max?: number; unsaid: number },
): number {
  if (value === undefined) return unsaid
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  const upTo = max === Infinity ? ' or more' : ` to ${max}`
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${name}: must be a whole number, ${min}${upTo}, not ${String(value)}.`,
  )
}
