/** The caching proxy in front of a real upstream: the rules of RFC 9111, and what goes wrong. */

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { cacheKey, variantOf } from '../src/proxy/cache-key.ts'
import { Upstream } from '../src/proxy/target.ts'
import { TestProxy, TestUpstream } from './proxy-kit.ts'

let upstream: TestUpstream
let proxy: TestProxy
beforeEach(async () => {
  upstream = await TestUpstream.start()
  proxy = await TestProxy.before(upstream)
})
afterEach(async () => {
  await proxy[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

type Fields = Readonly<Record<string, string | string[]>>

/** Each answer has another body. */
function answers(fields: Fields, status = 200): void {
  upstream.handler = (_, reply) =>
    reply.writeHead(status, fields).end(`body ${upstream.asked.length}`)
}

const ago = (seconds: number) => new Date(proxy.now - seconds * 1000).toUTCString()

interface Case {
  readonly name: string
  readonly status?: number
  readonly sent: Fields | (() => Fields)
  /** Of both requests, and of the second alone. */
  readonly asked?: Record<string, string>
  readonly second?: Record<string, string>
  /** Seconds between the two. */
  readonly after?: number
  readonly expected: 'HIT' | 'MISS' | 'STALE' | 'BYPASS'
}

const cases: readonly Case[] = [
  { name: 'max-age', sent: { 'cache-control': 'max-age=60' }, after: 59, expected: 'HIT' },
  { name: 'max-age is over', sent: { 'cache-control': 'max-age=60' }, after: 61, expected: 'MISS' },
  {
    name: 'max-age with Age',
    sent: { 'cache-control': 'max-age=60', age: '50' },
    after: 11,
    expected: 'MISS',
  },
  {
    name: 'max-age of an old Date',
    sent: () => ({ 'cache-control': 'max-age=60', date: ago(50) }),
    after: 11,
    expected: 'MISS',
  },
  {
    name: 's-maxage before max-age',
    sent: { 'cache-control': 'max-age=1, s-maxage=60' },
    after: 30,
    expected: 'HIT',
  },
  { name: 's-maxage=0', sent: { 'cache-control': 'max-age=60, s-maxage=0' }, expected: 'MISS' },
  {
    name: 'max-age twice',
    sent: { 'cache-control': 'max-age=60, max-age=5' },
    after: 6,
    expected: 'MISS',
  },
  { name: 'max-age that is no number', sent: { 'cache-control': 'max-age=abc' }, expected: 'MISS' },
  {
    name: 'max-age in quotes and capitals',
    sent: { 'cache-control': 'Max-Age="60"' },
    expected: 'HIT',
  },
  {
    name: 'Expires',
    sent: () => ({ date: ago(0), expires: ago(-60) }),
    after: 50,
    expected: 'HIT',
  },
  {
    name: 'Expires is over',
    sent: () => ({ date: ago(0), expires: ago(-60) }),
    after: 61,
    expected: 'MISS',
  },
  { name: 'Expires: 0', sent: { expires: '0' }, expected: 'MISS' },
  {
    name: 'max-age before Expires',
    sent: () => ({ 'cache-control': 'max-age=60', expires: ago(60) }),
    expected: 'HIT',
  },
  {
    name: 'no term: nothing is guessed',
    sent: () => ({ 'last-modified': ago(1e6) }),
    expected: 'MISS',
  },
  { name: 'no-store', sent: { 'cache-control': 'no-store, max-age=60' }, expected: 'MISS' },
  { name: 'private', sent: { 'cache-control': 'private, max-age=60' }, expected: 'MISS' },
  {
    name: 'private of a field',
    sent: { 'cache-control': 'private="x-a, x-b", max-age=60' },
    expected: 'MISS',
  },
  {
    name: 'no-store within quotes is none',
    sent: { 'cache-control': 'max-age=60, ext="no-store"' },
    expected: 'HIT',
  },
  {
    name: 'no-cache',
    sent: { 'cache-control': 'no-cache, max-age=60', etag: '"a"' },
    expected: 'MISS',
  },
  {
    name: 'Set-Cookie',
    sent: { 'cache-control': 'public, max-age=60', 'set-cookie': ['a=1', 'b=2'] },
    expected: 'MISS',
  },
  { name: 'Vary: *', sent: { 'cache-control': 'max-age=60', vary: '*' }, expected: 'MISS' },
  {
    name: '404 with a term',
    status: 404,
    sent: { 'cache-control': 'max-age=60' },
    expected: 'HIT',
  },
  {
    name: '301 with a term',
    status: 301,
    sent: { 'cache-control': 'max-age=60', location: '/b' },
    expected: 'HIT',
  },
  {
    name: '500 with a term',
    status: 500,
    sent: { 'cache-control': 'max-age=60' },
    expected: 'MISS',
  },
  {
    name: '206',
    status: 206,
    sent: { 'cache-control': 'max-age=60', 'content-range': 'bytes 0-3/9' },
    expected: 'MISS',
  },
  {
    name: 'an unknown code',
    status: 299,
    sent: { 'cache-control': 'max-age=60' },
    expected: 'MISS',
  },
  {
    name: 'Authorization',
    sent: { 'cache-control': 'max-age=60' },
    asked: { authorization: 'Basic a' },
    expected: 'MISS',
  },
  {
    name: 'Authorization and public',
    sent: { 'cache-control': 'public, max-age=60' },
    asked: { authorization: 'Basic a' },
    expected: 'HIT',
  },
  {
    name: 'Authorization and s-maxage',
    sent: { 'cache-control': 's-maxage=60' },
    asked: { authorization: 'Basic a' },
    expected: 'HIT',
  },
  {
    name: 'another Authorization',
    sent: { 'cache-control': 'public, max-age=60' },
    asked: { authorization: 'Basic a' },
    second: { authorization: 'Basic b' },
    expected: 'MISS',
  },
  {
    name: 'no Authorization after one',
    sent: { 'cache-control': 'public, max-age=60' },
    asked: { authorization: 'Basic a' },
    second: {},
    expected: 'MISS',
  },
  {
    name: 'another Cookie',
    sent: { 'cache-control': 'public, max-age=60' },
    asked: { cookie: 'a=1' },
    second: { cookie: 'a=2' },
    expected: 'MISS',
  },
  {
    name: 'Vary, the same',
    sent: { 'cache-control': 'max-age=60', vary: 'Accept-Language' },
    asked: { 'accept-language': 'de, en' },
    second: { 'accept-language': 'de,en' },
    expected: 'HIT',
  },
  {
    name: 'Vary, another',
    sent: { 'cache-control': 'max-age=60', vary: 'Accept-Language' },
    asked: { 'accept-language': 'de' },
    second: { 'accept-language': 'en' },
    expected: 'MISS',
  },
  {
    name: 'request no-store',
    sent: { 'cache-control': 'max-age=60' },
    second: { 'cache-control': 'no-store' },
    expected: 'BYPASS',
  },
  {
    name: 'request no-cache',
    sent: { 'cache-control': 'max-age=60' },
    second: { 'cache-control': 'no-cache' },
    expected: 'MISS',
  },
  {
    name: 'request Pragma: no-cache',
    sent: { 'cache-control': 'max-age=60' },
    second: { pragma: 'no-cache' },
    expected: 'MISS',
  },
  {
    name: 'request max-age',
    sent: { 'cache-control': 'max-age=60' },
    second: { 'cache-control': 'max-age=5' },
    after: 6,
    expected: 'MISS',
  },
  {
    name: 'request min-fresh',
    sent: { 'cache-control': 'max-age=60' },
    second: { 'cache-control': 'min-fresh=30' },
    after: 31,
    expected: 'MISS',
  },
  {
    name: 'request max-stale',
    sent: { 'cache-control': 'max-age=60', etag: '"a"' },
    second: { 'cache-control': 'max-stale=10' },
    after: 65,
    expected: 'STALE',
  },
  {
    name: 'request max-stale, must-revalidate',
    sent: { 'cache-control': 'max-age=60, must-revalidate', etag: '"a"' },
    second: { 'cache-control': 'max-stale' },
    after: 65,
    expected: 'MISS',
  },
  {
    name: 'request Range',
    sent: { 'cache-control': 'max-age=60' },
    second: { range: 'bytes=0-1' },
    expected: 'BYPASS',
  },
  {
    name: 'stale-while-revalidate',
    sent: { 'cache-control': 'max-age=60, stale-while-revalidate=30' },
    after: 80,
    expected: 'STALE',
  },
  {
    name: 'stale-while-revalidate is over',
    sent: { 'cache-control': 'max-age=60, stale-while-revalidate=30' },
    after: 91,
    expected: 'MISS',
  },
]

describe('an answer is used again as RFC 9111 says', () => {
  it.each(cases)('$name: $expected', async (one) => {
    const { status, sent, asked = {}, second = asked, after = 0, expected } = one
    answers(typeof sent === 'function' ? sent() : sent, status)
    const first = await proxy.ask('/a', { headers: asked })
    expect(first.cache).toBe('MISS')
    proxy.now += after * 1000
    const again = await proxy.ask('/a', { headers: second })
    expect(again.cache).toBe(expected)
    expect(again.status).toBe(status ?? 200)
    const isKept = expected === 'HIT' || expected === 'STALE'
    expect(again.text).toBe(isKept ? 'body 1' : 'body 2')
    expect(again.headers.has('x-prestige-cached-at')).toBe(isKept)
    if (expected === 'HIT') expect(Number(again.headers.get('age'))).toBeGreaterThanOrEqual(after)
  })
})

describe('what is no longer fresh is validated', () => {
  const withTag = (tag: string, fields: Fields = {}) => {
    upstream.handler = (request, reply) => {
      const isKnown = request.headers['if-none-match'] === tag
      reply.writeHead(isKnown ? 304 : 200, {
        date: ago(0),
        etag: tag,
        'cache-control': 'max-age=60',
        ...fields,
      })
      reply.end(isKnown ? undefined : `body ${upstream.asked.length}`)
    }
  }

  it('304 makes it fresh again, with the headers that came with it', async () => {
    withTag('"v1"')
    await proxy.ask('/a')
    proxy.now += 61_000
    withTag('"v1"', { 'x-new': 'yes', 'content-type': 'no/no' })
    const got = await proxy.ask('/a')
    expect(got).toMatchObject({ status: 200, cache: 'HIT', text: 'body 1' })
    expect(got.headers.get('x-new')).toBe('yes')
    expect(got.headers.get('content-type')).toBeNull()
    expect(upstream.asked).toHaveLength(2)
    proxy.now += 50_000
    expect((await proxy.ask('/a')).cache).toBe('HIT')
    expect(upstream.asked).toHaveLength(2)
  })

  it('another version takes its place', async () => {
    withTag('"v1"')
    await proxy.ask('/a')
    proxy.now += 61_000
    withTag('"v2"')
    expect(await proxy.ask('/a')).toMatchObject({ cache: 'MISS', text: 'body 2' })
    expect(await proxy.ask('/a')).toMatchObject({ cache: 'HIT', text: 'body 2' })
  })

  it('a 304 about another version is not believed', async () => {
    withTag('"v1"')
    await proxy.ask('/a')
    proxy.now += 61_000
    upstream.handler = (request, reply) =>
      request.headers['if-none-match'] === undefined
        ? reply.end('whole')
        : reply.writeHead(304, { etag: '"v9"' }).end()
    expect(await proxy.ask('/a')).toMatchObject({ status: 200, text: 'whole' })
  })

  it('a client that has it gets 304, from the store and at a miss', async () => {
    withTag('"v1"')
    const headers = { 'if-none-match': 'W/"v1", "x"' }
    expect(await proxy.ask('/a', { headers })).toMatchObject({
      status: 304,
      cache: 'MISS',
      text: '',
    })
    expect(await proxy.ask('/a', { headers })).toMatchObject({
      status: 304,
      cache: 'HIT',
      text: '',
    })
    expect(await proxy.ask('/a')).toMatchObject({ status: 200, cache: 'HIT', text: 'body 1' })
    expect(upstream.requests[0]!.headers['if-none-match']).toBeUndefined()
  })

  it('is used in place of a failure where stale-if-error allows it', async () => {
    withTag('"v1"', { 'cache-control': 'max-age=60, stale-if-error=100' })
    await proxy.ask('/a')
    proxy.now += 120_000
    upstream.handler = (_, reply) => reply.writeHead(503).end('down')
    expect(await proxy.ask('/a')).toMatchObject({ status: 200, cache: 'STALE', text: 'body 1' })
    upstream.handler = (_, reply) => reply.destroy()
    expect(await proxy.ask('/a')).toMatchObject({ status: 200, cache: 'STALE', text: 'body 1' })
    proxy.now += 60_000
    expect(await proxy.ask('/a')).toMatchObject({ status: 502, cache: null })
  })
})

describe('methods', () => {
  it('HEAD is answered from a GET, and is not kept itself', async () => {
    answers({ 'cache-control': 'max-age=60' })
    expect(await proxy.ask('/a', { method: 'HEAD' })).toMatchObject({ cache: 'MISS', text: '' })
    expect((await proxy.ask('/a')).cache).toBe('MISS')
    const head = await proxy.ask('/a', { method: 'HEAD' })
    expect(head).toMatchObject({ cache: 'HIT', text: '' })
    expect(head.headers.get('content-length')).toBe('6')
    expect(upstream.asked).toEqual(['HEAD /a', 'GET /a'])
  })

  it.each(['PUT', 'POST', 'DELETE', 'PATCH'])(
    '%s always goes to the upstream, and invalidates',
    async (method) => {
      answers({ 'cache-control': 'max-age=60', 'content-location': '/b' })
      await proxy.ask('/a?q=1')
      await proxy.ask('/b')
      await proxy.ask('/a?q=1', { headers: { authorization: 'x' } })
      for (const _ of [1, 2])
        expect(
          (await proxy.ask('/a?q=1', { method, ...(method !== 'DELETE' && { body: 'new' }) }))
            .cache,
        ).toBe('BYPASS')
      expect(upstream.asked.filter((one) => one === `${method} /a?q=1`)).toHaveLength(2)
      expect((await proxy.ask('/a?q=1')).cache).toBe('MISS')
      expect((await proxy.ask('/b')).cache).toBe('MISS')
    },
  )

  it('a change that the upstream refused invalidates nothing', async () => {
    answers({ 'cache-control': 'max-age=60' })
    await proxy.ask('/a')
    answers({}, 403)
    await proxy.ask('/a', { method: 'DELETE' })
    expect((await proxy.ask('/a')).cache).toBe('HIT')
  })

  it('an answer that was under way when its address was changed is not kept', async () => {
    let finish = () => {}
    const begun = new Promise<void>((resolve) => {
      upstream.handler = (request, reply) => {
        if (request.method !== 'GET') return reply.end()
        reply.writeHead(200, { 'cache-control': 'max-age=60' }).write('old ')
        finish = () => reply.end('value')
        return resolve()
      }
    })
    const old = proxy.ask('/a')
    await begun
    await proxy.ask('/a', { method: 'PUT', body: 'new' })
    finish()
    expect((await old).text).toBe('old value')
    await proxy.proxy.close()
    const keys: string[] = []
    for await (const key of proxy.store.keys()) keys.push(key.toString())
    expect(keys).toEqual([])
  })

  it('a body is sent on with its type and its headers', async () => {
    const parts: Buffer[] = []
    upstream.handler = (request, reply) =>
      request
        .on('data', (part: Buffer) => parts.push(part))
        .on('end', () => reply.writeHead(201).end())
    const headers = {
      'content-type': 'text/x',
      'x-own': '1',
      connection: 'x-hop',
      'x-hop': '1',
      te: 'trailers',
    }
    const got = await proxy.ask('/a', { method: 'POST', body: 'sent', headers })
    expect(got.status).toBe(201)
    expect(Buffer.concat(parts).toString()).toBe('sent')
    const { headers: seen } = upstream.requests[0]!
    expect(seen).toMatchObject({ 'content-type': 'text/x', 'x-own': '1' })
    expect(seen['x-hop'] ?? seen['te']).toBeUndefined()
    expect(seen.host).toBe(new URL(upstream.url).host)
  })
})

describe('many at once', () => {
  it('misses of one address ask the upstream once', async () => {
    upstream.handler = (_, reply) => {
      reply.writeHead(200, { 'cache-control': 'max-age=60' }).write('begin ')
      setTimeout(() => reply.end('end'), 20)
    }
    const all = await Promise.all(Array.from({ length: 20 }, () => proxy.ask('/a')))
    expect(upstream.asked).toHaveLength(1)
    expect(all.map(({ text }) => text)).toEqual(all.map(() => 'begin end'))
    expect(all.filter(({ cache }) => cache === 'MISS')).toHaveLength(1)
  })

  it('two users never share, however they interleave', async () => {
    upstream.handler = (request, reply) => {
      const fields = { 'cache-control': 'public, max-age=60' }
      setTimeout(() => reply.writeHead(200, fields).end(`for ${request.headers.authorization}`), 5)
    }
    const ask = (user: string) => proxy.ask('/a', { headers: { authorization: user } })
    for (let round = 0; round < 3; round++) {
      const users = ['ann', 'bob', 'ann', 'cyd', 'bob']
      const all = await Promise.all(users.map(ask))
      expect(all.map(({ text }) => text)).toEqual(users.map((user) => `for ${user}`))
    }
    expect(upstream.asked).toHaveLength(3)
  })

  it('what is private is asked for by everybody', async () => {
    let count = 0
    upstream.handler = (_, reply) =>
      reply.writeHead(200, { 'cache-control': 'private' }).end(String(++count))
    const all = await Promise.all(Array.from({ length: 5 }, () => proxy.ask('/a')))
    expect(new Set(all.map(({ text }) => text)).size).toBe(5)
  })

  it('equal bodies are kept once', async () => {
    upstream.handler = (_, reply) =>
      reply.writeHead(200, { 'cache-control': 'max-age=60' }).end('x'.repeat(50_000))
    for (const path of ['/a', '/b', '/c']) await proxy.ask(path)
    for (const path of ['/a', '/b', '/c']) expect((await proxy.ask(path)).cache).toBe('HIT')
    const keys: string[] = []
    for await (const key of proxy.store.keys({ prefix: 'proxy:1:body:' })) keys.push(key.toString())
    expect(keys).toHaveLength(3)
    const ids = await Promise.all(keys.map(async (key) => (await proxy.store.head(key))?.contentId))
    expect(new Set(ids).size).toBe(1)
  })
})

describe('what goes wrong', () => {
  const LONG = 300_000

  it.each(['length', 'chunked'])(
    'an upstream that dies in the middle (%s) leaves nothing',
    async (form) => {
      upstream.handler = (_, reply) => {
        reply.writeHead(200, {
          'cache-control': 'max-age=60',
          ...(form === 'length' && { 'content-length': LONG }),
        })
        reply.write('x'.repeat(LONG / 2), () => reply.destroy())
      }
      const one = () =>
        proxy.proxy.fetch(new Request('http://p/a')).then((response) => response.text())
      await expect(one()).rejects.toThrow()
      const others = await Promise.allSettled([one(), one(), one()])
      expect(others.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
      upstream.handler = (_, reply) =>
        reply.writeHead(200, { 'cache-control': 'max-age=60' }).end('whole')
      expect(await proxy.ask('/a')).toMatchObject({ cache: 'MISS', text: 'whole' })
      expect(await proxy.ask('/a')).toMatchObject({ cache: 'HIT', text: 'whole' })
    },
  )

  it('an answer whose end cannot be told from a lost connection is not kept', async () => {
    upstream.handler = (_, reply) => {
      reply.socket?.end(
        'HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\nconnection: close\r\n\r\nhalf?',
      )
    }
    expect(await proxy.ask('/a')).toMatchObject({ cache: 'MISS', text: 'half?' })
    expect((await proxy.ask('/a')).cache).toBe('MISS')
  })

  it.each([
    ['announced', { 'content-length': '2000' }],
    ['not announced', {}],
  ])('a body that is too long (%s) is passed on whole, and not kept', async (_, fields) => {
    await using small = await TestProxy.before(upstream, { cacheBytesMax: 1000 })
    upstream.handler = (_, reply) => {
      reply.writeHead(200, { 'cache-control': 'max-age=60', ...fields })
      for (let piece = 0; piece < 20; piece++) reply.write('x'.repeat(100))
      reply.end()
    }
    for (const _ of [1, 2]) {
      const got = await small.ask('/a')
      expect([got.cache, got.text.length]).toEqual(['MISS', 2000])
    }
  })

  it('a client that leaves early does not stop it from being kept', async () => {
    const text = 'x'.repeat(2_000_000)
    upstream.handler = (_, reply) =>
      reply.writeHead(200, { 'cache-control': 'max-age=60' }).end(text)
    const response = await proxy.proxy.fetch(new Request('http://p/a'))
    await response.body!.cancel()
    const got = await proxy.ask('/a')
    expect([got.cache, got.text === text]).toEqual(['HIT', true])
    expect(upstream.asked).toHaveLength(1)
  })

  it('504 for an upstream that does not answer, 502 for one that is not there', async () => {
    await using hasty = await TestProxy.before(upstream, { timeoutMs: 30 })
    upstream.handler = () => undefined
    expect(await hasty.ask('/a')).toMatchObject({ status: 504 })
    await using nobody = await TestProxy.before({ url: 'http://127.0.0.1:1' })
    expect(await nobody.ask('/a')).toMatchObject({ status: 502 })
    expect(await proxy.ask('/a', { headers: { 'cache-control': 'only-if-cached' } })).toMatchObject(
      { status: 504 },
    )
  })

  it('what another version wrote is asked for again', async () => {
    answers({ 'cache-control': 'max-age=60' })
    await proxy.ask('/a')
    expect((await proxy.ask('/a')).cache).toBe('HIT')
    for await (const key of proxy.store.keys({ prefix: 'proxy:1:entry:' }))
      await proxy.store.put(key, '{"format":9}')
    expect((await proxy.ask('/a')).cache).toBe('MISS')
  })
})

describe('no request leaves the upstream', () => {
  it.each([
    '//evil.test/a',
    '/..',
    '/a/../b',
    '/%2e%2e/b',
    '/a/.%2E/b',
    '/%252e%252e/b',
    '/..%2fb',
    '/a%5c..%5cb',
    '/..;/b',
    '/a\\b',
    '/a b',
    '/ä',
  ])('%s is refused', (path) => {
    expect(() => new Upstream('http://up.test/base', '').target(`http://p${path}`)).toThrow(
      /The path begins/,
    )
  })

  it('every path that is accepted is below the upstream', () => {
    const parts = fc.constantFrom(
      '/',
      '.',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '\\',
      '@',
      ':',
      '?',
      '#',
      'a',
      '%25',
      ';',
      '//evil.test',
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 8 }), (pieces) => {
        const up = new Upstream('http://up.test/base', '')
        let url: URL
        try {
          url = new URL(up.target(`http://p/${pieces.join('')}`).url)
        } catch {
          return
        }
        expect(url.origin).toBe('http://up.test')
        expect(url.pathname.startsWith('/base/')).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('the query is sent on, and redirects within the upstream stay within the proxy', async () => {
    await using below = await TestProxy.before({ url: `${upstream.url}/base` }, { mount: '/proxy' })
    upstream.handler = (_, reply) =>
      reply.writeHead(302, { location: `${upstream.url}/base/c?d` }).end()
    const got = await below.ask('/proxy/a?x=1&x=%20')
    expect(upstream.asked).toEqual(['GET /base/a?x=1&x=%20'])
    expect(got.headers.get('location')).toBe('/proxy/c?d')
  })
})

it('keys are equal only if address, Authorization and Cookie are', () => {
  const value = fc.option(fc.constantFrom('a', 'b', 'a,b', 'null', '"', ''), { nil: undefined })
  const request = fc.record({
    url: fc.constantFrom('/a', '/a?', '/a?b', '/b'),
    authorization: value,
    cookie: value,
  })
  const keyOf = ({
    url,
    ...fields
  }: {
    url: string
    authorization?: string | undefined
    cookie?: string | undefined
  }) => cacheKey('p:', url, headersOf(fields)).entry
  const headersOf = (fields: object) =>
    new Headers(Object.entries(fields).filter(([, one]) => one !== undefined))
  fc.assert(
    fc.property(request, request, (one, other) => {
      expect(keyOf(one) === keyOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
    }),
    { numRuns: 500 },
  )
  expect(variantOf(['a', 'b'], headersOf({ a: '1' }))).not.toBe(
    variantOf(['a', 'b'], headersOf({ b: '1' })),
  )
})
