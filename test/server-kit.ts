/** A server in memory, called without a network. */

import { createServer, type PrestigeServer, type ServerOptions } from '../src/server/index.ts'

export interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: string | Uint8Array | object
}

export class TestServer implements AsyncDisposable {
  readonly server: PrestigeServer

  constructor(options: ServerOptions = {}, location = 'memory:') {
    this.server = createServer(location, options)
  }

  async ask(path: string, { method, headers, body }: Asked = {}): Promise<Response> {
    const isJson = typeof body === 'object' && !(body instanceof Uint8Array)
    const sent = isJson ? JSON.stringify(body) : body
    return this.server.fetch(
      new Request(`http://localhost${path}`, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { ...(isJson && { 'content-type': 'application/json' }), ...headers },
        ...(sent !== undefined && {
          body: typeof sent === 'string' ? sent : Buffer.from(sent),
        }),
      }),
    )
  }

  put(key: string, body: string | Uint8Array, headers: Asked['headers'] = {}): Promise<Response> {
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    return this.ask(`/api/v1/kv/${encodeURIComponent(key)}`, {
      method: 'PUT',
      body,
      headers: { 'content-type': 'application/octet-stream', ...length, ...headers },
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server.close()
  }
}
