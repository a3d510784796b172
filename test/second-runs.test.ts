/** Second runs of all shapes: after each, `kept/` is what the ledger calls accepted, and nothing else was lost. */

import {
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import { parquetWriteBuffer } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'

import { MemoryBackend } from '../src/backends/memory/backend.ts'
import { type DedupeOptions, openDedupe } from '../src/index.ts'
import { prestige } from './children/cli.ts'
import { type Doc, jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'
import { checkState, keptFiles, keptLines } from './output-check.ts'
import { failing, keptRows, useRuns } from './runs-kit.ts'

const runs = useRuns('prestige-second-')
const { at, opened, dedupe, undo, check, write } = runs

const keep: DedupeOptions = { keep: ['longest'] }
const text = textMaker(77)
const docsOf = (name: string, count: number): Doc[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${name}-${n}`, text: text() }))
const longer = (docs: readonly Doc[], name: string): Doc[] =>
  docs.map((doc, n) => ({ id: `${name}-${n}`, text: `${doc.text} and some more words` }))

const idsIn = (name: string): string[] => linesOf(at('out/kept', name)).map(({ id }) => id)

describe('files of the same name in other directories', () => {
  it('get outputs of their own, named by the directories in which they differ', async () => {
    const january = docsOf('jan', 6)
    write({
      'm/2024-01/part.jsonl': january,
      'm/2024-02/part.jsonl': [...docsOf('feb', 4), { ...january[0]!, id: 'copy' }],
      'm/2024-03/part.jsonl': docsOf('mar', 3),
    })
    for (const month of ['01', '02', '03']) {
      await dedupe([`m/2024-${month}`])
      await check()
    }
    expect(keptFiles(at('out'))).toEqual(['2024-02/part.jsonl', '2024-03/part.jsonl', 'part.jsonl'])
    expect(idsIn('2024-02/part.jsonl')).toHaveLength(4)
  })

  it('never take the name of another input, wherever they are', async () => {
    write({ 'a/b/x.jsonl': docsOf('abx', 2), 'a/b/c/x.jsonl': docsOf('abcx', 2) })
    write({
      'a/c/x.jsonl': docsOf('acx', 2),
      'x.jsonl': docsOf('x', 2),
      'a/x.jsonl': docsOf('ax', 2),
    })
    await dedupe(['a/b'])
    for (const input of ['a/c', 'x.jsonl', 'a/x.jsonl']) {
      await dedupe([input])
      await check()
    }
    expect(keptFiles(at('out'))).toEqual([
      'c/x.jsonl',
      'c~2/x.jsonl',
      'x.jsonl',
      'x~2.jsonl',
      'x~3.jsonl',
    ])
  })
})

describe('overlapping roots', () => {
  it('leave every input the name it had, also when it changes', async () => {
    const feb = docsOf('feb', 3)
    write({ 'raw2/feb.jsonl': feb })
    await dedupe(['raw2'])
    write({ 'raw/jan.jsonl': docsOf('jan', 3) })
    await dedupe(['raw', 'raw2'])
    await check()
    expect(keptFiles(at('out'))).toEqual(['feb.jsonl', 'raw/jan.jsonl'])
    write({ 'raw2/feb.jsonl': [...feb, ...docsOf('new', 1)] })
    await dedupe(['raw', 'raw2'])
    await dedupe(['raw2/feb.jsonl'])
    await check()
    expect(keptFiles(at('out'))).toEqual(['feb.jsonl', 'raw/jan.jsonl'])
    expect(idsIn('feb.jsonl')).toHaveLength(4)
  })

  it('carry over documents that their file has no more, because others were dropped for them', async () => {
    const [one, two] = docsOf('a', 2)
    write({ 'in/a.jsonl': [one!, two!], 'in/b.jsonl': [{ ...one!, id: 'b' }] })
    await dedupe(['in'])
    write({ 'in/a.jsonl': [two!] })
    await dedupe(['in'])
    await check()
    expect(idsIn('a.jsonl')).toEqual(['a-1', 'a-0'])
  })
})

describe('better copies', () => {
  const first = docsOf('one', 5)
  const better = longer(first.slice(1, 3), 'two')
  const begin = async () => {
    write({ 'b/1/a.jsonl': first, 'b/1/other.jsonl': docsOf('other', 2) })
    await dedupe(['b/1'], { ...keep, run: 'one' })
    write({ 'b/2/b.jsonl': better })
  }

  it('take the place of what earlier runs kept, and nothing else is written', async () => {
    await begin()
    const before = statSync(at('out/kept/other.jsonl'))
    await dedupe(['b/2'], { ...keep, run: 'two' })
    await check()
    expect(idsIn('a.jsonl')).toEqual(['one-0', 'one-3', 'one-4'])
    expect(statSync(at('out/kept/other.jsonl')).ino).toBe(before.ino)
    expect(linesOf(at('out/runs/two/superseded.jsonl'))).toHaveLength(2)
    expect(linesOf(at('out/runs/two/superseded/a.jsonl'))).toEqual(first.slice(1, 3))
    await undo('two')
    await check()
    expect(readFileSync(at('out/kept/a.jsonl'), 'utf8')).toBe(jsonl(first))
  })

  it.each(['gone', 'changed'])('do so when the input is %s, and it can be undone', async (how) => {
    await begin()
    if (how === 'gone') rmSync(at('b/1'), { recursive: true })
    else writeFileSync(at('b/1/a.jsonl'), 'something else\n')
    await dedupe(['b/2'], { ...keep, run: 'two' })
    await check()
    await undo('two')
    await check()
    expect(idsIn('a.jsonl').toSorted()).toEqual(first.map(({ id }) => id))
  })

  it('are refused by name where neither output nor input is as it was, and nothing is changed', async () => {
    await begin()
    rmSync(at('b/1'), { recursive: true })
    writeFileSync(at('out/kept/a.jsonl'), 'mine\n')
    const failed = dedupe(['b/2'], { ...keep, run: 'two' })
    await expect(failed).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
      message: expect.stringMatching(/kept\/a\.jsonl .*"one-1"/s),
    })
    expect(readFileSync(at('out/kept/a.jsonl'), 'utf8')).toBe('mine\n')
    expect(keptFiles(at('out'))).toEqual(['a.jsonl', 'other.jsonl'])
  })

  it('reach outputs of the same state in other directories', async () => {
    await begin()
    await dedupe(['b/2'], { ...keep, run: 'two', out: 'elsewhere' })
    await check(keptLines, 'elsewhere')
    expect(idsIn('a.jsonl')).toEqual(['one-0', 'one-3', 'one-4'])
    await undo('two')
    expect(idsIn('a.jsonl')).toEqual(first.map(({ id }) => id))
    await check()
  })

  it('come from a stream as well: the next run takes them into account', async () => {
    await begin()
    await opened(keep, async (state) => {
      await state.decide({ id: 'live', text: `${first[0]!.text} and quite some more words` })
    })
    rmSync(at('b/2'), { recursive: true })
    await dedupe(['b/1'], keep)
    expect(idsIn('a.jsonl')).toEqual(['one-1', 'one-2', 'one-3', 'one-4'])
  })

  it.each(['files', 'gzip'] as const)('replace %s too', async (format) => {
    const docs = first.map(({ text: own }, n) => ({ id: `1/${n}.txt`, text: own }))
    const more = better.map(({ text: own }, n) => ({ id: `2/${n}.txt`, text: own }))
    const read = (out: string) =>
      keptFiles(out).flatMap((name) => {
        const bytes = readFileSync(join(out, 'kept', name))
        return name.endsWith('.gz') ? gunzipSync(bytes).toString().trim().split('\n') : [`${bytes}`]
      })
    if (format === 'files') {
      runs.originals.add([...docs, ...more], (doc) => doc.text)
      for (const doc of [...docs, ...more]) writeFiles(at('f'), { [doc.id]: doc.text })
    } else {
      runs.originals.add([...docs, ...more])
      writeFiles(at('f/1'), { 'a.jsonl.gz': gzipSync(jsonl(docs)) })
      writeFiles(at('f/2'), { 'b.jsonl.gz': gzipSync(jsonl(more)) })
    }
    await opened(keep, (state) =>
      state.run({
        inputs: [at('f/1')],
        out: at('out'),
        listing: { root: at('f'), sources: 'files' },
      }),
    )
    await check(read)
    rmSync(at('f/1'), { recursive: true })
    await dedupe(['f/2'], { ...keep, run: 'two' })
    await check(read)
    await undo('two')
    await check(read)
  })
})

describe('an undo in between', () => {
  it('of the middle one of three copies leaves the chain whole', async () => {
    const [doc] = docsOf('one', 1)
    const [second] = longer([doc!], 'two')
    const [third] = longer([second!], 'three')
    write({ 'a/1.jsonl': [doc!], 'a/2.jsonl': [second!], 'a/3.jsonl': [third!] })
    for (const n of [1, 2, 3]) await dedupe([`a/${n}.jsonl`], { ...keep, run: `r${n}` })
    await check()
    await undo('r2')
    await check()
    expect(keptLines(at('out'))).toEqual([JSON.stringify(third)])
    await undo('r3')
    await check()
    expect(keptLines(at('out'))).toEqual([JSON.stringify(doc)])
    await dedupe(['a'], { ...keep, run: 'r4' })
    await check()
    expect(keptLines(at('out'))).toEqual([JSON.stringify(third)])
  })

  it('takes its documents out, marks its records, and shows those of the newest run', async () => {
    write({ 'a/1.jsonl': docsOf('one', 3), 'b/2.jsonl': docsOf('two', 3) })
    await dedupe(['a'], { run: 'one' })
    await dedupe(['b'], { run: 'two' })
    await undo('two')
    await check()
    expect(keptFiles(at('out'))).toEqual(['1.jsonl'])
    const manifest = (...names: string[]) =>
      JSON.parse(readFileSync(at('out', ...names, 'manifest.json'), 'utf8'))
    expect(manifest('runs/two')).toMatchObject({ run: 'two', status: 'undone' })
    expect(manifest().run).toBe('one')
    await dedupe(['b'], { run: 'two' })
    await check()
    expect(manifest().run).toBe('two')
    expect(manifest('runs/two~2')).toMatchObject({ status: 'undone' })
    await undo('two')
    await undo('one')
    await check()
    expect(readdirSync(at('out')).toSorted()).toEqual(['runs'])
  })

  it('of a run that has read a changed file again brings back what the file had', async () => {
    const [one, two] = docsOf('a', 2)
    write({ 'in/a.jsonl': [one!, two!] })
    await dedupe(['in'], { run: 'one' })
    write({ 'in/a.jsonl': [one!, two!, ...docsOf('new', 2)] })
    await dedupe(['in'], { run: 'two' })
    await check()
    await undo('two')
    await check()
    expect(idsIn('a.jsonl')).toEqual(['a-0', 'a-1'])
    await dedupe(['in'], { run: 'three' })
    await check()
  })
})

it('another keep rule changes nothing that is there, and holds for what is new', async () => {
  const docs = docsOf('one', 3)
  write({ 'a/1.jsonl': docs, 'a/2.jsonl': longer(docs, 'two') })
  await dedupe(['a/1.jsonl'], { keep: ['first'] })
  await dedupe(['a/1.jsonl', 'a/2.jsonl'], { keep: ['first'] })
  await check()
  expect(idsIn('1.jsonl')).toHaveLength(3)
  write({
    'a/3.jsonl': longer(longer(docs, 'more'), 'three'),
  })
  await dedupe(['a'], { keep: ['longest'] })
  await check()
})

describe('outputs that were deleted', () => {
  it('are written again by the same command, as they were', async () => {
    const docs = docsOf('one', 3)
    write({ 'in/a.jsonl': [...docs, { ...docs[0]!, id: 'copy' }], 'in/b.jsonl': docsOf('two', 2) })
    writeFiles(at('in'), { 'c.txt': text() })
    await dedupe(['in/a.jsonl', 'in/b.jsonl'])
    const before = readFileSync(at('out/kept/a.jsonl'), 'utf8')
    rmSync(at('out/kept/a.jsonl'))
    const { status, files } = await dedupe(['in/a.jsonl', 'in/b.jsonl'])
    expect([status, files]).toEqual(['nothing', [at('out/kept/a.jsonl')]])
    expect(readFileSync(at('out/kept/a.jsonl'), 'utf8')).toBe(before)
    rmSync(at('out/kept'), { recursive: true })
    await dedupe(['in/a.jsonl', 'in/b.jsonl'])
    await check()
    rmSync(at('out/kept'), { recursive: true })
    write({ 'in/d.jsonl': docsOf('new', 1) })
    await dedupe(['in/a.jsonl', 'in/b.jsonl', 'in/d.jsonl'])
    await check()
    expect((await dedupe(['in/a.jsonl'])).files).toEqual([])
  })

  it('hold up no other run when their input is gone as well', async () => {
    write({ 'in/a.jsonl': docsOf('one', 3), 'in/b.jsonl': docsOf('two', 2) })
    await dedupe(['in/a.jsonl'])
    rmSync(at('in/a.jsonl'))
    rmSync(at('out/kept/a.jsonl'))
    expect((await dedupe(['in/b.jsonl'])).status).toBe('finished')
    expect(keptFiles(at('out'))).toEqual(['b.jsonl'])
  })
})

it('another order of sources supersedes what the first order kept', async () => {
  const docs = docsOf('doc', 4)
  write({ 'in/books.jsonl': docs })
  write({ 'in/web.jsonl': docs.map((doc) => ({ id: `web-${doc.id}`, text: doc.text })) })
  const priority = (...sourcePriority: string[]) => ({ keep: ['source' as const], sourcePriority })
  await dedupe(['in/books.jsonl'], priority('books'))
  await dedupe(['in/web.jsonl'], priority('web', 'books'))
  await check()
  expect(keptLines(at('out'))).toHaveLength(4)
})

describe('a run or an undo that fails at any step', () => {
  it('is completed by the same command, as if nothing had happened', async () => {
    const first = docsOf('one', 4)
    write({ 'a/1.jsonl': first, 'b/2.jsonl': longer(first.slice(0, 2), 'two') })
    const kept = (out: string) =>
      keptFiles(out).map((name) => [name, `${readFileSync(join(out, 'kept', name))}`])
    const act = async (step: number | undefined, what: 'run' | 'undo') => {
      const backend = new MemoryBackend({}, runs.engine)
      const state = await openDedupe(step === undefined ? backend : failing(backend, step), keep)
      try {
        if (what === 'undo') return await state.undo('two')
        return await state.run({
          listing: { sources: 'files' },
          inputs: [at('b')],
          out: at('out'),
          run: 'two',
        })
      } finally {
        await state.close()
      }
    }
    await dedupe(['a'], { ...keep, run: 'one' })
    const before = kept(at('out'))
    await act(undefined, 'run')
    const after = kept(at('out'))
    await act(undefined, 'undo')
    expect(kept(at('out'))).toEqual(before)
    let failures = 0
    for (let step = 1; ; step++) {
      const isRunFailed = await act(step, 'run').then(
        () => false,
        () => true,
      )
      if (isRunFailed) await act(undefined, 'run')
      expect(kept(at('out'))).toEqual(after)
      await check()
      const isUndoFailed = await act(step, 'undo').then(
        () => false,
        () => true,
      )
      if (isUndoFailed) await act(undefined, 'undo')
      expect(kept(at('out'))).toEqual(before)
      await check()
      failures += Number(isRunFailed) + Number(isUndoFailed)
      if (!isRunFailed && !isUndoFailed) break
    }
    expect(failures).toBeGreaterThan(30)
  })
})

it('two processes on one state publish one batch together', async () => {
  const first = docsOf('one', 40)
  const second = [...longer(first.slice(0, 20), 'two'), ...docsOf('new', 20)]
  write({ 'a/1.jsonl': first, 'b/2.jsonl': second.slice(0, 20), 'b/3.jsonl': second.slice(20) })
  const common = ['-o', at('out'), '--keep', 'longest', '--quiet']
  await prestige(['dedupe', at('a'), ...common])
  const both = await Promise.all([1, 2].map(() => prestige(['dedupe', at('b'), ...common])))
  expect(both.map(({ code, err }) => [code, err])).toEqual([
    [0, ''],
    [0, ''],
  ])
  await checkState(at('out/state'), at('out'), runs.originals)
})

it('Parquet outputs lose superseded rows and get them back, also without their input', async () => {
  const docs = docsOf('one', 4)
  const more = longer(docs.slice(1, 3), 'two')
  const lineOf = (doc: Doc) => JSON.stringify({ id: doc.id, text: doc.text })
  runs.originals.add([...docs, ...more], lineOf)
  const packed = (rows: readonly Doc[]) =>
    new Uint8Array(
      parquetWriteBuffer({
        columnData: [
          { name: 'id', data: rows.map(({ id }) => id), type: 'STRING' },
          { name: 'text', data: rows.map(({ text: own }) => own), type: 'STRING' },
        ],
        rowGroupSize: 2,
      }),
    )
  writeFiles(runs.directory, { 'p/1/a.parquet': packed(docs), 'p/2/b.parquet': packed(more) })
  const read = async (out: string) => (await keptRows(out)).map(lineOf)
  await dedupe(['p/1'], { ...keep, run: 'one' })
  await check(read)
  renameSync(at('p/1'), at('away'))
  await dedupe(['p/2'], { ...keep, run: 'two' })
  await check(read)
  expect(await read(at('out'))).toHaveLength(4)
  await undo('two')
  await check(read)
})

it('an empty input has an empty output, before and after others', async () => {
  write({ 'in/a.jsonl': [], 'in/b.jsonl': docsOf('one', 2) })
  await dedupe(['in/a.jsonl'], { run: 'empty' })
  await check()
  await dedupe(['in'], { run: 'two' })
  await check()
  expect(keptFiles(at('out'))).toEqual(['a.jsonl', 'b.jsonl'])
  utimesSync(at('in/a.jsonl'), 1, 1)
  await dedupe(['in'], { run: 'three' })
  await undo('two')
  await undo('empty')
  await check()
  expect(keptFiles(at('out'))).toEqual(['a.jsonl'])
})

describe('outputs in another format', () => {
  const first = docsOf('one', 4).map((doc, n) => ({ id: doc.id, text: doc.text, lang: 'en', n }))
  const better = longer(first.slice(1, 3), 'two').map((doc) => ({
    id: doc.id,
    text: doc.text,
    n: 9,
  }))
  const recordOf = (file: string, { id, text: own, ...others }: Doc) => ({
    id,
    source: file,
    text: own,
    ...others,
  })

  const read = {
    jsonl: keptLines,
    'jsonl.gz': (out: string) =>
      keptFiles(out).flatMap((name) =>
        gunzipSync(readFileSync(join(out, 'kept', name)))
          .toString()
          .split('\n')
          .filter(Boolean),
      ),
    csv: (out: string) => keptLines(out).filter((line) => line !== 'id,source,text,fields'),
    parquet: async (out: string) => (await keptRows(out)).map((row) => JSON.stringify(row)),
  }
  const packed = ({ id, source, text: own, ...others }: ReturnType<typeof recordOf>) => ({
    id,
    source,
    text: own,
    fields: JSON.stringify(others),
  })
  const lineOf = (format: keyof typeof read, file: string) => (doc: Doc) => {
    const record = recordOf(file, doc)
    if (format === 'parquet') return JSON.stringify(packed(record))
    if (format !== 'csv') return JSON.stringify(record)
    const { id, source, text: own, fields } = packed(record)
    return `${id},${source},${own},"${fields.replaceAll('"', '""')}"`
  }

  it.each(['jsonl', 'jsonl.gz', 'csv', 'parquet'] as const)(
    '%s: are brought up to date as others are, with and without their input',
    async (format) => {
      runs.originals.add(first, lineOf(format, 'a'))
      runs.originals.add(better, lineOf(format, 'b'))
      writeFiles(runs.directory, {
        'c/1/a.jsonl.gz': gzipSync(jsonl(first)),
        'c/2/b.jsonl': jsonl(better),
      })
      await dedupe(['c/1'], { ...keep, run: 'one', formatOut: format })
      await check(read[format])
      expect(keptFiles(at('out'))).toEqual([`a.${format}`])
      renameSync(at('c/1'), at('away'))
      await dedupe(['c/2'], { ...keep, run: 'two' })
      await check(read[format])
      expect(keptFiles(at('out'))).toEqual(['2/b.' + format, 'a.' + format].toSorted())
      await undo('two')
      await check(read[format])
    },
  )

  it('carry over what the input has no more, whatever came before it', async () => {
    runs.originals.add(first, lineOf('parquet', 'a'))
    writeFiles(runs.directory, { 'in/a.jsonl': jsonl(first) })
    await dedupe(['in'], { formatOut: 'parquet' })
    writeFiles(runs.directory, { 'in/a.jsonl': jsonl(first.slice(2)) })
    await dedupe(['in'])
    await check(read.parquet)
    expect(await keptRows(at('out'))).toHaveLength(4)
  })

  it('are made of files and of CSV as well, and two inputs never share one', async () => {
    const [one, two, three] = [text(), text(), text()]
    writeFiles(runs.directory, {
      'in/a.txt': one,
      'in/b.txt': one,
      'in/a.csv': `id,body,note\nx,${two},"a, b"\n`,
      'in/sub/a.md': three,
    })
    await opened({}, (state) =>
      state.run({
        inputs: [at('in')],
        out: at('out'),
        formatOut: 'jsonl',
        listing: { sources: 'files' },
        reading: { fields: { text: 'body' } },
      }),
    )
    expect(keptFiles(at('out'))).toEqual(['a.jsonl', 'a~2.jsonl', 'sub/a.jsonl'])
    expect(linesOf(at('out/kept/a.jsonl'))).toEqual([
      { id: 'x', source: 'a', text: two, note: 'a, b' },
    ])
    expect(linesOf(at('out/kept/a~2.jsonl'))).toMatchObject([{ text: one }])
    rmSync(at('out/kept/sub'), { recursive: true })
    await opened({}, (state) =>
      state.run({
        listing: { sources: 'files' },
        inputs: [at('in')],
        out: at('out'),
        reading: { fields: { text: 'body' } },
      }),
    )
    expect(linesOf(at('out/kept/sub/a.jsonl'))).toMatchObject([{ text: three }])
  })

  it('stay in it: another one for the same directory is refused', async () => {
    write({ 'in/a.jsonl': docsOf('one', 2), 'in/b.jsonl': docsOf('two', 2) })
    await dedupe(['in/a.jsonl'], { formatOut: 'csv' })
    await expect(dedupe(['in/b.jsonl'], { formatOut: 'jsonl' })).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining('--format-out csv'),
    })
    await dedupe(['in/b.jsonl'])
    expect(keptFiles(at('out'))).toEqual(['a.csv', 'b.csv'])
  })
})
