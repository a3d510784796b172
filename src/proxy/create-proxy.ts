/**
 * A request in, an answer of the upstream or of the store out. Misses of one address that come together ask the upstream
 * once: the first one's client gets the answer as it comes, the others get it from the store when it is there.
 */

import { randomBytes } from 'node:crypto'

import { PrestigeError } from '../platform/errors.ts'
import type { Store } from '../store/index.ts'
import { cacheKey, type CacheKey } from './cache-key.ts'
import { Entries, type Kept } from './entries.ts'
import { type Flight, Flights } from './flights.ts'
import { endToEnd, forwarded } from './headers.ts'
import { checkedOptions, type CheckedOptions, type ProxyOptions } from './options.ts'
import {
  type Asking,
  askingOf,
  isForErrors,
  isStorable,
  opaque,
  type Received,
  useOf,
} from './policy.ts'
import { type Ask, type CacheState, problem, Replies, streamed } from './reply.ts'
import { Upstream } from './target.ts'
import { branch, end, pump } from './tee.ts'
import { type Answer, Transport } from './transport.ts'

/** What a server that has read the request already gives in place of what the request has. */
export interface Forwarding {
  readonly headers?: Headers | undefined
  /** Absent: the request has none. */
  readonly body?: AsyncIterable<Uint8Array> | undefined
}

export interface PrestigeProxy {
  /** Answers a request; never rejects: failures are problem details (400, 502, 504). */
  fetch(request: Request): Promise<Response>
  /** The same for a server that has its own way to answer failures: rejects with a PrestigeError. */
  forward(request: Request, how?: Forwarding): Promise<Response>
  /** Ends requests under way. The store stays open. */
  close(): Promise<void>
}

/** A proxy in front of one upstream, which keeps answers in a store: see RFC 9111. */
export function createProxy(store: Store, options: ProxyOptions): PrestigeProxy {
  return new Proxy(store, checkedOptions(options))
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const REFUSED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE'])
/** A request with one of these asks for less than an answer that could be kept. */
const PARTIAL = ['range', 'if-range', 'if-match', 'if-unmodified-since']
const CONDITIONS = ['if-none-match', 'if-modified-since']
const FAILURES: ReadonlySet<number> = new Set([500, 502, 503, 504])

const COUNTERS: Readonly<Record<CacheState, string>> = {
  HIT: 'prestige.proxy.cache_hits_total',
  MISS: 'prestige.proxy.cache_misses_total',
  STALE: 'prestige.proxy.cache_stale_total',
  BYPASS: 'prestige.proxy.cache_bypasses_total',
}

/** A GET or a HEAD of which the answer may be kept, or be there. */
interface Lookup extends Ask {
  readonly key: CacheKey
  readonly asking: Asking
}

class Proxy implements PrestigeProxy {
  readonly #options: CheckedOptions
  readonly #upstream: Upstream
  readonly #transport: Transport
  readonly #entries: Entries
  readonly #replies: Replies
  readonly #flights = new Flights()
  readonly #name = `prestige-${randomBytes(6).toString('hex')}`
  #isClosed = false

  constructor(store: Store, options: CheckedOptions) {
    this.#options = options
    this.#upstream = new Upstream(options.upstream, options.mount)
    this.#transport = new Transport(this.#upstream, options)
    this.#entries = new Entries(store, options)
    this.#replies = new Replies(this.#upstream, options.clock, `1.1 ${this.#name}`)
  }

  async fetch(request: Request): Promise<Response> {
    try {
      return await this.forward(request, { body: request.body ?? undefined })
    } catch (error) {
      return problem(error)
    }
  }

  async forward(request: Request, how: Forwarding = {}): Promise<Response> {
    const { method } = request
    if (this.#isClosed) throw new PrestigeError('BACKEND_CLOSED', 'The proxy is closed.')
    if (REFUSED.has(method))
      throw new PrestigeError('METHOD_NOT_ALLOWED', `${method} is not passed on.`)
    const target = this.#upstream.target(request.url)
    const given = how.headers ?? request.headers
    const headers = endToEnd(given)
    if (headers.get('via')?.includes(this.#name))
      throw new PrestigeError(
        'UPSTREAM_FAILED',
        'The upstream sent the request back to this proxy.',
      )
    const ask: Ask = { method, headers, target }
    const asking = askingOf(headers)
    const isLookedUp =
      (method === 'GET' || method === 'HEAD') &&
      !how.body &&
      !asking.directives.has('no-store') &&
      !PARTIAL.some((name) => headers.has(name))
    if (!isLookedUp) return this.#pass(ask, 'BYPASS', request.signal, how.body)
    const key = cacheKey(this.#options.prefix, target.url, headers)
    return this.#lookUp({ ...ask, key, asking }, request.signal)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#transport.close()
    await this.#flights.close()
  }

  #count(state: CacheState): void {
    this.#options.metrics?.counter(COUNTERS[state], 1)
  }

  #sentHeaders({ headers }: Ask): Headers {
    const sent = forwarded(headers)
    sent.append('via', `1.1 ${this.#name}`)
    return sent
  }

  /** Passed on as it is, and so is the answer. A change makes what is kept of the address useless. */
  async #pass(
    ask: Ask,
    state: CacheState,
    signal: AbortSignal,
    body?: AsyncIterable<Uint8Array>,
  ): Promise<Response> {
    const { method, target } = ask
    const headers = this.#sentHeaders(ask)
    const length = ask.headers.get('content-length')
    if (body && length !== null) headers.set('content-length', length)
    this.#count(state)
    let answer: Answer | undefined
    try {
      answer = await this.#transport.send({ method, path: target.path, headers, body, signal })
    } finally {
      // Where there is no answer, the upstream may have done it all the same.
      if (!SAFE.has(method) && (answer?.status ?? 200) < 400) await this.#changed(ask, answer)
    }
    return this.#replies.ofAnswer(ask, answer, state, streamed(answer))
  }

  async #changed({ target }: Ask, answer: Answer | undefined): Promise<void> {
    const named = ['location', 'content-location'].map((name) => answer?.headers.get(name))
    const others = named.map((one) => one && this.#upstream.resolved(one, target))
    const urls = others.flatMap((one) => (one ? [one.origin + one.pathname + one.search] : []))
    for (const url of new Set([target.url, ...urls])) {
      const { address } = cacheKey(this.#options.prefix, url, new Headers())
      await this.#flights.outdate(address)
      await this.#tried(this.#entries.forget({ address }))
    }
  }

  /** What the store cannot do just now does not keep the client from its answer. */
  async #tried<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work
    } catch {
      this.#options.metrics?.counter('prestige.proxy.store_errors_total', 1)
      return undefined
    }
  }

  async #lookUp(ask: Lookup, signal: AbortSignal): Promise<Response> {
    const { key, asking, headers, method } = ask
    for (let hasWaited = false; ; hasWaited = true) {
      const kept = await this.#tried(this.#entries.find(key, headers))
      const use = kept ? useOf(asking, kept, this.#options.clock()) : 'validate'
      if (kept && use === 'fresh') return this.#fromStore(ask, kept, 'HIT')
      if (kept && use !== 'validate') {
        if (use === 'refresh') this.#refresh(ask, kept)
        return this.#fromStore(ask, kept, 'STALE')
      }
      if (asking.directives.has('only-if-cached'))
        throw new PrestigeError(
          'TIMED_OUT',
          'It is not kept here, and was asked for only if it is.',
        )
      const flight =
        hasWaited || asking.directives.has('no-cache') ? undefined : this.#flights.of(key)
      if (flight) await this.#waited(flight)
      else if (method === 'HEAD') return this.#pass(ask, 'MISS', signal)
      else return this.#lead(ask, kept)
    }
  }

  /** As long as the upstream may take: the client of the first request may be slow. */
  async #waited({ ended }: Flight): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.timeoutMs)
    })
    await Promise.race([ended, over])
    clearTimeout(timer)
  }

  #fromStore(ask: Ask, kept: Kept, state: 'HIT' | 'STALE', received?: Received): Response {
    this.#count(state)
    return this.#replies.ofKept(ask, kept, state, received)
  }

  /** Asks again while the client gets what is there. */
  #refresh(ask: Lookup, kept: Kept): void {
    if (this.#flights.of(ask.key)) return
    const headers = new Headers(ask.headers)
    for (const name of CONDITIONS) headers.delete(name)
    this.#lead({ ...ask, headers }, kept)
      .then((response) => response.body?.cancel())
      .catch(() => undefined)
  }

  /** `kept`: what the upstream is asked about, if it can be. */
  async #lead(ask: Lookup, kept: Kept | undefined): Promise<Response> {
    const flight = this.#flights.begin(ask.key)
    let isHandedOver = false
    try {
      const answer = await this.#asked(ask, kept)
      if ('instead' in answer) return this.#fromStore(ask, answer.instead, 'STALE')
      if (answer.status === 304 && kept) {
        answer.cancel()
        return await this.#validated(ask, kept, answer, flight)
      }
      this.#count('MISS')
      if (this.#isKept(ask, answer)) {
        isHandedOver = true
        return this.#receive(ask, answer, flight)
      }
      this.#flights.notKept(ask.key)
      if (kept && answer.status < 500)
        await this.#tried(this.#entries.forget({ address: ask.key.entry }))
      return this.#replies.ofAnswer(ask, answer, 'MISS', streamed(answer))
    } finally {
      if (!isHandedOver) flight.end()
    }
  }

  #isKept({ asking }: Lookup, answer: Answer): boolean {
    if (!answer.hasEnd || (answer.length ?? 0) > this.#options.cacheBytesMax) return false
    return isStorable(asking, answer)
  }

  /** The upstream's answer, or what may be used in place of its failure. */
  async #asked(ask: Lookup, kept: Kept | undefined): Promise<Answer | { readonly instead: Kept }> {
    const headers = this.#sentHeaders(ask)
    for (const name of CONDITIONS) headers.delete(name)
    const tag = kept?.headers.get('etag')
    const modified = kept?.headers.get('last-modified')
    if (tag) headers.set('if-none-match', tag)
    if (modified) headers.set('if-modified-since', modified)
    const fallback =
      kept && isForErrors(ask.asking, kept, this.#options.clock()) ? { instead: kept } : undefined
    try {
      const answer = await this.#transport.send({ method: 'GET', path: ask.target.path, headers })
      if (fallback && FAILURES.has(answer.status)) {
        answer.cancel()
        return fallback
      }
      const other = answer.status === 304 ? answer.headers.get('etag') : null
      if (other === null || !tag || opaque(other) === opaque(tag)) return answer
      answer.cancel()
      return await this.#asked(ask, undefined)
    } catch (error) {
      if (fallback) return fallback
      throw error
    }
  }

  /** What is kept is what the upstream has: headers that it sent with that replace the old ones. */
  async #validated(ask: Lookup, kept: Kept, answer: Answer, flight: Flight): Promise<Response> {
    const { requestedAt, receivedAt } = answer
    const headers = new Headers(kept.headers)
    headers.delete('age')
    for (const [name, value] of answer.headers)
      if (!name.startsWith('content-') && name !== 'set-cookie') headers.set(name, value)
    const received = { status: kept.status, headers, requestedAt, receivedAt }
    this.#options.metrics?.counter('prestige.proxy.revalidations_total', 1)
    const isKept = isStorable(ask.asking, received) && !answer.headers.has('set-cookie')
    if (!isKept) await this.#tried(this.#entries.forget({ address: ask.key.entry }))
    else if (!flight.isOutdated) {
      flight.writing = this.#entries.freshen(ask.key, ask.headers, received, kept)
      await this.#tried(flight.writing)
    }
    return this.#fromStore(ask, kept, 'HIT', received)
  }

  #noted(key: CacheKey, isWritten: boolean, end: 'whole' | 'too-long' | 'broken'): void {
    if (end === 'too-long') this.#flights.notKept(key)
    if (end === 'whole' && !isWritten)
      this.#options.metrics?.counter('prestige.proxy.store_errors_total', 1)
  }

  /** To the client and to the store, as it comes. */
  #receive(ask: Lookup, answer: Answer, flight: Flight): Response {
    const [client, stored] = [branch(), branch()]
    flight.stop = () => end(client, new PrestigeError('ABORTED', 'The proxy is being closed.'))
    const kept = this.#entries.putBody(ask.key, answer, stored.stream)
    const write = async () => {
      const body = await kept
      if (flight.isOutdated) return this.#entries.discard(body)
      flight.writing = this.#entries.keep(ask.key, ask.headers, answer, body)
      await flight.writing
      this.#flights.kept(ask.key)
    }
    const pumped = pump(answer.body(), client, stored, this.#options.cacheBytesMax)
    const written = write().then(
      () => true,
      () => false,
    )
    Promise.all([written, pumped])
      .then(([isWritten, end]) => this.#noted(ask.key, isWritten, end))
      .catch(() => undefined)
      .finally(() => flight.end())
    return this.#replies.ofAnswer(ask, answer, 'MISS', client.stream)
  }
}
