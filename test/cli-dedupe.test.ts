/** `prestige dedupe` as a user runs it: what it reads, writes and refuses, and how it goes on when it was stopped. */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { type Deduper, type Job, type JobEvents, type JobResult, openDedupe } from '../src/index.ts'
import { inProcess as prestige } from './children/cli.ts'
import { corpus, jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-dedupe-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args])
const idsIn = (...names: string[]) => linesOf(at(...names)).map(({ id }) => id)

describe('a run', () => {
  it('keeps one of each, tells the rest, and says what it did', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(100)), 'b.jsonl': jsonl(corpus(100)) })
    const run = await dedupe(at('in'), '-o', at('out'))
    expect([run.code, run.err]).toEqual([0, ''])
    expect(run.text).toMatch(/documents +200/)
    expect(run.text).toMatch(/kept +70\b/)
    expect(run.text).toContain(`Written to ${at('out')}: kept/, duplicates.jsonl, manifest.json`)
    const kept = idsIn('out/kept/a.jsonl')
    expect(kept).toHaveLength(70)
    expect(kept.every((id) => id.startsWith('doc-'))).toBe(true)
    expect(readFileSync(at('out/kept/b.jsonl'), 'utf8')).toBe('')
    const duplicates = linesOf(at('out/duplicates.jsonl'))
    expect(duplicates).toHaveLength(130)
    expect(duplicates[0]).toMatchObject({ id: 'same-0', method: 'exact', of: { id: 'doc-0' } })
    expect(duplicates.find(({ id }) => id === 'near-2')).toMatchObject({ method: 'near' })
    expect(duplicates.find(({ id }) => id === 'case-4')).toMatchObject({ method: 'canonical' })
    const manifest = JSON.parse(readFileSync(at('out/manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({ outputs: ['kept/a.jsonl', 'kept/b.jsonl'] })
    expect(manifest.summary).toMatchObject({ documents: 200, kept: 70, dropped: 130 })
  })

  it('takes a folder of texts, a file a document, and stdin', async () => {
    const text = textMaker(3)
    const [one, two] = [text(), text()]
    writeFiles(at('in'), { 'a.txt': one, 'sub/b.txt': `${one} more`, 'sub/c.md': two })
    const run = await dedupe(at('in'), '-o', at('out'), '--json')
    expect(run.json).toMatchObject({ status: 'finished', summary: { kept: 2, dropped: 1 } })
    expect(Object.keys(published(at('out')))).toEqual([
      'duplicates.jsonl',
      'kept/a.txt',
      'kept/sub/c.md',
      'manifest.json',
      'rejects.jsonl',
      'superseded.jsonl',
    ])
    const piped = await prestige(['dedupe', '-', '-o', at('piped'), '--json'], {
      input: jsonl([{ text: one }, { text: one }]),
    })
    expect(piped.json.summary).toMatchObject({ kept: 1, dropped: 1 })
  })

  it('holds ids of different files apart, and different texts of one id', async () => {
    const text = textMaker(4)
    const a = Array.from({ length: 20 }, (_, id) => ({ id, text: text() }))
    const b = a.map(({ id, text: other }, n) => ({ id, text: n < 5 ? other : text() }))
    const c = Array.from({ length: 20 }, () => ({ id: 'same', text: text() }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(a), 'b.jsonl': jsonl(b), 'c.jsonl': jsonl(c) })
    expect((await dedupe(at('in'), '-o', at('out'), '-q')).code).toBe(0)
    expect(linesOf(at('out/kept/a.jsonl'))).toEqual(a)
    expect(linesOf(at('out/kept/b.jsonl'))).toEqual(b.slice(5))
    expect(linesOf(at('out/kept/c.jsonl'))).toEqual(c)
  })

  it('keeps texts of all scripts apart, and finds their copies', async () => {
    const texts = [
      'नमस्ते दुनिया, यह एक लंबा वाक्य है जो किसी और जैसा नहीं है',
      '今天天气很好我们一起去公园散步然后回家吃饭',
      'Съешь же ещё этих мягких французских булок, да выпей чаю',
      'مرحبا بالعالم هذه جملة طويلة لا تشبه غيرها',
      '👩‍👩‍👧‍👦 🏳️‍🌈 🇮🇳 emoji of every family and flag',
    ]
    const docs = texts.flatMap((text, n) => [
      { id: `名前-${n}`, text },
      { id: `नकल-${n}`, text: `${text}  ` },
    ])
    writeFiles(at('in'), { 'भाषा.jsonl': jsonl(docs) })
    expect((await dedupe(at('in'), '-o', at('out'), '-q')).code).toBe(0)
    expect(idsIn('out/kept/भाषा.jsonl')).toEqual(texts.map((_, n) => `名前-${n}`))
  })

  it('tells malformed input in rejects.jsonl and goes on; with --strict it stops there', async () => {
    const [good] = corpus(1)
    const lines = Buffer.concat([
      Buffer.from(`${JSON.stringify(good)}\n{"id": 1, "text"\n{"id": 2}\n{"text": 5}\n`),
      Buffer.from('{"text": "\xff"}\n', 'latin1'),
    ])
    writeFiles(at('in'), { 'a.jsonl': lines })
    const strict = await dedupe(at('in'), '-o', at('strict'), '--strict')
    expect(strict.code).toBe(2)
    expect(strict.err).toContain('a.jsonl, line 2 is no document (invalid-json)')
    expect(published(at('strict'))).toEqual({})
    const run = await dedupe(at('in'), '-o', at('strict'))
    expect([run.code, run.err]).toEqual([1, expect.stringContaining('was mostly rejected')])
    expect(run.text).toMatch(/rejected +4 /)
    const rejects = linesOf(at('strict/rejects.jsonl'))
    expect(rejects.map(({ line, reason }) => `${line} ${reason}`)).toEqual([
      '2 invalid-json',
      '3 missing-field',
      '4 wrong-type',
      '5 invalid-utf8',
    ])
  })

  it('says what is missing, and what cannot be', async () => {
    const missing = await dedupe(at('nothing.jsonl'), '-o', at('out'))
    expect([missing.code, missing.err]).toEqual([
      3,
      `prestige: There is no file or directory ${at('nothing.jsonl')}.\n`,
    ])
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(3)) })
    expect((await dedupe(at('in'))).err).toContain('needs -o DIR')
    const within = await dedupe(at('in'), '-o', at('in/out'))
    expect([within.code, within.err]).toEqual([2, expect.stringContaining('is inside the input')])
    const unknown = await dedupe(at('in'), '-o', at('out'), '--keep', 'longst')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toContain('--keep longst: must be one of first, longest')
    expect((await prestige(['runs', '--state', at('none')])).code).toBe(3)
    expect(existsSync(at('out'))).toBe(false)
  })
})

describe('a plan', () => {
  it('says what the run then does, and leaves no trace', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(300)) })
    const args = [at('in'), '-o', at('out'), '--keep', 'longest', '--json']
    const plan = await dedupe(...args, `--plan=${at('plan.jsonl')}`)
    expect([plan.code, plan.err]).toEqual([0, ''])
    expect(existsSync(at('out'))).toBe(false)
    const run = await dedupe(...args)
    expect(run.json.summary).toEqual(plan.json.summary)
    expect(readFileSync(at('plan.jsonl'), 'utf8')).toBe(
      readFileSync(at('out/duplicates.jsonl'), 'utf8'),
    )
    writeFiles(at('in'), { 'b.jsonl': jsonl(corpus(200, 2)) })
    const second = await dedupe(...args, '--plan')
    expect((await dedupe(...args)).json.summary).toEqual(second.json.summary)
  })
})

describe('runs that follow', () => {
  it('do nothing where nothing is new, and read only what is', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(100)) })
    await dedupe(at('in'), '-o', at('out'), '-q')
    const before = published(at('out'))
    const again = await dedupe(at('in'), '-o', at('out'))
    expect(again.text).toMatch(
      /^Nothing to do: earlier runs processed 1 file\. Results are in .+\.\nRun .+: prestige dedupe .+ -o .+ --quiet\n$/,
    )
    expect(published(at('out'))).toEqual(before)
    writeFiles(at('in'), { 'b.jsonl': jsonl([...corpus(20), ...corpus(10, 2)]) })
    const more = (await dedupe(at('in'), '-o', at('out'), '--json')).json
    expect(more).toMatchObject({ skipped: ['a.jsonl'], summary: { documents: 30, kept: 7 } })
    expect(published(at('out'))['kept/a.jsonl']).toBe(before['kept/a.jsonl'])
    const { text } = await prestige(['runs', '--state', at('out/state')])
    expect((await prestige(['runs', '-o', at('out')])).text).toBe(text)
    expect(text.match(/finished/g)).toHaveLength(2)
  })

  it('write a file that has grown whole again', async () => {
    const docs = corpus(60)
    writeFiles(at('in'), { 'a.jsonl': jsonl(docs.slice(0, 50)) })
    await dedupe(at('in'), '-o', at('out'), '-q')
    writeFiles(at('in'), { 'a.jsonl': jsonl(docs) })
    const run = await dedupe(at('in'), '-o', at('out'), '--json', '--max-drop', '60%')
    expect(run.json.summary).toMatchObject({ unchanged: 50, repeated: 0 })
    const once = await dedupe(at('in'), '-o', at('once'), '--json')
    expect(run.json.summary.kept).toBe(once.json.summary.kept)
    expect(published(at('out'))['kept/a.jsonl']).toBe(published(at('once'))['kept/a.jsonl'])
  })

  it('are the same after one was undone', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(200)) })
    const args = [at('in'), '-o', at('out'), '--keep', 'longest', '--run', 'first']
    await dedupe(...args, '-q')
    const before = published(at('out'))
    const undo = await prestige(['undo', 'first', '-o', at('out')])
    expect(undo.text).toBe(
      `undone first: 200 documents removed from the state and from ${at('out/kept')}\nIts records are in ${at('out/runs/first')}.\n`,
    )
    expect(existsSync(at('out/kept'))).toBe(false)
    expect((await dedupe(...args, '-q')).code).toBe(0)
    expect(published(at('out'))).toEqual(before)
    const missing = await prestige(['undo', 'other', '--state', at('out/state')])
    expect(missing.code).toBe(3)
  })

  it('can be undone with their outputs, but not with those of other runs', async () => {
    const text = textMaker(9)
    writeFiles(at('in'), { 'a.jsonl': jsonl([{ id: 'a', text: text() }]) })
    await dedupe(at('in'), '-o', at('out'), '--run', 'one')
    writeFiles(at('in'), { 'b.jsonl': jsonl([{ id: 'b', text: text() }]) })
    await dedupe(at('in'), '-o', at('out'), '--run', 'two')
    const undo = (run: string) =>
      prestige(['undo', run, '--state', at('out/state'), '--delete-outputs'])
    expect((await undo('one')).text).toContain('Its records were deleted')
    expect(existsSync(at('out/runs/one'))).toBe(false)
    expect(Object.keys(published(at('out')))).toContain('manifest.json')
    expect(existsSync(at('out/kept/a.jsonl'))).toBe(false)
    expect(existsSync(at('out/kept/b.jsonl'))).toBe(true)
    expect((await undo('two')).code).toBe(0)
    expect(published(at('out'))).toEqual({})
  })

  it('hold back the undoing of what they rely on, unless it cascades', async () => {
    const [one] = corpus(1)
    const state = ['--state', at('state')]
    writeFiles(at('in'), { 'a.jsonl': jsonl([one]), 'b.jsonl': jsonl([{ ...one, id: 'b' }]) })
    await dedupe(at('in/a.jsonl'), '-o', at('a'), '--run', 'a', ...state)
    await dedupe(at('in/b.jsonl'), '-o', at('b'), '--run', 'b', ...state)
    const refused = await prestige(['undo', 'a', ...state])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--cascade')])
    const { json } = await prestige(['undo', 'a', '--cascade', '--json', ...state])
    expect(json.map(({ run }: { run: string }) => run)).toEqual(['b', 'a'])
  })
})

describe('what programs read', () => {
  it('is the same everywhere: times, empty results, and what a superseded document lost to', async () => {
    const text = textMaker(8)()
    writeFiles(at('in'), {
      'a.jsonl': jsonl([
        { id: 'short', text },
        { id: 'long', text: `${text} indeed` },
      ]),
    })
    const args = [at('in'), '-o', at('out'), '--keep', 'longest']
    expect((await dedupe(...args)).text).toMatch(/superseded +1/)
    const [line] = linesOf(at('out/duplicates.jsonl'))
    const of = { id: 'long', source: at('in') }
    expect(line).toMatchObject({ id: 'short', method: 'near', of, representative: of })
    expect(line.similarity).toBeGreaterThan(0.8)
    const again = (await dedupe(...args, '--json')).json
    expect([again.status, again.summary.documents]).toEqual(['nothing', 0])
    const runs = (await prestige(['runs', '--state', at('out/state'), '--json'])).json
    const manifest = JSON.parse(readFileSync(at('out/manifest.json'), 'utf8'))
    expect(runs[0].startedAt).toBe(manifest.startedAt)
  })

  it('counts linked documents as kept, as the bytes do', async () => {
    const text = textMaker(8)
    const passage = text(400)
    const documents = [0, 1].map((id) => ({ id, text: `${text(300)} ${passage} ${text(300)}` }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(documents) })
    const run = await dedupe(at('in'), '-o', at('out'), '--chunks')
    expect(run.text).toMatch(/kept +2\b/)
    expect(run.text).toMatch(/linked +1 +of those kept/)
    const report = await prestige(['report', '--state', at('out/state')])
    expect(report.text).toMatch(/kept +2\b/)
  })

  it('says that the text of a document is null', async () => {
    writeFiles(at('in'), { 'a.jsonl': '{"id":1,"text":null}\n{"id":2,"text":"x"}\n' })
    await dedupe(at('in'), '-o', at('out'))
    const [reject] = linesOf(at('out/rejects.jsonl'))
    expect(reject).toMatchObject({ message: 'The field text is null, not a string.' })
  })
})

describe('ceilings', () => {
  it('stop a run before anything is published, and may be raised', async () => {
    const [one] = corpus(1)
    const copies = Array.from({ length: 10 }, (_, n) => ({ ...one, id: `copy-${n}` }))
    writeFiles(at('in'), { 'web.jsonl': jsonl(copies) })
    const args = [at('in'), '-o', at('out'), '--source', 'web']
    const plan = await dedupe(...args, '--plan', '--max-drop', '60%')
    expect([plan.code, plan.err]).toEqual([1, expect.stringContaining('would be stopped')])
    const share = await dedupe(...args, '--max-drop', '60%')
    expect(share.code).toBe(2)
    expect(share.err).toContain('9 of 10 documents of source "web" would be dropped (90.0 %')
    const [, report = ''] = /prestige (report .*)\. To continue/.exec(share.err) ?? []
    const shown = await prestige(report.split(' '))
    expect(shown.text.replaceAll(/\s+/g, ' ')).toContain('Nothing was published.')
    expect(published(at('out'))).toEqual({})
    const cluster = await dedupe(...args, '--max-cluster', '10')
    expect(cluster.err).toContain('10 documents are one cluster')
    expect(published(at('out'))).toEqual({})
    expect((await dedupe(...args, '--max-drop', '0.95')).code).toBe(0)
    expect(idsIn('out/kept/web.jsonl')).toEqual(['copy-0'])
  })
})

describe('options that would have no effect', () => {
  it.each([
    [['--keep', 'newest'], '--time-field'],
    [['--keep', 'quality'], '--quality-field'],
    [['--keep', 'source'], '--source-priority'],
    [['--keep', 'type', '--type-priority', 'a'], '--type-field'],
    [['--keep', 'type', '--type-field', 'a'], '--type-priority'],
    [['--source-priority', 'a'], '--keep source'],
    [['--type-priority', 'a'], '--keep type'],
    [['--time-field', 'at', '--keep', 'longest'], '--keep newest'],
    [['--quality-field', 'q'], '--keep quality'],
    [['--dedup', 'exact'], '--config'],
  ])('are refused: %j', async (options, message) => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(2)) })
    const { code, err } = await dedupe(at('in'), '-o', at('out'), ...options)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
    expect(existsSync(at('out'))).toBe(false)
  })

  it('stop a run before anything is published if no document has the field they name', async () => {
    const documents = corpus(4).map(({ id, text }) => ({ id, text, time: '2024-01-01' }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(documents) })
    const keep = [at('in'), '-o', at('out'), '--keep', 'newest']
    const { code, err } = await dedupe(...keep, '--time-field', 'tiem', '--run', 'r')
    expect([code, err]).toEqual([2, expect.stringContaining('No document has a time')])
    expect(err).toContain('"tiem"')
    expect(published(at('out'))).toEqual({})
    expect((await prestige(['undo', 'r', '--state', at('out/state')])).code).toBe(0)
    expect((await dedupe(...keep, '--time-field', 'time')).code).toBe(0)
  })

  it.each([
    [['-o', '-', '--plan'], '-o - has no effect with --plan'],
    [['-o', '-', '--json'], 'both write to stdout'],
    [['-o', '-', '--workers', '2'], 'Several workers cannot write to stdout'],
    [['-o', 'x', '--duplicates', 'd'], '--duplicates has no effect without -o -'],
  ])('are refused of a filter: %j', async (options, message) => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(2)) })
    const { code, err } = await prestige(['dedupe', 'in', ...options], { cwd: directory })
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('a run that is cut off', () => {
  it('by Ctrl-C while it publishes has ended, so the exit code is 0', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(6000)) })
    let isSent = false
    const run = await prestige(['dedupe', at('in'), '-o', at('out'), '--progress'], {
      meanwhile: async (child) => {
        child.stdin.end()
        child.stderr.on('data', (part: Buffer) => {
          if (isSent || !part.includes('publishing')) return
          isSent = true
          child.kill('SIGINT')
        })
      },
    })
    expect(isSent).toBe(true)
    expect([run.code, existsSync(at('out/manifest.json'))]).toEqual([0, true])
  })

  it('by Ctrl-C says how to go on, and does; another job is refused until then', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(12_000)) })
    const run = await prestige(['dedupe', at('in'), '-o', at('out'), '--progress'], {
      meanwhile: async (child) => {
        await new Promise((resolve) => child.stderr.once('data', resolve))
        child.kill('SIGINT')
        child.stdin.end()
      },
    })
    expect(run.code).toBe(130)
    const [, id = ''] = /prestige undo (\S+) --state/.exec(run.err) ?? []
    expect(run.err).toContain('Give the same command again to go on')
    expect(published(at('out'))).toEqual({})
    writeFiles(at('in'), { 'b.jsonl': jsonl(corpus(5)) })
    const other = await dedupe(at('in'), '-o', at('out'))
    expect([other.code, other.err]).toEqual([
      2,
      expect.stringContaining(`Run ${id} was interrupted`),
    ])
    renameSync(at('in/b.jsonl'), at('b.jsonl'))
    const on = await dedupe(at('in'), '-o', at('out'), '--json')
    expect(on.json).toMatchObject({ run: id, summary: { documents: 12_000 } })
  })
})

describe('a run that is refused', () => {
  it('leaves a new state alone in which another has begun a run', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(20)) })
    const job = { inputs: [at('in')], out: at('out'), run: 'first' }
    const refused = await prestige(['dedupe', '-', '-o', at('out')], {
      meanwhile: async (child) => {
        // It has seen that there is no state, has made one, and waits for its input.
        await vi.waitFor(async () => (await openState()).close(), 30_000)
        // The other decides about nothing yet.
        await expect(runOf(job, stopAtOnce)).rejects.toThrow('stopped')
        child.stdin.end(jsonl(corpus(5)))
      },
    })
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('Run first was')])
    expect(await runOf(job)).toMatchObject({ run: 'first', summary: { documents: 20 } })
  })
})

const stopAtOnce: JobEvents = {
  onPhase: () => {
    throw new Error('stopped')
  },
}

/** Fails as long as there is none, with its settings. */
function openState(): Promise<Deduper> {
  return openDedupe(at('out/state'), { durability: 'os', create: false })
}

async function runOf(job: Job, watcher: JobEvents = {}): Promise<JobResult> {
  const deduper = await openState()
  try {
    return await deduper.run({ ...job, watcher })
  } finally {
    await deduper.close()
  }
}

describe('--against', () => {
  it('drops what a state knows, tells passages it knows, and leaves the state alone', async () => {
    const text = textMaker(5)
    const [question, passage] = [text(), text(400)]
    const test = [
      { id: 'q1', text: question },
      { id: 'q2', text: passage },
    ]
    writeFiles(directory, { 'test.jsonl': jsonl(test) })
    await dedupe(at('test.jsonl'), '-o', at('test'), '--chunks', '-q')
    const own = { id: 't3', text: text() }
    const train = [
      { id: 't1', text: question },
      { id: 't2', text: `${text(300)} ${passage} ${text(300)}` },
      own,
      { ...own, id: 't4' },
    ]
    writeFiles(directory, { 'train.jsonl': jsonl(train) })
    for (let twice = 0; twice < 2; twice++) {
      const args = ['-o', at('clean'), '--against', at('test/state'), '--json']
      const run = await dedupe(at('train.jsonl'), ...args)
      expect([run.code, run.err]).toEqual([0, ''])
      expect(run.json.summary).toMatchObject({ documents: 4, kept: 2, linked: 1, dropped: 1 })
    }
    expect(idsIn('clean/kept/train.jsonl')).toEqual(['t2', 't3', 't4'])
    const [whole, inPart] = linesOf(at('clean/duplicates.jsonl'))
    expect(whole).toMatchObject({ id: 't1', action: 'drop', method: 'exact', of: { id: 'q1' } })
    expect(inPart).toMatchObject({ id: 't2', action: 'link', method: 'chunk' })
    expect(inPart.spans[0].of.id).toBe('q2')
    const { json } = await prestige(['runs', '--state', at('test/state'), '--json'])
    expect(json).toHaveLength(1)
  })
})

describe('the config', () => {
  it('comes from a file, the environment and options, the last winning', async () => {
    const text = textMaker(6)()
    const near = `${text} ${textMaker(7)(20)}`
    writeFiles(at('in'), {
      'a.jsonl': jsonl([
        { id: 1, text },
        { id: 2, text: near },
      ]),
    })
    writeFileSync(at('c.yaml'), 'near: { threshold: 60% }\nmaxDrop: 90%\n')
    const kept = async (out: string, ...args: string[]) =>
      (await dedupe(at('in'), '-o', at(out), '--json', ...args)).json.summary.kept
    expect(await kept('default')).toBe(2)
    expect(await kept('file', '--config', at('c.yaml'))).toBe(1)
    process.env['PRESTIGE_DEDUPE_NEAR_THRESHOLD'] = '0.99'
    try {
      expect(await kept('environment', '--config', at('c.yaml'))).toBe(2)
      expect(await kept('option', '--config', at('c.yaml'), '--threshold', '60%')).toBe(1)
    } finally {
      delete process.env['PRESTIGE_DEDUPE_NEAR_THRESHOLD']
    }
  })

  it('is written with everything explained, and checked', async () => {
    expect((await prestige(['config', 'init', at('c.yaml')])).code).toBe(0)
    expect((await prestige(['config', 'init', at('c.yaml')])).code).toBe(2)
    const check = await prestige(['config', 'check', at('c.yaml')])
    expect([check.code, check.text]).toEqual([0, `${at('c.yaml')} is valid.\n`])
    writeFileSync(at('bad.yaml'), 'near:\n  tresholdd: 1\n')
    const bad = await prestige(['config', 'check', at('bad.yaml')])
    expect([bad.code, bad.err]).toEqual([
      2,
      `prestige: ${at('bad.yaml')} cannot be used. near.tresholdd is not an option. Did you mean near.threshold?\n`,
    ])
  })
})
