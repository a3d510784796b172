/**
 * What does the store cost behind HTTP, beside the same handler that does nothing? 64 connections on loopback put and
 * get values of 1 KiB, of three servers, each a process of its own, so that its CPU time is known:
 *
 * - `store`: the service, with keys, limits, measurements and an access log;
 * - `nothing`: the same service and settings, asked for a route that answers at once (a PUT reads its body first), with
 *   headers and a body as those of the store, and does not touch the store;
 * - `bare`: a handler of node:http, without all of these.
 *
 * They take turns, so that what else the machine does is the same for all. The client has a process (and so a core) of
 * its own, and may well be the slower side: the ratio of CPU times is the one that it does not flatter.
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

import { listen, makeKey } from 'prestige-dedup/server'

import type * as LogModule from '../src/server/access-log.ts'
import type * as CreateModule from '../src/server/create-server.ts'
import type * as BodyModule from '../src/server/http/body.ts'
import type * as LightModule from '../src/server/http/light.ts'
import type * as RoutesModule from '../src/server/http/route.ts'
import { median as medianOf } from './harness/rounds.ts'

const CONNECTIONS = 64
const KEYS = 1_000
const VALUE_BYTES = 1024
/** Of each server and method; together 60 s of load with a scale of 1. */
const ROUNDS = 6
const ROUND_SECONDS = 10
const RATIO_MIN = 0.6

const kinds = ['store', 'nothing', 'bare'] as const
type Kind = (typeof kinds)[number]
const methods = ['PUT', 'GET'] as const
type Method = (typeof methods)[number]

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
  readonly headers: Readonly<Record<string, string>>
  readonly requests: readonly Request[]
}) => Promise<Load>

const valueOf = (at: number) => `${at} `.repeat(VALUE_BYTES).slice(0, VALUE_BYTES)

/** Each request has another key, and each put another value. */
function requestOf(method: Method, path: string): Request {
  let at = 0
  return {
    method,
    setupRequest: (request) => {
      const one = at++
      return {
        ...request,
        path: `${path}/key-${one % KEYS}`,
        ...(method === 'PUT' && { body: valueOf(one) }),
      }
    },
  }
}

interface Started {
  readonly url: string
  readonly secret: string
}

class ServerProcess {
  readonly kind: Kind
  readonly #child: ChildProcess
  readonly #started: Started
  readonly #requests: Readonly<Record<Method, Request>>

  private constructor(kind: Kind, child: ChildProcess, started: Started) {
    this.kind = kind
    this.#child = child
    this.#started = started
    const path = kind === 'store' ? '/api/v1/kv' : '/nothing'
    this.#requests = { PUT: requestOf('PUT', path), GET: requestOf('GET', path) }
  }

  /** `profiles`: the directory for a profile of its CPU time. */
  static async start(kind: Kind, directory: string, profiles?: string): Promise<ServerProcess> {
    const profiling = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
    const child = fork(fileURLToPath(import.meta.url), [kind, directory], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [...process.execArgv, ...profiling],
    })
    const [started] = await once(child, 'message')
    return new ServerProcess(kind, child, started)
  }

  load(method: Method, seconds: number): Promise<Load> {
    return autocannon({
      url: this.#started.url,
      connections: CONNECTIONS,
      duration: seconds,
      headers: { authorization: `Bearer ${this.#started.secret}` },
      requests: [this.#requests[method]],
    })
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

interface Round {
  readonly perSecond: number
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: number
  readonly errors: number
  readonly rssMiB: number
}

async function measured(server: ServerProcess, method: Method, seconds: number): Promise<Round> {
  const before = await server.usage()
  const load = await server.load(method, seconds)
  const after = await server.usage()
  return {
    perSecond: load.requests.average,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / load.requests.total,
    p50Ms: load.latency.p50,
    p99Ms: load.latency.p99,
    requests: load.requests.total,
    errors: load.errors + load.timeouts + load.non2xx,
    rssMiB: after.rssBytes / 2 ** 20,
  }
}

function summaryOf(rounds: readonly Round[]) {
  const median = (of: (round: Round) => number) => medianOf(rounds.map(of))
  const sum = (of: (round: Round) => number) => rounds.reduce((all, round) => all + of(round), 0)
  const third = Math.ceil(rounds.length / 3)
  const rss = (some: readonly Round[]) => Math.round(medianOf(some.map(({ rssMiB }) => rssMiB)))
  return {
    perSecond: Math.round(median(({ perSecond }) => perSecond)),
    cpuMicrosPerRequest: rounded(
      median(({ cpuMicros }) => cpuMicros),
      1,
    ),
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    p99MsMax: Math.max(...rounds.map(({ p99Ms }) => p99Ms)),
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    rssMiBFirstThird: rss(rounds.slice(0, third)),
    rssMiBLastThird: rss(rounds.slice(-third)),
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

async function benchMethod(servers: readonly ServerProcess[], method: Method, seconds: number) {
  const rounds: Record<Kind, Round[]> = { store: [], nothing: [], bare: [] }
  for (const server of servers) await measured(server, method, 2)
  for (let round = 0; round < ROUNDS; round++) {
    for (const server of servers) {
      rounds[server.kind].push(await measured(server, method, seconds))
    }
  }
  const ratioOf = (ratio: (store: Round, nothing: Round) => number) =>
    rounded(medianOf(rounds.store.map((store, at) => ratio(store, rounds.nothing[at] ?? store))), 2)
  const cpuRatio = ratioOf((store, nothing) => nothing.cpuMicros / store.cpuMicros)
  const rateRatio = ratioOf((store, nothing) => store.perSecond / nothing.perSecond)
  const store = summaryOf(rounds.store)
  return {
    bench: 'server',
    case: `${method} ${VALUE_BYTES} bytes`,
    seconds: seconds * ROUNDS,
    store,
    nothing: summaryOf(rounds.nothing),
    bare: summaryOf(rounds.bare),
    cpuRatio,
    rateRatio,
    isWithin: Math.min(cpuRatio, rateRatio) >= RATIO_MIN && store.errors === 0,
  }
}

export async function benchServer(
  scale: number,
  print: (line: object) => void,
  { only = '', profiles }: { readonly only?: string; readonly profiles?: string | undefined } = {},
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-bench-server-'))
  const servers = await Promise.all(
    kinds.map((kind) => ServerProcess.start(kind, directory, profiles)),
  )
  try {
    const seconds = Math.max(1, Math.round(ROUND_SECONDS * scale))
    // What is got must have been put.
    for (const server of servers) await server.load('PUT', 2)
    for (const method of methods) {
      if (method.includes(only)) print(await benchMethod(servers, method, seconds))
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    await rm(directory, { recursive: true })
  }
}

interface Served {
  readonly url: string
  close(): Promise<void>
}

/** Answers as many bytes as the store would, and reads what is sent. */
async function serveBare(): Promise<Served> {
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

/** The built file: what a loader makes of the source costs other times. */
async function built<T>(path: string): Promise<T> {
  return import(new URL(`../dist/server/${path}`, import.meta.url).href)
}

/** As the store answers a GET and a PUT. */
const GET_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  vary: 'accept, sec-fetch-dest',
  'content-security-policy': "default-src 'none'; sandbox",
  'accept-ranges': 'bytes',
  etag: `"${'0'.repeat(64)}"`,
  'prestige-content-id': '0'.repeat(32),
  'prestige-put-at': new Date(0).toISOString(),
  'last-modified': new Date(0).toUTCString(),
  'cache-control': 'private, no-cache',
}
const PUT_HEADERS = {
  'prestige-key': 'changed',
  'prestige-content': 'new',
  'prestige-bytes-saved': '0',
  'content-type': 'application/json',
}
const PUT_REPLY = JSON.stringify({ status: 'ok', key: 'key-1', receipt: PUT_HEADERS })

async function nothingRoutes() {
  const { bodyBytes } = await built<typeof BodyModule>('http/body.js')
  const { lightResponse } = await built<typeof LightModule>('http/light.js')
  const { route } = await built<typeof RoutesModule>('http/route.js')
  const value = Buffer.from(valueOf(0))
  const common = { path: '/nothing/{key}', summary: 'Nothing', tag: 'bench', replies: {} }
  return [
    route({
      ...common,
      name: 'getNothing',
      method: 'GET',
      scope: 'read',
      handle: () => lightResponse(value, 200, { ...GET_HEADERS }),
    }),
    route({
      ...common,
      name: 'putNothing',
      method: 'PUT',
      scope: 'write',
      body: { kind: 'stream', contentType: '*/*', description: 'Anything' },
      async handle({ request }) {
        await bodyBytes(request, VALUE_BYTES)
        return lightResponse(PUT_REPLY, 201, { ...PUT_HEADERS })
      },
    }),
  ]
}

async function serveStore(directory: string): Promise<Served & Started> {
  const { serverWith } = await built<typeof CreateModule>('create-server.js')
  const { accessLog } = await built<typeof LogModule>('access-log.js')
  const { key, secret } = makeKey({ name: 'bench', scope: 'write' }, Date.now())
  const options = {
    store: { durability: 'os' },
    keys: [key],
    log: accessLog(process.stderr, 'text'),
  } as const
  const server = serverWith(directory, options, await nothingRoutes())
  return { ...(await listen(server, { port: 0 })), secret }
}

async function serve(kind: string, directory: string): Promise<void> {
  const server =
    kind === 'bare'
      ? { ...(await serveBare()), secret: '' }
      : await serveStore(join(directory, kind))
  process.on('message', (message) => {
    const { user, system } = process.cpuUsage()
    if (message === 'usage')
      process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
    else void server.close().then(() => process.disconnect())
  })
  process.send?.({ url: server.url, secret: server.secret })
}

const [, , kind, directory] = process.argv
if (process.send && kind && directory) await serve(kind, directory)
