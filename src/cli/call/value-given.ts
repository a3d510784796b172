/** A value from the arguments, a file or stdin. */

import { stat } from 'node:fs/promises'

import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { fileStream, readFileWhole, readStdin, stdinStream } from '../files/read-input.ts'

/** The same for those who take it as it comes, however long it is. */
export async function valueStreamOf(
  invocation: Invocation,
  at: number,
): Promise<string | AsyncIterable<Buffer>> {
  const path = await pathGiven(invocation, at)
  if (path !== undefined) return fileStream(path, invocation.signal)
  const typed = invocation.operands[at]
  return typed === undefined || typed === '-' ? stdinStream(invocation.signal) : typed
}

/** `at`: the operand that may be the value. */
export async function valueOf(invocation: Invocation, at: number): Promise<string | Buffer> {
  const path = await pathGiven(invocation, at)
  if (path !== undefined) return readFileWhole(path, invocation.signal)
  const typed = invocation.operands[at]
  return typed === undefined || typed === '-' ? readStdin(invocation.signal) : typed
}

async function pathGiven(invocation: Invocation, at: number): Promise<string | undefined> {
  const path = invocation.text('file')
  if (path === undefined) return undefined
  if (invocation.operands[at] !== undefined)
    throw usageFailure('Give the value or --file, not both.')
  // Whatever else is wrong with it is reported when it is opened.
  const stats = await stat(path).catch(() => undefined)
  if (!stats?.isDirectory()) return path
  const all =
    invocation.command === 'put' ? ` To put all files below it: prestige import ${path}` : ''
  throw usageFailure(`--file takes a file, and ${path} is a directory.${all}`)
}
