/** The routes of the service, asked as a client asks them; and the OpenAPI document, held against their answers. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Validator } from '@seriousme/openapi-schema-validator'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { AnyRoute } from '../src/server/http/route.ts'
import { Measurements } from '../src/server/measurements.ts'
import { routes } from '../src/server/routes/index.ts'
import { type Asked, TestServer } from './server-kit.ts'

const KV = '/api/v1/kv'
const TEXT =
  'The quick brown fox jumps over the lazy dog and runs far away into the deep dark forest'

async function linesOf(response: Response): Promise<unknown[]> {
  const text = await response.text()
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

describe('a batch', () => {
  const asBatch = (...lines: readonly (object | string)[]): Asked => ({
    body: lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    headers: { 'content-type': 'application/x-ndjson' },
  })

  it('answers a line for each, in order, and one that fails hides no other', async () => {
    await using server = new TestServer()
    const response = await server.ask(
      `${KV}/_batch`,
      asBatch(
        { op: 'put', key: 'a', value: 'one' },
        { op: 'put', key: 'a', value: 'two', ifAbsent: true },
        'no json',
        { op: 'get', key: 'a' },
        { op: 'put', key: { base64: '/w==' }, base64: '/wA=' },
        { op: 'get', key: { base64: '/w==' } },
        { op: 'delete', key: 'a' },
        { op: 'get', key: 'a' },
        { op: 'put', key: 'b' },
        { op: 'sing', key: 'b' },
      ),
    )
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    const lines = await linesOf(response)
    expect(lines).toMatchObject([
      { ok: true, key: 'a', receipt: { content: 'new' } },
      { ok: false, key: 'a', code: 'PRECONDITION_FAILED' },
      { ok: false, code: 'INVALID_REQUEST', message: expect.stringContaining('Line 3') },
      { ok: true, key: 'a', value: 'one' },
      { ok: true, key: { base64: '/w==' } },
      { ok: true, value: { base64: '/wA=' } },
      { ok: true, existed: true },
      { ok: false, key: 'a', code: 'KEY_NOT_FOUND' },
      { ok: false, code: 'INVALID_REQUEST' },
      { ok: false, code: 'INVALID_REQUEST', message: expect.stringContaining('Line 10') },
    ])
  })

  it('says what is wrong with a line in the words of the API', async () => {
    await using server = new TestServer()
    const messages = async (...lines: object[]) => {
      const answers = await linesOf(await server.ask(`${KV}/_batch`, asBatch(...lines)))
      return answers.map((one) => Object(one).message.replace(/^Line \d+ cannot be used. /, ''))
    }
    expect(
      await messages(
        { op: 'zap', key: 'k' },
        { op: 'get', key: 5 },
        { op: 'put', key: 'k', value: 'v', tll: 5 },
        { op: 'put', key: 'k', value: {}, ttl: 0 },
        { op: 'put', key: 'k', base64: '?'.repeat(200) },
      ),
    ).toEqual([
      'op: must be one of put, get, delete, not "zap".',
      'key: must be text or an object, not 5.',
      'tll is not known here. Did you mean ttl?',
      'value: must be text, not an object. ttl: must be greater than 0, not 0.',
      `base64: must be base64, not "${'?'.repeat(59)}….`,
    ])
  })

  it('ends with a line that says why, where it has too many lines', async () => {
    await using server = new TestServer({ limits: { batchLines: 2, lineBytes: 50 } })
    const put = (key: string) => ({ op: 'put', key, value: '' })
    const long = { op: 'put', key: 'long', value: 'x'.repeat(60) }
    const lines = await linesOf(await server.ask(`${KV}/_batch`, asBatch(long, put('b'), put('c'))))
    expect(lines).toMatchObject([
      { ok: false, code: 'BODY_TOO_LARGE' },
      { ok: true, key: 'b' },
      { ok: false, code: 'BODY_TOO_LARGE', message: expect.stringContaining('2 lines') },
    ])
  })
})

describe('values', () => {
  it('come back with their range, tag and type, and long ones as a stream', async () => {
    await using server = new TestServer()
    const long = Buffer.alloc(600_000, 'abc')
    expect((await server.put('long', long)).status).toBe(201)
    const whole = await server.ask(`${KV}/long`)
    expect(whole.headers.get('content-length')).toBe('600000')
    expect(Buffer.from(await whole.arrayBuffer()).equals(long)).toBe(true)
    const part = await server.ask(`${KV}/long`, { headers: { range: 'bytes=3-5' } })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 3-5/600000',
      'abc',
    ])
    await server.put('short', 'short')
    const short = await server.ask(`${KV}/short`)
    expect(short.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    const headers = { 'if-none-match': short.headers.get('etag') ?? '' }
    expect((await server.ask(`${KV}/short`, { headers })).status).toBe(304)
    await server.put('bytes', Uint8Array.of(0xff))
    const bytes = await server.ask(`${KV}/bytes`)
    expect(bytes.headers.get('content-type')).toBe('application/octet-stream')
  })

  it('keep their content type and metadata, and are sandboxed whatever it is', async () => {
    await using server = new TestServer()
    const page = '<script>alert(1)</script>'
    const sent = {
      'content-type': 'text/html; charset=utf-8',
      'prestige-meta-author': 'Zo%C3%AB %F0%9F%8E%89',
      'Prestige-Meta-Step': '100%25',
    }
    const put = await server.put('page', page, sent)
    expect(put.headers.get('prestige-key')).toBe('created')
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await server.ask(`${KV}/page`, { method })
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('prestige-meta-author')).toBe('Zo%C3%AB %F0%9F%8E%89')
      expect(headers.get('prestige-meta-step')).toBe('100%25')
    }
    const json = await server.ask(`${KV}/page`, { headers: { accept: 'application/json' } })
    const metadata = { author: 'Zoë 🎉', step: '100%', 'content-type': sent['content-type'] }
    expect(await json.json()).toEqual({ key: 'page', value: page, metadata })
    const long = Buffer.alloc(600_000, 1)
    await server.put('long', long, { 'content-type': 'image/png' })
    const part = await server.ask(`${KV}/long`, { headers: { range: 'bytes=3-5' } })
    expect([part.status, part.headers.get('content-type')]).toEqual([206, 'image/png'])
    const again = await server.put('page', page)
    expect(again.headers.get('prestige-key')).toBe('replaced')
    const { headers } = await server.ask(`${KV}/page`)
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(headers.get('prestige-meta-author')).toBeNull()
  })

  it('have no type of their own where none was said, or that of what they were sent in', async () => {
    await using server = new TestServer()
    const typeOf = async (type: string, body: string, headers = {}) => {
      await server.put('k', body, { 'content-type': type, ...headers })
      return (await server.ask(`${KV}/k`)).headers.get('content-type')
    }
    const text = 'text/plain; charset=utf-8'
    expect(await typeOf('application/x-www-form-urlencoded', 'a')).toBe(text)
    expect(await typeOf('no type', 'a')).toBe(text)
    expect(await typeOf('application/json', '{"value": "a"}')).toBe(text)
    const raw = { 'prestige-body': 'raw' }
    expect(await typeOf('application/json', '{"value": "a"}', raw)).toBe('application/json')
    expect(await typeOf('application/json', '[1]')).toBe('application/json')
    expect(await typeOf('text/javascript', 'alert(1)')).toBe('text/javascript')
    const script = await server.ask(`${KV}/k`, { headers: { 'sec-fetch-dest': 'script' } })
    expect(script.headers.get('content-type')).toBe(text)
  })

  it('of JSON with value and more are refused, and kept as they are if that is said', async () => {
    await using server = new TestServer()
    const put = async (body: string, headers = {}) => {
      const answer = await server.put('k', body, { 'content-type': 'application/json', ...headers })
      return [answer.status, Object(await answer.json()).message] as const
    }
    const raw = 'Prestige-Body: raw'
    for (const [body, says] of [
      ['{"value":"x","ttl":5}', 'Prestige-TTL'],
      ['{"value":5}', 'value is not text'],
      ['{"unit":"kg","value":"x"}', '"unit" stands beside value'],
    ] as const) {
      const [status, message] = await put(body)
      expect([status, message]).toEqual([400, expect.stringContaining(says)])
      expect(message).toContain(raw)
      expect((await put(body, { 'prestige-body': 'raw' }))[0]).toBe(201)
      expect(await (await server.ask(`${KV}/k`)).text()).toBe(body)
    }
    expect((await put('{"ttl":5}'))[0]).toBe(201)
    expect((await put('[{"value":"x"}]'))[0]).toBe(201)
  })

  it('of a key that must be there are put with If-Match: *', async () => {
    await using server = new TestServer()
    const present = { 'if-match': '*' }
    expect((await server.put('k', 'one', present)).status).toBe(412)
    const remove = { method: 'DELETE', headers: present }
    expect((await server.ask(`${KV}/k`, remove)).status).toBe(412)
    await server.put('k', 'one')
    expect((await server.put('k', 'two', present)).status).toBe(201)
    expect((await server.ask(`${KV}/k`, remove)).status).toBe(204)
  })

  it('of a key with / are asked for as %2F, and the answer says so', async () => {
    await using server = new TestServer()
    expect((await server.put('a/b', 'one')).status).toBe(201)
    const answer = await server.ask(`${KV}/a/b`)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({
      code: 'ROUTE_NOT_FOUND',
      message: expect.stringContaining('/api/v1/kv/a%2Fb'),
    })
    const other = await server.ask('/api/v1/none/a/b')
    expect(Object(await other.json()).message).not.toContain('%2F')
  })

  it('are refused with metadata that cannot be kept', async () => {
    await using server = new TestServer()
    const refused = [
      { 'prestige-meta-a': '100%' },
      { 'prestige-meta-a': 'Zo\u00eb' },
      { 'prestige-meta-a': '%0d%0aset-cookie: a=b' },
      { 'prestige-meta-a_b': 'x' },
      { 'prestige-meta-a': 'x'.repeat(2048) },
    ]
    for (const headers of refused) expect((await server.put('k', 'v', headers)).status).toBe(400)
    expect((await server.ask(`${KV}/k`)).status).toBe(404)
  })

  it('are not looked for in a namespace that nobody has written to, and none is made', async () => {
    await using server = new TestServer()
    const headers = { 'prestige-namespace': 'other' }
    for (const path of [`${KV}/a`, KV, `${KV}/_count`])
      expect(await (await server.ask(path, { headers })).json()).toMatchObject({
        code: 'STORE_NOT_FOUND',
      })
    expect((await server.put('a', 'x', headers)).status).toBe(201)
    expect(await (await server.ask(KV, { headers })).json()).toEqual(['a'])
    expect(await (await server.ask(KV)).json()).toEqual([])
  })
})

describe('texts', () => {
  it('are found by what they are like, explained, compared and resolved', async () => {
    await using server = new TestServer({ store: { dedup: 'near' } })
    await server.put('fox', TEXT)
    const near = TEXT.replace('lazy', 'sleepy')
    const similar = await server.ask('/api/v1/similar', { body: { text: near, threshold: 0.5 } })
    expect(await similar.json()).toMatchObject({ similar: [{ firstKey: 'fox' }] })
    const explained = await server.ask('/api/v1/explain', { body: { key: 'fox' } })
    expect(await explained.json()).toMatchObject({ key: 'fox', content: 'new' })
    const compared = await server.ask('/api/v1/compare', { body: { a: TEXT, b: near } })
    expect(await compared.json()).toMatchObject({
      comparison: { shingles: { shared: expect.any(Number) } },
      alignment: { isComplete: true },
      methods: ['jaccard', 'estimate', 'simhash', 'containment'].map((method) => ({ method })),
      curve: { 0: { similarity: 0, probability: 0 }, 50: { similarity: 1, probability: 1 } },
      vetoes: [],
    })
    const resolve = (body: object) => server.ask('/api/v1/resolve', { body })
    expect(await (await resolve({ group: 'g', text: TEXT, lookup: true })).json()).toEqual({
      status: 'new',
    })
    expect(await (await resolve({ group: 'g', text: TEXT })).json()).toMatchObject({
      status: 'new',
      similarity: 1,
    })
    expect((await resolve({ group: 'g' })).status).toBe(400)
  })
})

describe('changes', () => {
  it('are sent as they are made, resume behind the last one seen, and end when the server closes', async () => {
    const server = new TestServer({ store: { changes: true } })
    await server.put('a', 'one')
    await server.put('b', 'two')
    const first = (await server.ask('/api/v1/changes')).body?.getReader()
    const seen = await until(first, (text) => text.includes('"key":"b"'))
    const [id = ''] = /(?<=id: )\S+/.exec(seen) ?? []
    expect(seen).toMatch(/event: put\ndata: \{.*"key":"a"/)
    await first?.cancel()
    const resumed = await server.ask('/api/v1/changes', { headers: { 'last-event-id': id } })
    const reader = resumed.body?.getReader()
    await server.ask(`${KV}/a`, { method: 'DELETE' })
    const rest = await until(reader, (text) => text.includes('event: delete'))
    expect(rest).not.toContain('"key":"a","transaction":1')
    expect(rest.indexOf('"key":"b"')).toBeGreaterThan(-1)
    const ended = reader?.read()
    await server.server.close()
    expect(await ended).toMatchObject({ done: true })
  })

  it('are refused where none are kept, before the answer begins', async () => {
    await using server = new TestServer()
    const response = await server.ask('/api/v1/changes')
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'CHANGES_OFF' }])
  })
})

async function until(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  isEnough: (text: string) => boolean,
): Promise<string> {
  let text = ''
  while (reader && !isEnough(text)) {
    const { done, value } = await reader.read()
    if (done) break
    text += Buffer.from(value).toString()
  }
  return text
}

describe('the operator', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prestige-server-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  it('is given statistics, cleans up, and writes backups only where it is allowed', async () => {
    const roots = [join(directory, 'backups')]
    await using server = new TestServer({ roots }, join(directory, 'store'))
    await server.put('a', 'one')
    await server.put('b', 'two')
    await server.ask(`${KV}/b`, { method: 'DELETE' })
    const admin = async (name: string, body: object = {}) => {
      const response = await server.ask(`/api/v1/admin/${name}`, { body })
      return { status: response.status, body: await response.json() }
    }
    expect(await admin('sweep')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await admin('flush')).toMatchObject({ body: { status: 'ok', synced: true } })
    expect(await admin('prune', { max_age_s: 3600 })).toMatchObject({ body: { deleted: 0 } })
    expect(await admin('prune')).toMatchObject({ status: 400 })
    expect(await admin('evict', { target_keys: 0, dryRun: true })).toMatchObject({
      body: { evicted: 1 },
    })
    expect(await admin('verify')).toMatchObject({ status: 200 })
    expect(await admin('compact')).toMatchObject({ body: { compacted: true } })
    for (const target of ['outside', 'backups/../outside', 's3://bucket/x'])
      expect(
        await admin('backup', {
          target: target.startsWith('s3') ? target : join(directory, '/') + target,
        }),
      ).toMatchObject({ status: 403 })
    expect(await admin('backup', { target: join(directory, 'backups/one') })).toMatchObject({
      status: 200,
      body: { keys: 1 },
    })
    const stats = await (await server.ask('/api/v1/admin/stats')).json()
    expect(stats).toMatchObject({
      kinds: [{ kind: 'store' }],
      store: { stats: { keys: 1 } },
      operations: { put: { calls: 2 } },
    })
  })
})

interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<string, { readonly responses: Record<string, { readonly content?: object }> }>
      >
    >
  >
}

async function documentOf(server: TestServer): Promise<OpenApi> {
  const document: unknown = await (await server.ask('/openapi.json')).json()
  return document as OpenApi // safe: validated by a test of its own
}

describe('the OpenAPI document', () => {
  it('is valid, and has every route', async () => {
    await using server = new TestServer()
    const document = await documentOf(server)
    const validator = new Validator()
    expect(await validator.validate({ ...document })).toMatchObject({ valid: true })
    expect(validator.version).toBe('3.1')
    for (const { path, method } of routes(new Measurements(undefined)))
      expect(document.paths[path]?.[method.toLowerCase()], `${method} ${path}`).toBeDefined()
  })

  /** How each route is asked, so that it answers. What is asked is checked against what is documented. */
  const key = `${KV}/a`
  const ASKED: Readonly<Record<string, readonly [path: string, asked?: Asked]>> = {
    put: [key, { method: 'PUT', body: 'x' }],
    get: [key],
    batch: [`${KV}/_batch`, { body: '{"op":"get","key":"a"}\n{"op":"get","key":"z"}' }],
    similar: ['/api/v1/similar', { body: { text: TEXT } }],
    explain: ['/api/v1/explain', { body: { key: 'a' } }],
    compare: ['/api/v1/compare', { body: { a: TEXT, b: TEXT } }],
    resolve: ['/api/v1/resolve', { body: { group: 'g', text: TEXT } }],
    adminPrune: ['/api/v1/admin/prune', { body: { max_age_s: 1 } }],
    adminEvict: ['/api/v1/admin/evict', { body: { target_keys: 10 } }],
    adminBackup: ['/api/v1/admin/backup', { body: { target: '/nowhere' } }],
    delete: [key, { method: 'DELETE' }],
  }
  const all = routes(new Measurements(undefined))
  const last = all.filter(({ name }) => name === 'delete')

  it.each(['there', 'missing', 'refused'])('holds for answers of %s things', async (kind) => {
    await using server = new TestServer({
      store: { dedup: 'near', changes: true },
      ...(kind === 'refused' && { keys: [] }),
    })
    const document = await documentOf(server)
    if (kind === 'there') await server.put('a', TEXT)
    for (const route of [...all.filter((one) => !last.includes(one)), ...last]) {
      const [path, asked] = ASKED[route.name] ?? [
        route.path,
        route.method === 'POST' ? { body: {} } : { method: route.method },
      ]
      if (kind === 'missing' && route.name === 'put') continue
      const response = await server.ask(path, asked)
      await holds(document, route, response)
    }
  })
})

/** The status is documented, and the body is what the schema of that status says. */
async function holds(document: OpenApi, route: AnyRoute, response: Response): Promise<void> {
  const what = `${route.method} ${route.path} ${response.status}`
  const documented = document.paths[route.path]?.[route.method.toLowerCase()]?.responses ?? {}
  expect(Object.keys(documented), what).toContain(String(response.status))
  const type = response.headers.get('content-type')?.replace(/;.*/, '') ?? ''
  const content = documented[String(response.status)]?.content ?? {}
  const isAny = '*/*' in content || response.body === null
  if (!isAny) expect(Object.keys(content), what).toContain(type)
  const schema = route.replies[response.status]?.schema
  if (type === 'text/event-stream') await response.body?.cancel()
  else if (response.status < 400 && schema) {
    const answers =
      type === 'application/x-ndjson' ? await linesOf(response) : [await response.json()]
    for (const answer of answers) expect(v.is(schema, answer), what).toBe(true)
  } else await response.body?.cancel()
}
