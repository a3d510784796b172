/** `put KEY [VALUE]`: the value from the arguments, a file or stdin. */

import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'

import type { Receipt } from '../../index.ts'
import { Failure, fileFailure, usageFailure } from '../failure.ts'
import type { Invocation } from '../invocation.ts'
import { notationOf } from '../key-notation.ts'
import { VALUE_BYTES_MAX } from '../limits.ts'
import { paint, print, printJson, tell } from '../output.ts'
import { readDuration, size, time } from '../units.ts'
import { locationOf, withStore } from '../with-store.ts'

const READ_BYTES = 1024 * 1024

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const ttl = invocation.text('ttl')
  const ttlMs = ttl === undefined ? undefined : readDuration(ttl, 'ttl')
  locationOf(invocation)
  const value = await valueOf(invocation)
  const receipt = await withStore(invocation, { create: true }, (store) =>
    store.put(key, value, { ttlMs }),
  )
  if (invocation.flag('json')) await printJson(receipt)
  else if (!invocation.flag('quiet')) await print(sentence(Buffer.from(key), receipt))
  return 0
}

async function valueOf(invocation: Invocation): Promise<string | Buffer> {
  const path = invocation.text('file')
  const typed = invocation.operands[1]
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

function sentence(key: Buffer, receipt: Receipt): string {
  const { expiresAt } = receipt
  const outcome = paint(receipt.content === 'new' ? 'green' : 'yellow', receipt.key)
  const expiry = expiresAt === undefined ? '' : `; expires ${time(expiresAt)}`
  return `${outcome} "${notationOf(key)}": ${whatHappened(receipt)}${expiry}\n`
}

function whatHappened({ key, content, of, method, bytes, bytesSaved }: Receipt): string {
  if (key === 'unchanged') return `it had this value already (${size(bytes)})`
  if (of === undefined || content === 'new') return `new content, ${size(bytes)}`
  const first = `"${notationOf(of.firstKey)}"`
  if (content === 'linked') return `${size(bytes)}, linked to ${first}, the same in canonical form`
  const how = method === 'canonical' ? 'the same in canonical form' : 'the same bytes'
  return `duplicate of ${first}, ${how}; ${size(bytesSaved)} saved`
}
