/**
 * What does the HTTP service cost beside Node's own server with a handler that does nothing? 64 connections on loopback
 * put and get values of 1 KiB. Each server is a process of its own, so that its CPU time is known.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttp } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createServer, listen } from 'prestige-dedup/server'

const CONNECTIONS = 64
const KEYS = 1_000
const VALUE_BYTES = 1024

type Kind = 'nothing' | 'store'
type Method = 'PUT' | 'GET'

interface Usage {
  readonly cpuMicros: number
  readonly rssBytes: number
}

/** Of autocannon, which has no types: what is used here. */
interface Load {
  readonly requests: { readonly average: number; readonly total: number }
  readonly latency: { readonly p99: number; readonly p50: number }
  readonly errors: number
  readonly timeouts: number
  readonly non2xx: number
}
interface Request {
  readonly method: Method
  setupRequest(request: object): object
}
// safe: these are the options and results that its documentation lists
const autocannon = createRequire(import.meta.url)('autocannon') as (options: {
  readonly url: string
  readonly connections: number
  readonly duration: number
  readonly requests: readonly Request[]
}) => Promise<Load>

const valueOf = (at: number) => `${at} `.repeat(VALUE_BYTES).slice(0, VALUE_BYTES)

/** Each request has another key, and each put another value. */
function requestOf(method: Method): Request {
  let at = 0
  return {
    method,
    setupRequest: (request) => {
      const one = at++
      const path = `/api/v1/kv/key-${one % KEYS}`
      return { ...request, path, ...(method === 'PUT' && { body: valueOf(one) }) }
    },
  }
}

class ServerProcess {
  readonly #child: ChildProcess
  readonly url: string

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  static async start(kind: Kind, directory: string): Promise<ServerProcess> {
    const child = fork(fileURLToPath(import.meta.url), [kind, directory])
    const [url] = await once(child, 'message')
    return new ServerProcess(child, String(url))
  }

  async usage(): Promise<Usage> {
    this.#child.send('usage')
    const [usage] = await once(this.#child, 'message')
    return usage
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.send('stop')
    await ended
  }
}

async function measured(server: ServerProcess, method: Method, seconds: number) {
  const before = await server.usage()
  const load = await autocannon({
    url: server.url,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [requestOf(method)],
  })
  const after = await server.usage()
  return {
    perSecond: Math.round(load.requests.average),
    cpuMicrosPerRequest:
      Math.round(((after.cpuMicros - before.cpuMicros) / load.requests.total) * 10) / 10,
    p50Ms: load.latency.p50,
    p99Ms: load.latency.p99,
    errors: load.errors + load.timeouts + load.non2xx,
    rssMiB: [before, after].map(({ rssBytes }) => Math.round(rssBytes / 2 ** 20)),
  }
}

/** A second of load first, and for 60 s of measurements all in all with a scale of 1. */
export async function benchServer(scale: number, print: (line: object) => void): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-bench-server-'))
  const [nothing, store] = await Promise.all([
    ServerProcess.start('nothing', directory),
    ServerProcess.start('store', directory),
  ])
  try {
    for (const method of ['PUT', 'GET'] as const) {
      for (const server of [nothing, store]) await measured(server, method, 2)
      const reference = await measured(nothing, method, Math.max(1, 15 * scale))
      const ours = await measured(store, method, Math.max(1, 60 * scale))
      const ratio = Math.round((ours.perSecond / reference.perSecond) * 100) / 100
      print({
        case: `${method} ${VALUE_BYTES} bytes`,
        ours,
        reference,
        ratio,
        isWithin: ratio >= 0.6,
      })
    }
  } finally {
    await Promise.all([nothing.stop(), store.stop()])
    await rm(directory, { recursive: true })
  }
}

/** Answers as many bytes as the store would, and reads what is sent. */
async function serveNothing(): Promise<{ url: string; close(): Promise<void> }> {
  const value = Buffer.from(valueOf(0))
  const http = createHttp((request, reply) => {
    if (request.method === 'GET') {
      reply.setHeader('content-type', 'text/plain')
      reply.setHeader('content-length', value.length)
      reply.end(value)
      return
    }
    request
      .on('data', () => undefined)
      .on('end', () => {
        reply.writeHead(201, { 'content-type': 'application/json' })
        reply.end('{"status":"ok"}')
      })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo // safe: it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => http.close(() => resolve())),
  }
}

async function serve(kind: string, directory: string): Promise<void> {
  const server =
    kind === 'nothing'
      ? await serveNothing()
      : await listen(createServer(directory, { store: { durability: 'os' } }), { port: 0 })
  process.on('message', (message) => {
    const { user, system } = process.cpuUsage()
    if (message === 'usage')
      process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
    else void server.close().then(() => process.disconnect())
  })
  process.send?.(server.url)
}

const [, , kind, directory] = process.argv
if (process.send && kind && directory) await serve(kind, directory)
