/** A server on loopback, and raw connections to it: for what no HTTP client would send. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import { drained } from '../src/platform/drained.ts'
import { createServer, listen, type Listening, type ListenOptions } from '../src/server/index.ts'
import type { ServerOptions } from '../src/server/index.ts'

export interface Served extends Listening {
  [Symbol.asyncDispose](): Promise<void>
}

export async function served(
  location: string,
  options: ServerOptions = {},
  listening: ListenOptions = {},
): Promise<Served> {
  const one = await listen(createServer(location, options), { port: 0, ...listening })
  return { ...one, [Symbol.asyncDispose]: () => one.close() }
}

export interface Exchange {
  /** Everything that the server sent, until it closed the connection or the time was over. */
  readonly text: string
  /** Codes of all answers, in order. */
  readonly codes: number[]
  readonly isClosed: boolean
}

/** Sends bytes as they are. `idleMs`: how long the server may be silent before the connection is ended here. */
export async function raw(
  port: number,
  pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  idleMs = 200,
): Promise<Exchange> {
  const socket = connect(port, '127.0.0.1')
  const parts: Buffer[] = []
  let isClosed = false
  const ended = new Promise<void>((resolve) => {
    socket.on('data', (part: Buffer) => parts.push(part))
    socket.on('error', () => undefined)
    socket.on('end', () => (isClosed = true))
    socket.on('close', () => resolve())
  })
  await once(socket, 'connect')
  await sendAll(socket, pieces)
  socket.setTimeout(idleMs, () => socket.destroy())
  await ended
  const text = Buffer.concat(parts).toString('latin1')
  const codes = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code))
  return { text, codes, isClosed }
}

async function sendAll(
  socket: Socket,
  pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  for await (const piece of pieces) {
    if (socket.destroyed || socket.writableEnded) return
    const isFull = !socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
    if (isFull && !socket.destroyed) await drained(socket)
  }
}
