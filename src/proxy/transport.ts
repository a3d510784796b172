/** Requests to the upstream, and nowhere else. An answer that ends too early is an error, never a shorter answer. */

import { drained } from '../platform/drained.ts'
import http, { type IncomingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'

import { codeOf, PrestigeError } from '../platform/errors.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import { endToEnd } from './headers.ts'
import type { CheckedOptions } from './options.ts'
import type { Received } from './policy.ts'
import type { Upstream } from './target.ts'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body?: AsyncIterable<Uint8Array> | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Answer extends Received {
  /** Bytes that it will have, if that is known. */
  readonly length: number | undefined
  /** Whether its end differs from that of a connection that was lost. */
  readonly hasEnd: boolean
  /** Read once; fails where the upstream ends before the body does. */
  body(): AsyncGenerator<Uint8Array>
  /** Nobody reads it. */
  cancel(): void
}

export class Transport {
  readonly #upstream: Upstream
  readonly #timeoutMs: number
  readonly #clock: () => number
  readonly #metrics: MetricsSink | undefined
  readonly #agent: http.Agent

  constructor(upstream: Upstream, { timeoutMs, clock, metrics }: CheckedOptions) {
    this.#upstream = upstream
    this.#timeoutMs = timeoutMs
    this.#clock = clock
    this.#metrics = metrics
    const how = { keepAlive: true, maxFreeSockets: 32 }
    this.#agent = this.#isSecure ? new https.Agent(how) : new http.Agent(how)
  }

  get #isSecure(): boolean {
    return this.#upstream.url.protocol === 'https:'
  }

  async send(sent: Sent): Promise<Answer> {
    const requestedAt = this.#clock()
    const startedAt = performance.now()
    try {
      const message = await this.#again(sent)
      this.#metrics?.histogram('prestige.proxy.upstream_latency_ms', performance.now() - startedAt)
      return answerOf(message, requestedAt, this.#clock(), this.#timeoutMs)
    } catch (error) {
      if (!sent.signal?.aborted) this.#metrics?.counter('prestige.proxy.upstream_errors_total', 1)
      throw error
    }
  }

  /** A connection that was kept open may have been closed by the upstream just now: another one is tried, once. */
  async #again(sent: Sent): Promise<IncomingMessage> {
    const isRepeatable = (sent.method === 'GET' || sent.method === 'HEAD') && !sent.body
    let isReused = false
    try {
      return await this.#once(sent, (reused) => (isReused = reused))
    } catch (error) {
      const isClosed = error instanceof PrestigeError && codeOf(error.cause) === 'ECONNRESET'
      if (!isRepeatable || !isReused || !isClosed) throw error
      return this.#once(sent, () => undefined)
    }
  }

  #once(sent: Sent, onFailed: (isReused: boolean) => void): Promise<IncomingMessage> {
    const { hostname, port } = this.#upstream.url
    const options: RequestOptions = {
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: sent.path,
      method: sent.method,
      headers: Object.fromEntries(sent.headers),
      agent: this.#agent,
      signal: sent.signal,
    }
    return new Promise((resolve, reject) => {
      const request = this.#isSecure ? https.request(options) : http.request(options)
      const timer = setTimeout(() => request.destroy(timedOut(this.#timeoutMs)), this.#timeoutMs)
      request.on('response', (message) => {
        clearTimeout(timer)
        resolve(message)
      })
      request.on('error', (error) => {
        clearTimeout(timer)
        onFailed(request.reusedSocket)
        reject(failureOf(error, sent.signal))
      })
      if (sent.body) pass(sent.body, request).catch((error: Error) => request.destroy(error))
      else request.end()
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

async function pass(body: AsyncIterable<Uint8Array>, request: http.ClientRequest): Promise<void> {
  for await (const piece of body) {
    if (request.destroyed) return
    if (!request.write(piece)) await drained(request)
  }
  request.end()
}

function answerOf(
  message: IncomingMessage,
  requestedAt: number,
  receivedAt: number,
  timeoutMs: number,
): Answer {
  const { statusCode: status = 0, rawHeaders, headers: known } = message
  if (status < 200 || status > 599) {
    message.destroy()
    throw new PrestigeError('UPSTREAM_FAILED', `The upstream answered with the code ${status}.`)
  }
  message.on('error', () => undefined)
  message.setTimeout(timeoutMs, () => message.destroy(timedOut(timeoutMs)))
  const pairs = rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : [],
  )
  const length = known['content-length']
  const isChunked = known['transfer-encoding'] !== undefined
  return {
    status,
    headers: endToEnd(pairs),
    requestedAt,
    receivedAt,
    length: length === undefined || isChunked ? undefined : Number(length),
    hasEnd: length !== undefined || isChunked || status === 204,
    body: () => bodyOf(message),
    cancel: () => message.destroy(),
  }
}

async function* bodyOf(message: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of message) yield piece
  } catch (error) {
    throw failureOf(error, undefined)
  }
  if (!message.complete) throw failureOf(undefined, undefined)
}

function timedOut(timeoutMs: number): PrestigeError {
  return new PrestigeError('TIMED_OUT', `The upstream did not answer within ${timeoutMs} ms.`)
}

function failureOf(error: unknown, signal: AbortSignal | undefined): PrestigeError {
  if (error instanceof PrestigeError) return error
  if (signal?.aborted) return new PrestigeError('ABORTED', 'The client has gone.', { cause: error })
  const code = codeOf(error)
  const why = FAILURES[code] ?? 'The upstream ended the connection before its answer was complete.'
  return new PrestigeError('UPSTREAM_FAILED', why, { cause: error })
}

const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The upstream takes no connections.',
  ENOTFOUND: 'The name of the upstream has no address.',
}
