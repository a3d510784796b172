/**
 * The service as a fetch handler: a request in, a response out, whatever listens. Each request takes the same path: is
 * there room, which route, who calls, may they, is what they send sound; then the route's handler; and whatever is
 * thrown on the way becomes problem details.
 */

import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'

import { prestigeError } from '../platform/errors.ts'
import { jsonBody, queryOf, refuseLongBody } from './http/body.ts'
import { LightRequest, LightResponse } from './http/light.ts'
import { HttpProblem, problemResponse } from './http/problem.ts'
import type { AnyRoute, Call } from './http/route.ts'
import { type Match, Router } from './http/router.ts'
import { Measurements } from './measurements.ts'
import type { AccessLine, ServerOptions } from './options.ts'
import { consoleRoutes } from './routes/console.ts'
import { routes } from './routes/index.ts'
import { proxyRoutes } from './routes/proxy.ts'
import type { ApiKey } from './security/api-keys.ts'
import { ANYBODY, type Caller } from './security/caller.ts'
import { CrossOrigin } from './security/cross-origin.ts'
import { Gatekeeper } from './security/gatekeeper.ts'
import { Services } from './services.ts'

/** Sent with every answer; a route may say otherwise. */
const SAFE_HEADERS = [
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['cache-control', 'no-store'],
] as const
/** A shorter answer is there as a whole. */
const WHOLE_BYTES = 64 * 1024
/** How long answers that are being read are waited for. */
const DRAIN_MS = 10_000
const REQUEST_ID = /^[\w.-]{1,64}$/

export interface PrestigeServer {
  /** Whether keys are asked for: without, it must not listen where others can reach it. */
  readonly asksForKeys: boolean
  /** Answers a request; never rejects. */
  fetch(request: Request): Promise<Response>
  /** From now on these may call. A server that asks for no keys goes on asking for none. */
  replaceKeys(keys: readonly ApiKey[]): void
  /** Refuses new requests, waits for those under way, and closes what is open. */
  close(): Promise<void>
}

/** Serves what is at a location: a directory, `redis://…`, `dynamodb://…` or `memory:`. */
export function createServer(location: string, options: ServerOptions = {}): PrestigeServer {
  return serverWith(location, options, [])
}

/** With routes besides those of the service, which take the same path. */
export function serverWith(
  location: string,
  options: ServerOptions,
  more: readonly AnyRoute[],
): PrestigeServer {
  return new Server(location, options, more)
}

/** Of one request, for the log. */
interface Trail {
  readonly requestId: string
  readonly startedAt: number
  route: string
  caller: Caller
  /** Where the bytes of both messages are not counted as they pass. */
  spend?: (bytes: number) => void
  failure?: unknown
}

class Server implements PrestigeServer {
  readonly #services: Services
  readonly #router: Router
  readonly #gatekeeper: Gatekeeper
  readonly #measurements: Measurements
  readonly #crossOrigin: CrossOrigin
  readonly #log: ServerOptions['log']
  #inFlight = 0
  #isClosing = false
  #idle: (() => void) | undefined

  constructor(location: string, options: ServerOptions, more: readonly AnyRoute[]) {
    this.#measurements = new Measurements(options.metrics)
    this.#services = new Services(location, options, this.#measurements.sink)
    const pages = [...consoleRoutes, ...(options.proxy === undefined ? [] : proxyRoutes)]
    this.#router = new Router([...routes(this.#measurements), ...pages, ...more])
    this.#gatekeeper = new Gatekeeper(options.keys, this.#services.clock)
    this.#crossOrigin = new CrossOrigin(options.origins, options.hosts)
    this.#log = options.log
  }

  get asksForKeys(): boolean {
    return this.#gatekeeper.asksForKeys
  }

  replaceKeys(keys: readonly ApiKey[]): void {
    if (this.asksForKeys) this.#gatekeeper.replaceKeys(keys)
  }

  async fetch(request: Request): Promise<Response> {
    const trail: Trail = {
      requestId: requestIdOf(request),
      startedAt: performance.now(),
      route: '(none)',
      caller: ANYBODY,
    }
    this.#inFlight++
    let response: Response
    try {
      response = await this.#answer(request, trail)
    } catch (error) {
      trail.failure = error
      response = problemResponse(error, trail.requestId)
    }
    const sealed = this.#sealed(request, trail, response)
    if (isStreamed(sealed)) return untilRead(sealed, () => this.#leave())
    this.#leave()
    return asked(request, sealed)
  }

  #leave(): void {
    this.#inFlight--
    if (this.#inFlight === 0) this.#idle?.()
  }

  async #answer(request: Request, trail: Trail): Promise<Response> {
    if (this.#isClosing)
      throw new HttpProblem('OVERLOADED', 'The server is shutting down.', { connection: 'close' })
    if (this.#inFlight > this.#services.limits.concurrency)
      throw new HttpProblem(
        'OVERLOADED',
        'The server works on as many requests as it may. Try again in a second.',
        { 'retry-after': '1' },
      )
    const preflight = this.#crossOrigin.check(request)
    if (preflight) return preflight
    const { pathname, query } = targetOf(request)
    const match = this.#router.find(request.method, pathname)
    trail.route = match.route.path
    return match.route.handle(await this.#call(request, query, match, trail))
  }

  async #call(
    request: Request,
    query: string,
    { route, path }: Match,
    trail: Trail,
  ): Promise<Call> {
    const namespace = namespaceOf(request)
    const { caller, spend } = this.#gatekeeper.admit(request, route, namespace)
    trail.caller = caller
    if (request instanceof LightRequest) request.spend = spend
    else trail.spend = spend
    return {
      request,
      path,
      query: route.passesQuery ? {} : queryOf(query, route.query),
      body: await bodyFor(request, route, this.#services.limits.jsonBytes),
      namespace,
      caller,
      services: this.#services,
      requestId: trail.requestId,
      get signal() {
        return request.signal
      },
    }
  }

  #sealed(request: Request, trail: Trail, response: Response): Response {
    const { headers } = response
    addSafeHeaders(response)
    headers.set('x-request-id', trail.requestId)
    this.#crossOrigin.mark(request, headers)
    trail.spend?.(lengthOf(request) + lengthOf(response))
    const ms = performance.now() - trail.startedAt
    this.#measurements.request(request.method, trail.route, response.status, ms)
    this.#log?.(this.#line(request, trail, response.status, ms))
    return response
  }

  #line({ method }: Request, trail: Trail, status: number, ms: number): AccessLine {
    const error = trail.failure === undefined ? undefined : prestigeError(trail.failure)
    return {
      at: new Date(this.#services.clock()).toISOString(),
      requestId: trail.requestId,
      method,
      route: trail.route,
      status,
      ms: Math.round(ms * 1000) / 1000,
      caller: trail.caller.id,
      ...(error && { code: error.code }),
      ...(error?.code === 'UNEXPECTED' && { failure: inspect(error.cause ?? error) }),
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#services.beginClosing()
    if (this.#inFlight > 0) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#idle = resolve
        timer = setTimeout(resolve, DRAIN_MS)
      })
      clearTimeout(timer)
    }
    await this.#services.close()
  }
}

function addSafeHeaders(response: Response): void {
  if (response instanceof LightResponse) return response.headers.setMissing(SAFE_HEADERS)
  const { headers } = response
  // What an upstream says about caching, or leaves out, stays as it is.
  const isPassedOn = headers.has('x-prestige-cache')
  for (const [name, value] of SAFE_HEADERS)
    if (!headers.has(name) && !(isPassedOn && name === 'cache-control')) headers.set(name, value)
}

/** Its body is still being made when the handler has ended. */
function isStreamed(response: Response): boolean {
  if (response instanceof LightResponse) return false
  const { body, headers } = response
  return body !== null && !(Number(headers.get('content-length') ?? Infinity) <= WHOLE_BYTES)
}

/** Calls `ended` when the body has been read, or nobody wants it any more. */
function untilRead(response: Response, ended: () => void): Response {
  const reader = response.body?.getReader()
  if (!reader) return response
  let isOver = false
  const end = () => {
    if (!isOver) ended()
    isOver = true
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await reader.read().catch((error: unknown) => {
          end()
          throw error
        })
        if (!next.done) return controller.enqueue(next.value)
        end()
        controller.close()
      },
      async cancel(reason) {
        await reader.cancel(reason).finally(end)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}

/** A caller that brought a Request of fetch gets a Response of fetch. */
function asked(request: Request, response: Response): Response {
  const isBoth = response instanceof LightResponse && !(request instanceof LightRequest)
  return isBoth ? response.real() : response
}

function lengthOf({ headers }: Request | Response): number {
  return Number(headers.get('content-length') ?? 0)
}

/** The path as it was sent, where that is known: see `LightRequest`. */
function targetOf(request: Request): { readonly pathname: string; readonly query: string } {
  if (!(request instanceof LightRequest)) {
    const { pathname, search } = new URL(request.url)
    return { pathname, query: search }
  }
  const { target } = request
  const at = target.indexOf('?')
  if (at < 0) return { pathname: target, query: '' }
  return { pathname: target.slice(0, at), query: target.slice(at) }
}

/** One that a proxy has given is kept, if it can do no harm in a log or a header. */
function requestIdOf({ headers }: Request): string {
  const sent = headers.get('x-request-id') ?? ''
  return REQUEST_ID.test(sent) ? sent : randomUUID()
}

function namespaceOf({ headers }: Request): string | undefined {
  return headers.get('prestige-namespace') || undefined
}

async function bodyFor(request: Request, { body }: AnyRoute, jsonBytes: number): Promise<unknown> {
  if (body?.kind === 'stream') return undefined
  if (body?.kind === 'json') {
    refuseLongBody(request, jsonBytes)
    return jsonBody(request, body, jsonBytes)
  }
  return undefined
}
