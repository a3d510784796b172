/** Outputs of an earlier run are never overwritten by a run of another input, and its records are never lost. */

import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { inProcess as prestige } from './children/cli.ts'
import { jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-outputs-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const run = (args: string[], input?: string) =>
  prestige(args, { cwd: directory, ...(input !== undefined && { input }) })
const dedupe = (...args: string[]) => run(['dedupe', ...args])
const runsOf = async (state: string) => (await run(['runs', '--state', state, '--json'])).text
const idsIn = (...names: string[]) => linesOf(at(...names)).map(({ id }) => id)

const text = textMaker(5)
const january = Array.from({ length: 6 }, (_, n) => ({ id: `jan-${n}`, text: text() }))
const february = [
  ...Array.from({ length: 6 }, (_, n) => ({ id: `feb-${n}`, text: text() })),
  ...january.slice(0, 2).map((doc) => ({ id: `${doc.id}-again`, text: doc.text })),
]

function months(): void {
  writeFiles(directory, {
    'm/2024-01/part-000.jsonl': jsonl(january),
    'm/2024-02/part-000.jsonl': jsonl(february),
  })
}

describe('a run whose output names are taken by an earlier run', () => {
  beforeEach(months)

  it('is refused before anything is decided, written or recorded', async () => {
    expect((await dedupe('m/2024-01', '-o', 'mo')).code).toBe(0)
    const [before, runs] = [published(at('mo')), await runsOf('mo/state')]
    const second = await dedupe('m/2024-02', '-o', 'mo')
    expect(second.code).not.toBe(0)
    expect(second.err).toContain('mo/kept/part-000.jsonl')
    expect(second.err).toContain('m/2024-01/part-000.jsonl')
    expect(second.err).toContain('-o OTHER')
    expect(published(at('mo'))).toEqual(before)
    expect(await runsOf('mo/state')).toBe(runs)
  })

  it('is refused as a plan as well', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    const plan = await dedupe('m/2024-02', '-o', 'mo', '--plan')
    expect([plan.code === 0, plan.err.includes('-o OTHER')]).toEqual([false, true])
  })

  it('works as the message says: both inputs in one command, or another directory', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    const both = await dedupe('m/2024-01', 'm/2024-02', '-o', 'mo', '--json')
    expect(both.json).toMatchObject({ summary: { kept: 6, dropped: 2 } })
    expect(idsIn('mo/kept/part-000.jsonl')).toHaveLength(6)
    expect(idsIn('mo/kept/2024-02/part-000.jsonl')).toHaveLength(6)
    const other = await dedupe('m/2024-02', '-o', 'other', '--json')
    expect(other.json).toMatchObject({ summary: { kept: 8 } })
  })

  it('is refused with another state too, and as a run against a state', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    const before = published(at('mo'))
    const foreign = await dedupe('m/2024-02', '-o', 'mo', '--state', 'second')
    expect(foreign.err).toContain('-o OTHER')
    const against = await dedupe('m/2024-02', '-o', 'mo', '--against', 'mo/state')
    expect(against.err).toContain('-o OTHER')
    expect(published(at('mo'))).toEqual(before)
  })

  it('is refused for a second stdin', async () => {
    await run(['dedupe', '-', '-o', 'piped'], jsonl(january))
    const second = await run(['dedupe', '-', '-o', 'piped'], jsonl(february))
    expect([second.code === 0, second.err.includes('-o OTHER')]).toEqual([false, true])
    expect(idsIn('piped/kept/stdin.jsonl')).toHaveLength(6)
  })

  it('is allowed after the earlier run was taken back', async () => {
    await dedupe('m/2024-01', '-o', 'mo', '--run', 'wrong')
    await run(['undo', 'wrong', '--state', 'mo/state'])
    expect((await dedupe('m/2024-02', '-o', 'mo')).code).toBe(0)
    expect(idsIn('mo/kept/part-000.jsonl')).toHaveLength(8)
  })

  it('is allowed for the same input when it has changed, or the state is gone', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    writeFileSync(at('m/2024-01/part-000.jsonl'), jsonl(february))
    expect((await dedupe('m/2024-01', '-o', 'mo')).code).toBe(0)
    rmSync(at('mo/state'), { recursive: true })
    expect((await dedupe('m/2024-01', '-o', 'mo')).code).toBe(0)
  })
})

it('one input never ends in two places of the same outputs', async () => {
  writeFiles(directory, { 'raw/jan.jsonl': jsonl(january), 'raw2/feb.jsonl': jsonl(february) })
  await dedupe('raw2', '-o', 'clean')
  expect((await dedupe('raw', 'raw2', '-o', 'clean')).code).toBe(0)
  expect(Object.keys(published(at('clean'))).filter((name) => name.startsWith('kept/'))).toEqual([
    'kept/feb.jsonl',
    'kept/raw/jan.jsonl',
  ])
  writeFileSync(at('raw2/feb.jsonl'), jsonl([...february, { id: 'new', text: text() }]))
  const before = published(at('clean'))
  const second = await dedupe('raw', 'raw2', '-o', 'clean')
  expect(second.code).not.toBe(0)
  expect(second.err).toContain('clean/kept/feb.jsonl')
  expect(second.err).toContain('clean/kept/raw2/feb.jsonl')
  expect(published(at('clean'))).toEqual(before)
})

describe('records of a run', () => {
  beforeEach(months)
  const records = [
    'duplicates.jsonl',
    'manifest.json',
    'outputs.jsonl',
    'rejects.jsonl',
    'report.html',
    'report.json',
    'superseded.jsonl',
  ]

  it('stay in a folder of their own, and the newest are at the top', async () => {
    writeFileSync(at('m/2024-01/part-000.jsonl'), `${jsonl(january)}{broken\n`)
    await dedupe('m/2024-01', '-o', 'mo', '--run', 'one')
    const first = readFileSync(at('mo/rejects.jsonl'), 'utf8')
    await dedupe('m', '-o', 'mo', '--run', 'two')
    for (const name of ['one', 'two']) {
      expect(readdirSync(at('mo/runs', name)).toSorted()).toEqual(records)
    }
    expect(readFileSync(at('mo/runs/one/rejects.jsonl'), 'utf8')).toBe(first)
    expect(linesOf(at('mo/runs/one/rejects.jsonl'))).toHaveLength(1)
    expect(linesOf(at('mo/runs/two/duplicates.jsonl'))).toHaveLength(2)
    for (const name of records.filter((one) => one !== 'outputs.jsonl')) {
      const newest = readFileSync(at('mo/runs/two', name), 'utf8')
      expect(readFileSync(at('mo', name), 'utf8')).toBe(newest)
    }
  })

  it('are not replaced by a run of the same name in another state', async () => {
    await dedupe('m/2024-01', '-o', 'mo', '--run', 'one')
    const second = await dedupe('m/2024-01', '-o', 'mo', '--run', 'one', '--state', 'second')
    expect(second.code).not.toBe(0)
    expect(second.err).toContain('mo/runs/one')
  })

  it('of a run against a state stay as well', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    await dedupe('m/2024-02', '-o', 'cleaned', '--against', 'mo/state')
    await dedupe('m/2024-02', '-o', 'cleaned', '--against', 'mo/state')
    const names = readdirSync(at('cleaned/runs'))
    expect(names).toHaveLength(2)
    for (const name of names) {
      expect(linesOf(at('cleaned/runs', name, 'duplicates.jsonl'))).toHaveLength(2)
    }
    expect(existsSync(at('cleaned/duplicates.jsonl'))).toBe(true)
  })
})

it('a run that supersedes documents of earlier runs lists them and says how many', async () => {
  const longer = january
    .slice(0, 3)
    .map((doc, n) => ({ id: `long-${n}`, text: `${doc.text} more` }))
  const longest = { id: 'longest-0', text: `${longer[0]?.text} words` }
  writeFiles(directory, {
    'b/1/a.jsonl': jsonl(january),
    'b/2/b.jsonl': jsonl([...longer, longest]),
  })
  await dedupe('b/1', '-o', 'out', '--keep', 'longest', '--run', 'one')
  expect(linesOf(at('out/superseded.jsonl'))).toEqual([])
  const second = await dedupe('b/1', 'b/2', '-o', 'out', '--keep', 'longest', '--run', 'two')
  expect(second.text).toMatch(/superseded before +3 .*superseded\.jsonl/)
  const lines = linesOf(at('out/superseded.jsonl'))
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatchObject({
    id: 'jan-0',
    source: 'b/1',
    file: 'a.jsonl',
    run: 'one',
    of: { id: 'longest-0', source: 'b/2' },
    representative: { id: 'jan-0' },
  })
  expect(lines[0].similarity).toBeGreaterThan(0.8)
  expect(linesOf(at('out/runs/two/superseded.jsonl'))).toEqual(lines)
  const manifest = JSON.parse(readFileSync(at('out/manifest.json'), 'utf8'))
  expect(manifest.summary.supersededEarlier).toBe(3)
})
