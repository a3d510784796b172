/** A value from the arguments, a file or stdin. */

import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'

import { Failure, fileFailure, usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { VALUE_BYTES_MAX } from './limits.ts'
import { tell } from './output.ts'
import { size } from './units.ts'

const READ_BYTES = 1024 * 1024

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

async function readFileWhole(path: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await readAll(createReadStream(path, { highWaterMark: READ_BYTES }), signal)
  } catch (error) {
    throw error instanceof Failure ? error : fileFailure(path, error)
  }
}

function readStdin(signal: AbortSignal): Promise<Buffer> {
  if (process.stdin.isTTY) tell('The value is read from the terminal; end it with Ctrl-D.\n')
  return readAll(process.stdin, signal)
}

async function readAll(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  const stop = () => stream.destroy()
  signal.addEventListener('abort', stop)
  try {
    for await (const part of stream) {
      parts.push(part)
      bytes += part.length
      if (bytes > VALUE_BYTES_MAX) throw tooLong()
    }
  } finally {
    signal.removeEventListener('abort', stop)
    signal.throwIfAborted()
  }
  return Buffer.concat(parts)
}

function tooLong(): Failure {
  const most = size(VALUE_BYTES_MAX)
  return new Failure('invalid', 'INVALID_VALUE', `A value has at most ${most}. Cut it into pieces.`)
}
