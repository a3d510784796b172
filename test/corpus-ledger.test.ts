/** The ledger of a corpus job: a document is its file and its id, and one row is both its decision and its line. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { Body } from '../src/backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { type Ledger, type LedgerLine, openDedupe, openLedger } from '../src/index.ts'
import { reportOfAll } from '../src/report/index.ts'
import { inProcess as prestige } from './children/cli.ts'
import { corpus, jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-corpus-ledger-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

async function all(lines: AsyncIterable<LedgerLine>): Promise<string[]> {
  const found: string[] = []
  for await (const { source, id, status } of lines) found.push(`${source}/${id} ${status}`)
  return found.toSorted()
}

describe('two files with the same id', () => {
  beforeEach(async () => {
    writeFiles(directory, {
      'in/a.jsonl': jsonl([
        { id: '1', text: 'The first document of the first file.' },
        { id: '2', text: 'Something else altogether, which is there once.' },
      ]),
      'in/b.jsonl': jsonl([
        { id: '1', text: 'What the second file begins with is another text.' },
        { id: '2', text: 'something else altogether, which is there once.' },
      ]),
    })
    const deduper = await openDedupe(at('state'))
    const inputs = ['a', 'b'].map((source) => ({ path: at(`in/${source}.jsonl`), source }))
    await deduper.run({ inputs, out: at('out'), run: 'r' })
    await deduper.close()
  })

  it('are both in the ledger, by id, by source and by run', async () => {
    await using ledger = await openLedger(at('state'), { create: false })
    const everything = ['a/1 accepted', 'a/2 accepted', 'b/1 accepted', 'b/2 duplicate']
    expect(await all(ledger.byRun('r'))).toEqual(everything)
    expect(await all(ledger.bySource('a'))).toEqual(['a/1 accepted', 'a/2 accepted'])
    expect(await all(ledger.bySource('b'))).toEqual(['b/1 accepted', 'b/2 duplicate'])
    const expected = { accepted: 3, duplicate: 1, total: 4 }
    expect(await ledger.counts()).toMatchObject(expected)
    expect(await ledger.counts({ run: 'r' })).toMatchObject(expected)
    expect(await ledger.counts({ source: 'b' })).toMatchObject({ accepted: 1, duplicate: 1 })
    const found = await ledger.lines('1')
    expect(found.map(({ source }) => String(source)).toSorted()).toEqual(['a', 'b'])
    expect(await ledger.get({ source: 'b', id: '2' })).toMatchObject({
      status: 'duplicate',
      of: '2',
      run: 'r',
      detail: '{"method":"canonical","similarity":1}',
    })
    await expect(ledger.get('1')).rejects.toMatchObject({ code: 'INVALID_KEY' })
    expect(await ledger.get('3')).toBeUndefined()
    expect(await ledger.wasProcessedMany(['1', '3'])).toEqual([true, false])
    expect(await ledger.wasProcessed('1')).toBe(true)
  })

  it('are listed page by page, none twice and none left out', async () => {
    await using ledger = await openLedger(at('state'), { create: false })
    const found: LedgerLine[] = []
    for (let page: LedgerLine[] | undefined; page?.length !== 0;) {
      page = []
      const startAfter = found.at(-1)
      for await (const line of ledger.byRun('r', { limit: 1, startAfter })) page.push(line)
      found.push(...page)
    }
    expect(found.map(({ source, id }) => `${source}/${id}`).toSorted()).toEqual([
      'a/1',
      'a/2',
      'b/1',
      'b/2',
    ])
  })

  it('are shown by prestige ledger', async () => {
    const run = (...args: string[]) => prestige(['ledger', ...args], { store: at('state') })
    const { text, err } = await run('get', '1')
    expect([err, text.match(/status +accepted/g)?.length]).toEqual(['', 2])
    expect((await run('get', '2', '--source', 'b', '--json')).json).toMatchObject({
      status: 'duplicate',
      source: 'b',
    })
    expect((await run('list', '--run', 'r')).text.trim().split('\n')).toHaveLength(4)
    expect((await run('list', '--source', 'b')).text.trim().split('\n')).toHaveLength(2)
    expect((await run('stats', '--json')).json).toMatchObject({
      counts: { accepted: 3, duplicate: 1, total: 4 },
      runs: [{ id: 'r', status: 'finished', counts: { total: 4 } }],
    })
  })

  it('are in a ledger that only the job writes', async () => {
    await using ledger = await openLedger(at('state'))
    for (const refused of [
      () => ledger.record([{ id: '1', status: 'failed' }]),
      () => ledger.claim('1', { leaseMs: 1000 }),
      () => ledger.forget('1'),
      () => ledger.forgetRun('r'),
      () => ledger.prune({ olderThan: Date.now() + 1000 }),
      () => ledger.startRun({ id: 'other' }),
    ]) {
      await expect(refused()).rejects.toMatchObject({ code: 'READ_ONLY' })
    }
    expect((await ledger.counts()).total).toBe(4)
  })

  it('leave the ledger when their run is undone', async () => {
    await using deduper = await openDedupe(at('state'))
    await deduper.undo('r')
    await using ledger = await openLedger(at('state'))
    expect(await all(ledger.byRun('r'))).toEqual([])
    for (const of of [{}, { run: 'r' }, { source: 'a' }]) {
      expect((await ledger.counts(of)).total).toBe(0)
    }
  })
})

describe('a ledger of its own', () => {
  it('is not where a corpus job keeps its state', async () => {
    const backend = new MemoryBackend()
    await openLedger(backend)
    await expect(openDedupe(backend)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
  })
})

describe('a line of the job', () => {
  it('says which copy is kept now, also when a better one came later', async () => {
    const backend = new MemoryBackend()
    const deduper = await openDedupe(backend, { keep: ['longest'] })
    const text = textMaker(1)(40)
    await deduper.decide({ id: 'short', text }, 'one')
    await deduper.decide({ id: 'copy', text }, 'one')
    await deduper.decide({ id: 'long', text: `${text}   ` }, 'two')
    const ledger = await openLedger(backend)
    expect(await ledger.get('short')).toMatchObject({ status: 'superseded', of: 'long' })
    expect(await ledger.get('copy')).toMatchObject({ status: 'duplicate', of: 'long' })
    expect(await ledger.counts({ run: 'one' })).toMatchObject({ superseded: 1, duplicate: 1 })
    await deduper.undo('two')
    expect(await ledger.get('short')).toMatchObject({ status: 'accepted' })
    expect(await ledger.get('copy')).toMatchObject({ status: 'duplicate', of: 'short' })
    expect(await ledger.counts()).toMatchObject({ accepted: 1, duplicate: 1, superseded: 0 })
  })

  it('is one of at most five rows that a new document costs', async () => {
    const engine = new MemoryEngine()
    const deduper = await openDedupe(new MemoryBackend({}, engine))
    const text = textMaker(5)
    const rows = () => {
      let count = 0
      // A batch of any length is one row of its run.
      for (const [name, map] of engine.spaces) {
        if (!name.endsWith('.tallies') && name !== 'dedupe.batches') {
          count += map.slice('', undefined, 1_000_000).length
        }
      }
      return count
    }
    await deduper.decide({ id: 'first', text: text() })
    const before = rows()
    for (let each = 0; each < 20; each++) await deduper.decide({ id: `d${each}`, text: text() })
    expect(rows() - before).toBe(20 * 5)
    await deduper.close()
  })
})

/** Written by the version before, in which documents had a row and a line. */
const GOLDEN = new URL('./golden/corpus-state-format-1.json.gz', import.meta.url)
const ROOT = '/tmp/prestige-state-format-1'
type Rows = Record<string, [key: string, value: string][]>

function oldState(name: 'finished' | 'stopped'): MemoryEngine {
  const golden = JSON.parse(gunzipSync(readFileSync(GOLDEN)).toString())
  for (const [path, docs] of Object.entries<object[]>(golden.lines)) {
    const file = join(ROOT, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, jsonl(docs))
    utimesSync(file, 1_700_000_000, 1_700_000_000)
  }
  const engine = new MemoryEngine()
  for (const [space, all] of Object.entries<Rows[string]>(golden[name])) {
    for (const [key, value] of all) {
      engine.space(space).set(Buffer.from(key, 'hex').toString('latin1'), Buffer.from(value, 'hex'))
    }
  }
  return engine
}

/** Takes so many transactions. */
class CutOff extends MemoryBackend {
  left = Infinity

  override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    if (this.left-- > 0) return super.run(body, ...args)
    return Promise.reject(new Error('cut off'))
  }
}

describe('a state of format 1', () => {
  afterEach(() => rmSync(ROOT, { recursive: true, force: true }))
  const FIRST = ['a/1 superseded', 'a/2 duplicate', 'a/3 superseded', 'a/4 accepted']

  it('can be asked why, although its keys do not begin with ids', async () => {
    const backend = new MemoryBackend({}, oldState('finished'))
    await using deduper = await openDedupe(backend, { asBefore: true })
    const why = (await deduper.why('2')).find(({ source }) => source === 'a')
    expect(why).toMatchObject({ status: 'dropped', file: expect.any(String) })
    expect(why?.text).toBeDefined()
    expect(why?.kept?.status).toBe('kept')
    const report = await reportOfAll(deduper.backend)
    expect(report.documents).toMatchObject({ in: 10, kept: 5 })
    expect((await deduper.clusters()).length).toBeGreaterThan(0)
    expect((await deduper.documents('page'))[0]).toMatchObject({ status: 'kept', source: 'crawl' })
  })

  it('can be read as a ledger as it is', async () => {
    await using ledger = await openLedger(new MemoryBackend({}, oldState('finished')))
    expect(await ledger.get('page')).toMatchObject({ status: 'accepted', source: 'crawl' })
    expect((await ledger.counts()).total).toBe(7)
    await expect(ledger.forgetRun('first')).rejects.toMatchObject({ code: 'READ_ONLY' })
  })

  it('is upgraded when the job opens it: both documents of an id are in the ledger', async () => {
    const backend = new MemoryBackend({}, oldState('finished'))
    const deduper = await openDedupe(backend, { asBefore: true })
    expect((await deduper.runs()).map(({ id, status }) => `${id} ${status}`)).toEqual([
      'first finished',
      'second finished',
      'live finished',
    ])
    const ledger = await openLedger(backend)
    expect(await all(ledger.byRun('first'))).toEqual([...FIRST, 'b/1 accepted', 'b/4 duplicate'])
    expect(await all(ledger.bySource('c'))).toEqual(['c/1 accepted', 'c/5 accepted'])
    expect((await ledger.lines('1')).map(({ source }) => String(source)).toSorted()).toEqual([
      'a',
      'b',
      'c',
    ])
    expect(await ledger.get({ source: 'a', id: '2' })).toMatchObject({ of: '1', run: 'first' })
    expect(await ledger.get('mirror')).toMatchObject({ status: 'duplicate', of: 'page' })
    expect(await ledger.counts()).toMatchObject({ accepted: 5, total: 10 })
    expect(await ledger.counts({ run: 'first' })).toMatchObject({ accepted: 2, total: 6 })
    // Opened again, it is as it was.
    await openDedupe(backend, { asBefore: true })
    expect(await ledger.counts()).toMatchObject({ accepted: 5, total: 10 })
  })

  it('is upgraded by the next that opens it, when the first is cut off at any step', async () => {
    let steps = 0
    for (let left = 1; ; left++) {
      const engine = oldState('finished')
      const cutOff = new CutOff({}, engine)
      cutOff.left = left
      const isCutOff = await openDedupe(cutOff, { asBefore: true }).then(
        () => false,
        () => true,
      )
      if (!isCutOff) break
      steps = left
      const backend = new MemoryBackend({}, engine)
      await openDedupe(backend, { asBefore: true })
      const ledger = await openLedger(backend)
      expect(await ledger.counts(), `step ${left}`).toMatchObject({ accepted: 5, total: 10 })
      expect(await ledger.counts({ run: 'first' })).toMatchObject({ accepted: 2, total: 6 })
      expect((await ledger.counts({ source: 'c' })).total).toBe(2)
      expect(await all(ledger.byRun('first'))).toHaveLength(6)
      expect(engine.space('ledger.lines').slice('', undefined, 10)).toEqual([])
      expect(engine.space('ledger.byRun').slice('', undefined, 10)).toEqual([])
    }
    expect(steps).toBeGreaterThan(20)
  })

  it('knows its documents and files, and its runs can be undone', async () => {
    const backend = new MemoryBackend({}, oldState('finished'))
    const deduper = await openDedupe(backend, { asBefore: true })
    const inputs = [join(ROOT, 'in')]
    const again = await deduper.run({ inputs, out: at('out') })
    expect(again).toMatchObject({ status: 'nothing' })
    const changed = join(ROOT, 'in/a.jsonl')
    writeFileSync(changed, `${readFileSync(changed, 'utf8')}${jsonl([{ id: '9', text: 'New.' }])}`)
    const { summary } = await deduper.run({ inputs, out: at('out'), run: 'third' })
    expect(summary).toMatchObject({ documents: 5, unchanged: 4, repeated: 0 })
    expect(
      await deduper.decide({ id: 'x', text: 'A page of a crawler, seen once.' }),
    ).toMatchObject({ action: 'drop', of: { id: 'page' } })
    const undone = await deduper.undo('first', { cascade: true })
    expect(undone.map(({ run }) => run)).toContain('first')
    const ledger = await openLedger(backend)
    expect((await ledger.counts({ run: 'first' })).total).toBe(0)
    expect(await all(ledger.byRun('first'))).toEqual([])
  })

  it('goes on with a run that was cut off', async () => {
    const backend = new MemoryBackend({}, oldState('stopped'))
    const deduper = await openDedupe(backend, { maxDrop: 0.9 })
    const job = { inputs: [join(ROOT, 'in')], out: join(ROOT, 'stopped'), run: 'first' }
    const { summary, run } = await deduper.run(job)
    expect([run, summary.documents]).toEqual(['first', 6])
    expect(linesOf(join(ROOT, 'stopped/duplicates.jsonl'))).toHaveLength(summary.dropped)
    expect((await (await openLedger(backend)).counts()).total).toBe(6)
  })
})

it('a large run is in the ledger whole, and gone when it is undone', async () => {
  writeFiles(directory, { 'in/a.jsonl': jsonl(corpus(900)), 'in/b.jsonl': jsonl(corpus(900, 2)) })
  const backend = new MemoryBackend()
  const deduper = await openDedupe(backend)
  const { summary } = await deduper.run({ inputs: [at('in')], out: at('out'), run: 'r' })
  const ledger = await openLedger(backend)
  const lines = await all(ledger.byRun('r'))
  expect(lines).toHaveLength(1800)
  expect(lines.filter((line) => line.endsWith('accepted'))).toHaveLength(summary.kept)
  expect(await ledger.counts({ run: 'r' })).toMatchObject({
    accepted: summary.kept,
    duplicate: summary.dropped,
    total: 1800,
  })
  await deduper.undo('r')
  expect((await ledger.counts()).total).toBe(0)
})

describe('the lines of a corpus job', () => {
  beforeEach(async () => {
    writeFiles(directory, {
      'in/a.jsonl': `${jsonl([{ id: '1', text: 'Ein Text auf Deutsch, den es einmal gibt.', lang: 'de' }])}not JSON\n`,
      'in/b.jsonl': `${jsonl([{ id: '2', text: 'A text in English that is there once.', lang: 'en' }])}{"id":"3"}\n`,
    })
  })

  async function jobRun(clock: () => number, options = {}): Promise<void> {
    const deduper = await openDedupe(at('state'), { clock, ...options })
    const reading = { fields: { language: 'lang' } }
    await deduper.run({ inputs: [at('in')], out: at('out'), run: 'r', reading })
    await deduper.close()
  }

  async function listed(options: Parameters<Ledger['list']>[0]): Promise<LedgerLine[]> {
    await using ledger = await openLedger(at('state'), { create: false })
    const found: LedgerLine[] = []
    for await (const line of ledger.list(options)) found.push(line)
    return found
  }

  it('have the language of the document and the version of its fingerprints', async () => {
    await jobRun(() => 5000)
    const lines = await listed({ status: 'accepted' })
    expect(lines.map(({ id, language }) => `${id} ${language}`).toSorted()).toEqual([
      '1 de',
      '2 en',
    ])
    for (const { fingerprintVersion } of lines) {
      expect(fingerprintVersion).toMatch(/^unicode-2\/adaptive\/128\/f\d+-[0-9a-f]{8}$/)
    }
  })

  it('are kept through the order-independent job', async () => {
    await jobRun(() => 5000, { orderIndependent: true })
    const lines = await listed({ status: 'accepted' })
    expect(lines.map(({ language }) => String(language)).toSorted()).toEqual(['de', 'en'])
  })

  it('list what was no document, with its file, line and reason', async () => {
    await jobRun(() => 5000)
    const rejected = await listed({ status: 'rejected' })
    expect(rejected.map(({ id, run }) => [id, run])).toEqual([
      ['a.jsonl#2', 'r'],
      ['b.jsonl#2', 'r'],
    ])
    expect(JSON.parse(rejected[0]!.detail!)).toMatchObject({
      file: 'a.jsonl',
      line: 2,
      position: 1,
      reason: 'invalid-json',
    })
    expect(JSON.parse(rejected[1]!.detail!)).toMatchObject({ reason: 'missing-field' })
    expect(await listed({ status: 'rejected', startAfter: rejected[0]! })).toEqual([rejected[1]])
    expect(await listed({ status: 'rejected', limit: 1 })).toEqual([rejected[0]])
    expect(await listed({ status: 'rejected', source: 'a' })).toEqual([])
    expect((await listed({ run: 'r' })).length).toBe(4)
    expect((await listed({})).length).toBe(4)
  })

  it('are listed by time', async () => {
    await jobRun(() => 5000)
    expect((await listed({ since: 5000, status: 'accepted' })).length).toBe(2)
    expect((await listed({ since: 5001 })).length).toBe(0)
    expect((await listed({ until: new Date(5000) })).length).toBe(0)
    await expect(listed({ since: Number.NaN })).rejects.toThrow('since is a time')
  })
})
