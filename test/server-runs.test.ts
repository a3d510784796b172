/** Corpus runs over HTTP: documents in, events, reports, reasons, and the way back. */

import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { makeKey } from '../src/server/index.ts'
import { corpus, jsonl, textMaker, writeFiles } from './corpus-kit.ts'
import { RunServer } from './server-runs-kit.ts'

let site: RunServer
beforeEach(() => {
  site = new RunServer()
})
afterEach(() => site.close())

const uploads = () =>
  existsSync(join(site.out, 'uploads')) ? readdirSync(join(site.out, 'uploads')) : []

describe('a run of documents that are sent', () => {
  it('goes from the upload by live events to the report, the reasons and the undo', async () => {
    const docs = corpus(40)
    const started = await site.upload(jsonl(docs), '?run=first')
    expect(started).toMatchObject({ status: 202, body: { job: expect.any(String) } })
    const events = await site.events(started.body.job)
    const names = events.map(({ event }) => event)
    expect(names.filter((name) => name !== 'progress')).toEqual(['phase', 'phase', 'done'])
    expect(names).toContain('progress')
    expect(events.at(-1)?.data).toMatchObject({
      status: 'done',
      run: 'first',
      documents: 40,
      result: { status: 'finished', summary: { documents: 40 } },
    })

    const runs = await site.call('/api/v1/runs')
    expect(runs.body.runs).toMatchObject([
      { id: 'first', status: 'finished', documents: { in: 40 } },
    ])
    const report = await site.call('/api/v1/runs/first')
    const { kept, dropped } = runs.body.runs[0].documents
    expect(report.body).toMatchObject({
      run: { id: 'first' },
      documents: { in: 40, kept, dropped },
    })
    expect(dropped).toBeGreaterThan(3)
    const page = await site.fetch('/api/v1/runs/first/report')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await page.text()).toContain('<!doctype html>')
    // As the command writes it.
    expect(existsSync(join(site.out, 'report.html'))).toBe(true)

    const why = await site.call('/api/v1/documents/near-2/why')
    expect(why.body.documents).toMatchObject([
      { id: 'near-2', status: 'dropped', method: 'near', against: { id: 'doc-2' } },
    ])
    const [explained] = why.body.documents
    expect(explained.text).toBe(`${explained.against.text} and more`)
    expect(explained.alignment.spans.at(-1)).toEqual({ kind: 'only-a', a: 'and more' })

    const would = await site.post('/api/v1/runs/first/undo', { dryRun: true })
    expect(would.body).toMatchObject({ dryRun: true, undone: [{ run: 'first', documents: 40 }] })
    expect((await site.call('/api/v1/runs')).body.runs[0].status).toBe('finished')
    const undone = await site.post('/api/v1/runs/first/undo')
    expect(undone.body).toMatchObject({ dryRun: false, undone: [{ run: 'first', documents: 40 }] })
    expect((await site.call('/api/v1/runs')).body.runs[0].status).toBe('undone')
    expect(uploads()).toEqual([])
  })

  it('takes settings from the query, and reports clusters of a run', async () => {
    const docs = corpus(30)
    await site.run(jsonl(docs), '?near.threshold=90%25&run=one')
    const report = await site.call('/api/v1/runs/one')
    expect(report.body.config.near.threshold).toBe(0.9)
    const twice = docs.slice(0, 4).map(({ text }, at) => ({ id: `late-${at}`, text }))
    await site.run(jsonl(twice), '?run=two')
    const { clusters } = (await site.call('/api/v1/runs/two/clusters?limit=50')).body
    expect(clusters.length).toBeGreaterThan(0)
    for (const { members } of clusters)
      expect(members.map(({ run }: { run: string }) => run)).toContain('two')
    const first = (await site.call('/api/v1/runs/one/clusters')).body.clusters
    expect(first.length).toBeGreaterThan(clusters.length - 4)
    const relied = await site.post('/api/v1/runs/one/undo')
    expect(relied).toMatchObject({ status: 409, body: { code: 'RUN_RELIED_ON' } })
    const would = await site.post('/api/v1/runs/one/undo', { dryRun: true, cascade: true })
    const order = would.body.undone.map(({ run }: { run: string }) => run)
    expect(order).toEqual(['two', 'one'])
    const both = await site.post('/api/v1/runs/one/undo', { cascade: true })
    // But for what only doing it tells.
    const plain = both.body.undone.map((one: object) => Object.assign(one, { notes: [] }))
    expect(plain).toEqual(would.body.undone)
  })

  it('does nothing when the same documents are sent again', async () => {
    const lines = jsonl(corpus(10))
    const first = await site.run(lines)
    const second = await site.run(lines)
    expect(first.result.status).toBe('finished')
    expect(second.result.status).toBe('nothing')
    expect(second.upload).toBe(first.upload)
    expect(uploads()).toHaveLength(1)
  })

  it('plans without a trace', async () => {
    const planned = await site.call('/api/v1/runs/plan', {
      method: 'POST',
      lines: jsonl(corpus(20)),
    })
    expect(planned).toMatchObject({
      status: 200,
      body: { status: 'planned', summary: { documents: 20 }, violations: [], hasMore: false },
    })
    expect(planned.body.duplicates).toHaveLength(planned.body.summary.dropped)
    expect(uploads()).toEqual([])
    expect(existsSync(join(site.out, 'state'))).toBe(false)
    await site.run(jsonl(corpus(20)), '?run=real')
    const again = await site.call('/api/v1/runs/plan?near.threshold=0.5', {
      method: 'POST',
      lines: jsonl(corpus(5, 2)),
    })
    // Other settings than those of the state are the caller's mistake.
    expect(again).toMatchObject({ status: 409, body: { code: 'SETTINGS_MISMATCH' } })
    expect((await site.call('/api/v1/runs')).body.runs).toHaveLength(1)
    expect(uploads()).toHaveLength(1)
  })

  it('is refused at once where earlier runs decided with other settings', async () => {
    await site.run(jsonl(corpus(20)), '?run=one')
    const refused = await site.upload(jsonl(corpus(5, 2)), '?near.threshold=0.5')
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'SETTINGS_MISMATCH', detail: expect.stringContaining('near.threshold') },
    })
    expect((await site.call('/api/v1/runs')).body.jobs).toHaveLength(1)
    expect(uploads()).toHaveLength(1)
    // The place is free again, and what is asked for as the message says is done.
    const same = await site.run(jsonl(corpus(5, 2)), '?near.threshold=0.5&again=true')
    expect(same).toMatchObject({ status: 'done' })
  })

  it('reports what is rejected, and ends a failed job by name', async () => {
    const text = textMaker(3)
    await site.run(
      `${jsonl([{ id: 'a', text: text() }])}{"id": 7\n${jsonl([{ id: 'b', text: text() }])}`,
    )
    const { lines } = (await site.call('/api/v1/ledger?status=rejected')).body
    expect(lines).toHaveLength(1)
    const strict = await site.run(`${jsonl([{ id: 'c', text: text() }])}nothing\n`, '?strict=true')
    expect(strict).toMatchObject({ status: 'failed', error: { code: 'INPUT_REJECTED' } })
    expect(uploads()).toHaveLength(1)
  })
})

describe('what is asked of runs', () => {
  it('is refused by name', async () => {
    expect(await site.call('/api/v1/runs')).toMatchObject({ body: { runs: [], jobs: [] } })
    for (const path of [
      '/api/v1/runs/none',
      '/api/v1/runs/none/report',
      '/api/v1/runs/none/clusters',
    ])
      expect(await site.call(path)).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } })
    await site.run(jsonl(corpus(10)), '?run=one')
    expect(await site.post('/api/v1/runs/none/undo')).toMatchObject({
      status: 404,
      body: { code: 'RUN_NOT_FOUND' },
    })
    expect(await site.call('/api/v1/documents/doc-00/why')).toMatchObject({
      status: 404,
      body: { code: 'KEY_NOT_FOUND', detail: expect.stringContaining('Did you mean') },
    })
    expect(await site.call('/api/v1/jobs/none')).toMatchObject({ status: 404 })
    expect(await site.upload('')).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect(await site.upload('{}', '?near.treshold=1')).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('near.threshold') },
    })
  })

  it('has pairs, documents and pages of the ledger', async () => {
    const docs = corpus(40)
    await site.run(jsonl(docs), '?run=one')
    const pairs = await site.call('/api/v1/pairs?count=2')
    expect(pairs.body.calls.length).toBeGreaterThan(0)
    expect(pairs.body.calls.length).toBeLessThanOrEqual(6)
    const shown = await site.call('/api/v1/documents/doc-3')
    expect(shown.body.documents).toMatchObject([
      { id: 'doc-3', text: docs.find(({ id }) => id === 'doc-3')?.text },
    ])
    const seen: string[] = []
    let after = ''
    for (;;) {
      const page = await site.call(`/api/v1/ledger?run=one&limit=7${after}`)
      expect(page.body.lines.length).toBeLessThanOrEqual(7)
      seen.push(...page.body.lines.map(({ id }: { id: string }) => id))
      if (page.body.next === undefined) break
      after = `&after=${page.body.next}`
    }
    expect(seen.toSorted()).toEqual(docs.map(({ id }) => id).toSorted())
    const later = await site.call('/api/v1/ledger?since=2999-01-01')
    expect(later.body.lines).toEqual([])
  })

  it('tunes by labelled pairs', async () => {
    const text = textMaker(5)
    const pairs = Array.from({ length: 20 }, (_, at) => {
      const a = text()
      return { a, b: at % 2 ? `${a} and more` : text(), isDuplicate: at % 2 === 1 }
    })
    const tuned = await site.post('/api/v1/tune', { pairs })
    expect(tuned.body).toMatchObject({ pairs: 20, duplicates: 10, chosen: { falsePositives: 0 } })
    expect(tuned.body.thresholds[0].precision).toHaveProperty('low')
    expect(await site.post('/api/v1/tune', { pairs, precision: 0.999 })).toMatchObject({
      status: 400,
      body: { code: 'PRECISION_UNPROVEN' },
    })
  })
})

describe('inputs by path', () => {
  const start = (inputs: string[], more = {}) => site.post('/api/v1/runs', { inputs, ...more })

  it('are read below the roots alone', async () => {
    const root = join(site.directory, 'corpus')
    writeFiles(root, { 'a.jsonl': jsonl(corpus(10)), 'sub/b.jsonl': jsonl(corpus(5, 9)) })
    writeFiles(site.directory, { 'secret/c.jsonl': jsonl(corpus(3, 4)) })
    symlinkSync(join(site.directory, 'secret'), join(root, 'way'))
    symlinkSync(join(site.directory, 'secret/c.jsonl'), join(root, 'link.jsonl'))
    const secret = join(site.directory, 'secret/c.jsonl')
    const escapes = [
      '../secret/c.jsonl',
      secret,
      'way',
      'way/c.jsonl',
      'link.jsonl',
      '/',
      '..',
      'sub/../../secret',
      `${root}/../secret`,
      'a\0b',
      `${root}-other/x`,
    ]
    for (const path of escapes)
      expect(await start([path]), path).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    for (const path of ['s3://bucket/key', 's3://bucket'])
      expect(await start([path]), path).toMatchObject({ status: 403 })
    for (const path of ['*.jsonl', 'none.jsonl', 'a.jsonl/x', '-'])
      expect(await start([path]), path).toMatchObject({
        status: 404,
        body: {
          code: 'FILE_NOT_FOUND',
          detail: expect.stringContaining('relative to a directory'),
        },
      })
    for (const settings of [
      { input: { followSymlinks: true } },
      { input: { root: '/' } },
      { output: '/tmp/x' },
      { state: '/tmp/x' },
      { semantic: { enabled: true, threshold: 0.9, model: '../model' } },
    ])
      expect(await start(['a.jsonl'], { settings })).toMatchObject({ status: 403 })
    // A directory is read without the links in it that lead outside.
    const whole = await site.ended((await start(['.'], { run: 'whole' })).body.job)
    expect(whole).toMatchObject({ status: 'done', result: { summary: { documents: 15 } } })
    expect((await site.call('/api/v1/documents/doc-1')).body.documents.length).toBeGreaterThan(0)
  })

  it('are refused where the outputs are below them, and without roots', async () => {
    site.server = site.open({ roots: [site.directory] })
    mkdirSync(site.out, { recursive: true })
    expect(await start(['.'])).toMatchObject({ status: 400 })
    site.server = site.open({ roots: undefined })
    expect(await start(['a.jsonl'])).toMatchObject({ status: 403 })
  })
})

describe('jobs', () => {
  it('wait for one another, and are refused when too many do', async () => {
    site.server = site.open({ limits: { waitingRuns: 1 } })
    const long = await site.upload(jsonl(corpus(1000)), '?run=long')
    const next = await site.upload(jsonl(corpus(5, 7)), '?run=next')
    expect(next.body.status).toBe('waiting')
    expect(await site.upload(jsonl(corpus(6, 8)))).toMatchObject({
      status: 503,
      body: { code: 'OVERLOADED' },
    })
    expect(await site.post('/api/v1/runs/long/undo')).toMatchObject({ status: 503 })
    const stopped = await site.call(`/api/v1/jobs/${next.body.job}`, { method: 'DELETE' })
    expect(stopped.body.status).toBe('stopped')
    expect((await site.ended(long.body.job)).status).toBe('done')
    // What was sent for the one that was stopped is gone.
    expect((await site.run(jsonl(corpus(2, 11)))).status).toBe('done')
    expect(uploads()).toHaveLength(2)
  })

  it('are stopped, and resumed by the name of the upload, also by another process', async () => {
    const whole = new RunServer()
    const lines = jsonl(corpus(2000))
    const expected = await whole.run(lines, '?run=one')
    await whole.close()
    const started = await site.upload(lines, '?run=one')
    await firstProgress(started.body.job)
    const stopped = await site.call(`/api/v1/jobs/${started.body.job}`, { method: 'DELETE' })
    expect(stopped.body).toMatchObject({ status: 'stopped', run: 'one' })
    expect(stopped.body.documents).toBeLessThan(2000)
    expect((await site.call('/api/v1/runs')).body.runs).toMatchObject([{ status: 'deciding' }])
    await site.server.close()
    site.server = site.open()
    const resumed = await site.post('/api/v1/runs', { upload: started.body.upload })
    const ended = await site.ended(resumed.body.job)
    expect(ended).toMatchObject({ status: 'done', run: 'one' })
    const { documents, kept, dropped } = expected.result.summary
    expect(ended.result.summary).toMatchObject({ documents, kept, dropped })
  })

  it('are discarded with their run', async () => {
    const started = await site.upload(jsonl(corpus(2000)), '?run=one')
    await firstProgress(started.body.job)
    await site.call(`/api/v1/jobs/${started.body.job}?discard=true`, { method: 'DELETE' })
    expect((await site.call('/api/v1/runs')).body.runs).toMatchObject([{ status: 'undone' }])
    expect(uploads()).toEqual([])
    expect(await site.post('/api/v1/runs', { upload: started.body.upload })).toMatchObject({
      status: 404,
      body: { code: 'FILE_NOT_FOUND' },
    })
  })

  it('are followed from where a client stopped, and end with the server', async () => {
    const { job } = (await site.upload(jsonl(corpus(20)))).body
    const all = await site.events(job)
    const rest = await site.events(job, { 'last-event-id': all[0]?.id })
    expect(rest.map(({ id }) => id)).toEqual(all.slice(1).map(({ id }) => id))
    const long = (await site.upload(jsonl(corpus(2000, 3)))).body.job
    const following = site.events(long)
    await firstProgress(long)
    await site.server.close()
    expect((await following).at(-1)?.event).toBe('stopped')
    site.server = site.open()
  })

  it('have uploads within their bounds', async () => {
    site.server = site.open({ limits: { uploadBytes: 2000 } })
    expect(await site.upload(jsonl(corpus(30)))).toMatchObject({ status: 413 })
    site.server = site.open({ limits: { uploadsBytes: 2000 } })
    expect(await site.upload(jsonl(corpus(30)))).toMatchObject({
      status: 507,
      body: { code: 'BACKEND_FULL' },
    })
    expect(uploads()).toEqual([])
    expect(
      await site.call('/api/v1/runs', {
        method: 'POST',
        lines: '{}',
        headers: { 'content-type': 'text/plain' },
      }),
    ).toMatchObject({ status: 415 })
  })
})

/** Until documents are decided about. */
async function firstProgress(job: string): Promise<void> {
  const response = await site.fetch(`/api/v1/jobs/${job}/events`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value = '' } = await reader.read()
    if (done || value.includes('event: progress')) break
  }
  await reader.cancel()
}

describe('who may', () => {
  it('is decided by scope, and not by namespace', async () => {
    const made = (['read', 'write'] as const).map((scope) => makeKey({ name: scope, scope }, 0))
    const bound = makeKey({ name: 'bound', scope: 'admin', namespaces: ['a'] }, 0)
    site.server = site.open({ keys: [...made, bound].map(({ key }) => key) })
    const as = (secret = '') => ({ authorization: `Bearer ${secret}` })
    const [reader, writer] = made.map(({ secret }) => as(secret))
    const lines = jsonl(corpus(5))
    const post = (headers: Record<string, string> | undefined, path = '/api/v1/runs') =>
      site.call(path, { method: 'POST', lines, headers: headers ?? {} })
    expect((await site.call('/api/v1/runs')).status).toBe(401)
    expect((await site.call('/api/v1/runs', { headers: reader! })).status).toBe(200)
    for (const path of ['/api/v1/runs', '/api/v1/runs/plan', '/api/v1/runs/one/undo'])
      expect((await post(reader, path)).status).toBe(403)
    expect((await site.call('/api/v1/jobs/x', { method: 'DELETE', headers: reader! })).status).toBe(
      403,
    )
    expect((await post(writer)).status).toBe(202)
    expect((await site.call('/api/v1/runs', { headers: as(bound.secret) })).status).toBe(403)
    const within = { ...as(bound.secret), 'prestige-namespace': 'a' }
    for (const path of ['runs', 'ledger', 'pairs', 'documents/doc-0'])
      expect((await site.call(`/api/v1/${path}`, { headers: within })).status).toBe(400)
  })

  it('cannot ask for runs where there are none', async () => {
    site.server = site.open({ jobs: undefined })
    expect(await site.call('/api/v1/runs')).toMatchObject({
      status: 404,
      body: { code: 'ROUTE_NOT_FOUND' },
    })
  })
})
