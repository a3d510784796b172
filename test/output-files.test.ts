/**
 * Outputs of several files, of a bounded size (`--shard-size`) or one for each document (`--format-out files`). After
 * runs and undos of all shapes they are what the ledger calls accepted, and their numbers have no gaps.
 */

import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import { parquetWriteBuffer } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'

import type { DedupeOptions } from '../src/index.ts'
import { DocumentNames } from '../src/input/index.ts'
import { inProcess } from './children/cli.ts'
import { type Doc, jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'
import { keptFiles, keptLines } from './output-check.ts'
import { keptRows, useRuns } from './runs-kit.ts'

const runs = useRuns('prestige-files-')
const { at, dedupe, undo, check } = runs

const keep: DedupeOptions = { keep: ['longest'] }
const text = textMaker(99)
const docsOf = (name: string, count: number): Doc[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${name}-${n}`, text: text() }))
const longer = (docs: readonly Doc[], name: string): Doc[] =>
  docs.map((doc, n) => ({ id: `${name}-${n}`, text: `${doc.text} and some more words` }))
const bytesIn = (out: string) =>
  keptFiles(out).map((name) => [name, readFileSync(join(out, 'kept', name), 'latin1')])

/** How inputs and outputs of a format are written and read. */
interface Format {
  readonly extension: string
  readonly formatOut?: 'jsonl' | 'jsonl.gz' | 'csv' | 'parquet'
  readonly input: (docs: readonly Doc[]) => string | Uint8Array
  readonly line: (doc: Doc, file: string) => string
  readonly read: (out: string) => string[] | Promise<string[]>
}

const lineOf = (doc: Doc, source: string) =>
  JSON.stringify({ id: doc.id, source, text: doc.text, lang: 'en' })
const asJson = (docs: readonly Doc[]) => jsonl(docs.map((doc) => ({ ...doc, lang: 'en' })))
const asCsv = (docs: readonly Doc[]) =>
  `id,text\n${docs.map((doc) => `${doc.id},${doc.text}\n`).join('')}`
const asParquet = (docs: readonly Doc[]) =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: 'id', data: docs.map(({ id }) => id), type: 'STRING' },
        { name: 'text', data: docs.map((doc) => doc.text), type: 'STRING' },
      ],
      rowGroupSize: 4,
    }),
  )
const unzipped = (out: string) =>
  keptFiles(out).flatMap((name) =>
    gunzipSync(readFileSync(join(out, 'kept', name)))
      .toString()
      .split('\n')
      .filter(Boolean),
  )
const without = (header: string) => (out: string) =>
  keptLines(out).filter((line) => line !== header)
const rows = async (out: string) => (await keptRows(out)).map((row) => JSON.stringify(row))

const formats: Record<string, Format> = {
  'lines of JSON': {
    extension: 'jsonl',
    input: asJson,
    line: (doc) => JSON.stringify({ ...doc, lang: 'en' }),
    read: keptLines,
  },
  'gzip of the input': {
    extension: 'jsonl.gz',
    input: (docs) => gzipSync(asJson(docs)),
    line: (doc) => JSON.stringify({ ...doc, lang: 'en' }),
    read: unzipped,
  },
  CSV: {
    extension: 'csv',
    input: asCsv,
    line: (doc) => `${doc.id},${doc.text}`,
    read: without('id,text'),
  },
  Parquet: {
    extension: 'parquet',
    input: asParquet,
    line: (doc) => JSON.stringify({ id: doc.id, text: doc.text }),
    read: rows,
  },
  '--format-out jsonl.gz': {
    extension: 'jsonl',
    formatOut: 'jsonl.gz',
    input: asJson,
    line: lineOf,
    read: unzipped,
  },
  '--format-out csv': {
    extension: 'jsonl',
    formatOut: 'csv',
    input: asJson,
    line: (doc, file) => `${doc.id},${file},${doc.text},"{""lang"":""en""}"`,
    read: without('id,source,text,fields'),
  },
  '--format-out parquet': {
    extension: 'jsonl',
    formatOut: 'parquet',
    input: asJson,
    line: (doc, source) =>
      JSON.stringify({ id: doc.id, source, text: doc.text, fields: '{"lang":"en"}' }),
    read: rows,
  },
}

const SIZE = 1300

/** Numbers from 0, without gaps. */
function numbersOf(stem: string): number[] {
  const found = keptFiles(at('out')).flatMap((name) => {
    const [, of, number] = /^(.*)-(\d{5})\./.exec(name) ?? []
    return of === stem ? [Number(number)] : []
  })
  expect(found).toEqual(found.map((_, n) => n))
  return found
}

describe.each(Object.entries(formats))('files of a bounded size: %s', (_, format) => {
  const { extension, formatOut } = format
  const first = docsOf('one', 14)
  const how = { ...keep, shardSize: SIZE, ...(formatOut && { formatOut }) }
  const put = (file: string, docs: readonly Doc[], source: string) => {
    runs.originals.add(docs, (doc) => format.line(doc, source))
    writeFiles(runs.directory, { [`${file}.${extension}`]: format.input(docs) })
  }
  const checkAll = async (stems: readonly string[] = ['a']) => {
    await check(format.read)
    return stems.map((stem) => numbersOf(stem).length)
  }
  const begin = async () => {
    put('d/1/a', first, 'a')
    await dedupe(['d/1'], { ...how, run: 'one' })
    const [count] = await checkAll()
    expect(count).toBeGreaterThan(3)
  }

  it('better copies take records out of their files, and an undo brings them back', async () => {
    await begin()
    const before = bytesIn(at('out'))
    const [, zero = ''] = keptFiles(at('out')).entries().next().value ?? []
    const inode = statSync(at('out/kept', zero)).ino
    // All of the second file, and one of the third: the files after it get other numbers.
    const more = longer(first.slice(3, 7), 'two')
    put('d/2/b', more, 'b')
    await dedupe(['d/2'], { ...how, run: 'two' })
    await checkAll(['a', '2/b'])
    expect(statSync(at('out/kept', zero)).ino).toBe(inode)
    await undo('two')
    await checkAll()
    expect(bytesIn(at('out'))).toEqual(before)
    renameSync(at('d/1'), at('away'))
    await dedupe(['d/2'], { ...how, run: 'three' })
    await checkAll(['a', '2/b'])
    await undo('three')
    await checkAll()
  })

  // What these do does not depend on the format.
  if (!['jsonl.gz', 'parquet'].includes(formatOut ?? '')) return

  it('a file that was deleted is written again, alone', async () => {
    await begin()
    const before = bytesIn(at('out'))
    const names = keptFiles(at('out'))
    const inodes = () => names.map((name) => statSync(at('out/kept', name)).ino)
    const old = inodes()
    rmSync(at('out/kept', names[1] ?? ''))
    const { files } = await dedupe(['d/1'], how)
    expect(files).toEqual([at('out/kept', names[1] ?? '')])
    expect(bytesIn(at('out'))).toEqual(before)
    expect(inodes().toSpliced(1, 1)).toEqual(old.toSpliced(1, 1))
  })

  it('an input that has changed has fewer or more files, and its undo as many as before', async () => {
    await begin()
    const before = bytesIn(at('out'))
    put('d/1/a', first.slice(0, 3), 'a')
    await dedupe(['d/1'], { ...how, run: 'shorter' })
    await checkAll()
    put('d/1/a', [...first, ...docsOf('more', 8)], 'a')
    await dedupe(['d/1'], { ...how, run: 'longer' })
    const [count = 0] = await checkAll()
    expect(count).toBeGreaterThan(before.length)
    await undo('longer')
    await undo('shorter')
    await checkAll()
    await undo('one')
    expect(keptFiles(at('out'))).toEqual([])
    put('d/1/a', first, 'a')
    await dedupe(['d/1'], { ...how, run: 'again' })
    expect(bytesIn(at('out'))).toEqual(before)
  })
})

describe('files of a bounded size', () => {
  it('hold no more than that, unless one record is longer; nothing kept is one empty file', async () => {
    const long = { id: 'long', text: text(1000) }
    const docs = [...docsOf('one', 9), long, ...docsOf('two', 9)]
    runs.write({ 'in/a.jsonl': docs, 'in/b.jsonl': [] })
    await dedupe(['in'], { shardSize: SIZE })
    await check()
    const sizes = keptFiles(at('out')).map((name) => statSync(at('out/kept', name)).size)
    const largest = Math.max(...sizes)
    expect(sizes.filter((size) => size > SIZE)).toEqual([largest])
    expect(largest).toBe(Buffer.byteLength(jsonl([long])))
    expect(readFileSync(at('out/kept/b-00000.jsonl'), 'utf8')).toBe('')
  })

  it('stay so: another size, none at first, JSON files, and one file each are refused', async () => {
    for (const name of 'abde') runs.write({ [`in/${name}.jsonl`]: docsOf(name, 2) })
    writeFiles(at('in'), { 'c.json': JSON.stringify(docsOf('json', 2)) })
    await dedupe(['in/a.jsonl'], { shardSize: 2000 })
    const fails = (call: object, code: string, message: string, input = 'in/b.jsonl') =>
      expect(dedupe([input], call)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      })
    await fails({ shardSize: 3000 }, 'SETTINGS_MISMATCH', 'with --shard-size 2KB')
    await fails({}, 'INVALID_OPTIONS', 'cannot split JSON files', 'in/c.json')
    await dedupe(['in/b.jsonl'])
    expect(keptFiles(at('out'))).toEqual(['a-00000.jsonl', 'b-00000.jsonl'])
    await dedupe(['in/d.jsonl'], { out: 'plain' })
    const split = { shardSize: 3000, out: 'plain' }
    await fails(split, 'SETTINGS_MISMATCH', 'without --shard-size', 'in/e.jsonl')
    const both = { shardSize: 3000, formatOut: 'files' as const, out: 'other' }
    await fails(both, 'INVALID_OPTIONS', '--format-out files', 'in/e.jsonl')
  })

  it('are never written over what nobody has written', async () => {
    runs.write({ 'in/a.jsonl': docsOf('one', 2) })
    writeFiles(runs.directory, { 'out/kept/a-00000.jsonl': 'mine', 'out/manifest.json': '' })
    rmSync(at('out/manifest.json'))
    await expect(dedupe(['in'], { shardSize: SIZE })).rejects.toMatchObject({
      code: 'TARGET_NOT_EMPTY',
    })
    expect(readFileSync(at('out/kept/a-00000.jsonl'), 'utf8')).toBe('mine')
  })
})

describe('a file for each document', () => {
  const files = { ...keep, formatOut: 'files' as const }
  const texts = (out: string) =>
    keptFiles(out).map((name) => readFileSync(join(out, 'kept', name), 'utf8'))
  const put = (docs: Record<string, readonly Doc[]>) => {
    runs.write(docs)
    for (const all of Object.values(docs)) runs.originals.add(all, (doc) => doc.text)
  }

  it('has the text under the name of the id, through better copies, undo and changes', async () => {
    const first = docsOf('one', 6)
    put({ 'd/1/a.jsonl': first })
    await dedupe(['d/1'], { ...files, run: 'one' })
    await check(texts)
    const before = bytesIn(at('out'))
    const inode = statSync(at('out/kept/a/one-0.txt')).ino
    put({ 'd/2/b.jsonl': longer(first.slice(2, 4), 'two') })
    await dedupe(['d/2'], { ...keep, run: 'two' })
    await check(texts)
    expect(keptFiles(at('out'))).toEqual([
      '2/b/two-0.txt',
      '2/b/two-1.txt',
      ...[0, 1, 4, 5].map((n) => `a/one-${n}.txt`),
    ])
    expect(statSync(at('out/kept/a/one-0.txt')).ino).toBe(inode)
    await undo('two')
    expect(bytesIn(at('out'))).toEqual(before)
    renameSync(at('d/1'), at('away'))
    await dedupe(['d/2'], { ...keep, run: 'three' })
    await check(texts)
    await undo('three')
    await check(texts)
    expect(bytesIn(at('out'))).toEqual(before)
    renameSync(at('away'), at('d/1'))
    rmSync(at('out/kept/a/one-3.txt'))
    await dedupe(['d/1'], keep)
    expect(bytesIn(at('out'))).toEqual(before)
    put({ 'd/1/a.jsonl': [{ id: 'one-0', text: text() }, ...first.slice(1, 3)] })
    await dedupe(['d/1'], { ...keep, run: 'changed' })
    await check(texts)
    await undo('changed')
    await undo('one')
    expect(existsSync(at('out/kept'))).toBe(false)
  })

  it('is made of files as well, which keep their names; JSON becomes text', async () => {
    const [one, two, three] = docsOf('x', 3)
    writeFiles(runs.directory, {
      'in/a.md': one!.text,
      'in/b.txt.gz': gzipSync(two!.text),
      'in/c.json': JSON.stringify(three),
      'in/d.csv': `id,text\na,${text()}\n`,
    })
    await dedupe(['in'], { formatOut: 'files' })
    expect(keptFiles(at('out'))).toEqual(['a.md', 'b.txt', 'c.txt', 'd/a.txt'])
    expect(readFileSync(at('out/kept/c.txt'), 'utf8')).toBe(three!.text)
    expect(readFileSync(at('out/kept/b.txt'), 'utf8')).toBe(two!.text)
  })

  it('has a name of its own that stays below its directory, whatever the id', async () => {
    const names =
      'a a.txt A a/b a%2Fb ../../up .. . .hidden nul x~y x web/page.html con.txt dot. -rf'
    const odd = ['tab\there', 'new\nline', 'a\u0308', '\u00e4', ' ', '\u202eevil', 'C:\\x']
    const long = ['q'.repeat(900), `${'q'.repeat(899)}r`, 'ä'.repeat(400)]
    const ids = [...names.split(' '), ...odd, ...long]
    const docs = ids.map((id) => ({ id, text: text() }))
    put({ 'in/a.jsonl': docs })
    await dedupe(['in'], { formatOut: 'files', run: 'one' })
    await check(texts)
    const files = keptFiles(at('out'))
    expect(files).toHaveLength(ids.length)
    expect(files.every((name) => /^a\/[^/]+$/.test(name))).toBe(true)
    expect(new Set(files.map((name) => name.toLowerCase().normalize())).size).toBe(ids.length)
    expect(files).toContain('a/web%2Fpage.html')
    expect(existsSync(at('up.txt'))).toBe(false)
    await undo('one')
    await dedupe(['in'], { formatOut: 'files', run: 'two' })
    expect(keptFiles(at('out'))).toEqual(files)
  })

  it('is named by source and id where documents name their sources', () => {
    const names = new DocumentNames()
    const one = { source: 'wiki', id: 'a', text: '', others: {} }
    expect(names.of(one, true)).toBe('wiki~a.txt')
    expect(names.of({ ...one, source: 'web/x' }, true)).toBe('web%2Fx~a.txt')
  })
})

describe.each(['files', 'same'] as const)('a run or an undo that fails at any step: %s', (kind) => {
  it('is completed by the same command, as if nothing had happened', async () => {
    const how = { ...keep, ...(kind === 'files' ? { formatOut: kind } : { shardSize: 1000 }) }
    const first = docsOf('one', 5)
    runs.write({ 'a/1.jsonl': first, 'b/2.jsonl': longer(first.slice(0, 2), 'two') })
    const act = (what: 'run' | 'undo', step?: number) =>
      what === 'run' ? dedupe(['b'], { ...how, run: 'two' }, step) : undo('two', false, step)
    const failed = (what: 'run' | 'undo', step: number) =>
      act(what, step).then(
        () => false,
        () => true,
      )
    await dedupe(['a'], { ...how, run: 'one' })
    const before = bytesIn(at('out'))
    await act('run')
    const after = bytesIn(at('out'))
    await act('undo')
    expect(bytesIn(at('out'))).toEqual(before)
    let failures = 0
    for (let step = 1; ; step += 4) {
      const isRunFailed = await failed('run', step)
      if (isRunFailed) await act('run')
      expect(bytesIn(at('out'))).toEqual(after)
      const isUndoFailed = await failed('undo', step)
      if (isUndoFailed) await act('undo')
      expect(bytesIn(at('out'))).toEqual(before)
      failures += Number(isRunFailed) + Number(isUndoFailed)
      if (!isRunFailed && !isUndoFailed) break
    }
    expect(failures).toBeGreaterThan(8)
  })
})

it('the command takes --shard-size and a config has outputShardSize; stdout is one stream', async () => {
  runs.write({ 'in/a.jsonl': docsOf('one', 9) })
  const input = at('in/a.jsonl')
  const run = await inProcess(['dedupe', input, '-o', at('out'), '--shard-size', '2KB', '--quiet'])
  expect([run.code, run.err]).toEqual([0, ''])
  expect(numbersOf('a').length).toBeGreaterThan(1)
  writeFileSync(at('job.yaml'), 'inputs: [in]\noutput: other\noutputShardSize: 2KB\nquiet: true\n')
  expect((await inProcess(['dedupe', '--config', at('job.yaml')])).code).toBe(0)
  expect(keptFiles(at('other'))).toEqual(keptFiles(at('out')))
  const refused = async (...args: string[]) => (await inProcess(['dedupe', input, ...args])).err
  expect(await refused('-o', '-', '--shard-size', '2KB')).toContain('--shard-size cannot split')
  expect(await refused('-o', '-', '--format-out', 'files')).toContain('Use -o DIR')
  expect(await refused('-o', at('c'), '--shard-size', '3')).toContain('from 1KB')
  expect(await refused('-o', at('c'), '--shard-size', '2KB', '--against', at('out/state'))).toMatch(
    /--shard-size/,
  )
  expect(linesOf(at('out/kept/a-00000.jsonl')).length).toBeGreaterThan(1)
})
