/** Listens on a port of this machine, and passes requests of Node's HTTP server to a fetch handler. */

import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'

import { PrestigeError } from '../../platform/errors.ts'
import type { PrestigeServer } from '../create-server.ts'
import { answer } from './adapter.ts'

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
}

export interface Listening {
  readonly url: string
  readonly port: number
  /** Takes no more connections, lets requests under way end, and closes the server. */
  close(): Promise<void>
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/
const HEADER_BYTES = 16 * 1024

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
  const listener = (message: IncomingMessage, reply: ServerResponse) =>
    answer(server, message, reply)
  const how = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: options.headersTimeoutMs ?? 10_000,
    // Slow but steady uploads may take as long as they take: those that pause are ended by the idle time.
    requestTimeout: 0,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 1_000,
  }
  const http = tls ? createHttps({ ...how, ...tls }, listener) : createHttp(how, listener)
  http.maxConnections = options.connectionsMax ?? 1_000
  http.setTimeout(options.idleTimeoutMs ?? 30_000)
  await started(http, port, host)
  const { port: bound } = http.address() as AddressInfo // safe: it listens on a port
  const name = host.includes(':') ? `[${host}]` : host
  return {
    url: `${tls ? 'https' : 'http'}://${name}:${bound}`,
    port: bound,
    close: () => stopped(http, server),
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

async function stopped(http: Server, server: PrestigeServer): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()))
  http.closeIdleConnections()
  await server.close()
  http.closeIdleConnections()
  await closed
}
