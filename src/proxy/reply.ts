/** What the client gets. */

import { ReadableStream } from 'node:stream/web'

import { type ErrorCode, prestigeError } from '../platform/errors.ts'
import type { Kept } from './entries.ts'
import { ageMs, isKnownTo, type Received } from './policy.ts'
import type { Target, Upstream } from './target.ts'
import type { Answer } from './transport.ts'

export type CacheState = 'HIT' | 'MISS' | 'STALE' | 'BYPASS'
type Content = ReadableStream<Uint8Array> | Buffer

/** What a request asks for, read once. */
export interface Ask {
  readonly method: string
  /** Without those of the connection. */
  readonly headers: Headers
  readonly target: Target
}

export class Replies {
  readonly #upstream: Upstream
  readonly #clock: () => number
  readonly #via: string

  constructor(upstream: Upstream, clock: () => number, via: string) {
    this.#upstream = upstream
    this.#clock = clock
    this.#via = via
  }

  ofAnswer(
    ask: Ask,
    answer: Answer,
    state: CacheState,
    body: ReadableStream<Uint8Array>,
  ): Response {
    return this.#response(ask, answer, this.#headers(ask, answer, state), body)
  }

  /** `received`: what is known of it by now. */
  ofKept(ask: Ask, kept: Kept, state: 'HIT' | 'STALE', received: Received = kept): Response {
    const headers = this.#headers(ask, received, state)
    headers.set('age', String(Math.floor(ageMs(received, this.#clock()) / 1000)))
    headers.set('x-prestige-cached-at', new Date(received.receivedAt).toISOString())
    if (received.status !== 204) headers.set('content-length', String(kept.body.head.bytes))
    const content = () => kept.body.value ?? kept.body.stream()
    return this.#response(ask, received, headers, content)
  }

  #headers({ target }: Ask, received: Received, state: CacheState): Headers {
    const headers = new Headers(received.headers)
    headers.set('x-prestige-cache', state)
    headers.delete('x-prestige-cached-at')
    headers.append('via', this.#via)
    const location = headers.get('location')
    if (location !== null) headers.set('location', this.#upstream.outward(location, target))
    return headers
  }

  #response(
    { method, headers: asked }: Ask,
    { status }: Received,
    headers: Headers,
    content: Content | (() => Content),
  ): Response {
    const isRead = method === 'GET' || method === 'HEAD'
    const isKnown = isRead && status === 200 && isKnownTo(asked, headers)
    if (isKnown) headers.delete('content-length')
    const isEmpty = isKnown || method === 'HEAD' || [204, 205, 304].includes(status)
    const body = isEmpty ? unread(content) : typeof content === 'function' ? content() : content
    return new Response(body, { status: isKnown ? 304 : status, headers })
  }
}

function unread(content: Content | (() => Content)): undefined {
  if (content instanceof ReadableStream) content.cancel().catch(() => undefined)
}

/** The body as the client takes it; a client that goes ends the connection to the upstream. */
export function streamed(answer: Answer): ReadableStream<Uint8Array> {
  const pieces = answer.body()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: () => answer.cancel(),
    },
    { highWaterMark: 0 },
  )
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  INVALID_REQUEST: 400,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  ABORTED: 499,
  UPSTREAM_FAILED: 502,
  BACKEND_CLOSED: 503,
  TIMED_OUT: 504,
}

/** As RFC 9457 has it. What is no error of ours may have anything in its message, which is not sent. */
export function problem(thrown: unknown): Response {
  const { code, message } = prestigeError(thrown)
  const status = STATUS[code] ?? 500
  const detail = code === 'UNEXPECTED' ? 'The proxy failed.' : message
  const body = JSON.stringify({
    type: `urn:prestige:error:${code}`,
    title: code,
    status,
    detail,
    code,
  })
  return new Response(body, {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  })
}
