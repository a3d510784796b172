/** The proxy as a part of the service: its keys stay here, its pages are nobody's pages, and it goes to one place. */

import { expect, it } from 'vitest'

import { createServer, makeKey } from '../src/server/index.ts'
import { TestUpstream } from './proxy-kit.ts'
import { TestServer } from './server-kit.ts'
import { raw, served } from './server-socket-kit.ts'

it('passes everything below /proxy/ on, keeps it, and counts', async () => {
  await using upstream = await TestUpstream.start()
  await using server = new TestServer({ proxy: { upstream: `${upstream.url}/base` } })
  upstream.handler = (_, reply) =>
    reply.writeHead(200, { 'cache-control': 'max-age=60', 'clear-site-data': '"*"' }).end('page')
  const states: (string | null)[] = []
  for (const _ of [1, 2]) {
    const got = await server.ask('/proxy/a/b?c=1&c=2')
    expect(await got.text()).toBe('page')
    expect(got.headers.get('content-security-policy')).toMatch(/^sandbox/)
    expect(got.headers.has('clear-site-data')).toBe(false)
    states.push(got.headers.get('x-prestige-cache'))
  }
  expect(states).toEqual(['MISS', 'HIT'])
  expect(upstream.asked).toEqual(['GET /base/a/b?c=1&c=2'])
  const sent = await server.ask('/proxy/a', {
    method: 'PATCH',
    body: 'x',
    headers: { 'content-length': '1' },
  })
  expect(sent.headers.get('x-prestige-cache')).toBe('BYPASS')
  expect(await sent.text()).toBe('page') // the server waits for answers that nobody has read
  const metrics = await (await server.ask('/metrics')).text()
  expect(metrics).toMatch(/^prestige_proxy_cache_hits_total 1$/m)
  expect(metrics).toMatch(/^prestige_proxy_cache_misses_total 1$/m)
  expect(metrics).toMatch(/^prestige_proxy_cache_bypasses_total 1$/m)
  expect(metrics).toContain('prestige_proxy_upstream_latency_ms_bucket')
  const listed = await (await server.ask('/api/v1/kv')).text()
  expect(listed).not.toContain('proxy:')
})

it('is not there without an upstream, and refuses one that is none', async () => {
  await using server = new TestServer()
  expect((await server.ask('/proxy/a')).status).toBe(404)
  const bad = () => createServer('memory:', { proxy: { upstream: 'ftp://x' } })
  expect(bad).toThrow(/upstream: must be an http or https URL/)
})

it('never gives its own key to the upstream', async () => {
  await using upstream = await TestUpstream.start()
  const { key, secret } = makeKey({ name: 'reader', scope: 'read' }, 0)
  await using server = new TestServer({ keys: [key], proxy: { upstream: upstream.url } })
  const authorization = `Bearer ${secret}`
  expect((await server.ask('/proxy/a')).status).toBe(401)
  await server.ask('/proxy/a', { headers: { authorization } })
  await server.ask('/proxy/b', { headers: { 'x-api-key': secret, authorization: 'Basic up' } })
  await server.ask('/proxy/c', {
    headers: { authorization, 'prestige-upstream-authorization': 'Bearer up' },
  })
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([
    undefined,
    'Basic up',
    'Bearer up',
  ])
  expect(JSON.stringify(upstream.requests.map(({ rawHeaders }) => rawHeaders))).not.toContain(
    secret,
  )
  const changing = await server.ask('/proxy/a', { method: 'DELETE', headers: { authorization } })
  expect(changing.status).toBe(403)
})

it('over a socket: cookies one by one, no other host, and no half answer', async () => {
  await using upstream = await TestUpstream.start()
  await using server = await served('memory:', { proxy: { upstream: upstream.url } })
  upstream.handler = (request, reply) => {
    if (request.url === '/cookies')
      return reply.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end('x')
    reply.writeHead(200, { 'cache-control': 'max-age=60', 'content-length': 1000 })
    return reply.write('half', () => reply.destroy())
  }
  const got = await fetch(`${server.url}/proxy/cookies`)
  expect(got.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  const posted = await fetch(`${server.url}/proxy/cookies`, { method: 'POST', body: 'sent' })
  expect(await posted.text()).toBe('x')
  for (const _ of [1, 2])
    await expect(fetch(`${server.url}/proxy/half`).then((reply) => reply.text())).rejects.toThrow()
  const ask = (target: string) =>
    raw(server.port, [`GET ${target} HTTP/1.1\r\nhost: localhost\r\n\r\n`])
  for (const target of ['/proxy//evil.test/', '/proxy/%2e%2e/x', '/proxy/a/../b'])
    expect((await ask(target)).codes).toEqual([400])
  const before = upstream.asked.length
  await ask('http://evil.test/proxy/cookies')
  expect(upstream.asked.slice(before)).toEqual(['GET /cookies'])
  expect(upstream.requests.at(-1)!.headers.host).toBe(new URL(upstream.url).host)
})
