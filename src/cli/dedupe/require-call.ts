/** Whether a call can be carried out, found out before anything is made for it. */

import { requireMakeable } from '../../platform/atomic-file.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { stat } from '../../platform/files.ts'
import { isDirectory } from '../../platform/location.ts'
import { fileFailure, kindOf, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'

/** Before a state is opened, which makes its directory. */
export async function requireMakeableAll(places: readonly string[]): Promise<void> {
  for (const place of places.filter(isDirectory)) {
    await requireMakeable(place).catch((error: unknown) => {
      // All other errors are reported by whoever opens the state or writes the outputs.
      if (kindOf(error)) throw error
    })
  }
}

export function requireSharable(invocation: Invocation): void {
  const workers = invocation.wholeNumber('workers') ?? 1
  if (workers === 0) throw usageFailure('--workers takes a whole number, 1 or more.')
  if (invocation.wholeNumber('lease') === 0)
    throw usageFailure('--lease takes whole seconds, 1 or more.')
  if (workers === 1) return
  const isRun = !invocation.flag('plan') && !invocation.text('plan') && !invocation.text('against')
  if (!isRun) throw usageFailure('--workers has no effect with --plan or --against.')
  if (!invocation.operands.includes('-')) return
  throw usageFailure('Several workers cannot read stdin. Write it to a file first.')
}

/** A mistyped name makes no state. */
export async function requireInputs(inputs: readonly string[]): Promise<void> {
  for (const input of inputs) {
    if (input === '-' || /[*?[{!(]/.test(input)) continue
    await stat(input).catch((error: unknown) => {
      throw error instanceof PrestigeError ? error : fileFailure(input, error)
    })
  }
}
