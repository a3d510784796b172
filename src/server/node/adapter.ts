/** Between Node's requests and those of fetch. Whatever a client sends, this never throws. */

import { drained } from '../../platform/drained.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { PrestigeServer } from '../create-server.ts'
import { asRequest, LightRequest, LightResponse } from '../http/light.ts'
import { HttpProblem, problemResponse } from '../http/problem.ts'

/** A body that was not read and is at most this long is skipped, so that the connection can be used again. */
const SKIPPED_BYTES_MAX = 64 * 1024
/** Up to here, copying costs less than a second piece. */
const ONE_PIECE_BYTES = 8 * 1024
/** How long a client whose body is refused may go on sending before the connection is closed. */
const REFUSED_MS = 1_000
/** Headers that mean something else to each part of a system if they are there twice. */
const ONCE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'x-api-key',
  'content-type',
  'prestige-namespace',
  'if-match',
  'range',
])

/** What is true of all requests of a listener. */
export interface Traffic {
  readonly server: PrestigeServer
  readonly isSecure: boolean
  readonly headersMax: number
  /** Each answer ends its connection: the listener is being closed. */
  isClosing: boolean
  /** Answers under way, each with what ends it early, if it would not end by itself. */
  readonly underWay: Map<ServerResponse, (() => void) | undefined>
  /** Bodies that are being received. */
  readonly uploads: Set<LightRequest>
}

/** `asksFirst`: the client sends its body when it is asked to (`Expect: 100-continue`). */
export function answer(
  traffic: Traffic,
  message: IncomingMessage,
  reply: ServerResponse,
  asksFirst: boolean,
): void {
  traffic.underWay.set(reply, undefined)
  let request: LightRequest | undefined
  reply.on('close', () => {
    traffic.underWay.delete(reply)
    if (!request) return
    traffic.uploads.delete(request)
    if (!reply.writableFinished) request.gone()
  })
  try {
    request = requestOf(traffic, message, asksFirst ? () => reply.writeContinue() : undefined)
  } catch (error) {
    reply.shouldKeepAlive = false
    const problem = problemResponse(error, 'none')
    send(traffic, problem, reply, message, undefined).catch(() => reply.destroy())
    return
  }
  respond(traffic, request, message, reply).catch(() => reply.destroy())
}

async function respond(
  traffic: Traffic,
  request: LightRequest,
  message: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const response = await traffic.server.fetch(asRequest(request))
  traffic.uploads.delete(request)
  await send(traffic, response, reply, message, request)
}

/** Fails where the address or a header cannot be that of a request. */
function requestOf(
  traffic: Traffic,
  message: IncomingMessage,
  proceed: (() => void) | undefined,
): LightRequest {
  const { rawHeaders, headers } = message
  if (rawHeaders.length / 2 > traffic.headersMax)
    throw new HttpProblem(
      'INVALID_REQUEST',
      `A request may have ${traffic.headersMax} headers; this one has ${rawHeaders.length / 2}.`,
    )
  if (Object.keys(headers).length !== rawHeaders.length / 2) refuseRepeated(rawHeaders)
  const { host, target } = addressOf(message)
  const request: LightRequest = new LightRequest({
    message,
    origin: `${traffic.isSecure ? 'https' : 'http'}://${host}`,
    target,
    onRead: () => {
      traffic.uploads.add(request)
      proceed?.()
    },
  })
  return request
}

function refuseRepeated(rawHeaders: readonly string[]): void {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (seen.has(name) && ONCE.has(name))
      throw new HttpProblem('INVALID_REQUEST', `The header ${name} is there more than once.`)
    seen.add(name)
  }
}

const HOST = /^(?:[\w.-]{1,255}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/

/** The path stays as it is: resolving `..` and `.` would make it another one. */
function addressOf({ url = '', headers }: IncomingMessage): { host: string; target: string } {
  // A client that takes this for a proxy sends the whole address, whose host counts then.
  const [, whole, rest] = url.startsWith('/') ? [] : (/^https?:\/\/([^/?]+)(.*)$/i.exec(url) ?? [])
  const host = whole ?? headers.host ?? 'localhost'
  const target = rest === undefined ? url : rest.startsWith('/') ? rest : `/${rest}`
  if (!HOST.test(host)) throw new HttpProblem('INVALID_REQUEST', 'Host is not the name of a host.')
  if (!target.startsWith('/') || /[^!-~]|#/.test(target) || /\/\.{1,2}(?:[/?]|$)/.test(target))
    throw new HttpProblem(
      'INVALID_REQUEST',
      'The path begins with /, has no part that is . or .., and percent-encodes what is not printable ASCII.',
    )
  return { host, target }
}

async function send(
  traffic: Traffic,
  response: Response,
  reply: ServerResponse,
  message: IncomingMessage,
  request: LightRequest | undefined,
): Promise<void> {
  if (reply.destroyed) return discarded(response)
  const isRefused = !message.complete && !isSkippable(message)
  if (isRefused || traffic.isClosing) reply.shouldKeepAlive = false
  if (response instanceof LightResponse) {
    reply.writeHead(response.status, response.headers.fields)
    if (message.method !== 'HEAD') {
      request?.spend?.(response.byteLength)
      if (!isRefused) return sendWhole(reply, response.content)
      reply.write(response.content)
    }
  } else {
    const cookies = response.headers.getSetCookie()
    // Each is a header of its own: a list of them cannot be taken apart again.
    reply.writeHead(response.status, {
      ...Object.fromEntries(response.headers),
      ...(cookies.length > 0 && { 'set-cookie': cookies }),
    })
    if (message.method === 'HEAD') await discarded(response)
    else await sendBody(traffic, response, reply, request)
  }
  // A client that waits to be asked has sent nothing.
  if (isRefused && message.headers.expect === undefined) await skipped(message, reply)
  reply.end()
}

/** Text is sent together with the head, in one piece; bytes would be a piece of their own. */
function sendWhole(reply: ServerResponse, content: Buffer | string): void {
  if (typeof content === 'string') reply.end(content)
  else if (content.byteLength > ONE_PIECE_BYTES) reply.end(content)
  else reply.end(content.toString('latin1'), 'latin1')
}

function isSkippable({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return false
  return Number(headers['content-length'] ?? 0) <= SKIPPED_BYTES_MAX
}

/** A client that is cut off while it sends would not see the answer: it is given a second to stop. */
function skipped(message: IncomingMessage, reply: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, REFUSED_MS)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    message.on('end', done).on('error', done).on('close', done)
    reply.on('close', done)
    message.resume()
  })
}

async function discarded({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined)
}

async function sendBody(
  traffic: Traffic,
  response: Response,
  reply: ServerResponse,
  request: LightRequest | undefined,
): Promise<void> {
  const reader = response.body?.getReader()
  if (!reader) return
  const cancel = () => void reader.cancel().catch(() => undefined)
  reply.on('close', cancel)
  const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (isEndless) traffic.underWay.set(reply, cancel)
  if (isEndless && traffic.isClosing) cancel()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    request?.spend?.(value.byteLength)
    if (!reply.write(value) && !reply.destroyed) await drained(reply)
  }
}
