/** Calls of the API: the key and the namespace go in headers, and what goes wrong is an ApiProblem. */

import { eventIn, type ServerEvent } from './event.ts'
import { apiKey, isKeyNeeded, namespace } from '../state/session.ts'

const BASE = '/api/v1/'

export class ApiProblem extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
  }

  /** The server has no such route: it was started without what it is for. */
  get isMissingRoute(): boolean {
    return this.code === 'ROUTE_NOT_FOUND'
  }

  static of(thrown: unknown): ApiProblem {
    if (thrown instanceof ApiProblem) return thrown
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    return new ApiProblem(0, 'NO_ANSWER', `The server does not answer: ${message}`)
  }
}

export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Blob
  readonly signal?: AbortSignal
}

/** `path` begins behind /api/v1/, or with a slash. */
export async function call(path: string, sent: Sent = {}): Promise<Response> {
  const headers = new Headers(sent.headers)
  if (apiKey.value !== '') headers.set('authorization', `Bearer ${apiKey.value}`)
  if (namespace.value !== '') headers.set('prestige-namespace', namespace.value)
  const response = await fetch(path.startsWith('/') ? path : BASE + path, { ...sent, headers })
  if (response.ok) return response
  throw await problemOf(response)
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const sent: unknown = await response.json().catch(() => undefined)
  if (response.status === 401) isKeyNeeded.set(true)
  const code = fieldOf(sent, 'code') ?? 'UNEXPECTED'
  return new ApiProblem(response.status, code, fieldOf(sent, 'detail') ?? response.statusText)
}

function fieldOf(sent: unknown, name: string): string | undefined {
  if (typeof sent !== 'object' || sent === null) return undefined
  const value: unknown = Reflect.get(sent, name)
  return typeof value === 'string' ? value : undefined
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await call(path, signal ? { signal } : {})
  return response.json()
}

export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
  return response.json()
}

export function queryText(query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** Server-sent events, read from a response: an EventSource could not send the key. */
export async function* eventsOf(path: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const { body } = await call(path, { headers: { accept: 'text/event-stream' }, signal })
  if (!body) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text += value
    const blocks = text.split(/\r?\n\r?\n/)
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventIn(block)
      if (event) yield event
    }
  }
}
