/** Reads a file or stdin whole, up to a limit, and stops when the user wants to stop. */

import type { Readable } from 'node:stream'

import { Failure, fileFailure } from '../call/failure.ts'
import { VALUE_BYTES_MAX } from '../call/limits.ts'
import { openStream } from './open-stream.ts'
import { tell } from '../print/output.ts'
import { size } from '../print/units.ts'

export async function readFileWhole(
  path: string,
  signal: AbortSignal,
  bytesMax: number = VALUE_BYTES_MAX,
): Promise<Buffer> {
  try {
    return await readAll(await openStream(path), signal, bytesMax)
  } catch (error) {
    if (error instanceof Failure || signal.aborted) throw error
    throw fileFailure(path, error)
  }
}

/** A file as it comes; one that cannot be opened is refused at once. */
export async function fileStream(
  path: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const failed = (error: unknown) => (signal.aborted ? error : fileFailure(path, error))
  const stream = await openStream(path).catch((error: unknown) => {
    throw failed(error)
  })
  // An error before anybody reads is given to whoever reads later.
  stream.on('error', () => undefined)
  signal.addEventListener('abort', () => stream.destroy(), { once: true })
  return (async function* () {
    try {
      for await (const piece of stream) yield piece
    } catch (error) {
      throw failed(error)
    }
  })()
}

/** Stdin as it comes. */
export function stdinStream(signal: AbortSignal): AsyncIterable<Buffer> {
  tellIfTyped('The value')
  // It would keep the process waiting for what nobody reads any more.
  signal.addEventListener('abort', () => process.stdin.destroy(), { once: true })
  return process.stdin
}

function tellIfTyped(what: string): void {
  if (process.stdin.isTTY) tell(`${what} is read from the terminal; end it with Ctrl-D.\n`)
}

/** `what` is printed at a terminal, where the user would otherwise not know that input is expected. */
export function readStdin(
  signal: AbortSignal,
  what: string = 'The value',
  bytesMax: number = VALUE_BYTES_MAX,
): Promise<Buffer> {
  tellIfTyped(what)
  return readAll(process.stdin, signal, bytesMax)
}

async function readAll(stream: Readable, signal: AbortSignal, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  const stop = () => stream.destroy()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    for await (const part of stream) {
      parts.push(part)
      bytes += part.length
      if (bytes > bytesMax) throw tooLong(bytesMax)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    signal.throwIfAborted()
  }
  return Buffer.concat(parts)
}

function tooLong(bytesMax: number): Failure {
  const what = bytesMax === VALUE_BYTES_MAX ? 'A value' : 'What is compared'
  const message = `${what} has at most ${size(bytesMax)}. Cut it into pieces.`
  return new Failure('invalid', 'INVALID_VALUE', message)
}
