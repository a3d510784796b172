/** Inputs, outputs and archives at `s3://BUCKET/PREFIX`: the same bytes as with directories, whatever requests fail. */

import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

import { inProcess as prestige, prestige as inOwnProcess } from './children/cli.ts'
import { corpus, jsonl, published, textMaker, writeFiles } from './corpus-kit.ts'
import { S3Server } from './servers/s3.ts'

const BUCKET = 'corpus'
let server: S3Server
let directory: string
let prefix: string
let count = 0

beforeAll(async () => {
  server = await S3Server.start(BUCKET)
  process.env['AWS_ENDPOINT_URL_S3'] = server.endpoint
})
afterAll(() => server.stop())
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-s3-test-'))
  prefix = `test-${count++}`
  server.forget()
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const s3 = (...names: string[]) => ['s3:/', BUCKET, prefix, ...names].join('/')
const dedupe = (...args: string[]) => prestige(['dedupe', ...args])
const put = (objects: Record<string, string | Uint8Array>) =>
  server.put(
    BUCKET,
    Object.fromEntries(
      Object.entries(objects).map(([name, value]) => [`${prefix}/${name}`, value]),
    ),
  )

/** What is published below a prefix, read past prestige. */
async function publishedAt(name: string): Promise<Record<string, string>> {
  const copy = at(`copy-of-${name}`)
  await rm(copy, { recursive: true, force: true })
  writeFiles(copy, await server.get(BUCKET, `${prefix}/${name}/`))
  return published(copy)
}

const below = (folder: string, files: Record<string, string | Uint8Array>) =>
  Object.fromEntries(Object.entries(files).map(([name, value]) => [`${folder}/${name}`, value]))

function everyFormat(): Record<string, string | Uint8Array> {
  const docs = corpus(60)
  const part = (from: number) => docs.slice(from, from + 12)
  const text = textMaker(9)
  const csv = part(36).map(({ id, text: words }) => `${id},"${words}"`)
  const rows = part(48)
  return {
    'a.jsonl': jsonl([...part(0), { id: 'ü', text: docs[40]!.text }]),
    'sub/b.jsonl.gz': gzipSync(jsonl([...part(12), ...part(0)])),
    'sub/d é.csv': `id,text\n${csv.join('\n')}\n`,
    'texts/e.txt': docs[3]!.text,
    'texts/f.md': text(),
    'g.parquet': new Uint8Array(
      parquetWriteBuffer({
        columnData: [
          { name: 'id', data: rows.map(({ id }) => id), type: 'STRING' },
          { name: 'text', data: rows.map((doc) => doc.text), type: 'STRING' },
        ],
        rowGroupSize: 5,
      }),
    ),
  }
}

/** Names of clusters, and the order of their members, follow from whole paths, which differ. */
function withoutClusters(files: Record<string, string>): Record<string, string> {
  const bare = (text: string) => text.replaceAll(/"cluster":"[0-9a-f]+",?|"members":\[.*?\]/g, '')
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      name,
      name.startsWith('kept') ? text : bare(text),
    ]),
  )
}

async function runLocally(files: Record<string, string | Uint8Array>): Promise<void> {
  writeFiles(at('in'), files)
  const own = ['--source', 'corpus', '-q']
  const run = await dedupe(at('in'), '-o', at('out'), '--state', at('local-state'), ...own)
  expect([run.code, run.err]).toEqual([0, ''])
}

const runOnS3 = (...args: string[]) =>
  dedupe(s3('in'), '-o', s3('out'), '--state', at('state'), '--source', 'corpus', '--json', ...args)

/** What is on S3 is what the same runs make of local directories. */
async function expectSame(): Promise<void> {
  const there = withoutClusters(await publishedAt('out'))
  const here = withoutClusters(published(at('out')))
  expect(Object.keys(there)).toEqual(Object.keys(here))
  for (const name of Object.keys(here)) expect(there[name] === here[name], name).toBe(true)
}

describe('a run from s3:// to s3://', () => {
  it('publishes the same bytes as one from and to directories, for every format', async () => {
    const files = everyFormat()
    await put(below('in', files))
    const run = await runOnS3()
    expect([run.code, run.err]).toEqual([0, ''])
    await runLocally(files)
    expect(Object.keys(published(at('out')))).toContain('kept/sub/d é.csv')
    await expectSame()
    expect(server.requests.some(({ range }) => range !== undefined)).toBe(true)
  })

  it('reads only new and changed objects in a second run', async () => {
    const docs = corpus(40)
    const files = { 'a.jsonl': jsonl(docs.slice(0, 20)), 'b.jsonl': jsonl(docs.slice(10, 30)) }
    await put(below('in', files))
    await runLocally(files)
    expect((await runOnS3()).json.summary.documents).toBe(40)
    const nothing = await runOnS3()
    expect(nothing.json).toMatchObject({ status: 'nothing', skipped: ['a.jsonl', 'b.jsonl'] })
    const more = { 'c.jsonl': jsonl(docs.slice(25)) }
    await put(below('in', more))
    await runLocally(more)
    expect((await runOnS3()).json).toMatchObject({
      summary: { documents: 15 },
      skipped: ['a.jsonl', 'b.jsonl'],
    })
    await expectSame()
    // As long as before, and perhaps of the same second.
    await put(below('in', { 'a.jsonl': jsonl(docs.slice(0, 20)).replace('doc-0', 'doc-X') }))
    expect((await runOnS3()).json).toMatchObject({
      summary: { documents: 20 },
      skipped: ['b.jsonl', 'c.jsonl'],
    })
  })

  it('goes on after it was killed while it published', async () => {
    const files = everyFormat()
    await put(below('in', files))
    const args = [s3('in'), '-o', s3('out'), '--state', at('state'), '--source', 'corpus', '-q']
    const killed = await inOwnProcess(['dedupe', ...args], {
      meanwhile: async (child) => {
        let uploads = 0
        server.fault = ({ method, url }) => {
          if (method !== 'PUT' || !url.includes('/out/') || ++uploads < 4) return undefined
          child.kill('SIGKILL')
          return 'reset'
        }
      },
    })
    expect(killed.code).toBe(null)
    expect(Object.keys(await publishedAt('out'))).not.toContain('manifest.json')
    server.forget()
    expect((await runOnS3()).code).toBe(0)
    await runLocally(files)
    await expectSame()
  })

  it('goes on after S3 refused an output', async () => {
    const files = { 'a.jsonl': jsonl(corpus(20)), 'b.txt': 'A text in a file of its own.' }
    await put(below('in', files))
    server.fault = ({ method, url }) =>
      method === 'PUT' && url.includes('/kept/b.txt') ? 'deny' : undefined
    const denied = await runOnS3()
    expect(denied.code).toBe(2)
    expect(denied.err).toContain('/kept/b.txt')
    expect(Object.keys(await publishedAt('out'))).not.toContain('manifest.json')
    server.forget()
    expect((await runOnS3()).code).toBe(0)
    await runLocally(files)
    await expectSame()
  })

  it('repeats requests that fail, and asks for the rest of a reply that breaks off', async () => {
    const text = textMaker(5)
    const docs = Array.from({ length: 400 }, (_, id) => ({ id: `${id}`, text: text(200) }))
    const files = { 'a.jsonl': jsonl(docs), 'b.jsonl.gz': gzipSync(jsonl(docs)) }
    await put(below('in', files))
    server.fault = ({ range }, number) => {
      if (range !== undefined && number % 2 === 0) return 'cut'
      return number % 10 === 0 ? 'fail' : number % 11 === 0 ? 'reset' : undefined
    }
    const run = await runOnS3('--threads', '1')
    expect([run.code, run.err]).toEqual([0, ''])
    const ranges = server.requests.flatMap(({ range }) => range ?? [])
    expect(ranges.some((range) => /^bytes=[1-9]/.test(range))).toBe(true)
    await runLocally(files)
    await expectSame()
  })

  it('fails by name when an object is replaced after it was listed, and publishes nothing', async () => {
    await put(below('in', { 'a.jsonl': jsonl(corpus(20)) }))
    let isReplaced = false
    server.fault = async ({ range }) => {
      if (range === undefined || isReplaced) return undefined
      isReplaced = true
      await put(below('in', { 'a.jsonl': jsonl(corpus(20, 2)) }))
      return undefined
    }
    const run = await runOnS3()
    expect(run.code).toBe(2)
    expect(JSON.parse(run.err).error).toMatchObject({
      code: 'INPUT_CHANGED',
      message: expect.stringContaining(`${s3('in/a.jsonl')} was replaced since it was listed`),
    })
    expect(await publishedAt('out')).toEqual({})
  })

  it('takes one object, a glob, or local files, and writes to either place', async () => {
    const docs = corpus(30)
    const files = { 'x/a.jsonl': jsonl(docs.slice(0, 15)), 'x/b.jsonl': jsonl(docs.slice(15)) }
    await put(below('in', { ...files, 'x/c.csv': 'id,text\n1,other\n', 'y/a.jsonl': 'no json' }))
    writeFiles(at('in'), files)
    const run = async (input: string, out: string, state: string) =>
      (await dedupe(input, '-o', out, '--state', at(state), '--json')).json
    expect((await run(s3('in/x/*.jsonl'), at('out'), 's1')).summary.documents).toBe(30)
    expect((await run(at('in/x'), s3('out'), 's2')).summary.documents).toBe(30)
    const kept = (name: string) => published(at('out'))[`kept/${name}`]
    const there = await publishedAt('out')
    expect(there['kept/a.jsonl']).toBe(kept('a.jsonl'))
    expect(there['kept/b.jsonl']).toBe(kept('b.jsonl'))
    expect((await run(s3('in/x/b.jsonl'), at('out3'), 's3')).summary.documents).toBe(15)
  })

  it('skips keys that are no plain paths, hidden names and markers of folders', async () => {
    await put(
      below('in', {
        'a.jsonl': jsonl(corpus(5)),
        '.hidden/b.jsonl': jsonl(corpus(5, 2)),
        'sub-marker.jsonl': jsonl(corpus(5, 3)),
        'a-up-b.jsonl': jsonl(corpus(5, 4)),
        'a-empty-b.jsonl': jsonl(corpus(5, 5)),
      }),
    )
    server.listed = (reply) =>
      reply.replace('sub-marker.jsonl', 'sub/').replace('-up-', '/../').replace('-empty-', '//')
    const run = await runOnS3()
    expect(run.json.summary.documents).toBe(5)
  })

  it('takes its outputs back from S3 with undo --delete-outputs', async () => {
    await put(below('in', { 'a.jsonl': jsonl(corpus(10)), 'sub/b.jsonl': jsonl(corpus(10, 2)) }))
    const { run } = (await runOnS3()).json
    const undone = await prestige(['undo', run, '--state', at('state'), '--delete-outputs'])
    expect([undone.code, undone.err]).toEqual([0, ''])
    expect(undone.text).toContain(s3('out/kept'))
    expect(await server.get(BUCKET, `${prefix}/out/`)).toEqual({})
  })
})

describe('outputs of several files', () => {
  it.each([
    ['of a bounded size', ['--shard-size', '1KB']],
    ['one for each document', ['--format-out', 'files']],
  ])('%s: are those of a directory, after better copies and their undo', async (_, how) => {
    const first = corpus(12)
    const better = first.slice(3, 7).map((doc) => ({ id: `b-${doc.id}`, text: `${doc.text} more` }))
    writeFiles(at('in'), { '1/a.jsonl': jsonl(first), '2/b.jsonl': jsonl(better) })
    const outs = { local: at('local'), [s3('out')]: s3('out') }
    const both = async () => {
      const keptOf = (all: Record<string, string>) =>
        Object.entries(all).filter(([name]) => name.startsWith('kept/'))
      const there = keptOf(await publishedAt('out'))
      expect(there).toEqual(keptOf(published(at('local'))))
      return there
    }
    const each = async (call: (out: string, state: string) => string[]) => {
      for (const [n, out] of Object.values(outs).entries()) {
        const { code, err } = await prestige(call(out, at(`state-${n}`)))
        expect([code, err]).toEqual([0, ''])
      }
    }
    const run = (input: string, name: string) =>
      each((out, state) => {
        const common = ['--state', state, '--keep', 'longest', '--quiet', '--run', name]
        return ['dedupe', at('in', input), '-o', out, ...common, ...how]
      })
    await run('1', 'one')
    const before = await both()
    expect(before.length).toBeGreaterThan(3)
    await run('2', 'two')
    expect(await both()).not.toEqual(before)
    await each((_out, state) => ['undo', 'two', '--state', state, '--quiet'])
    expect(await both()).toEqual(before)
    rmSync(at('in/1'), { recursive: true })
    await run('2', 'three')
    await both()
  })
})

describe('cleaning against a state', () => {
  it('writes to S3 what the state does not know', async () => {
    const docs = corpus(20)
    await put(below('in', { 'a.jsonl': jsonl(docs.slice(0, 10)) }))
    expect((await runOnS3()).code).toBe(0)
    await put(below('more', { 'b.jsonl': jsonl([...docs.slice(0, 5), { id: 'x', text: 'New.' }]) }))
    const run = await dedupe(s3('more/'), '-o', s3('cleaned/'), '--against', at('state'), '--json')
    expect([run.code, run.err]).toEqual([0, ''])
    const cleaned = await publishedAt('cleaned')
    expect(cleaned['kept/b.jsonl']).toBe(jsonl([{ id: 'x', text: 'New.' }]))
    expect(JSON.parse(cleaned['manifest.json'] ?? '').outputs).toEqual(['kept/b.jsonl'])
  })
})

describe('fingerprints', () => {
  it('of objects on S3, written there, are those of local files', async () => {
    const files = everyFormat()
    writeFiles(at('in'), files)
    await put(below('in', files))
    await prestige(['fingerprint', at('in'), '-o', at('s.parquet'), '--source', 'x', '-q'])
    const run = await prestige([
      'fingerprint',
      s3('in'),
      '-o',
      s3('s.parquet'),
      '--source',
      'x',
      '-q',
    ])
    expect([run.code, run.err]).toEqual([0, ''])
    const { '/s.parquet': there } = await server.get(BUCKET, prefix)
    expect(there?.equals(readFileSync(at('s.parquet')))).toBe(true)
  })
})

/** Every archive has an id of its own, and a digest at its end. */
function withoutIds(archive: Buffer | undefined): string {
  const text = archive?.toString('latin1').replaceAll(/"(archive|sha256)":"[0-9a-f]+"/g, '') ?? ''
  return createHash('sha256').update(text).digest('hex')
}

describe('an archive on S3', () => {
  const make: Record<string, (location: string) => Promise<unknown>> = {
    store: (store) =>
      prestige(['put', 'a', '--store', store, '-q'], { input: Buffer.alloc(9 * 1024 * 1024, 'x') }),
    resolver: (store) =>
      prestige(['resolve', '--store', store, '-q'], { input: 'some text of a few words\n' }),
    ledger: async (location) => {
      const { openLedger } = await import('../src/index.ts')
      const ledger = await openLedger(location)
      await ledger.record([{ id: 'd1', status: 'accepted', source: 's' }])
      await ledger.close()
    },
    state: (state) => {
      writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(20)) })
      return dedupe(at('in'), '-o', at('out'), '--state', state, '-q')
    },
  }

  it.each(Object.keys(make))(
    'of a %s is the same as in a file, and is restored from there',
    async (kind) => {
      await make[kind]!(at('from'))
      const local = await prestige([
        'export',
        '--archive',
        at('a.archive'),
        '--store',
        at('from'),
        '-q',
      ])
      expect([local.code, local.err]).toEqual([0, ''])
      const file = s3('a.archive')
      const remote = await prestige(['export', '--archive', file, '--store', at('from'), '--json'])
      expect([remote.code, remote.err]).toEqual([0, ''])
      const { '/a.archive': stored } = await server.get(BUCKET, prefix)
      const bytes = readFileSync(at('a.archive'))
      expect(withoutIds(stored)).toEqual(withoutIds(bytes))
      expect(remote.json).toEqual({ archive: file, bytes: bytes.length })
      const restored = await prestige(['import', '--archive', file, '--store', at('to'), '-q'])
      expect([restored.code, restored.err]).toEqual([0, ''])
      await prestige(['export', '--archive', at('b.archive'), '--store', at('to'), '-q'])
      expect(withoutIds(readFileSync(at('b.archive')))).toEqual(withoutIds(bytes))
    },
  )

  it('is not there when writing it fails, and is refused by name when it is not there', async () => {
    await make['store']!(at('from'))
    server.fault = ({ url }) => (url.includes('partNumber=1') ? 'deny' : undefined)
    const denied = await prestige(['export', '--archive', s3('x'), '--store', at('from')])
    expect(denied.err).toContain(`S3 refuses access to ${s3('x')}`)
    expect(await server.get(BUCKET, prefix)).toEqual({})
    const missing = await prestige(['import', '--archive', s3('x'), '--store', at('to')])
    expect([missing.code, missing.err]).toEqual([3, expect.stringContaining('is not there')])
  })
})

describe('what cannot be done on S3 is refused by name', () => {
  const errorOf = async (run: Promise<{ code: number | null; err: string }>) => {
    const { code, err } = await run
    return { exit: code, ...JSON.parse(err).error }
  }

  it('a state, or outputs without one', async () => {
    await put(below('in', { 'a.jsonl': jsonl(corpus(5)) }))
    const without = dedupe(s3('in'), '-o', s3('out'), '--json')
    expect(await errorOf(without)).toMatchObject({
      code: 'INVALID_USAGE',
      message: expect.stringContaining('Add --state DIR'),
    })
    const there = dedupe(s3('in'), '-o', at('out'), '--state', s3('state'), '--json')
    expect(await errorOf(there)).toMatchObject({
      message: expect.stringContaining('S3 has no transactions'),
    })
  })

  it('a bucket, a prefix or a pattern that is not there', async () => {
    const asked = (input: string) =>
      errorOf(dedupe(input, '-o', at('out'), '--state', at('s'), '--json'))
    expect(await asked('s3://no-such-bucket/x')).toMatchObject({
      exit: 3,
      message: expect.stringContaining('there is no such bucket'),
    })
    expect(await asked(s3('nothing'))).toMatchObject({ exit: 3, code: 'FILE_NOT_FOUND' })
    expect(await asked(s3('*.jsonl'))).toMatchObject({
      message: expect.stringContaining('matches no object'),
    })
    expect(await asked('s3://')).toMatchObject({ code: 'INVALID_LOCATION' })
  })

  it('outputs where it may not write, before any input is read', async () => {
    await put(below('in', { 'a.jsonl': jsonl(corpus(5)) }))
    server.fault = ({ url }) => (url.includes('uploads') ? 'deny' : undefined)
    expect(await errorOf(runOnS3())).toMatchObject({
      code: 'ACCESS_DENIED',
      message: expect.stringContaining('s3:PutObject'),
    })
    expect(server.requests.filter(({ range }) => range !== undefined)).toEqual([])
  })

  it('local inputs and inputs on S3 in one run', async () => {
    const docs = jsonl(corpus(5))
    await put(below('in', { 'a.jsonl': docs }))
    writeFiles(at('in'), { 'b.jsonl': docs })
    const mixed = dedupe(s3('in'), at('in'), '-o', at('out'), '--json')
    expect(await errorOf(mixed)).toMatchObject({
      message: expect.stringContaining('two runs with the same --state'),
    })
  })
})
