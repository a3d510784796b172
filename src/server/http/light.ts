/**
 * Requests and responses of fetch that cost little: most requests ask for a few headers and one short body, and the
 * objects of fetch cost more than everything else that is done for them. What is used less often is passed on to a real
 * Request or Response, which is made when it is needed.
 */

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

import { PrestigeError } from '../../platform/errors.ts'

type Values = Record<string, string | string[] | undefined>

/** Names in lower case. */
export class LightHeaders implements Headers {
  readonly fields: Values

  constructor(fields: Values) {
    this.fields = fields
  }

  get(name: string): string | null {
    const value = this.fields[name.toLowerCase()]
    if (value === undefined) return null
    return typeof value === 'string' ? value : value.join(', ')
  }

  has(name: string): boolean {
    return this.fields[name.toLowerCase()] !== undefined
  }

  set(name: string, value: string): void {
    this.fields[name.toLowerCase()] = value
  }

  /** Of names in lower case, those that are not there yet. */
  setMissing(headers: readonly (readonly [name: string, value: string])[]): void {
    for (const [name, value] of headers) this.fields[name] ??= value
  }

  append(name: string, value: string): void {
    const lower = name.toLowerCase()
    const before = this.fields[lower]
    if (before === undefined) this.fields[lower] = value
    else if (lower === 'set-cookie') this.fields[lower] = [before, value].flat()
    else this.fields[lower] = `${this.get(lower)}, ${value}`
  }

  delete(name: string): void {
    delete this.fields[name.toLowerCase()]
  }

  getSetCookie(): string[] {
    return [this.fields['set-cookie'] ?? []].flat()
  }

  *entries(): Generator<[string, string], undefined> {
    for (const [name, value] of Object.entries(this.fields)) {
      if (typeof value === 'string') yield [name, value]
      else for (const one of value ?? []) yield [name, one]
    }
  }

  *keys(): Generator<string, undefined> {
    for (const [name] of this.entries()) yield name
  }

  *values(): Generator<string, undefined> {
    for (const [, value] of this.entries()) yield value
  }

  forEach(take: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this.entries()) take(value, name, this)
  }

  [Symbol.iterator](): Generator<[string, string], undefined> {
    return this.entries()
  }
}

/** What a request came with, and by which name the server was called. */
export interface Arrival {
  readonly message: IncomingMessage
  /** Such as `http://127.0.0.1:8080`. */
  readonly origin: string
  /** Path and query as they were sent. */
  readonly target: string
  /** Called before anything of the body is read: a client that asks may send it. */
  onRead?(): void
}

/** A request of Node's server. Nothing of its body is read before it is asked for. */
export class LightRequest {
  readonly method: string
  readonly headers: LightHeaders
  /** Takes bytes as they are received and sent, once it is known who calls. */
  spend: ((bytes: number) => void) | undefined
  /** Of the body, so far. */
  receivedBytes = 0
  /** When the body was asked for, on the clock of `performance`. */
  readSince = 0
  readonly #arrival: Arrival
  #abort: AbortController | undefined
  #isGone = false
  #isRead = false
  #real: Request | undefined

  constructor(arrival: Arrival) {
    this.#arrival = arrival
    this.method = arrival.message.method ?? 'GET'
    this.headers = new LightHeaders(arrival.message.headers)
  }

  get url(): string {
    return this.#arrival.origin + this.#arrival.target
  }

  /** As it was sent: a URL would resolve `%2e%2e`, and make another path of it. */
  get target(): string {
    return this.#arrival.target
  }

  get origin(): string {
    return this.#arrival.origin
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#isGone) this.#abort.abort()
    return this.#abort.signal
  }

  /** The client takes no answer any more. */
  gone(): void {
    this.#isGone = true
    this.#abort?.abort()
  }

  /** Whether the body has been asked for. */
  get bodyUsed(): boolean {
    return this.#isRead || (this.#real?.bodyUsed ?? false)
  }

  /** The body as it comes. Whoever stops early can still answer: the connection stays. */
  async *source(): AsyncGenerator<Uint8Array> {
    const { message } = this.#arrival
    this.#begin()
    try {
      for await (const piece of message.iterator({ destroyOnReturn: false })) {
        this.#received(piece.byteLength)
        yield piece
      }
    } catch (cause) {
      throw message.complete ? cause : cutOff(cause)
    }
  }

  /** The whole body, if it has at most so many bytes; else what `tooLong` makes is thrown. */
  whole(bytesMax: number, tooLong: () => Error): Promise<Buffer> {
    const { message } = this.#arrival
    this.#begin()
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      let length = 0
      const ended = (settle: () => void) => {
        message.off('data', onData).off('end', onEnd).off('error', onLost).off('close', onLost)
        settle()
      }
      const onData = (piece: Buffer) => {
        length += piece.byteLength
        this.#received(piece.byteLength)
        if (length <= bytesMax) pieces.push(piece)
        else ended(() => (message.pause(), reject(tooLong())))
      }
      const onEnd = () => {
        const [only, ...others] = pieces
        ended(() => resolve(only && others.length === 0 ? only : Buffer.concat(pieces)))
      }
      const onLost = (cause?: unknown) => ended(() => reject(cutOff(cause)))
      if (message.destroyed && !message.complete) onLost()
      else message.on('data', onData).on('end', onEnd).on('error', onLost).on('close', onLost)
    })
  }

  #begin(): void {
    if (this.#isRead) return
    this.#isRead = true
    this.readSince = performance.now()
    this.#arrival.onRead?.()
  }

  /** Ends the connection: the body comes too slowly. */
  cut(): void {
    this.#arrival.message.destroy()
  }

  #received(bytes: number): void {
    this.receivedBytes += bytes
    this.spend?.(bytes)
  }

  /** What is here only in part. @internal */
  real(): Request {
    const { method, headers, url, signal } = this
    const hasBody = method !== 'GET' && method !== 'HEAD'
    this.#real ??= new Request(url, {
      method,
      headers: [...headers],
      signal,
      ...(hasBody && { body: Readable.toWeb(Readable.from(this.source())), duplex: 'half' }),
    })
    return this.#real
  }
}

function cutOff(cause: unknown): PrestigeError {
  const message = 'The client has gone before the body was complete. Nothing was written.'
  return new PrestigeError('ABORTED', message, { cause, outcome: 'not-done' })
}

/** A body that is there at once. */
export class LightResponse {
  readonly status: number
  readonly headers: LightHeaders
  readonly content: Buffer | string
  readonly byteLength: number
  #real: Response | undefined

  /** Takes `headers`, to which others may be added. */
  constructor(content: Buffer | string, status: number, headers: Record<string, string>) {
    this.content = content
    this.byteLength = Buffer.byteLength(content)
    headers['content-length'] = String(this.byteLength)
    this.status = status
    this.headers = new LightHeaders(headers)
  }

  /** As fetch has it; made once, when all headers have been set. @internal */
  real(): Response {
    const { status, content, headers } = this
    const body = status === 204 || status === 304 ? undefined : content
    this.#real ??= new Response(body, { status, headers: [...headers] })
    return this.#real
  }
}

/** What is not here is asked of the real one. */
function completed(light: object, real: object): void {
  for (const name of Object.getOwnPropertyNames(real)) {
    if (name in light) continue
    const get = function (this: { real(): object }): unknown {
      const whole = this.real()
      const value: unknown = Reflect.get(whole, name)
      return typeof value === 'function' ? value.bind(whole) : value
    }
    Object.defineProperty(light, name, { get, configurable: true })
  }
  Object.setPrototypeOf(light, real)
}

completed(LightRequest.prototype, Request.prototype)
completed(LightResponse.prototype, Response.prototype)

export function asRequest(light: LightRequest): Request {
  const whole: unknown = light
  return whole as Request // safe: it has what a Request has, by `completed`
}

/** A response whose body is there. Takes `headers`, to which others may be added. */
export function lightResponse(
  content: Buffer | string,
  status: number,
  headers: Record<string, string>,
): Response {
  const whole: unknown = new LightResponse(content, status, headers)
  return whole as Response // safe: it has what a Response has, by `completed`
}
