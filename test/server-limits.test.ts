/** What keys may use, what a server takes, and where it can run. */

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createHttp } from 'node:http'
import { get as getSecurely } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { createClient } from '../src/client/index.ts'
import { createServer, makeKey, type NewKey, nodeHandler } from '../src/server/index.ts'
import { inProcess } from './children/cli.ts'
import { codeOf } from './operations-kit.ts'
import { raw, served } from './server-socket-kit.ts'

describe('a key with a rate', () => {
  async function limited(rate: Pick<NewKey, 'bytesPerSecond' | 'requestsPerSecond'>) {
    const clock = { time: 1_000_000 }
    const { key, secret } = makeKey({ name: 'limited', scope: 'write', ...rate }, 0)
    const server = await served('memory:', { keys: [key], clock: () => clock.time })
    return {
      ...server,
      clock,
      secret,
      client: createClient(server.url, { key: secret, retriesMax: 0 }),
    }
  }

  it('of bytes is refused once it has sent too many, until they are paid for', async () => {
    await using world = await limited({ bytesPerSecond: 1000 })
    const { client, clock } = world
    await client.put('a', 'x'.repeat(15_000))
    expect(await codeOf(client.get('a'))).toBe('RATE_LIMITED')
    clock.time += 6000
    expect(await client.has('a')).toBe(true)
  })

  it('of bytes counts those that come without a length, and those that are sent', async () => {
    await using world = await limited({ bytesPerSecond: 1000 })
    const { client, clock } = world
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 4; at++) yield Buffer.alloc(3000, 'x')
    }
    await client.put('a', pieces())
    expect(await codeOf(client.get('a'))).toBe('RATE_LIMITED')
    clock.time += 10_000
    expect((await client.get('a'))?.byteLength).toBe(12_000)
    expect(await codeOf(client.get('a'))).toBe('RATE_LIMITED')
  })

  it('of requests is told when to come again', async () => {
    await using world = await limited({ requestsPerSecond: 1 })
    for (let at = 0; at < 10; at++) await world.client.has('a')
    const refused = await fetch(`${world.url}/api/v1/kv`, {
      headers: { 'x-api-key': world.secret },
    })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  })

  it('of 0 is not made, and one that a file has is refused with a time', async () => {
    const wanted = { name: 'dead', scope: 'read', requestsPerSecond: 0 } as const
    expect(() => makeKey(wanted, 0)).toThrow('requestsPerSecond is a number greater than 0')
    const { key, secret } = makeKey({ ...wanted, requestsPerSecond: 1 }, 0)
    await using server = await served('memory:', { keys: [{ ...key, requestsPerSecond: 0 }] })
    const headers = { 'x-api-key': secret }
    const refused = await fetch(`${server.url}/api/v1/kv`, { headers })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '86400'])
  })

  it('that is not known is not called missing', async () => {
    const { key } = makeKey({ name: 'known', scope: 'read' }, 0)
    const { secret } = makeKey({ name: 'removed', scope: 'read' }, 0)
    await using server = await served('memory:', { keys: [key] })
    const message = async (headers: Record<string, string>) => {
      const answer = await fetch(`${server.url}/api/v1/kv`, { headers })
      expect(answer.status).toBe(401)
      return Object(await answer.json()).message
    }
    expect(await message({})).toContain('A key is needed')
    expect(await message({ 'x-api-key': secret })).toContain('not known here')
    expect(await message({ authorization: 'Bearer wrong' })).toContain('not known here')
  })
})

describe('prestige keys', () => {
  async function withFile(
    use: (keys: (...args: string[]) => ReturnType<typeof inProcess>) => Promise<void>,
  ) {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-keys-'))
    const file = join(directory, 'keys.json')
    try {
      await use((...args) => inProcess(['keys', ...args, '--keys', file]))
    } finally {
      await rm(directory, { recursive: true })
    }
  }

  it('remove refuses a name that several keys have, with their ids, and reports what it removed', () =>
    withFile(async (keys) => {
      for (const name of ['app', 'app', 'other']) await keys('add', name)
      const listed: { id: string }[] = (await keys('list', '--json')).json
      const [first = '', second = ''] = listed.map(({ id }) => id)
      const refused = await keys('remove', 'app')
      expect(refused.code).toBe(2)
      expect(refused.err).toContain(`${first}, ${second}`)
      expect((await keys('list', '--json')).json).toHaveLength(3)
      expect((await keys('remove', first)).text).toContain(`removed app (${first})`)
      expect((await keys('remove', 'app', '--json')).json).toEqual({
        removed: { id: second, name: 'app' },
      })
      expect((await keys('list', '--json')).json).toMatchObject([{ name: 'other' }])
      expect((await keys('remove', 'app')).code).toBe(2)
    }))

  it('list has aligned columns, and rates', () =>
    withFile(async (keys) => {
      await keys('add', 'a')
      await keys('add', 'longer', '--requests-per-second', '5', '--bytes-per-second', '2MiB')
      const lines = (await keys('list')).text.trimEnd().split('\n')
      expect(lines).toHaveLength(3)
      const [head = '', first = '', second = ''] = lines
      for (const line of [first, second])
        expect(line.indexOf(' read ')).toBe(head.indexOf(' scope'))
      expect(second).toMatch(/ 5 +2\.0 MiB /)
      expect(first).toMatch(/ any +any /)
    }))

  it('add refuses a rate of 0, by which a key could do nothing', () =>
    withFile(async (keys) => {
      for (const option of ['--requests-per-second', '--bytes-per-second']) {
        const refused = await keys('add', 'dead', option, '0')
        expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(`${option} 0`)])
      }
      expect((await keys('list', '--json')).json).toEqual([])
    }))
})

describe('a server', () => {
  it('answers fetch with a Response of the platform', async () => {
    const server = createServer('memory:')
    const address = 'http://localhost/api/v1/kv/key'
    const put = await server.fetch(new Request(address, { method: 'PUT', body: 'value' }))
    expect([put.status, Object(await put.clone().json()).status]).toEqual([201, 'ok'])
    const found = await server.fetch(new Request(address))
    expect(await new Response(found.body, found).text()).toBe('value')
    await server.close()
  })

  it('runs inside a server of Node that has other paths', async () => {
    const prestige = createServer('memory:')
    const handle = nodeHandler(prestige)
    const http = createHttp((request, reply) => {
      if (request.url?.startsWith('/api/v1/')) handle(request, reply)
      else reply.end('another page\n')
    })
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    const { port } = http.address() as AddressInfo // safe: it listens on a port
    const client = createClient(`http://127.0.0.1:${port}`)
    expect((await client.put('key', 'value')).key).toBe('created')
    expect(await client.getText('key')).toBe('value')
    expect((await raw(port, ['GET / HTTP/1.1\r\nHost: a\r\n\r\n'])).text).toContain('another page')
    http.close()
    http.closeAllConnections()
    await prestige.close()
  })

  it('speaks TLS with a certificate', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-tls-'))
    const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const args = ['req', '-x509', ...curve, ...subject, '-keyout', keyFile, '-out', certFile]
    execFileSync('openssl', args, { stdio: 'ignore' })
    const [cert, key] = [await readFile(certFile), await readFile(keyFile)]
    await rm(directory, { recursive: true })
    await using server = await served('memory:', {}, { tls: { cert, key } })
    expect(server.url).toMatch(/^https:/)
    const options = { ca: cert, host: '127.0.0.1', port: server.port, servername: 'localhost' }
    const status = await new Promise((resolve, reject) => {
      getSecurely({ ...options, path: '/health' }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      }).on('error', reject)
    })
    expect(status).toBe(200)
  })
})
