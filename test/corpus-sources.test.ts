/** Sources of documents and the order of inputs: as they were typed, and as a state began. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { openAt } from '../src/backends/index.ts'
import { openDedupe } from '../src/index.ts'
import { dedupeSpaces } from '../src/dedupe/rows.ts'
import { changeRun, type RunHead } from '../src/dedupe/runs.ts'
import { inProcess as prestige } from './children/cli.ts'
import { jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-sources-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args], { cwd: directory })

const text = textMaker(91)
const [same, own] = [text(), text()]
const doc = (id: string, extra: object = {}) => ({ id, text: same, ...extra })
const keptIn = (out: string, ...files: string[]) =>
  files.flatMap((file) => linesOf(at(out, 'kept', file)).map(({ id }) => id))

beforeEach(() => {
  writeFiles(directory, {
    'wiki/part-0.jsonl': jsonl([doc('wiki')]),
    'books/part-0.jsonl': jsonl([doc('books'), { id: 'own', text: own }]),
    'web/part-0.jsonl': jsonl([doc('web')]),
  })
})
const FILES = ['books', 'web', 'wiki'].map((name) => `${name}/part-0.jsonl`)

describe('a source', () => {
  it('is the argument as typed, so that the example of the help works', async () => {
    const priorities = ['--keep', 'source,longest', '--source-priority', 'books,wiki']
    const run = await dedupe('wiki', './web/', 'books', '-o', 'out', ...priorities, '--json')
    expect([run.code, run.err]).toEqual([0, ''])
    expect(Object.keys(run.json.summary.bySource).toSorted()).toEqual(['books', 'web', 'wiki'])
    expect(keptIn('out', ...FILES)).toEqual(['books', 'own'])
    const sources = linesOf(at('out/duplicates.jsonl')).map(({ source }) => String(source))
    expect(sources.toSorted()).toEqual(['web', 'wiki'])
  })

  it('is named by an option, by a field, or by files where that is asked for', async () => {
    const sources = async (...args: string[]) =>
      Object.keys((await dedupe('books', ...args, '--json')).json.summary.bySource)
    expect(await sources('-o', 'a', '--source', 'crawl')).toEqual(['crawl'])
    expect(await sources('-o', 'b', '--source-field', 'id')).toEqual(['books', 'own'])
    writeFiles(directory, { 'c.yaml': 'input: { sources: files }' })
    expect(await sources('-o', 'c', '--config', 'c.yaml')).toEqual(['part-0'])
  })
})

describe('the order of arguments', () => {
  it.each([
    [['wiki', 'web', 'books'], 'wiki'],
    [['web', 'books', 'wiki'], 'web'],
    [['books/part-0.jsonl', '.'], 'books'],
  ])('%j decides which copy is the first', async (inputs, first) => {
    const plan = `--plan=${at('plan.jsonl')}`
    expect((await dedupe(...inputs, '-o', '../out-of-the-inputs', plan, '-q')).code).toBe(0)
    const ofs = linesOf(at('plan.jsonl')).map(({ of }) => of.id)
    expect(ofs).toEqual([first, first])
  })
})

describe('a priority that matches nothing', () => {
  it('is an error that lists the sources there are, before anything is read', async () => {
    const args = ['-o', 'out', '--keep', 'source', '--source-priority', 'boks,wiki']
    const run = await dedupe('books', 'wiki', ...args)
    expect(run.code).toBe(2)
    expect(run.err).toContain('--source-priority "boks": no document has this source.')
    expect(run.err).toContain('There are "books", "wiki"')
    expect(published(at('out'))).toEqual({})
    expect((await dedupe('books', 'wiki', ...args, '--plan')).code).toBe(2)
  })

  it('may be a source that the state has', async () => {
    expect((await dedupe('books', '-o', 'one', '--state', 's', '-q')).code).toBe(0)
    const args = ['--keep', 'source', '--source-priority', 'wiki,books', '--state', 's', '-q']
    const run = await dedupe('wiki', '-o', 'two', ...args)
    expect([run.code, run.err]).toEqual([0, ''])
    expect(linesOf(at('two/duplicates.jsonl'))).toMatchObject([{ of: { source: 'books' } }])
  })

  it('stops a run before it publishes where sources or types are in a field', async () => {
    writeFiles(directory, { 'in/a.jsonl': jsonl([doc('1', { from: 'a', kind: 'x' })]) })
    const bySource = ['--source-field', 'from', '--keep', 'source', '--source-priority', 'a,b']
    const byType = ['--type-field', 'kind', '--keep', 'type', '--type-priority', 'y,x']
    for (const [args, message] of [
      [bySource, '--source-priority "b": no document has this source. There are "a"'],
      [byType, '--type-priority "y": no document has this type. There are "x"'],
    ] as const) {
      const run = await dedupe('in', '-o', 'out', '--run', 'r', ...args)
      expect([run.code, run.err]).toEqual([2, expect.stringContaining(message)])
      expect(published(at('out'))).toEqual({})
      expect((await prestige(['undo', 'r', '--state', at('out/state')])).code).toBe(0)
    }
  })
})

describe('a state from before sources were arguments', () => {
  const inputs = ['wiki', 'books'].map((name) => join(name))
  const run = async (names: readonly string[], listing = {}) => {
    const deduper = await openDedupe(at('state'), { durability: 'os' })
    try {
      const paths = names.map((name) => at(name))
      return await deduper.run({
        inputs: paths,
        out: at('out'),
        listing: { root: directory, ...listing },
      })
    } finally {
      await deduper.close()
    }
  }
  /** Runs of such a state do not say by which rule they named sources. */
  const forget = () =>
    openAt(at('state'), dedupeSpaces, {}, async (backend) => {
      const drop = (head: RunHead) => ({ ...head, sources: undefined })
      for (const id of (await prestige(['runs', '--state', at('state'), '--json'])).json)
        await backend.run(changeRun, id.id, drop)
      await backend.close()
    })

  it('goes on with the names of files, in the order of their paths', async () => {
    await run(['web'], { sources: 'files' })
    await forget()
    const { summary } = await run(inputs)
    expect(Object.keys(summary.bySource)).toEqual(['part-0'])
    const files = linesOf(at('out/duplicates.jsonl')).map(({ file }) => file)
    expect(files).toEqual(['books/part-0.jsonl', 'wiki/part-0.jsonl'])
    const other = run(['web', ...inputs], { sources: 'arguments' })
    await expect(other).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining('input.sources: files'),
    })
  })

  it('a new state keeps the rule it began with', async () => {
    await run(['web'])
    expect(Object.keys((await run(inputs)).summary.bySource)).toEqual(inputs.map((one) => at(one)))
    await expect(run(['web', ...inputs], { sources: 'files' })).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
    })
  })
})

describe('files that are passed over', () => {
  it('are listed on stderr and in the manifest', async () => {
    writeFiles(directory, { 'books/a.docx': '', 'books/sub/b.bin': '', 'books/.hidden': '' })
    const run = await dedupe('books', '-o', 'out')
    expect(run.code).toBe(0)
    expect(run.err).toBe(
      '2 files passed over: books/a.docx, books/sub/b.bin (unknown extension; --format reads them)\n',
    )
    const { passedOver } = JSON.parse(readFileSync(at('out/manifest.json'), 'utf8'))
    expect(passedOver.count).toBe(2)
    expect(passedOver.files.map(({ file }: { file: string }) => file)).toEqual([
      'books/a.docx',
      'books/sub/b.bin',
    ])
    expect((await dedupe('books', '-o', 'quiet', '-q')).err).toBe('')
  })
})
