/** Requests that are wrong in some way, made from a seed. */

import { seededRandom } from '../src/backends/simulated/backend.ts'

export interface Malformed {
  readonly pieces: Uint8Array[]
}

type Pick = <T>(all: readonly T[]) => T

const METHODS = [
  'GET',
  'PUT',
  'POST',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'get',
  'PRI',
  '',
  'G\0T',
]
const TARGETS = [
  '/api/v1/kv/key',
  '/api/v1/kv/%zz',
  '/api/v1/kv/%',
  '/api/v1/kv/%00%ff',
  '/api/v1/kv/..',
  '/api/v1/kv/../../etc/passwd',
  '/api/v1/kv/%2e%2e',
  '/api/v1/kv?limit=-1',
  '/api/v1/kv?limit=1&limit=2',
  '/api/v1/kv/_count?x=%ff',
  '//evil.example/api/v1/kv/key',
  'http://127.0.0.1/health',
  'http://evil.example/health',
  'http://',
  '*',
  '',
  'no-slash',
  '/#fragment',
  '/\u00ff\u00fe',
  `/${'a/'.repeat(500)}`,
  `/api/v1/kv/${'k'.repeat(5000)}`,
  '/health',
  '/metrics',
]
const VERSIONS = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', '']
const HEADERS = [
  'Host: 127.0.0.1',
  'Host: evil.example',
  'Host: a b',
  'Host:',
  'Host: [::1',
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Content-Length: 5, 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'transfer-encoding : chunked',
  'Expect: 100-continue',
  'Expect: something',
  'Upgrade: websocket\r\nConnection: upgrade',
  'Connection: close',
  'Connection: keep-alive, transfer-encoding',
  'Range: bytes=5-2',
  'Range: bytes=999999999999999-',
  'If-Match: nonsense',
  'If-None-Match: "a"',
  'Prestige-TTL: NaN',
  'Prestige-Namespace: ../../x',
  'Prestige-Namespace: \u00ff\u00fe',
  'Authorization: Bearer',
  'Authorization: Basic YTpi',
  'X-Request-Id: \u0001\u0002',
  'Content-Type: application/json',
  'Content-Type: multipart/form-data',
  'Accept: application/json',
  'Origin: null',
  'Origin: http://evil.example',
  ' folded: value',
  'no-colon',
  ': empty',
  'X-Long: ' + 'x'.repeat(20_000),
  'X\0Zero: 1',
]
const BODIES = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  'zz\r\n',
  'ffffffffffffffff\r\n',
  '{"value":',
  '\0\0\0',
  '5;a=b\r\nhello\r\n',
]

/** The same seed gives the same bytes. */
export function malformed(seed: number): Malformed {
  const random = seededRandom(seed)
  const pick: Pick = (all) => all[Math.floor(random() * all.length)]! // safe: none is empty
  const end = random() < 0.9 ? '\r\n' : '\n'
  const lines = [
    `${pick(METHODS)} ${pick(TARGETS)} ${random() < 0.8 ? 'HTTP/1.1' : pick(VERSIONS)}`,
  ]
  if (random() < 0.8) lines.push('Host: 127.0.0.1')
  for (let left = Math.floor(random() * 5); left > 0; left--) lines.push(pick(HEADERS))
  if (random() < 0.02) for (let at = 0; at < 300; at++) lines.push(`x-${at}: ${at}`)
  const text = `${lines.join(end)}${end}${end}${pick(BODIES)}`
  const bytes = Buffer.from(text, 'latin1')
  if (random() < 0.3) flip(bytes, random)
  return { pieces: random() < 0.2 ? cut(bytes, random) : [bytes] }
}

function flip(bytes: Buffer, random: () => number): void {
  for (let left = 1 + Math.floor(random() * 3); left > 0; left--)
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
}

function cut(bytes: Buffer, random: () => number): Uint8Array[] {
  const at = Math.floor(random() * bytes.length)
  return random() < 0.5 ? [bytes.subarray(0, at)] : [bytes.subarray(0, at), bytes.subarray(at)]
}
