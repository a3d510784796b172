/** The client has the interface of a store: the tests of a store run through it, and a server. */

import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

import { createClient } from '../src/client/index.ts'
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
