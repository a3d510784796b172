/** Settings that people change on the same outputs: what is refused, what --again does, and what a failure leaves. */

import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { Body } from '../src/backends/index.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { packs, replays } from '../src/dedupe/rows.ts'
import { openDedupe } from '../src/index.ts'
import { inProcess as prestige, type Run } from './children/cli.ts'
import { type Doc, jsonl, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-settings-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args])
const runsOf = async (out: string) =>
  (await prestige(['runs', '--state', at(out), '--json'])).json as {
    id: string
    status: string
    redoneBy?: string
  }[]

/** Copies at about 0.97, 0.85 and 0.65, in other case, with other spaces, and longer ones after shorter ones. */
function similarTexts(seed: number, count = 3): Doc[] {
  const text = textMaker(seed)
  return Array.from({ length: count }, (_, n) => {
    const one = text(60)
    const words = one.split(' ')
    const without = (share: number) => words.slice(0, Math.round(words.length * share)).join(' ')
    return [
      { id: `${seed}-${n}-short`, text: without(0.65) },
      { id: `${seed}-${n}`, text: one },
      { id: `${seed}-${n}-near`, text: `${one} and more` },
      { id: `${seed}-${n}-part`, text: without(0.85) },
      { id: `${seed}-${n}-case`, text: one.toUpperCase() },
    ]
  }).flat()
}

function writeInputs(): void {
  writeFiles(at('in'), {
    'a.jsonl': jsonl(similarTexts(1)),
    'b.jsonl': jsonl([...similarTexts(2), ...similarTexts(1, 2)]),
  })
}

/** What was published, without what differs between a run that redoes others and a fresh one. */
const resultsIn = (out: string) => published(at(out))

const succeed = async (run: Promise<Run>): Promise<Run> => {
  const done = await run
  expect([done.code, done.err]).toEqual([0, expect.not.stringContaining('prestige:')])
  return done
}

describe('other settings on the same outputs', () => {
  it('are refused by the names that were typed, with what is affected and what to type', async () => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    const before = resultsIn('out')
    const refused = await dedupe(
      at('in'),
      '-o',
      at('out'),
      '--threshold',
      '0.9',
      '--keep',
      'longest',
    )
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('40 documents of 2 files')
    expect(refused.err).toContain('--keep longest (before: first); --threshold 0.9 (before: 0.8)')
    const command = `prestige dedupe ${at('in')} -o ${at('out')} --threshold 0.9 --keep longest`
    expect(refused.err).toContain(`\n  ${command} --again\n`)
    expect(refused.err).toContain(`\n  ${command.replace(at('out'), 'OTHER')}\n`)
    expect(resultsIn('out')).toEqual(before)
    const [, again = ''] = /prestige (dedupe .* --again)\n/.exec(refused.err) ?? []
    await succeed(prestige(again.split(' ')))
    expect(resultsIn('out')).not.toEqual(before)
  })

  it.each([
    [['--keep', 'longest'], '--keep longest (before: first)'],
    [['--no-guards'], '--no-guards (before: on)'],
    [['--precision', '0.95'], '--precision 0.95 (before: not set)'],
    [['--containment', '0.7'], '--containment 0.7 (before: off)'],
    [['--chunks'], '--chunks (before: off)'],
    [['--order-independent'], '--order-independent (before: off)'],
    [['--text-field', 'body'], '--text-field body (before: text)'],
    [['--source', 'web'], '--source web (before: not set)'],
    [['--format', 'lines'], '--format lines (before: jsonl)'],
  ])('are refused: %j', async (options, message) => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    const refused = await dedupe(at('in'), '-o', at('out'), ...options)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(message)])
    expect(refused.err).toContain('5 documents of 1 file ')
  })

  it('are named as they were written in a config file or the environment', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    writeFileSync(
      at('c.yaml'),
      'canonical: {profile: none}\nnear: {profile: words-3, action: link}\n',
    )
    const { err } = await dedupe(at('in'), '-o', at('out'), '--config', at('c.yaml'))
    expect(err).toContain(`canonical.profile: "none" in ${at('c.yaml')} (before: unicode)`)
    expect(err).toContain(`near.profile: "words-3" in ${at('c.yaml')} (before: adaptive)`)
    expect(err).toContain(`near.action: "link" in ${at('c.yaml')} (before: drop)`)
    process.env['PRESTIGE_DEDUPE_NEAR_THRESHOLD'] = '0.7'
    try {
      const other = await dedupe(at('in'), '-o', at('out'))
      expect(other.err).toContain('PRESTIGE_DEDUPE_NEAR_THRESHOLD=0.7 (before: 0.8)')
    } finally {
      delete process.env['PRESTIGE_DEDUPE_NEAR_THRESHOLD']
    }
  })

  it('are no others if they are the same, not typed, ceilings, or of methods that are off', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    const keep = ['--keep', 'longest', '--threshold', '0.7', '--text-field', 'body']
    const bodies = similarTexts(1, 1).map(({ id, text }) => ({ id, body: text }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(bodies) })
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', ...keep))
    writeFileSync(at('c.yaml'), 'simhash: {distanceMax: 1}\nsourcePriority: [a]\n')
    for (const options of [
      [],
      keep,
      ['--max-drop', '90%', '--max-cluster', '90'],
      ['--config', at('c.yaml')],
    ]) {
      const run = await succeed(dedupe(at('in'), '-o', at('out'), ...options))
      expect(run.text).toContain('Nothing to do')
    }
    writeFiles(at('in'), {
      'b.jsonl': jsonl(bodies.map(({ id, body }) => ({ id, body: `${body} at length` }))),
    })
    const more = (await succeed(dedupe(at('in'), '-o', at('out'), '--json'))).json
    const { config } = JSON.parse(readFileSync(at('out/manifest.json'), 'utf8'))
    expect(config).toMatchObject({ keep: ['longest'], near: { threshold: 0.7 } })
    expect(more.summary).toMatchObject({ documents: 5, rejected: 0 })
  })

  it('are taken where the state holds no documents', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 2)) })
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--run', 'one', '--threshold', '0.6'))
    await succeed(prestige(['undo', 'one', '--state', at('out'), '-q', '--delete-outputs']))
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--chunks'))
    await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', '--chunks'))
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
  })

  it('of a state that other outputs share are refused, and change nothing', async () => {
    writeFiles(at('in'), {
      'a.jsonl': jsonl(similarTexts(1, 1)),
      'b.jsonl': jsonl(similarTexts(2, 1)),
    })
    const state = ['--state', at('state'), '-q']
    await succeed(dedupe(at('in/a.jsonl'), '-o', at('a'), ...state))
    await succeed(dedupe(at('in/b.jsonl'), '-o', at('b'), ...state))
    const typed = [at('in/b.jsonl'), '-o', at('b'), ...state, '--threshold', '0.9', '--again']
    const refused = await dedupe(...typed)
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('--state OTHER -o OTHER'),
    ])
    const third = await dedupe(at('in'), '-o', at('c'), ...state, '--threshold', '0.9')
    expect([third.code, third.err]).toEqual([2, expect.stringContaining('--state OTHER')])
    expect(existsSync(at('c'))).toBe(false)
    await succeed(dedupe(at('in/b.jsonl'), '-o', at('b'), ...state, '--keep', 'longest', '--again'))
    expect((await prestige(['verify', '--store', at('state')])).code).toBe(0)
  })
})

const CHANGES: [string, string[], string[], string?][] = [
  ['a higher threshold', ['--threshold', '0.7'], ['--threshold', '0.95']],
  ['a lower threshold', [], ['--threshold', '0.5']],
  ['a method on', [], ['--chunks', '--containment', '0.6']],
  ['a method off', [], [], 'near: {enabled: false}'],
  ['simhash on', [], [], 'simhash: {enabled: true}'],
  ['links in place of drops', [], [], 'near: {action: link}\ncanonical: {action: link}'],
  ['another shingle profile', [], [], 'near: {profile: words-3}'],
  ['another canonical form', [], [], 'canonical: {profile: none}'],
  ['the longest copy', ['--keep', 'first'], ['--keep', 'longest']],
  ['the first copy', ['--keep', 'longest'], ['--keep', 'first']],
  ['an order that does not matter', [], ['--order-independent', '--keep', 'longest']],
]

describe('--again', () => {
  it.each(CHANGES)('gives what a fresh run gives: %s', async (_, first, then, yaml) => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--run', 'one', ...first))
    writeFileSync(at('c.yaml'), yaml ?? '')
    const changed = [...then, ...(yaml ? ['--config', at('c.yaml')] : [])]
    const before = resultsIn('out')
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--run', 'two', ...changed, '--again'))
    await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', ...changed))
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
    expect(resultsIn('out')).not.toEqual(before)
    expect(await runsOf('out')).toMatchObject([
      { id: 'one', status: 'superseded', redoneBy: 'two' },
      { id: 'two', status: 'finished' },
    ])
    expect((await prestige(['verify', '--store', at('out/state')])).code).toBe(0)
  })

  it('takes all inputs of all runs in their order, and new ones behind them', async () => {
    writeInputs()
    writeFiles(at('in'), { 'c.jsonl': jsonl(similarTexts(2)), 'd.jsonl': jsonl(similarTexts(3)) })
    await succeed(dedupe(at('in/b.jsonl'), '-o', at('out'), '-q'))
    await succeed(dedupe(at('in/a.jsonl'), '-o', at('out'), '-q'))
    await succeed(
      dedupe(at('in/c.jsonl'), at('in/d.jsonl'), '-o', at('out'), '--threshold', '0.95', '--again'),
    )
    // The files in the order of the runs, under names that sort so.
    writeFiles(at('sorted'), {
      '1.jsonl': readFileSync(at('in/b.jsonl')),
      '2.jsonl': readFileSync(at('in/a.jsonl')),
      '3.jsonl': readFileSync(at('in/c.jsonl')),
      '4.jsonl': readFileSync(at('in/d.jsonl')),
    })
    await succeed(dedupe(at('sorted'), '-o', at('fresh'), '-q', '--threshold', '0.95'))
    for (const [name, as] of Object.entries({ b: '1', a: '2', c: '3', d: '4' })) {
      expect(readFileSync(at(`out/kept/${name}.jsonl`), 'utf8')).toBe(
        readFileSync(at(`fresh/kept/${as}.jsonl`), 'utf8'),
      )
    }
    const statuses = (await runsOf('out')).map(({ status }) => status)
    expect(statuses).toEqual(['superseded', 'superseded', 'finished'])
  })

  it('removes outputs of files that are not kept any more, and brings others back', async () => {
    const [short, one, near] = similarTexts(1, 1)
    const files = {
      'a.txt': one?.text ?? '',
      'sub/b.txt': near?.text ?? '',
      'c.txt': short?.text ?? '',
    }
    writeFiles(at('in'), files)
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--threshold', '0.995'))
    expect(Object.keys(resultsIn('out'))).toContain('kept/sub/b.txt')
    for (const threshold of ['0.8', '0.5', '0.995']) {
      const options = ['-q', '--threshold', threshold]
      await succeed(dedupe(at('in'), '-o', at('out'), ...options, '--again'))
      await succeed(dedupe(at('in'), '-o', at(threshold), ...options))
      expect(resultsIn('out')).toEqual(resultsIn(threshold))
    }
    expect(existsSync(at('out/kept/sub/b.txt'))).toBe(true)
  })

  it('says what it is going to do, and with --plan only that', async () => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    const all = () => readdirSync(at('out'), { recursive: true, encoding: 'utf8' }).toSorted()
    const [names, before, runs] = [all(), resultsIn('out'), await runsOf('out')]
    const typed = [at('in'), '-o', at('out'), '--threshold', '0.5', '--again']
    const plan = await dedupe(...typed, '--plan')
    const message =
      'Redoing 1 run: 40 documents of 2 files, with --threshold 0.5 (before: 0.8). Texts are taken from the state: inputs are not read to decide.\n'
    expect([plan.code, plan.err]).toEqual([0, message])
    expect([all(), resultsIn('out'), await runsOf('out')]).toEqual([names, before, runs])
    const done = await succeed(dedupe(...typed))
    expect(done.err).toBe(message)
    const keptNow = (text: string) => Number(/kept +(\d+)/.exec(text)?.[1])
    expect(keptNow(plan.text)).toBe(keptNow(done.text))
    expect(plan.text).toContain(`Kept after --again: ${keptNow(done.text)}.`)
    const lines = ['a', 'b'].map((name) => before[`kept/${name}.jsonl`]?.split('\n').length ?? 0)
    expect(plan.text).toContain(`Kept now: ${lines.reduce((sum, count) => sum + count - 1, 0)} `)
  })

  it('names inputs that are gone or have changed, and changes nothing', async () => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    const before = resultsIn('out')
    const bytes = readFileSync(at('in/b.jsonl'))
    const { mtime } = statSync(at('in/b.jsonl'))
    rmSync(at('in/b.jsonl'))
    const typed = [at('in/a.jsonl'), '-o', at('out'), '-q', '--threshold', '0.95', '--again']
    const gone = await dedupe(...typed)
    expect(gone.code).toBe(3)
    expect(gone.err).toContain(`${at('in/b.jsonl')} cannot be found any more. Nothing was changed.`)
    writeFileSync(at('in/b.jsonl'), jsonl(similarTexts(9)))
    const changed = await dedupe(...typed)
    expect(changed.err).toContain(`${at('in/b.jsonl')} has changed since. Nothing was changed.`)
    expect([resultsIn('out'), (await runsOf('out')).length]).toEqual([before, 1])
    await succeed(dedupe(at('in/b.jsonl'), ...typed))
    const both = [at('in/a.jsonl'), at('in/b.jsonl')]
    await succeed(dedupe(...both, '-o', at('fresh'), '-q', '--threshold', '0.95'))
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
    writeFileSync(at('in/b.jsonl'), bytes)
    utimesSync(at('in/b.jsonl'), mtime, mtime)
  })

  it('reads inputs by other fields, of all runs or as each was read', async () => {
    const fields = (docs: readonly Doc[]) =>
      docs.map(({ id, text }) => ({ id, text: `title ${id}`, body: text }))
    writeFiles(at('in'), {
      'a.jsonl': jsonl(fields(similarTexts(1))),
      'b.jsonl': jsonl(fields(similarTexts(2))),
    })
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--text-field', 'body'))
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--threshold', '0.95', '--again'))
    const body = ['-q', '--text-field', 'body', '--threshold', '0.95']
    await succeed(dedupe(at('in'), '-o', at('fresh'), ...body))
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--text-field', 'text', '--again'))
    await succeed(dedupe(at('in'), '-o', at('titles'), '-q', '--threshold', '0.95'))
    expect(resultsIn('out')).toEqual(resultsIn('titles'))
  })
})

/** Takes so many transactions. */
class CutOff extends MemoryBackend {
  left = Infinity

  override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    if (this.left-- > 0) return super.run(body, ...args)
    return Promise.reject(new Error('cut off'))
  }
}

describe('--again that is interrupted', () => {
  const keptIn = (out: string) =>
    Object.entries(resultsIn(out)).filter(([name]) => name.startsWith('kept'))
  const job = (out: string) => ({ inputs: [at('in')], out: at(out) })

  /** Cut off after so many transactions, or not at all. */
  async function redo(engine: MemoryEngine, left: number): Promise<boolean> {
    const backend = new CutOff({}, engine)
    const deduper = await openDedupe(backend, { near: { threshold: 0.95 }, again: true })
    backend.left = left
    return deduper.run(job('out')).then(
      () => true,
      (error: unknown) => {
        expect(String(error)).toContain('cut off')
        return false
      },
    )
  }

  /** What was collected, and numbers of the runs whose texts are there. */
  async function leftIn(engine: MemoryEngine) {
    const backend = new MemoryBackend({}, engine)
    const packsOf = new Set<number>()
    let count = 0
    for await (const _row of backend.scan(replays)) count++
    for await (const { key } of backend.scan(packs)) packsOf.add(key.readUInt32BE())
    return { replays: count, packsOf: [...packsOf] }
  }

  it('ends the same when it is asked for again, at whatever step it was cut off', async () => {
    writeFiles(at('in'), {
      'a.jsonl': jsonl(similarTexts(1, 1)),
      'b.jsonl': jsonl([...similarTexts(2, 1), ...similarTexts(1, 1)]),
    })
    const fresh = await openDedupe('memory:', { near: { threshold: 0.95 } })
    await fresh.run(job('fresh'))
    let steps = 0
    // Every step was tried once; every third keeps the test short.
    for (let left = 0; ; left += 3) {
      rmSync(at('out'), { recursive: true, force: true })
      const engine = new MemoryEngine()
      const first = await openDedupe(new MemoryBackend({}, engine))
      await first.run({ ...job('out'), inputs: [at('in/a.jsonl')] })
      await first.run(job('out'))
      const before = keptIn('out')
      if (await redo(engine, left)) break
      steps++
      const between = await openDedupe(new MemoryBackend({}, engine), { asBefore: true })
      expect((await between.runs()).length, `step ${left}`).toBeGreaterThan(1)
      const isPublishing = JSON.stringify(keptIn('out')) !== JSON.stringify(before)
      if (isPublishing) expect(keptIn('out'), `step ${left}`).toEqual(keptIn('fresh'))
      expect(await redo(engine, Infinity), `step ${left}`).toBe(true)
      expect(resultsIn('out'), `step ${left}`).toEqual(resultsIn('fresh'))
      const last = await openDedupe(new MemoryBackend({}, engine), { asBefore: true })
      const statuses = (await last.runs()).map(({ status }) => status)
      expect(statuses, `step ${left}`).toEqual(['superseded', 'superseded', 'finished'])
      expect(await leftIn(engine), `step ${left}`).toEqual({ replays: 0, packsOf: [3] })
    }
    expect(steps).toBeGreaterThan(10)
  })

  it('leaves nothing behind when it is undone, at whatever step it was cut off', async () => {
    writeFiles(at('in'), {
      'a.jsonl': jsonl(similarTexts(1, 1)),
      'b.jsonl': jsonl([...similarTexts(2, 1), ...similarTexts(1, 1)]),
    })
    const fresh = await openDedupe('memory:', { near: { threshold: 0.6 } })
    await fresh.run(job('fresh'))
    let [kept, gone] = [0, 0]
    // Every step was tried once.
    for (let left = 1; ; left += 7) {
      rmSync(at('out'), { recursive: true, force: true })
      const engine = new MemoryEngine()
      const first = await openDedupe(new MemoryBackend({}, engine))
      await first.run({ ...job('out'), run: 'one' })
      const before = resultsIn('out')
      if (await redo(engine, left)) break
      const between = await openDedupe(new MemoryBackend({}, engine), { asBefore: true })
      const open = (await between.runs()).find(({ id }) => id !== 'one')
      // Cut off before it had begun.
      if (!open || open.status === 'finished') continue
      await between.undo(open.id)
      const isKept = (await between.runs()).some(({ status }) => status === 'finished')
      const packsOf = isKept ? [1] : []
      expect(await leftIn(engine), `step ${left}`).toEqual({ replays: 0, packsOf })
      if (isKept)
        expect(keptIn('out'), `step ${left}`).toEqual(
          Object.entries(before).filter(([name]) => name.startsWith('kept')),
        )
      if (isKept) kept++
      else gone++
      const next = await openDedupe(new MemoryBackend({}, engine), {
        near: { threshold: 0.6 },
        again: true,
      })
      await next.run(job('out'))
      expect(keptIn('out'), `step ${left}`).toEqual(keptIn('fresh'))
    }
    expect(Math.min(kept, gone)).toBeGreaterThan(0)
  })

  it('keeps what was published, names itself to other commands, and goes on', async () => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--run', 'one'))
    const before = resultsIn('out')
    const typed = [at('in'), '-o', at('out'), '--run', 'two', '--threshold', '0.95', '--again']
    const stopped = await dedupe(...typed, '--max-drop', '1%')
    expect([stopped.code, stopped.err]).toEqual([2, expect.stringContaining('Run two was stopped')])
    expect(resultsIn('out')).toEqual(before)
    const other = await dedupe(at('in'), '-o', at('out'), '--threshold', '0.7')
    expect(other.code).toBe(2)
    expect(other.err).toContain('Run two, which decides again about what one did, was interrupted')
    expect(other.err).toContain('--threshold 0.7 (before: 0.95)')
    expect(other.err).toContain(`\n  prestige dedupe ${typed.join(' ')} --max-drop 1%\n`)
    expect(other.err).toContain(`\n  prestige undo two --state ${at('out/state')}\n`)
    const undone = await prestige(['undo', 'one', '--state', at('out')])
    expect([undone.code, undone.err]).toEqual([2, expect.stringContaining('superseded by run two')])
    await succeed(dedupe(...typed, '-q'))
    await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', '--threshold', '0.95'))
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
  })

  it('can be discarded: other settings are free then', async () => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--run', 'one'))
    const typed = ['--run', 'two', '--threshold', '0.95', '--again', '--max-drop', '1%']
    expect((await dedupe(at('in'), '-o', at('out'), ...typed)).code).toBe(2)
    await succeed(prestige(['undo', 'two', '--state', at('out'), '-q']))
    expect((await runsOf('out')).map(({ status }) => status)).toEqual(['superseded', 'undone'])
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--threshold', '0.6'))
    await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', '--threshold', '0.6'))
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
  })
})

describe('a command that fails', () => {
  const jobs: [string, () => void, () => string[], number][] = [
    ['no match', () => undefined, () => [at('in/*.jsonl'), '-o', at('out')], 3],
    [
      'an empty directory',
      () => writeFiles(at('in'), { 'notes.xyz': '' }),
      () => [at('in'), '-o', at('out')],
      3,
    ],
    [
      'outputs that no run has written',
      () => writeFiles(at('out'), { 'kept/mine.txt': 'mine' }),
      () => [at('a.jsonl'), '-o', at('out')],
      2,
    ],
    [
      'a bad option',
      () => undefined,
      () => [at('a.jsonl'), '-o', at('out'), '--threshold', '90'],
      2,
    ],
    ['a bad run name', () => undefined, () => [at('a.jsonl'), '-o', at('out'), '--run', 'a/b'], 2],
    [
      'a missing model',
      () =>
        writeFiles(at(), { 'c.yaml': 'semantic: {enabled: true, threshold: 0.9, model: none}' }),
      () => [at('a.jsonl'), '-o', at('out'), '--config', at('c.yaml')],
      3,
    ],
    [
      'a reject with --strict',
      () => writeFiles(at(), { 'b.jsonl': '{}\n' }),
      () => [at('b.jsonl'), '-o', at('out'), '--strict'],
      2,
    ],
    [
      'an input that cannot be read',
      () => symlinkSync(at('loop.jsonl'), at('loop.jsonl')),
      () => [at('loop.jsonl'), '-o', at('out')],
      1,
    ],
  ]

  it.each(jobs)('leaves no state behind: %s', async (_, prepare, args, code) => {
    writeFiles(at(), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    prepare()
    const failed = await dedupe(...args())
    expect([failed.code, failed.err]).toEqual([code, expect.stringMatching(/^prestige: /)])
    expect(existsSync(at('out/state'))).toBe(false)
    if (!existsSync(at('out/kept'))) expect(existsSync(at('out'))).toBe(false)
  })

  it('leaves a state that was there before, and its settings', async () => {
    writeFiles(at(), { 'a.jsonl': jsonl(similarTexts(1, 1)), 'b.jsonl': '{}\n' })
    await succeed(dedupe(at('a.jsonl'), '-o', at('out'), '-q'))
    const before = resultsIn('out')
    expect((await dedupe(at('b.jsonl'), '-o', at('out'), '--strict')).code).toBe(2)
    expect(resultsIn('out')).toEqual(before)
    expect((await dedupe(at('a.jsonl'), '-o', at('out'))).text).toContain('Nothing to do')
  })
})

describe('input that is rejected', () => {
  it('ends with exit code 1 and the first message, and is read again by a corrected command', async () => {
    const bodies = similarTexts(1, 2).map(({ id, text }) => ({ id, body: text }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(bodies) })
    for (let times = 0; times < 2; times++) {
      const wrong = await dedupe(at('in'), '-o', at('out'), '--threshold', '0.7')
      expect(wrong.code).toBe(1)
      expect(wrong.err).toContain(
        '10 of 10 records rejected. The first of them: a.jsonl, line 1 (missing-field)',
      )
      expect(wrong.err).toContain('It does not count as processed')
    }
    await succeed(
      dedupe(at('in'), '-o', at('out'), '-q', '--text-field', 'body', '--keep', 'longest'),
    )
    await succeed(
      dedupe(at('in'), '-o', at('fresh'), '-q', '--text-field', 'body', '--keep', 'longest'),
    )
    expect(resultsIn('out')).toEqual(resultsIn('fresh'))
  })

  it('does not count as processed if a field was typed that should not have been', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    expect((await dedupe(at('in'), '-o', at('out'), '-q', '--text-field', 'body')).code).toBe(1)
    const right = await succeed(dedupe(at('in'), '-o', at('out'), '--json'))
    expect(right.json.summary).toMatchObject({ documents: 5, rejected: 0 })
  })

  it('in most pieces of one file is no obstacle to the others', async () => {
    const bodies = similarTexts(2, 2).map(({ id, text }) => ({ id, body: text }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 2)), 'b.jsonl': jsonl(bodies) })
    expect((await dedupe(at('in'), '-o', at('out'), '-q')).code).toBe(1)
    await succeed(dedupe(at('in/b.jsonl'), '-o', at('out'), '-q', '--text-field', 'body'))
    const done = await succeed(dedupe(at('in'), '-o', at('out')))
    expect(done.text).toContain('Nothing to do: earlier runs processed 2 files.')
  })
})

describe('a command with very many inputs', () => {
  it('is not kept whole', async () => {
    const names = Array.from({ length: 60 }, (_, n) => `${String(n).padStart(40, '0')}.jsonl`)
    writeFiles(
      at('in'),
      Object.fromEntries(names.map((name, n) => [name, jsonl(similarTexts(n, 1))])),
    )
    const inputs = names.map((name) => at('in', name))
    await succeed(dedupe(...inputs, '-o', at('out'), '-q'))
    const { text } = await dedupe(...inputs, '-o', at('out'))
    expect(text).toMatch(/… \(60 inputs\) -o /)
    expect(text.length).toBeLessThan(1500)
  })
})

describe('nothing to do', () => {
  it('says where the results are and what was typed, and prints no summary of another run', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    const typed = [at('in'), '-o', at('out'), '--run', 'one', '--keep', 'longest']
    await succeed(dedupe(...typed))
    const again = await succeed(dedupe(at('in'), '-o', at('out')))
    expect(again.text).toBe(
      `Nothing to do: earlier runs processed 1 file. Results are in ${at('out')}.\nRun one: prestige dedupe ${typed.join(' ')}\n`,
    )
    const { json } = await succeed(dedupe(at('in'), '-o', at('out'), '--json'))
    const earlier = [{ run: 'one', out: at('out'), command: `prestige dedupe ${typed.join(' ')}` }]
    expect(json).toMatchObject({ status: 'nothing', skipped: ['a.jsonl'], earlier })
    expect([json.run, json.summary.documents]).toEqual([undefined, 0])
    const elsewhere = await dedupe(at('in'), '-o', at('other'), '--state', at('out'))
    expect(elsewhere.text).toContain(`Results are in ${at('out')}, and none in ${at('other')}.`)
    rmSync(at('out/kept'), { recursive: true })
    const lost = await succeed(dedupe(at('in'), '-o', at('out')))
    expect(lost.text).toContain('1 missing or outdated output written again')
    expect(existsSync(at('out/kept'))).toBe(true)
    await succeed(dedupe(at('in'), '-o', at('out'), '--again', '-q'))
    expect(existsSync(at('out/kept/a.jsonl'))).toBe(true)
  })
})

describe('errors about settings', () => {
  it.each([
    [['--threshold', '90'], '--threshold 90: must be'],
    [['--threshold', 'high'], '--threshold high: must be'],
    [['--max-drop', '300%'], '--max-drop 300%: must be'],
    [['--max-cluster', '1'], '--max-cluster 1: must be'],
    [['--containment', '3'], '--containment 3: must be'],
    [['--precision', '2'], '--precision 2: must be'],
    [['--keep', 'bigest'], '--keep bigest: must be'],
    [['--text-field', ''], '--text-field: must not be empty'],
  ])('name the option: %j', async (options, message) => {
    writeFiles(at(), { 'a.jsonl': jsonl(similarTexts(1, 1)) })
    const { code, err } = await dedupe(at('a.jsonl'), '-o', at('out'), ...options)
    expect([code, err]).toEqual([2, expect.stringContaining(`prestige: ${message}`)])
  })
})
