/** A value from the arguments, a file or stdin. */

import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { fileStream, readFileWhole, readStdin, stdinStream } from '../files/read-input.ts'

/** The same for those who take it as it comes, however long it is. */
export async function valueStreamOf(
  invocation: Invocation,
  at: number,
): Promise<string | AsyncIterable<Buffer>> {
  const path = pathGiven(invocation, at)
  if (path !== undefined) return fileStream(path, invocation.signal)
  const typed = invocation.operands[at]
  return typed === undefined || typed === '-' ? stdinStream(invocation.signal) : typed
}

/** `at`: the operand that may be the value. */
export async function valueOf(invocation: Invocation, at: number): Promise<string | Buffer> {
  const path = pathGiven(invocation, at)
  if (path !== undefined) return readFileWhole(path, invocation.signal)
  const typed = invocation.operands[at]
  return typed === undefined || typed === '-' ? readStdin(invocation.signal) : typed
}

function pathGiven(invocation: Invocation, at: number): string | undefined {
  const path = invocation.text('file')
  if (path !== undefined && invocation.operands[at] !== undefined) {
    throw usageFailure('Give the value or --file, not both.')
  }
  return path
}
