/** An upstream on loopback, and a proxy in front of it with a clock that is set by hand. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { openStore, type Store } from '../src/index.ts'
import { createProxy, type PrestigeProxy, type ProxyOptions } from '../src/proxy/index.ts'

export type Handler = (request: IncomingMessage, reply: ServerResponse) => void

export class TestUpstream implements AsyncDisposable {
  /** What it was asked, in order: `GET /path?query`. */
  readonly asked: string[] = []
  readonly requests: IncomingMessage[] = []
  handler: Handler = (_, reply) => reply.end('hello')
  readonly #http: Server

  constructor() {
    this.#http = createServer((request, reply) => {
      this.asked.push(`${request.method} ${request.url}`)
      this.requests.push(request)
      this.handler(request, reply)
    })
  }

  static async start(): Promise<TestUpstream> {
    const one = new TestUpstream()
    one.#http.listen(0, '127.0.0.1')
    await once(one.#http, 'listening')
    return one
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections()
    await new Promise((resolve) => this.#http.close(resolve))
  }
}

export interface Got {
  readonly status: number
  readonly cache: string | null
  readonly headers: Headers
  readonly text: string
}

export class TestProxy implements AsyncDisposable {
  readonly store: Store
  readonly proxy: PrestigeProxy
  now = Date.now()

  constructor(store: Store, options: ProxyOptions) {
    this.store = store
    this.proxy = createProxy(store, { clock: () => this.now, ...options })
  }

  static async before(
    { url }: { readonly url: string },
    options: Partial<ProxyOptions> = {},
  ): Promise<TestProxy> {
    return new TestProxy(await openStore('memory:'), { upstream: url, ...options })
  }

  async ask(path: string, init: RequestInit = {}): Promise<Got> {
    const response = await this.proxy.fetch(new Request(`http://proxy.test${path}`, init))
    const { status, headers } = response
    const cache = headers.get('x-prestige-cache')
    return { status, headers, cache, text: await response.text() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.close()
    await this.store.close()
  }
}
