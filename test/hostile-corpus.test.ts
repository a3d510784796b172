/**
 * The corpus job and input that is malformed, hostile, gone or changing: told by name or in rejects.jsonl, never a
 * crash, a hang or half an output.
 */

import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { parquetMetadata } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { BatchSize } from '../src/dedupe/phases/batch-size.ts'
import { readConfig } from '../src/dedupe/config/config.ts'
import { Preparer } from '../src/dedupe/decision/prepare.ts'
import { type DedupeOptions, type Job, type JobResult, openDedupe } from '../src/index.ts'
import { ID_BYTES_MAX, NAME_BYTES_MAX } from '../src/input/make-document.ts'
import * as names from '../src/ledger/names.ts'
import { jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'
import { zstdFrame } from './input-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-hostile-'))
})
afterEach(() => {
  chmodSync(directory, 0o755)
  rmSync(directory, { recursive: true, force: true })
})
const at = (...parts: string[]) => join(directory, ...parts)

const text = textMaker(77)
const good = Array.from({ length: 5 }, (_, n) => ({ id: `good-${n}`, text: text() }))
const goodLines = good.map((doc) => `${JSON.stringify(doc)}\n`)

async function run(options: DedupeOptions = {}, job: Partial<Job> = {}): Promise<JobResult> {
  const deduper = await openDedupe(at('state'), { durability: 'os', ...options })
  try {
    return await deduper.run({ inputs: [at('in')], out: at('out'), ...job })
  } finally {
    await deduper.close()
  }
}

/** What is below the outputs, state aside. */
function outputs(): string[] {
  if (!existsSync(at('out'))) return []
  return readdirSync(at('out'), { recursive: true, encoding: 'utf8' }).toSorted()
}

const reasons = () =>
  linesOf(at('out/rejects.jsonl')).map(({ line, reason }) => `${line} ${reason}`)
const kept = (name: string) => readFileSync(at('out/kept', name))
const parquet = (columns: object[]) =>
  // safe: the columns are given as its writer takes them
  Buffer.from(
    parquetWriteBuffer({ columnData: columns } as Parameters<typeof parquetWriteBuffer>[0]),
  )

describe('input that is damaged', () => {
  const packed = gzipSync(goodLines.join(''))
  const framed = zstdFrame(Buffer.from(goodLines.join('')), 10)
  const rows = parquet([{ name: 'text', data: good.map((doc) => doc.text), type: 'STRING' }])

  it.each([
    ['a truncated gzip', 'a.jsonl.gz', packed.subarray(0, packed.length - 20), 'truncated'],
    [
      'a gzip without its trailer',
      'a.jsonl.gz',
      packed.subarray(0, packed.length - 8),
      'truncated',
    ],
    [
      'a gzip with a wrong checksum',
      'a.jsonl.gz',
      Buffer.concat([packed.subarray(0, -8), Buffer.alloc(4), packed.subarray(-4)]),
      'truncated',
    ],
    [
      'a gzip with garbage behind it',
      'a.jsonl.gz',
      Buffer.concat([packed, Buffer.from('garbage that is no gzip')]),
      'truncated',
    ],
    ['a truncated zstd', 'a.jsonl.zst', framed.subarray(0, framed.length - 20), 'truncated'],
    ['a truncated Parquet', 'a.parquet', rows.subarray(0, rows.length - 20), 'unreadable'],
    ['a Parquet that is something else', 'a.parquet', Buffer.from('no parquet'), 'unreadable'],
    [
      'a Parquet without the column of texts',
      'a.parquet',
      parquet([{ name: 'body', data: ['a', 'b'], type: 'STRING' }]),
      'missing-field',
    ],
    ['a CSV with an unclosed quote', 'a.csv', 'id,text\n1,"never closed\n2,x\n', 'invalid-csv'],
    ['a CSV with a quote within', 'a.csv', 'id,text\n1,"a"b"c\n', 'invalid-csv'],
    ['a CSV with too many fields', 'a.csv', 'id,text\n1,a,b,c\n', 'invalid-csv'],
    ['a CSV without the column of texts', 'a.csv', 'id,body\n1,a\n', 'missing-field'],
  ])(
    '%s is reported, what was good before is kept, and it does not count as processed',
    async (_, name, bytes, why) => {
      writeFiles(at('in'), { [name]: bytes, 'b.jsonl': goodLines[4] ?? '' })
      const { summary } = await run()
      expect(summary.rejectsByReason).toEqual({ [why]: 1 })
      expect(outputs().filter((file) => file.includes('.tmp-'))).toEqual([])
      const before = published(at('out'))
      const next = await run()
      expect(next).toMatchObject({ status: 'finished', skipped: ['b.jsonl'] })
      expect(next.rejection).toContain(why)
      expect(next.summary.unchanged).toBe(summary.documents - 1)
      const keptOf = (files: Record<string, string>) =>
        Object.entries(files).filter(([file]) => file.startsWith('kept'))
      expect(keptOf(published(at('out')))).toEqual(keptOf(before))
    },
  )

  it('a Parquet with a damaged row group loses that group, and is written without it', async () => {
    const data = Array.from({ length: 40 }, () => text())
    const whole = Buffer.from(
      parquetWriteBuffer({
        columnData: [{ name: 'text', data, type: 'STRING' }],
        rowGroupSize: 10,
        codec: 'UNCOMPRESSED',
      }),
    )
    const { row_groups: groups } = parquetMetadata(new Uint8Array(whole))
    const offset = Number(groups[1]?.columns[0]?.meta_data?.data_page_offset)
    whole.fill(0xff, offset, offset + 200)
    writeFiles(at('in'), { 'a.parquet': whole })
    const { summary } = await run()
    expect(summary).toMatchObject({ documents: 30, kept: 30 })
    expect(summary.rejected).toBeGreaterThan(0)
  })

  it('a Parquet of which another column is damaged stops no run: its rows are rejected', async () => {
    const whole = Buffer.from(
      parquetWriteBuffer({
        columnData: [
          { name: 'text', data: Array.from({ length: 20 }, () => text()), type: 'STRING' },
          { name: 'n', data: Array.from({ length: 20 }, (_, n) => `n${n}`), type: 'STRING' },
        ],
        rowGroupSize: 10,
        codec: 'UNCOMPRESSED',
      }),
    )
    const { row_groups: groups } = parquetMetadata(new Uint8Array(whole))
    const offset = Number(groups[1]?.columns[1]?.meta_data?.data_page_offset)
    whole.fill(0xff, offset, offset + 30)
    writeFiles(at('in'), { 'a.parquet': whole, 'b.jsonl': goodLines.join('') })
    const { summary, rejection } = await run()
    expect(summary).toMatchObject({ documents: 15, kept: 15 })
    expect(summary.rejectsByReason).toEqual({ unreadable: 1 })
    expect(rejection).toContain('a.parquet')
    expect(existsSync(at('out/kept/a.parquet'))).toBe(true)
  })

  it('a gzip with zeros behind it, as tapes leave them, is whole', async () => {
    writeFiles(at('in'), { 'a.jsonl.gz': Buffer.concat([packed, Buffer.alloc(1000)]) })
    expect((await run()).summary).toMatchObject({ kept: 5, rejected: 0 })
  })
})

describe('lines that are no documents', () => {
  it('are told one by one, and the others are kept in their very bytes', async () => {
    const bad: [string | Buffer, string][] = [
      ['{"text": 5}', 'wrong-type'],
      ['{"text": null}', 'missing-field'],
      ['{"text": {"nested": "text"}}', 'wrong-type'],
      ['{"text": ["a"]}', 'wrong-type'],
      ['{"id": {"a": 1}, "text": "an id that is an object"}', 'wrong-type'],
      ['{"id": [1], "text": "an id that is a list"}', 'wrong-type'],
      ['{"id": true, "text": "an id that is true"}', 'wrong-type'],
      ['{"id": 1}', 'missing-field'],
      ['{}', 'missing-field'],
      ['null', 'wrong-type'],
      ['[]', 'wrong-type'],
      ['5', 'wrong-type'],
      ['{"text": "cut off', 'invalid-json'],
      ["{'text': 'of another language'}", 'invalid-json'],
      ['{"text": "NaN", "id": NaN}', 'invalid-json'],
      ['['.repeat(200_000), 'invalid-json'],
      [Buffer.from('{"text": "\xff\xfe"}', 'latin1'), 'invalid-utf8'],
      [Buffer.from('{"text": "\xed\xa0\x80"}', 'latin1'), 'invalid-utf8'],
      ['{"text": "half a \\ud800 pair"}', 'invalid-utf8'],
      ['{"id": "half \\udfff", "text": "half an id"}', 'invalid-utf8'],
      [`{"id": "${'x'.repeat(901)}", "text": "a long id"}`, 'too-long'],
      [`{"source": "${'y'.repeat(201)}", "text": "a long source"}`, 'too-long'],
      [`{"source": "half \\ud800", "text": "half a source"}`, 'invalid-utf8'],
      [`{"source": {}, "text": "a source that is an object"}`, 'wrong-type'],
      [Buffer.from('{"text": "a\0b"}'), 'nul-byte'],
      [Buffer.from('\0\0\0'), 'nul-byte'],
    ]
    const newline = Buffer.from('\n')
    const file = Buffer.concat([
      Buffer.from(goodLines[0] ?? ''),
      ...bad.flatMap(([line]) => [Buffer.from(line as string), newline]),
      Buffer.from(goodLines[1] ?? ''),
    ])
    writeFiles(at('in'), { 'a.jsonl': file })
    const { summary } = await run({}, { reading: { fields: { source: 'source' } } })
    expect(reasons()).toEqual(bad.map(([, why], n) => `${n + 2} ${why}`))
    expect(summary).toMatchObject({ documents: 2, kept: 2, rejected: bad.length })
    expect(kept('a.jsonl').toString()).toBe(`${goodLines[0]}${goodLines[1]}`)
  })

  it('have limits that are those of the rooms behind', () => {
    expect([ID_BYTES_MAX, NAME_BYTES_MAX]).toEqual([
      names.DOCUMENT_ID_BYTES_MAX,
      names.NAME_BYTES_MAX,
    ])
  })

  it('may be of 100 MB, with or without an end: told, and never held', async () => {
    mkdirSync(at('in'))
    const block = Buffer.alloc(1 << 20, 'x')
    for (const [name, ending] of [
      ['a.jsonl', `\n${goodLines[0]}`],
      ['b.jsonl', ''],
    ] as const) {
      const file = openSync(at('in', name), 'w')
      writeSync(file, goodLines[1] ?? '')
      writeSync(file, '{"text": "')
      for (let n = 0; n < 100; n++) writeSync(file, block)
      writeSync(file, ending)
      closeSync(file)
    }
    const { summary } = await run()
    expect(reasons()).toEqual(['2 too-long', '2 too-long'])
    expect(summary).toMatchObject({ documents: 3, kept: 2, dropped: 1 })
    expect(kept('a.jsonl').toString()).toBe(`${goodLines[1]}${goodLines[0]}`)
    expect(kept('b.jsonl').toString()).toBe('')
  })

  it('need not be: empty files, a byte order mark, CRLF and NULs that are escaped are no harm', async () => {
    const crlf = goodLines.map((line) => line.replace('\n', '\r\n'))
    writeFiles(at('in'), {
      'bom.jsonl': `\ufeff${goodLines[0]}`,
      'crlf.jsonl': crlf.slice(1).join(''),
      'empty.jsonl': '',
      'blank.jsonl': '\n\r\n   \n',
      'escaped.jsonl': '{"id": "nul", "text": "one \\u0000 two"}\n',
      'only-bom.jsonl': '\ufeff',
    })
    const { summary } = await run()
    expect(summary).toMatchObject({ documents: 6, kept: 6, rejected: 0 })
    expect(kept('crlf.jsonl').toString()).toBe(crlf.slice(1).join(''))
    expect(kept('bom.jsonl').toString()).toBe(`\ufeff${goodLines[0]}`)
    for (const name of ['empty.jsonl', 'blank.jsonl', 'only-bom.jsonl']) {
      expect(kept(name)).toHaveLength(0)
    }
  })

  it('that are read with options of their own are written with the same', async () => {
    const quoted = 'id\ttext\n1\t"a quote that opens\n2\tand one that closes"\n'
    const long = `${JSON.stringify({ text: 'w '.repeat(40_000_000) })}\n`
    writeFiles(at('in'), { 'a.tsv': quoted, 'b.jsonl': long })
    const reading = { hasQuotes: false, lineBytesMax: 128 * 1024 * 1024 }
    const plain = { near: { enabled: false }, canonical: { profile: 'none' as const } }
    const { summary } = await run(plain, { reading })
    expect(summary).toMatchObject({ documents: 3, kept: 3, rejected: 0 })
    expect(kept('a.tsv').toString()).toBe(quoted)
    expect(kept('b.jsonl').length).toBe(long.length)
  })
})

describe('names', () => {
  it('of files may be long, and in any script: what is derived of them is still their own', async () => {
    const long = '語'.repeat(70)
    writeFiles(at('in'), {
      [`${long}1.jsonl`]: `{"text": "${text()}"}\n`,
      [`${long}2.jsonl`]: `{"text": "${text()}"}\n`,
      [`${Array.from({ length: 6 }, () => 'd'.repeat(200)).join('/')}/x.txt`]: text(),
    })
    const { summary } = await run({}, { listing: { sources: 'files' } })
    expect(summary).toMatchObject({ documents: 3, kept: 3, rejected: 0 })
    const sources = Object.keys(summary.bySource)
    expect(sources).toHaveLength(3)
    for (const source of sources) expect(Buffer.byteLength(source)).toBeLessThanOrEqual(200)
  })

  it('of documents may be the same within a file and across files', async () => {
    const [one, two] = [text(), text()]
    writeFiles(at('in'), {
      'a.jsonl': jsonl([
        { id: 'x', text: one },
        { id: 'x', text: two },
        { id: 'x', text: one },
      ]),
      'b.jsonl': jsonl([
        { id: 'x', text: text() },
        { id: 'x', text: two },
      ]),
    })
    const { summary } = await run()
    expect(summary).toMatchObject({ documents: 5, kept: 3, dropped: 2, repeated: 1 })
    expect(linesOf(at('out/kept/a.jsonl')).map((doc) => doc.text)).toEqual([one, two])
    expect(linesOf(at('out/kept/b.jsonl'))).toHaveLength(1)
  })

  it('that mean something to JavaScript are names like all others', async () => {
    const odd = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const docs = odd.map((name) => `{"id": "${name}", "source": "${name}", "text": "${text()}"}\n`)
    writeFiles(at('in'), { 'a.jsonl': docs.join('') })
    const { summary } = await run({}, { reading: { fields: { source: 'source' } } })
    expect(summary).toMatchObject({ documents: 4, kept: 4 })
    expect(Object.keys(summary.bySource).toSorted()).toEqual(odd.toSorted())
  })
})

describe('inputs that are not there', () => {
  it.each([
    ['a missing file', 'in/none.jsonl', 'FILE_NOT_FOUND'],
    ['a directory without inputs', 'empty.jsonl', 'FILE_NOT_FOUND'],
    ['a pattern that matches nothing', 'in/*.csv', 'FILE_NOT_FOUND'],
    ['a file of no known kind', 'in/odd.xyz', 'INVALID_OPTIONS'],
    ['a link that leads nowhere', 'in/broken.jsonl', 'FILE_NOT_FOUND'],
  ])('%s is told by name, and nothing is written', async (_, input, code) => {
    mkdirSync(at('empty.jsonl'))
    writeFiles(at('in'), { 'odd.xyz': 'x' })
    symlinkSync(at('nowhere'), at('in/broken.jsonl'))
    await expect(run({}, { inputs: [at(input)] })).rejects.toMatchObject({ code })
    expect(outputs()).toEqual([])
  })

  it('any more: a file that vanishes is told by name, and put back, the run goes on', async () => {
    writeFiles(at('in'), {
      'a.jsonl': goodLines.slice(0, 3).join(''),
      'b.jsonl': goodLines[3] ?? '',
    })
    const hide = () => renameSync(at('in/b.jsonl'), at('hidden'))
    const onShard = ({ path }: { path: string }) => path === 'a.jsonl' && hide()
    const whileRead = run({}, { run: 'r', watcher: { onShard } })
    await expect(whileRead).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    expect(outputs()).toEqual([])
    renameSync(at('hidden'), at('in/b.jsonl'))
    const onPhase = (phase: string) => phase === 'publishing' && hide()
    const whileWritten = run({}, { watcher: { onPhase } })
    await expect(whileWritten).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    expect(outputs().filter((name) => !/^(kept|runs)/.test(name))).toEqual([])
    expect(outputs().filter((name) => name.includes('.tmp-'))).toEqual([])
    renameSync(at('hidden'), at('in/b.jsonl'))
    expect(await run()).toMatchObject({ run: 'r', status: 'finished', summary: { kept: 4 } })
    expect(kept('b.jsonl').toString()).toBe(goodLines[3])
  })

  it.each([
    ['grows', (file: string) => writeFileSync(file, goodLines.join(''))],
    ['shrinks', (file: string) => truncateSync(file, 10)],
    ['is written anew', (file: string) => writeFileSync(file, goodLines[4] ?? '')],
  ])(
    'as they were: a file that %s is told by name; undone, the run can be made anew',
    async (_, change) => {
      writeFiles(at('in'), {
        'a.jsonl': goodLines.slice(0, 3).join(''),
        'b.jsonl': goodLines[3] ?? '',
      })
      const onShard = ({ path }: { path: string }) => path === 'a.jsonl' && change(at('in/b.jsonl'))
      const changed = run({}, { run: 'r', watcher: { onShard } })
      await expect(changed).rejects.toMatchObject({ code: 'INPUT_CHANGED' })
      expect(outputs()).toEqual([])
      await expect(run()).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
      const deduper = await openDedupe(at('state'), { durability: 'os' })
      expect(await deduper.undo('r')).toMatchObject([{ run: 'r', documents: 3 }])
      await deduper.close()
      expect(await run()).toMatchObject({ status: 'finished' })
    },
  )

  it('as they were between deciding and publishing: nothing half-written is left', async () => {
    writeFiles(at('in'), { 'a.jsonl': goodLines.join('') })
    const onPhase = (phase: string) =>
      phase === 'publishing' && writeFileSync(at('in/a.jsonl'), `${goodLines[0]}${goodLines[1]}`)
    await expect(run({}, { watcher: { onPhase } })).rejects.toMatchObject({ code: 'INPUT_CHANGED' })
    expect(outputs().filter((name) => name !== 'kept' && !name.startsWith('runs'))).toEqual([])
  })
})

describe('how inputs are read', () => {
  it('belongs to a run: a run that was cut off does not go on with other fields', async () => {
    const body = good.map(({ id, text: own }) => ({ id, body: own, text: 'a title' }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(body.slice(0, 2)), 'b.jsonl': jsonl(body.slice(2)) })
    const reading = { fields: { text: 'body' } }
    const onShard = () => {
      throw new Error('cut off')
    }
    await expect(run({}, { reading, watcher: { onShard } })).rejects.toThrow('cut off')
    await expect(run()).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    expect((await run({}, { reading })).summary).toMatchObject({ kept: 5 })
  })
})

describe('places of outputs', () => {
  it.each(['kept/other.jsonl', 'duplicates.jsonl', 'manifest.json'])(
    'with %s of somebody else are refused, and left as they were',
    async (name) => {
      writeFiles(at('in'), { 'a.jsonl': goodLines.join('') })
      writeFiles(at('out'), { [name]: '{"mine": true}\n', 'notes.txt': 'mine too' })
      const before = outputs()
      await expect(run()).rejects.toMatchObject({ code: 'TARGET_NOT_EMPTY' })
      const deduper = await openDedupe(at('state'), { durability: 'os' })
      const cleaned = deduper.clean({ inputs: [at('in')], out: at('out') })
      await expect(cleaned).rejects.toMatchObject({ code: 'TARGET_NOT_EMPTY' })
      expect(await deduper.runs()).toEqual([])
      await deduper.close()
      expect(outputs()).toEqual(before)
      expect(readFileSync(at('out', name), 'utf8')).toBe('{"mine": true}\n')
    },
  )

  it('with other things in them are taken, and those left alone', async () => {
    writeFiles(at('in'), { 'a.jsonl': goodLines.join('') })
    writeFiles(at('out'), { 'notes.txt': 'mine' })
    expect((await run()).status).toBe('finished')
    expect(readFileSync(at('out/notes.txt'), 'utf8')).toBe('mine')
  })

  it('that are files, or below one, are refused before anything is decided', async () => {
    writeFiles(at('in'), { 'a.jsonl': goodLines.join('') })
    writeFileSync(at('out'), 'a file')
    for (const out of [at('out'), at('out/below')]) {
      await expect(run({}, { out })).rejects.toMatchObject({ code: 'OUTPUT_FAILED' })
    }
    const deduper = await openDedupe(at('state'), { durability: 'os' })
    expect(await deduper.runs()).toEqual([])
    await deduper.close()
  })
})

describe('very long documents', () => {
  const options = { chunks: { enabled: true }, near: { enabled: false } }

  it('are linked by their passages, and decided about a few at a time', async () => {
    const long = textMaker(9)(200_000)
    const docs = Array.from({ length: 3 }, (_, n) => ({ id: n, text: `${long} ${n}${n}${n}` }))
    writeFiles(at('in'), { 'a.jsonl.gz': gzipSync(jsonl(docs)) })
    const { summary } = await run(options)
    expect(summary).toMatchObject({ documents: 3, kept: 1, linked: 2 })
  })

  it('have no more passages than a transaction takes, alone or together', () => {
    const preparer = new Preparer(readConfig({ ...options, canonical: { profile: 'none' } }))
    const { chunks } = preparer.prepare({ id: 'long', text: textMaker(9)(4_000_000) })
    expect(chunks).toHaveLength(65_536)
    const size = new BatchSize()
    expect(size.add(5_000_000)).toBe(true)
    size.clear()
    expect(Array.from({ length: 512 }, () => size.add(1)).indexOf(true)).toBe(511)
    size.clear()
    expect([2_500_000, 2_500_000].map((bytes) => size.add(bytes))).toEqual([false, true])
  })
})
