/** One request and its answer. What the server reports as a problem becomes the error that the store itself would throw. */

import { abortedError, checkedTimeout, timedOutError } from '../platform/deadline.ts'
import { type ErrorCode, errorCodes, PrestigeError } from '../platform/errors.ts'
import type { CallOptions } from '../store/index.ts'

export interface ClientOptions {
  /** An API key, as `prestige keys add` prints it. */
  readonly key?: string | undefined
  /** Of the store. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** Default: that of the platform. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** How often a request is sent again where that is safe. Default: 3. */
  readonly retriesMax?: number | undefined
}

export interface Sent {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Below /api/v1/. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined
  /** In messages: `The put`. */
  readonly what: string
  /** Sending it twice changes nothing, and gives the same answer. */
  readonly isRead?: boolean
}

const CLIENT_OPTIONS: readonly string[] = ['key', 'namespace', 'fetch', 'retriesMax']
const KNOWN: ReadonlySet<string> = new Set(errorCodes)
const RETRY_MS = 100
const RETRY_MS_MAX = 5_000

export class Transport {
  readonly #base: string
  readonly #shownUrl: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #fetch: typeof globalThis.fetch
  readonly #retriesMax: number

  constructor(url: string, options: ClientOptions) {
    refuseUnknown(options)
    const { key, namespace, fetch, retriesMax = 3 } = options
    if (!/^https?:\/\//.test(url) || !URL.canParse(url))
      throw new PrestigeError('INVALID_LOCATION', `${url} is not the address of a server.`)
    this.#shownUrl = shownOf(new URL(url))
    this.#base = `${url.replace(/\/+$/, '')}/api/v1/`
    this.#headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(namespace !== undefined && namespace !== '' && { 'prestige-namespace': namespace }),
    }
    this.#fetch = fetch ?? globalThis.fetch.bind(globalThis)
    this.#retriesMax = retriesMax
  }

  /** Fails with the error that the server reports. */
  async send(sent: Sent, options: CallOptions = {}): Promise<Response> {
    const timeoutMs = checkedTimeout(options.timeoutMs)
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
    const signals = [options.signal, late].filter((signal) => signal !== undefined)
    const signal = signals.length === 0 ? undefined : AbortSignal.any(signals)
    try {
      return await this.#untilAnswered(sent, signal)
    } catch (error) {
      const outcome = sent.isRead ? 'not-done' : 'unknown'
      if (late?.aborted) throw timedOutError(sent.what, outcome, timeoutMs ?? 0)
      if (options.signal?.aborted) throw abortedError(sent.what, outcome, options.signal.reason)
      throw error
    }
  }

  async #untilAnswered(sent: Sent, signal: AbortSignal | undefined): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const { response, error } = await this.#once(sent, signal)
      if (response?.ok || response?.status === 304) return response
      const failure = response ? await problemOf(response) : error
      const isLast = attempt >= this.#retriesMax || signal?.aborted
      if (isLast || !isSafe(sent, failure, response)) throw failure
      await pause(delayMs(response, attempt), signal)
    }
  }

  async #once(
    { method, path, headers, body, what }: Sent,
    signal: AbortSignal | undefined,
  ): Promise<{ response?: Response; error?: PrestigeError }> {
    const isStream = body instanceof ReadableStream
    try {
      const response = await this.#fetch(this.#base + path, {
        method,
        headers: { ...this.#headers, ...headers },
        ...(body !== undefined && { body }),
        ...(isStream && { duplex: 'half' }),
        ...(signal && { signal }),
      })
      return { response }
    } catch (cause) {
      const message = `${what}: ${this.#shownUrl} cannot be reached, or ended the connection.`
      return { error: new PrestigeError('BACKEND_UNAVAILABLE', message, { cause }) }
    }
  }
}

function refuseUnknown(options: object): void {
  const unknown = Object.keys(options).find((name) => !CLIENT_OPTIONS.includes(name))
  if (unknown === undefined) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${unknown} is not an option of a client. Its options are ${CLIENT_OPTIONS.join(', ')}.`,
  )
}

/** For messages: without user, password and query. */
function shownOf({ origin, pathname }: URL): string {
  return origin + (pathname === '/' ? '' : pathname)
}

/** What the server refused because it is busy was not done; what only reads can be asked again in any case. */
function isSafe(
  { isRead, body }: Sent,
  failure: PrestigeError | undefined,
  response: Response | undefined,
): boolean {
  if (body instanceof ReadableStream) return false
  if (response) return failure?.code === 'OVERLOADED' || failure?.code === 'RATE_LIMITED'
  return isRead === true
}

function delayMs(response: Response | undefined, attempt: number): number {
  const seconds = Number(response?.headers.get('retry-after') ?? 0)
  const backOff = RETRY_MS * 2 ** attempt * (0.5 + Math.random())
  return Math.min(RETRY_MS_MAX, Math.max(seconds * 1000, backOff))
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}

async function problemOf(response: Response): Promise<PrestigeError> {
  const code = response.headers.get('prestige-code') ?? ''
  const text = await response.text().catch(() => '')
  if (!isCode(code))
    return new PrestigeError('UNEXPECTED', `The server answered ${response.status} without a code.`)
  return new PrestigeError(code, detailOf(text) ?? `The server answered ${response.status}.`)
}

function isCode(code: string): code is ErrorCode {
  return KNOWN.has(code)
}

function detailOf(text: string): string | undefined {
  try {
    const { detail } = Object(JSON.parse(text))
    return typeof detail === 'string' ? detail : undefined
  } catch {
    return undefined
  }
}
