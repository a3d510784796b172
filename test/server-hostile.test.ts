/** Clients that send what no client should: each gets the right code, and the server goes on for all others. */

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { type AccessLine, makeKey } from '../src/server/index.ts'
import { amount } from './amount.ts'
import { malformed } from './server-fuzz.ts'
import { raw, served } from './server-socket-kit.ts'

const MIB = 2 ** 20
const LIMITS = { limits: { valueBytes: MIB, jsonBytes: MIB } }
const HEAD = 'Host: 127.0.0.1\r\n'
const put = (path: string, headers = '') => `PUT ${path} HTTP/1.1\r\n${HEAD}${headers}\r\n`
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${HEAD}${headers}\r\n`
const KEY = '/api/v1/kv/key'

async function expectUsable(url: string): Promise<void> {
  const key = `${url}/api/v1/kv/usable`
  expect((await fetch(key, { method: 'PUT', body: 'still' })).status).toBe(201)
  expect(await (await fetch(key)).text()).toBe('still')
}

/** Ends long before a gigabyte where the server does what it should. */
async function* endless(head: string, bytes: number): AsyncGenerator<string | Uint8Array> {
  yield head
  const piece = Buffer.alloc(64 * 1024, 'x')
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece
}

async function* endlessChunks(head: string, bytes: number): AsyncGenerator<string | Uint8Array> {
  yield head
  const piece = Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`)
  for (let sent = 0; sent < bytes; sent += 65_536) yield piece
}

describe('malformed requests', () => {
  it(`get codes below 500 and leave the server as it was`, async () => {
    await using server = await served('memory:', LIMITS)
    const first = amount(20_000, Date.now() % 1e9)
    const count = amount(400, 10_000)
    let next = first
    const wrong: unknown[] = []
    const codes: Record<number, number> = {}
    const client = async () => {
      while (next < first + count) {
        const seed = next++
        const answer = await raw(server.port, malformed(seed).pieces, 300)
        for (const code of answer.codes) {
          codes[code] = (codes[code] ?? 0) + 1
          if (code >= 500 && code !== 503) wrong.push({ seed, code, text: answer.text })
        }
      }
    }
    await Promise.all(Array.from({ length: 50 }, client))
    expect(wrong).toEqual([])
    expect(codes[400]).toBeGreaterThan(count / 20)
    await expectUsable(server.url)
  })

  it.each([
    ['a path with ..', get('/api/v1/kv/../x'), 400],
    ['a path that ends with ..', get('/api/v1/kv/..'), 400],
    ['a % without digits', get('/api/v1/kv/%zz'), 400],
    ['bytes above ASCII in the path', get('/api/v1/kv/\u00e9'), 400],
    ['a repeated Host', get('/health', 'Host: evil.example\r\n'), 400],
    ['two keys of API', get('/health', 'X-Api-Key: a\r\nX-Api-Key: b\r\n'), 400],
    ['no Host', 'GET /health HTTP/1.1\r\n\r\n', 400],
    ['a Host that is none', 'GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
    ['an absolute address', 'GET http://127.0.0.1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 200],
    [
      '101 headers',
      get('/health', Array.from({ length: 100 }, (_, at) => `x-${at}: 1\r\n`).join('')),
      400,
    ],
    ['headers of 20 kB', get('/health', `x: ${'x'.repeat(20_000)}\r\n`), 431],
    ['an expectation that is none', get('/health', 'Expect: nothing\r\n'), 417],
    ['two lengths', put(KEY, 'Content-Length: 1\r\nContent-Length: 2\r\n'), 400],
    ['a length and chunks', put(KEY, 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), 400],
    ['a method that is unknown', `BREW / HTTP/1.1\r\n${HEAD}\r\n`, 400],
    [
      'a method that the path has not',
      `POST ${KEY} HTTP/1.1\r\n${HEAD}Content-Length: 0\r\n\r\n`,
      405,
    ],
  ])('%s', async (_, request, code) => {
    await using server = await served('memory:')
    const answer = await raw(server.port, [request])
    expect(answer.codes).toEqual([code])
  })

  it('a path is taken as it was sent: %2e%2e is a key, and not the folder above', async () => {
    await using server = await served('memory:')
    const stored = await raw(server.port, [put('/api/v1/kv/%2e%2e', 'Content-Length: 2\r\n'), 'ab'])
    expect(stored.codes).toEqual([201])
    const answer = await raw(server.port, [get('/api/v1/kv/%2E%2E')])
    expect(answer.codes).toEqual([200])
    expect(answer.text).toMatch(/\r\n\r\nab$/)
  })

  it('the host of an absolute address is the one that must be allowed', async () => {
    await using server = await served('memory:', { hosts: ['127.0.0.1'] })
    const request = 'GET http://evil.example/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
    expect((await raw(server.port, [request])).codes).toEqual([403])
  })
})

describe('bodies', () => {
  it('of 1 GiB against a limit of 1 MiB are refused, with a length and without', async () => {
    await using server = await served('memory:', LIMITS)
    const known = put(KEY, `Content-Length: ${1024 * MIB}\r\n`)
    const before = process.memoryUsage().rss
    const answers = await Promise.all([
      raw(server.port, endless(known, amount(64, 1024) * MIB), 2000),
      raw(
        server.port,
        endlessChunks(put(KEY, 'Transfer-Encoding: chunked\r\n'), amount(64, 1024) * MIB),
        2000,
      ),
    ])
    for (const { codes, isClosed, text } of answers) {
      expect(codes).toEqual([413])
      expect(isClosed).toBe(true)
      expect(text).toContain('BODY_TOO_LARGE')
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB)
    expect((await fetch(server.url + KEY)).status).toBe(404)
    await expectUsable(server.url)
  })

  it('that are refused and short leave the connection usable', async () => {
    await using server = await served('memory:', { limits: { valueBytes: 10 } })
    const pieces = [put(KEY, 'Content-Length: 20\r\n'), 'x'.repeat(20), get('/health')]
    expect((await raw(server.port, pieces)).codes).toEqual([413, 200])
  })

  it('are asked for with 100 Continue only where they are taken', async () => {
    await using server = await served('memory:', LIMITS)
    const expectation = 'Expect: 100-continue\r\n'
    const taken = await raw(server.port, [put(KEY, `${expectation}Content-Length: 2\r\n`), 'ab'])
    expect(taken.codes).toEqual([100, 201])
    const refused = await raw(
      server.port,
      [put(KEY, `${expectation}Content-Length: ${2 * MIB}\r\n`)],
      2000,
    )
    expect(refused.codes).toEqual([413])
  })

  it('that end too early store nothing', async () => {
    await using server = await served('memory:', LIMITS)
    for (const head of [
      'Content-Length: 100\r\n',
      'Transfer-Encoding: chunked\r\n',
      `Content-Length: ${MIB}\r\n`,
    ])
      await raw(server.port, [put(KEY, head), '5\r\nhello\r\n'], 30)
    expect((await fetch(server.url + KEY)).status).toBe(404)
    await expectUsable(server.url)
  })

  it('of a HEAD are left out, and its length is that of the value', async () => {
    await using server = await served('memory:')
    await fetch(server.url + KEY, { method: 'PUT', body: 'hello' })
    const answer = await raw(server.port, [`HEAD ${KEY} HTTP/1.1\r\n${HEAD}\r\n`, get('/health')])
    expect(answer.codes).toEqual([200, 200])
    expect(answer.text).toMatch(/content-length: 5\r\n/i)
    expect(answer.text).not.toContain('hello')
  })
})

describe('connections', () => {
  it('that never end their head are closed with 408, and others are served meanwhile', async () => {
    await using server = await served('memory:', {}, { headersTimeoutMs: 300 })
    async function* drip(): AsyncGenerator<string> {
      yield 'GET /health HTTP/1.1\r\n'
      for (let at = 0; at < 200; at++) {
        await sleep(20)
        yield `x-${at}: 1\r\n`
      }
    }
    const slow = Promise.all(Array.from({ length: 20 }, () => raw(server.port, drip(), 5000)))
    await expectUsable(server.url)
    for (const { codes, isClosed } of await slow) expect([codes, isClosed]).toEqual([[408], true])
  })

  it('that pause in a body are closed', async () => {
    await using server = await served('memory:', {}, { idleTimeoutMs: 200 })
    const answer = await raw(server.port, [put(KEY, 'Content-Length: 100\r\n'), 'x'], 10_000)
    expect(answer.isClosed).toBe(true)
    await expectUsable(server.url)
  })

  it('that are too many are closed at once', async () => {
    await using server = await served('memory:', {}, { connectionsMax: 5 })
    const all = await Promise.all(
      Array.from({ length: 30 }, () => raw(server.port, [get('/health')], 300)),
    )
    const ok = all.filter(({ codes }) => codes[0] === 200)
    expect(ok.length).toBeGreaterThanOrEqual(5)
    expect(ok.length).toBeLessThan(30)
  })

  it('that pipeline more than the server works on get 503 by name, in order', async () => {
    await using server = await served('memory:', { limits: { concurrency: 3 } })
    const answer = await raw(server.port, [get('/api/v1/kv/_count').repeat(50)], 500)
    expect(answer.codes).toHaveLength(50)
    expect(new Set(answer.codes)).toEqual(new Set([200, 503]))
    expect(answer.text).toContain('OVERLOADED')
  })
})

describe('without the right key', () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prestige-hostile-http-'))
  })
  afterEach(() => rm(directory, { recursive: true, force: true }))

  it('nothing is read: no body is asked for, no store is opened, and no key is logged', async () => {
    const reader = makeKey({ name: 'reader', scope: 'read', namespaces: ['mine'] }, 0)
    const lines: AccessLine[] = []
    const store = join(directory, 'store')
    const log = (line: AccessLine) => void lines.push(line)
    await using server = await served(store, { keys: [reader.key], log })
    const body = 'Expect: 100-continue\r\nContent-Length: 10\r\n'
    const bearer = (secret: string) => `Authorization: Bearer ${secret}\r\n`
    const forged = reader.secret.slice(0, -1) + (reader.secret.endsWith('A') ? 'B' : 'A')
    const cases: [string, number][] = [
      [put(KEY, body), 401],
      [put(KEY, body + bearer('nonsense')), 401],
      [put(KEY, body + bearer(forged)), 401],
      [put(KEY, `${body}${bearer(reader.secret)}Prestige-Namespace: mine\r\n`), 403],
      [get(KEY, bearer(reader.secret)), 403],
      [get(KEY, `${bearer(reader.secret)}Prestige-Namespace: other\r\n`), 403],
    ]
    for (const [request, code] of cases) {
      const { codes } = await raw(server.port, [request], 300)
      expect([request, codes]).toEqual([request, [code]])
    }
    expect(existsSync(store)).toBe(false)
    expect(lines).toHaveLength(cases.length)
    const logged = JSON.stringify(lines)
    for (const secret of [reader.secret, forged]) expect(logged).not.toContain(secret.slice(22))
  })
})
