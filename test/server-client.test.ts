/** The client has the interface of a store: the tests of a store run through it, and a server. */

import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

import { createClient } from '../src/client/index.ts'
import type { PutOptions } from '../src/index.ts'
import { type Basics, codeOf, describeBasics } from './operations-kit.ts'
import { served } from './server-socket-kit.ts'

async function opened(clock: () => number): Promise<Basics> {
  const server = await served('memory:', { store: { clock } })
  const client = createClient(server.url)
  const stats = async () => {
    const count: unknown = await (await fetch(`${server.url}/api/v1/kv/_count`)).json()
    const { keys, unique_values: contents } = Object(count)
    return { keys, contents } as Awaited<ReturnType<Basics['stats']>>
  }
  return Object.assign(client, { stats, close: () => server.close() })
}

describe('a store behind a server', () => describeBasics(opened))

describe('the client', () => {
  it('streams long values in both directions, and ranges of them', async () => {
    await using server = await served('memory:')
    const client = createClient(server.url)
    const value = randomBytes(3 * 2 ** 20)
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < value.length; at += 100_000) yield value.subarray(at, at + 100_000)
    }
    expect((await client.put('long', pieces())).bytes).toBe(value.length)
    expect(value.equals((await client.get('long')) ?? Buffer.alloc(0))).toBe(true)
    const parts: Uint8Array[] = []
    const range = await client.getStream('long', { start: 10, end: 200_000 })
    for await (const part of range ?? []) parts.push(part)
    expect(Buffer.concat(parts).equals(value.subarray(10, 200_000))).toBe(true)
    expect(await client.getStream('missing')).toBeUndefined()
  })

  it('puts, gets, lists and deletes many, over several pages', async () => {
    await using server = await served('memory:')
    const client = createClient(server.url)
    const items = Array.from({ length: 1200 }, (_, at) => ({ key: `k${at}`, value: `v${at}` }))
    const outcomes = await client.putMany(items)
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([])
    const listed: string[] = []
    for await (const [key, value] of client) listed.push(`${key}=${value}`)
    const sorted = items.toSorted((one, other) => (one.key < other.key ? -1 : 1))
    expect(listed).toEqual(sorted.map(({ key, value }) => `${key}=${value}`))
    const deleted = await client.deleteMany(items.map(({ key }) => key))
    expect(deleted.every(({ result }) => result === true)).toBe(true)
  })

  it('puts, gets and deletes many in few requests, with metadata, and an outcome for each', async () => {
    await using server = await served('memory:')
    const paths: string[] = []
    const client = createClient(server.url, {
      fetch: (url, init) => {
        paths.push(new URL(url instanceof Request ? url.url : url).pathname)
        return fetch(url, init)
      },
    })
    const long = Buffer.alloc(100_000, 'l')
    const bytes = Buffer.from([0, 255])
    const metadata = { 'content-type': 'text/x', author: 'Zoë' }
    const put = await client.putMany([
      ...Array.from({ length: 300 }, (_, at) => ({ key: `k${at}`, value: `v${at}` })),
      { key: 'k0', value: 'not again', ifAbsent: true },
      { key: bytes, value: bytes, metadata },
      { key: 'long', value: long },
    ])
    expect(put.filter(({ ok }) => !ok)).toMatchObject([
      { key: 'k0', error: { code: 'PRECONDITION_FAILED' } },
    ])
    const got = await client.getMany(['k299', 'missing', bytes, 'long'])
    expect(got.map(({ result }) => result)).toEqual([Buffer.from('v299'), undefined, bytes, long])
    const head = await fetch(`${server.url}/api/v1/kv/%00%FF`, { method: 'HEAD' })
    expect(head.headers.get('content-type')).toBe('text/x')
    expect(head.headers.get('prestige-meta-author')).toBe('Zo%C3%AB')
    const gone = await client.deleteMany(['k1', 'missing'])
    expect(gone.map(({ result }) => result)).toEqual([true, false])
    expect(paths.filter((path) => path !== '/api/v1/kv/_batch')).toEqual(['/api/v1/kv/long'])
    expect(paths.length).toBeLessThan(30)
  })

  it('explains a key, finds what is similar, and follows changes, as a store does', async () => {
    await using server = await served('memory:', { store: { dedup: 'near', changes: true } })
    const client = createClient(server.url)
    const text =
      'The quick brown fox jumps over the lazy dog, again and again, until the evening comes.'
    await client.put('one', text)
    await client.put('two', text)
    expect(await client.explain('two')).toMatchObject({
      key: Buffer.from('two'),
      sharedWith: [Buffer.from('one')],
    })
    expect(await client.explain('missing')).toBeUndefined()
    const [similar] = await client.similar(text)
    expect(similar?.firstKey).toEqual(Buffer.from('one'))
    const changed: string[] = []
    for await (const { key } of client.changes({ limit: 2 })) changed.push(String(key))
    expect(changed).toEqual(['one', 'two'])
  })

  it('has JSON, text and errors of a store', async () => {
    await using server = await served('memory:')
    const client = createClient(server.url)
    expect(await client.get('before anything was put')).toBeUndefined()
    await client.putJson('json', { b: 1, a: [true] })
    expect(await client.getText('json')).toBe('{"a":[true],"b":1}')
    expect(await client.getJson('json')).toEqual({ a: [true], b: 1 })
    await client.put('bytes', Buffer.from([255]))
    expect(await codeOf(client.getText('bytes'))).toBe('UNREADABLE_VALUE')
    expect(await codeOf(client.get('..'))).toBe('INVALID_KEY')
    expect(await codeOf(createClient('http://127.0.0.1:9', { retriesMax: 0 }).get('a'))).toBe(
      'BACKEND_UNAVAILABLE',
    )
    const aborted = AbortSignal.abort()
    const error = client.put('late', 'v', { signal: aborted })
    await expect(error).rejects.toMatchObject({ code: 'ABORTED', outcome: 'unknown' })
  })

  it('sends metadata, and returns what was put', async () => {
    await using server = await served('memory:')
    const client = createClient(server.url)
    const metadata = { 'content-type': 'application/json', author: ' Zoë  100% 🎉 ' }
    await client.put('one', '{"value":"x"}', { metadata })
    expect(await client.getText('one')).toBe('{"value":"x"}')
    expect((await client.head('one'))?.metadata).toEqual(metadata)
    const octets = { 'content-type': 'application/octet-stream' }
    const outcomes = await client.putMany([
      { key: 'two', value: 'text', metadata: octets },
      { key: 'three', value: 'text' },
    ])
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true])
    expect((await client.getWithHead('two'))?.head.metadata).toEqual(octets)
    expect(await client.getWithHead('three')).toEqual({
      head: await client.head('three'),
      value: Buffer.from('text'),
    })
    expect(await client.head('three')).not.toHaveProperty('metadata')
    expect(await client.getWithHead('none')).toBeUndefined()
    for (const wrong of [{ 'A b': 'x' }, { a: 'new\nline' }, { a: 'x'.repeat(3000) }])
      expect(await codeOf(client.put('k', 'v', { metadata: wrong }))).toBe('INVALID_OPTIONS')
  })

  it('sends a time of expiry as what is left of it', async () => {
    await using server = await served('memory:')
    const client = createClient(server.url)
    const expiresAt = Date.now() + 3_600_000
    const putWith = (options: PutOptions & { expiresAt: number }) => client.put('k', 'v', options)
    const receipt = await putWith({ expiresAt })
    expect(Math.abs((receipt.expiresAt ?? 0) - expiresAt)).toBeLessThan(60_000)
    expect(await codeOf(putWith({ expiresAt: 1 }))).toBe('INVALID_OPTIONS')
    expect(await codeOf(putWith({ expiresAt, ttlMs: 1 }))).toBe('INVALID_OPTIONS')
  })

  it('refuses options that it does not have, by name', () => {
    const options: object = { token: 'prestige_1_2' }
    expect(() => createClient('http://127.0.0.1:9', options)).toThrow(
      'token is not an option of a client. Its options are key, namespace, fetch, retriesMax.',
    )
  })

  it('names a server that cannot be reached, without what is secret in its address', async () => {
    const fails: typeof fetch = () => Promise.reject(new TypeError('failed'))
    const client = createClient('http://me:secret@127.0.0.1:9/below/?token=secret', {
      fetch: fails,
      retriesMax: 0,
    })
    const message = 'The get: http://127.0.0.1:9/below/ cannot be reached, or ended the connection.'
    await expect(client.get('a')).rejects.toMatchObject({ message })
  })

  it('gives up after a time', async () => {
    const never: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      })
    const client = createClient('http://127.0.0.1:9', { fetch: never })
    await expect(client.get('a', { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'TIMED_OUT',
      outcome: 'not-done',
    })
  })

  it('asks again only where that is safe', async () => {
    const calls: string[] = []
    const failing = (answer: () => Response): typeof fetch => {
      return async (_, init) => {
        calls.push(String(init?.method))
        return answer()
      }
    }
    const lost = createClient('http://127.0.0.1:9', {
      fetch: failing(() => {
        throw new TypeError('connection lost')
      }),
      retriesMax: 1,
    })
    for (const call of [() => lost.get('a'), () => lost.put('a', 'v'), () => lost.delete('a')])
      expect(await codeOf(call())).toBe('BACKEND_UNAVAILABLE')
    expect(calls.toSorted()).toEqual(['DELETE', 'GET', 'GET', 'PUT'])
    calls.length = 0
    const headers = { 'prestige-code': 'OVERLOADED' }
    const busy = failing(() => new Response('{}', { status: 503, headers }))
    const client = createClient('http://127.0.0.1:9', { fetch: busy, retriesMax: 1 })
    expect(await codeOf(client.put('a', 'v'))).toBe('OVERLOADED')
    expect(calls).toEqual(['PUT', 'PUT'])
  })

  it('needs nothing of Node', async () => {
    const { outputFiles } = await build({
      entryPoints: ['src/client/index.ts'],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      logLevel: 'silent',
    })
    expect(outputFiles[0]?.text).not.toMatch(/from ['"]node:/)
    for (const name of readdirSync('src/client'))
      expect(readFileSync(`src/client/${name}`, 'utf8')).not.toContain("'node:")
  })
})
