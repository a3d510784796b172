/** Options that say how many, within bounds. */

import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import type { OptionName } from '../declarations/index.ts'

export function countGiven(
  invocation: Invocation,
  name: OptionName,
  min: number,
  max = Infinity,
): number | undefined {
  const number = invocation.wholeNumber(name)
  if (number === undefined || (number >= min && number <= max)) return number
  const upTo = max === Infinity ? ' or more' : ` to ${max}`
  throw usageFailure(`--${name} ${number}: must be a whole number, ${min}${upTo}.`)
}
