/** What the service promises to those who come from the C++ server: its routes, and what was wrong with them. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { withBackendAt } from '../src/backends/index.ts'
import { createClient } from '../src/client/index.ts'
import { openStore } from '../src/index.ts'
import { type AccessLine, createServer, listen } from '../src/server/index.ts'
import { storeSpaces } from '../src/store/index.ts'
import { TestUpstream } from './proxy-kit.ts'
import { type Asked, TestServer } from './server-kit.ts'
import { served } from './server-socket-kit.ts'

const KV = '/api/v1/kv'

/** Asked one after another. The answer: JSON that must match, or the very text. */
const ROUTES: readonly (readonly [
  method: string,
  path: string,
  asked: Asked,
  status: number,
  answer?: object | string,
])[] = [
  ['PUT', `${KV}/a`, { body: 'one' }, 201, { status: 'ok', key: 'a' }],
  ['PUT', `${KV}/a`, { body: { value: 'two' } }, 201, { status: 'ok', key: 'a' }],
  ['GET', `${KV}/a`, {}, 200, 'two'],
  ['GET', `${KV}/a`, { headers: { accept: 'application/json' } }, 200, { key: 'a', value: 'two' }],
  ['GET', `${KV}/z`, {}, 404, { error: 'Key not found', code: 'KEY_NOT_FOUND' }],
  ['PUT', `${KV}/b`, { body: 'two' }, 201],
  ['GET', `${KV}?prefix=a&limit=10`, {}, 200, ['a']],
  ['GET', `${KV}/_count`, {}, 200, { keys: 2, unique_values: 1, exact: true }],
  ['GET', `${KV}/_count/approx`, {}, 200, { keys: 2, unique_values: 1 }],
  ['DELETE', `${KV}/b`, {}, 204],
  ['DELETE', `${KV}/b`, {}, 404],
  ['POST', '/api/v1/admin/sweep', { body: {} }, 200, { status: 'ok', deleted: 0 }],
  ['POST', '/api/v1/admin/prune', { body: { max_age_s: 60 } }, 200, { status: 'ok', deleted: 0 }],
  ['POST', '/api/v1/admin/evict', { body: { target_bytes: 99 } }, 200, { evicted: 0 }],
  ['POST', '/api/v1/admin/flush', {}, 200, { status: 'ok' }],
  ['GET', '/health', {}, 200, { status: 'healthy' }],
  ['GET', '/health/ready', {}, 200],
]

describe('the routes of the C++ server', () => {
  it('answer as its documentation says', async () => {
    await using server = new TestServer({ store: { maxKeys: 1000 } })
    for (const [method, path, asked, status, answer] of ROUTES) {
      const response = await server.ask(path, { method, ...asked })
      const what = `${method} ${path}`
      expect(response.status, what).toBe(status)
      if (typeof answer === 'string') expect(await response.text(), what).toBe(answer)
      else if (answer) expect(await response.json(), what).toMatchObject(answer)
    }
  })

  it('are measured under its names, with right types, and no key is in a label', async () => {
    await using server = new TestServer()
    await server.put('secret-key', 'value')
    await server.ask(`${KV}/secret-key`)
    const text = await (await server.ask('/metrics')).text()
    for (const name of ['prestige_keys_total', 'prestige_objects_total', 'prestige_store_bytes'])
      expect(text).toContain(`# TYPE ${name} gauge`)
    expect(text).toMatch(/^prestige_keys_total 1$/m)
    expect(text).toContain(
      'prestige_http_requests_total{method="GET",path="/api/v1/kv/{key}",status="200"} 1',
    )
    expect(text).toContain('# TYPE prestige_http_request_duration_ms histogram')
    expect(text).toMatch(/^prestige_put_calls_total 1$/m)
    expect(text).not.toContain('secret-key')
  })
})

/** Rows in a store by space, of all that can be scanned: not settings and tallies. */
async function rowsIn(directory: string): Promise<Record<string, number>> {
  const counted: Record<string, number> = {}
  await withBackendAt(directory, storeSpaces, {}, async (backend) => {
    for (const space of storeSpaces) {
      if (!space.ordered) continue
      let rows = 0
      for await (const _ of backend.scan(space)) rows++
      if (rows > 0) counted[space.name] = rows
    }
  })
  return counted
}

describe('what the C++ server got wrong', () => {
  it('W12: closing lets an answer that is being read end, and refuses what comes later', async () => {
    const server = new TestServer()
    const value = Buffer.alloc(2_000_000, 'w12')
    await server.put('long', value)
    const response = await server.ask(`${KV}/long`)
    const closing = server.server.close()
    expect((await server.ask(`${KV}/long`)).status).toBe(503)
    expect(Buffer.from(await response.arrayBuffer()).equals(value)).toBe(true)
    await closing
  })

  it('W30: a value that was put or got just now is not the next to be evicted', async () => {
    let now = Date.now()
    await using server = new TestServer({
      store: { maxKeys: 100, recencyMs: 0, clock: () => now },
    })
    for (const key of ['a', 'b', 'c']) {
      now += 1000
      await server.put(key, `value of ${key}`)
    }
    now += 1000
    await server.ask(`${KV}/a`)
    await server.ask('/api/v1/admin/evict', { body: { target_keys: 2 } })
    expect(await (await server.ask(KV)).json()).toEqual(['a', 'c'])
  })

  it('W31: a value costs four rows, a further key of it two, and ids ascend', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-w31-'))
    try {
      await using server = await served(directory)
      const client = createClient(server.url)
      const ids: string[] = []
      for (let at = 0; at < 20; at++) {
        await client.put(`first-${at}`, `value ${at}`)
        await client.put(`second-${at}`, `value ${at}`)
        ids.push((await client.head(`first-${at}`))?.contentId ?? '')
      }
      expect(new Set(ids).size).toBe(20)
      expect(ids).toEqual(ids.toSorted())
      await server.close()
      expect(await rowsIn(directory)).toEqual({
        contents: 20,
        digests: 20,
        entries: 40,
        refs: 40,
      })
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('W32: the proxy sends every change on, with its query and headers, and keeps no answer to it', async () => {
    await using upstream = await TestUpstream.start()
    await using server = await served('memory:', { proxy: { upstream: upstream.url } })
    upstream.handler = (_, reply) =>
      reply
        .writeHead(200, { 'cache-control': 'public, max-age=60' })
        .end(`answer ${upstream.asked.length}`)
    const methods = ['PUT', 'DELETE', 'PATCH', 'POST']
    const headers = { 'content-type': 'text/csv', 'x-trace': 'w32' }
    for (const method of methods) {
      for (const _ of [1, 2]) {
        const body = method === 'DELETE' ? null : 'x'
        const answer = await fetch(`${server.url}/proxy/a?b=1`, { method, headers, body })
        expect(await answer.text()).toBe(`answer ${upstream.asked.length}`)
      }
    }
    expect(upstream.asked).toEqual(methods.flatMap((one) => [`${one} /a?b=1`, `${one} /a?b=1`]))
    for (const request of upstream.requests) expect(request.headers).toMatchObject(headers)
    // The upstream has seen as many connections as it needed for requests one after another: one.
    expect(new Set(upstream.requests.map(({ socket }) => socket)).size).toBe(1)
  })

  it('W32: the proxy gives no answer to another user, to another query, or after its time', async () => {
    await using upstream = await TestUpstream.start()
    let now = Date.now()
    const proxy = { upstream: upstream.url }
    await using server = await served('memory:', { proxy, clock: () => now })
    upstream.handler = ({ url = '', headers }, reply) =>
      reply
        .writeHead(200, {
          'cache-control': url.startsWith('/no-store') ? 'no-store' : 'public, max-age=60',
        })
        .end(`${url} of ${headers.authorization ?? headers.cookie ?? 'anybody'}`)
    const get = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${server.url}/proxy${path}`, { headers })
      return `${answer.headers.get('x-prestige-cache')} ${await answer.text()}`
    }
    const users = [{ authorization: 'Basic a' }, { authorization: 'Basic b' }, { cookie: 'c=1' }]
    for (const state of ['MISS', 'HIT']) {
      for (const user of users)
        expect(await get('/a', user)).toBe(`${state} /a of ${Object.values(user)[0]}`)
      expect(await get('/a')).toBe(`${state} /a of anybody`)
      expect(await get('/a?q=1')).toBe(`${state} /a?q=1 of anybody`)
      expect(await get('/no-store')).toBe('MISS /no-store of anybody')
    }
    now += 61_000
    expect(await get('/a')).toBe('MISS /a of anybody')
  })

  it('W33: bodies that the proxy keeps are stored once, as the bytes that they are', async () => {
    await using upstream = await TestUpstream.start()
    await using server = await served('memory:', { proxy: { upstream: upstream.url } })
    const body = Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * at * 31) % 251))
    upstream.handler = (_, reply) =>
      reply.writeHead(200, { 'cache-control': 'max-age=60' }).end(body)
    for (const state of ['MISS', 'HIT']) {
      for (const path of ['a', 'b', 'c']) {
        const answer = await fetch(`${server.url}/proxy/${path}`)
        expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true)
        expect(answer.headers.get('x-prestige-cache')).toBe(state)
      }
    }
    const headers = { 'prestige-namespace': 'proxy' }
    const read = (path: string) => fetch(`${server.url}${KV}${path}`, { headers })
    const keys: string[] = Object(await (await read('?prefix=proxy:1:body:')).json())
    expect(keys).toHaveLength(3)
    const stored = await Promise.all(keys.map((key) => read(`/${encodeURIComponent(key)}`)))
    expect(new Set(stored.map((one) => one.headers.get('prestige-content-id'))).size).toBe(1)
    for (const one of stored) expect(Buffer.from(await one.arrayBuffer()).equals(body)).toBe(true)
  })

  it('W34: operations of the store are measured under valid names, in the unit of each name', async () => {
    const lines: AccessLine[] = []
    await using server = await served('memory:', { log: (line) => lines.push(line) })
    const begun = performance.now()
    await fetch(`${server.url}${KV}/a`, { method: 'PUT', body: 'value' })
    const rendered = await (await fetch(`${server.url}/metrics`)).text()
    const elapsedMs = performance.now() - begun
    const samples = new Map<string, number>()
    for (const line of rendered.trim().split('\n')) {
      if (line.startsWith('# ')) continue
      const [, name = '', value = ''] =
        /^([a-z_][a-z\d_]*(?:\{(?:[a-z]+="[^"]*",?)+\})?) (\S+)$/.exec(line) ?? []
      expect(name, line).not.toBe('')
      samples.set(name, Number(value))
    }
    const of = (name: string) => samples.get(name) ?? NaN
    const put = '{method="PUT",path="/api/v1/kv/{key}"}'
    expect(of('prestige_put_object_created_total')).toBe(1)
    expect(of('prestige_put_latency_us_count')).toBe(1)
    // The request takes longer than its put, and no longer than it took here.
    const requestMs = of(`prestige_http_request_duration_ms_sum${put}`)
    expect(requestMs).toBeGreaterThanOrEqual(of('prestige_put_latency_us_sum') / 1000)
    expect(requestMs).toBeLessThanOrEqual(elapsedMs)
    expect(of('prestige_put_latency_us_bucket{le="1000000"}')).toBeGreaterThanOrEqual(0)
    expect(lines[0]).toMatchObject({ method: 'PUT', route: '/api/v1/kv/{key}', status: 201 })
  })

  it('W35: it listens on this machine alone, unless it has keys', async () => {
    const server = createServer('memory:')
    await expect(listen(server, { port: 0, host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    await server.close()
  })

  it('W35: lists have a limit, any key can be read, and JSON carries any bytes', async () => {
    await using server = new TestServer()
    const lines = Array.from({ length: 1001 }, (_, at) =>
      JSON.stringify({ op: 'put', key: `k${String(at).padStart(4, '0')}`, value: '' }),
    )
    const get = '{"op":"get","key":"_count"}'
    await server.ask(`${KV}/%5Fcount`, { method: 'PUT', body: Uint8Array.of(0xff) })
    const got = await server.ask(`${KV}/%5Fcount`)
    expect(Buffer.from(await got.arrayBuffer())).toEqual(Buffer.of(0xff))
    const batch = await server.ask(`${KV}/_batch`, { body: [...lines, get].join('\n') })
    const last = (await batch.text()).trim().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toMatchObject({ key: '_count', value: { base64: '/w==' } })
    const first = await server.ask(KV)
    expect(await first.json()).toHaveLength(1000)
    const after = encodeURIComponent(first.headers.get('prestige-next') ?? '')
    expect(await (await server.ask(`${KV}?after=${after}`)).json()).toEqual(['k0999', 'k1000'])
  })

  it('W37: a store is served by the settings that it was made with', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-w37-'))
    try {
      await (await openStore(directory, { canonical: 'unicode' })).close()
      await using server = new TestServer({}, directory)
      await server.put('a', 'Some  TEXT')
      const put = await server.put('b', 'some text')
      expect(put.headers.get('prestige-content')).toBe('linked')
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('W38: a time to live can be given, and values come back byte for byte', async () => {
    let now = Date.now()
    await using server = new TestServer({ store: { clock: () => now } })
    const bytes = Uint8Array.of(0, 255, 10)
    await server.put('a', bytes, { 'prestige-ttl': '2' })
    const got = await server.ask(`${KV}/a`)
    expect(Buffer.from(await got.arrayBuffer())).toEqual(Buffer.from(bytes))
    now += 2000
    expect((await server.ask(`${KV}/a`)).status).toBe(404)
    const swept = await server.ask('/api/v1/admin/sweep', { body: {} })
    expect(await swept.json()).toMatchObject({ expiredKeys: 1 })
  })
})
