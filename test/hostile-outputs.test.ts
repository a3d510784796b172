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

describe('a run whose output names are taken', () => {
  beforeEach(months)

  it('by an earlier run of the state gets others, and replaces nothing', async () => {
    expect((await dedupe('m/2024-01', '-o', 'mo')).code).toBe(0)
    const before = readFileSync(at('mo/kept/part-000.jsonl'), 'utf8')
    const second = await dedupe('m/2024-02', '-o', 'mo', '--json')
    expect(second.json).toMatchObject({ summary: { kept: 6, dropped: 2 } })
    expect(readFileSync(at('mo/kept/part-000.jsonl'), 'utf8')).toBe(before)
    expect(idsIn('mo/kept/2024-02/part-000.jsonl')).toHaveLength(6)
  })

  it('by another state is refused before anything is decided, written or recorded', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    const before = published(at('mo'))
    for (const input of ['m/2024-01', 'm/2024-02']) {
      const foreign = await dedupe(input, '-o', 'mo', '--state', 'second')
      expect(foreign.code).not.toBe(0)
      expect(foreign.err).toContain('mo/kept/part-000.jsonl')
      expect(foreign.err).toContain('-o OTHER')
    }
    expect(await runsOf('second')).not.toContain('part')
    const against = await dedupe('m/2024-02', '-o', 'mo', '--against', 'mo/state')
    expect(against.err).toContain('-o OTHER')
    expect(published(at('mo'))).toEqual(before)
  })

  it('by a state that is gone is refused too, until its outputs are removed', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    rmSync(at('mo/state'), { recursive: true })
    expect((await dedupe('m/2024-01', '-o', 'mo')).err).toContain('remove mo/kept')
    rmSync(at('mo/kept'), { recursive: true })
    expect((await dedupe('m/2024-01', '-o', 'mo')).code).toBe(0)
    expect(idsIn('mo/kept/part-000.jsonl')).toHaveLength(6)
  })

  it('by an earlier stdin gets another', async () => {
    await run(['dedupe', '-', '-o', 'piped'], jsonl(january))
    await run(['dedupe', '-', '-o', 'piped'], jsonl(february))
    expect(idsIn('piped/kept/stdin.jsonl')).toHaveLength(6)
    expect(idsIn('piped/kept/stdin~2.jsonl')).toHaveLength(6)
  })

  it('by its own input, which has changed, replaces it', async () => {
    await dedupe('m/2024-01', '-o', 'mo')
    writeFileSync(at('m/2024-01/part-000.jsonl'), jsonl(february))
    expect((await dedupe('m/2024-01', '-o', 'mo')).code).toBe(0)
    expect(idsIn('mo/kept/part-000.jsonl')).toContain('feb-0')
  })
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
    const second = await dedupe('m', '-o', 'mo', '--run', 'one', '--state', 'second')
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
