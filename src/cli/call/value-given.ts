/** A value from the arguments, a file or stdin. */

import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { readFileWhole, readStdin } from '../files/read-input.ts'

/** `at`: the operand that may be the value. */
export async function valueOf(invocation: Invocation, at: number): Promise<string | Buffer> {
  const path = invocation.text('file')
  const typed = invocation.operands[at]
  if (path !== undefined && typed !== undefined) {
    throw usageFailure('Give the value or --file, not both.')
  }
  if (path !== undefined) return readFileWhole(path, invocation.signal)
  return typed === undefined || typed === '-' ? readStdin(invocation.signal) : typed
}
