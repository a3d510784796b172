/** Between Node's requests and those of fetch. Whatever a client sends, this never throws. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

import type { PrestigeServer } from '../create-server.ts'

/** Methods whose bodies are not read. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function answer(
  server: PrestigeServer,
  message: IncomingMessage,
  reply: ServerResponse,
): void {
  const gone = new AbortController()
  reply.on('close', () => {
    if (!reply.writableFinished) gone.abort()
  })
  respond(server, message, reply, gone.signal).catch(() => reply.destroy())
}

async function respond(
  server: PrestigeServer,
  message: IncomingMessage,
  reply: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const request = requestOf(message, signal)
  if (!request) {
    reply.writeHead(400, { 'content-type': 'application/problem+json', connection: 'close' })
    reply.end('{"status":400,"title":"Invalid request","code":"INVALID_REQUEST"}')
    return
  }
  const response = await server.fetch(request)
  await send(response, reply, message)
}

/** None where the address or a header cannot be that of a request. */
function requestOf(message: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', headers, rawHeaders } = message
  try {
    const secure = 'encrypted' in message.socket
    // The path is taken as it is: resolving `..` and `.` would make it another one.
    const address = new URL(`${secure ? 'https' : 'http'}://${headers.host ?? 'localhost'}`)
    if (!url.startsWith('/') || /\/\.{1,2}(?:\/|$|\?)/.test(url)) return undefined
    const hasBody = !WITHOUT_BODY.has(method)
    return new Request(`${address.origin}${url}`, {
      method,
      headers: headersOf(rawHeaders),
      signal,
      ...(hasBody && { body: Readable.toWeb(message), duplex: 'half' }),
    })
  } catch {
    return undefined
  }
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '')
  return headers
}

async function send(
  response: Response,
  reply: ServerResponse,
  message: IncomingMessage,
): Promise<void> {
  reply.writeHead(response.status, [...response.headers].flat())
  if (!response.body || message.method === 'HEAD') {
    await response.body?.cancel()
    reply.end()
    return
  }
  const reader = response.body.getReader()
  reply.on('close', () => void reader.cancel().catch(() => undefined))
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (!reply.write(value) && !reply.destroyed) await drained(reply)
  }
  reply.end()
}

function drained(reply: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      reply.off('drain', go).off('close', go)
      resolve()
    }
    reply.on('drain', go).on('close', go)
  })
}
