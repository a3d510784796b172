/** Listens on a port of this machine, and passes requests of Node's HTTP server to a fetch handler. */

import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

import { codeOf, PrestigeError } from '../../platform/errors.ts'
import type { PrestigeServer } from '../create-server.ts'
import { answer, type Traffic } from './adapter.ts'

export interface ListenOptions {
  /** Default: 8080; 0: any that is free. */
  readonly port?: number | undefined
  /** Default: 127.0.0.1. Another than a loopback address needs keys. */
  readonly host?: string | undefined
  /** Certificate and key as PEM. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined
  /** Milliseconds in which a client must have sent the head of a request. Default: 10,000. */
  readonly headersTimeoutMs?: number | undefined
  /** Milliseconds in which a client must send or take something while a request is under way. Default: 30,000. */
  readonly idleTimeoutMs?: number | undefined
  /** Connections at once; others are refused. Default: 1,000. */
  readonly connectionsMax?: number | undefined
  /** Headers of a request. Default: 100. */
  readonly headersMax?: number | undefined
  /** Bytes a second that an upload must have on average, after its first 30 seconds. Default: 256. */
  readonly uploadBytesPerSecondMin?: number | undefined
  /** Milliseconds that `close` waits for requests under way before it cuts them off. Default: 30,000. */
  readonly closeTimeoutMs?: number | undefined
}

export interface Listening {
  readonly url: string
  readonly port: number
  /** Takes no more connections, lets requests under way end, and closes the server. */
  close(): Promise<void>
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/
const HEADER_BYTES = 16 * 1024
const SLOW_CHECK_MS = 5_000
const SLOW_AFTER_SECONDS = 30

export async function listen(
  server: PrestigeServer,
  options: ListenOptions = {},
): Promise<Listening> {
  const { port = 8080, host = '127.0.0.1', tls } = options
  if (!LOOPBACK.test(host) && !server.asksForKeys)
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${host} can be reached from other machines, which needs keys: make one with prestige keys add, and give --keys FILE.`,
    )
  const traffic = trafficOf(server, tls !== undefined, options.headersMax)
  const http = httpOf(traffic, options)
  await started(http, port, host)
  const { port: bound } = http.address() as AddressInfo // safe: it listens on a port
  const name = host.includes(':') ? `[${host}]` : host
  return {
    url: `${tls ? 'https' : 'http'}://${name}:${bound}`,
    port: bound,
    close: () => stopped(http, traffic, options.closeTimeoutMs ?? 30_000),
  }
}

/** For a server of Node that is there already: Express, Fastify, or one that has other paths. */
export function nodeHandler(
  server: PrestigeServer,
): (request: IncomingMessage, reply: ServerResponse) => void {
  const plain = trafficOf(server, false)
  const secure = trafficOf(server, true)
  return (request, reply) =>
    answer('encrypted' in request.socket ? secure : plain, request, reply, false)
}

function trafficOf(server: PrestigeServer, isSecure: boolean, headersMax = 100): Traffic {
  return {
    server,
    isSecure,
    headersMax,
    isClosing: false,
    underWay: new Map(),
    uploads: new Set(),
  }
}

function httpOf(traffic: Traffic, options: ListenOptions): Server {
  const how = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: options.headersTimeoutMs ?? 10_000,
    // Slow but steady uploads may take as long as they take: those that pause are ended by the idle time.
    requestTimeout: 0,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 1_000,
  }
  const http = options.tls ? createHttps({ ...how, ...options.tls }) : createHttp(how)
  http.on('request', (message, reply) => answer(traffic, message, reply, false))
  http.on('checkContinue', (message, reply) => answer(traffic, message, reply, true))
  http.on('clientError', refuse)
  // Counted by `headersMax`: Node would leave out those that are too many.
  http.maxHeadersCount = 0
  http.maxConnections = options.connectionsMax ?? 1_000
  http.setTimeout(options.idleTimeoutMs ?? 30_000)
  const timer = setInterval(
    () => endSlow(traffic, options.uploadBytesPerSecondMin ?? 256),
    SLOW_CHECK_MS,
  ).unref()
  http.on('close', () => clearInterval(timer))
  return http
}

/** A request that is none: its answer is written as it is, since there is no reply to write it with. */
function refuse(error: Error, socket: Duplex): void {
  const code = codeOf(error)
  const isStarted = '_httpMessage' in socket && socket._httpMessage !== null
  if (code === 'ECONNRESET' || !socket.writable || isStarted) return void socket.destroy(error)
  const [status, detail] = REFUSALS[code] ?? [400, 'This is no request of HTTP/1.1.']
  const kind = status === 408 ? 'TIMED_OUT' : 'INVALID_REQUEST'
  const body = JSON.stringify({ status, title: STATUS_CODES[status], detail, code: kind })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/problem+json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    // The client need not take it: the connection ends in any case.
    () => socket.destroy(),
  )
}

const REFUSALS: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, `The headers of a request may have ${HEADER_BYTES} bytes.`],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions of the body are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The head of the request did not come in time.'],
}

/** Uploads that send a byte now and then hold a connection for nothing. */
function endSlow({ uploads }: Traffic, bytesPerSecondMin: number): void {
  const now = performance.now()
  for (const upload of uploads) {
    const seconds = (now - upload.readSince) / 1000 - SLOW_AFTER_SECONDS
    if (seconds > 0 && upload.receivedBytes < seconds * bytesPerSecondMin) upload.cut()
  }
}

async function started(http: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, resolve)
  }).catch((cause: unknown) => {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `Cannot listen on ${host} port ${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  })
}

/** Those who have sent a request get their answer; answers that do not end by themselves are ended. */
async function stopped(http: Server, traffic: Traffic, timeoutMs: number): Promise<void> {
  traffic.isClosing = true
  const closed = new Promise<void>((resolve) => http.close(() => resolve()))
  http.closeIdleConnections()
  for (const end of traffic.underWay.values()) end?.()
  const timer = setTimeout(() => http.closeAllConnections(), timeoutMs)
  await closed
  clearTimeout(timer)
  await traffic.server.close()
}
