/** Settings that people change on the same outputs: what is refused, what --again does, and what a failure leaves. */

import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

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
    [['--precision', '0.99'], '--precision 0.99 (before: not set)'],
    [['--containment', '0.7'], '--containment 0.7 (before: off)'],
    [['--chunks'], '--chunks (before: off)'],
    [['--order-independent'], '--order-independent (before: off)'],
    [['--text-field', 'body'], '--text-field body (before: text)'],
    [['--source', 'web'], '--source web (before: not set)'],
    [['--format', 'lines'], '--format lines (before: jsonl)'],
    [
      ['--keep', 'source', '--source-priority', 'b,a'],
      '--keep source (before: first); --source-priority b,a (before: none)',
    ],
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
      'Redoing 1 run: 40 documents of 2 files, with --threshold 0.5 (before: 0.8). The inputs are read again.\n'
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
    await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', '--threshold', '0.95'))
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
