import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

import { directoryWith, itemsOf, readAll, readOne, rewrite, texts } from '../../test/input-kit.ts'
import { CsvParser } from './csv-parser.ts'

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

describe('CSV', () => {
  it('reads texts of all scripts, quoted or not, with newlines within', async () => {
    const rows = [...texts, 'two\nlines, and "quotes"\r\nthree', ''].map(
      (text, n) => `${n},${quoted(text)}`,
    )
    const { documents, rejects } = await readOne('a.csv', `id,text\r\n${rows.join('\r\n')}\r\n`)
    expect(rejects).toEqual([])
    expect(documents.map(({ text }) => text)).toEqual([
      ...texts,
      'two\nlines, and "quotes"\r\nthree',
      '',
    ])
    expect(documents.at(-1)).toMatchObject({ id: '9', line: 13, position: 9 })
  })

  it('reads TSV, with tabs between fields and commas within', async () => {
    const { documents } = await readOne('a.tsv', 'text\tid\na,b\t1\n"t\tt"\t2')
    expect(documents.map(({ id, text }) => [id, text])).toEqual([
      ['1', 'a,b'],
      ['2', 't\tt'],
    ])
  })

  it('takes quotes as text where the option says so', async () => {
    const { documents } = await readOne('a.tsv', 'text\n"Ah", she said\n', {}, { hasQuotes: false })
    expect(documents[0]?.text).toBe('"Ah", she said')
  })

  it('passes over a byte order mark and blank lines, and derives ids from lines', async () => {
    const { documents } = await readOne('a.csv', '\uFEFFtext,n\n\na,1\r\n\r\nb,2')
    expect(documents.map(({ id, text }) => [id, text])).toEqual([
      ['a.csv#3', 'a'],
      ['a.csv#5', 'b'],
    ])
  })

  it.each([
    ['x,1,2', 'invalid-csv', 'it has 3 fields, and the header has 2'],
    ['x', 'invalid-csv', 'it has 1 fields'],
    ['"x"y,1', 'invalid-csv', 'behind its closing quote'],
    ['a\u0000,1', 'nul-byte', 'NUL at byte 1'],
    ['"a\nb"c,1', 'invalid-csv', 'closing quote'],
  ])('rejects %j, and goes on', async (record, reason, message) => {
    const { documents, rejects } = await readOne('a.csv', `text,n\na,1\n${record}\nb,2\n`)
    expect(documents.map(({ text }) => text)).toEqual(['a', 'b'])
    expect(rejects).toMatchObject([{ reason, position: 1, line: 3 }])
    expect(rejects[0]?.message).toMatch(new RegExp(message, 'i'))
  })

  it('rejects a record that is not UTF-8, and no other', async () => {
    const broken = Buffer.concat([
      Buffer.from('text\na\n"x\n'),
      Buffer.from([0xe9]),
      Buffer.from('"\nb\n'),
    ])
    const { documents, rejects } = await readOne('a.csv', broken)
    expect(documents.map(({ text }) => text)).toEqual(['a', 'b'])
    expect(rejects).toMatchObject([{ reason: 'invalid-utf8', line: 3 }])
  })

  it.each([
    ['text,text,n\na,b,c\n', 'invalid-csv', 'twice'],
    ['body,n\na,b\n', 'missing-field', 'it has: body, n'],
    ['"text\na\n', 'invalid-csv', 'never closes'],
  ])('rejects a header that cannot be used once: %j', async (content, reason, message) => {
    const { items } = await readOne('a.csv', content)
    expect(items).toMatchObject([
      { reason, position: 0, line: 1, message: expect.stringContaining(message) },
    ])
  })

  it('minds only doubles of columns that it uses', async () => {
    expect((await readOne('a.csv', 'n,n,text\n1,2,a\n')).documents[0]?.text).toBe('a')
  })

  it('bounds what an unclosed quote swallows', async () => {
    const rows = Array.from({ length: 100 }, (_, n) => `row ${n}\n`).join('')
    const { documents, rejects } = await readOne(
      'a.csv',
      `text\n"never\n${rows}`,
      {},
      { lineBytesMax: 100 },
    )
    expect(rejects).toMatchObject([{ reason: 'too-long', line: 2, sample: '"never' }])
    expect(documents.length).toBeGreaterThan(80)
    const unbounded = await readOne('a.csv', `text\na\n"never\n${rows}`)
    expect(unbounded.documents).toHaveLength(1)
    expect(unbounded.rejects).toMatchObject([{ reason: 'invalid-csv', line: 3, position: 1 }])
  })

  it('resumes at every position, and tells a truncated end', async () => {
    const content = 'text,n\na,1\n"b\nb",2\nbroken\nc,3'
    const directory = directoryWith({
      'a.csv': content,
      'b.csv.gz': gzipSync(content).subarray(0, -12),
    })
    for (const name of ['a.csv', 'b.csv.gz']) {
      const { items, shards } = await readAll(`${directory}/${name}`)
      for (let resume = 0; resume <= items.length; resume++) {
        expect(await itemsOf(shards[0]!, { resume })).toEqual(items.slice(resume))
      }
      if (name !== 'a.csv') expect(items.at(-1)).toMatchObject({ reason: 'truncated' })
    }
  })

  it('agrees with another parser', () => {
    const field = fc.oneof(
      fc.constantFrom('', '""', '"a""b"', '"a\nb"', '"\r\n"', 'a"b', ' ', 'é'),
      fc.string({ maxLength: 8 }).map((text) => text.replaceAll(/[",\r\n]/g, '')),
      fc.string({ maxLength: 8 }).map((text) => quoted(text.replaceAll('\r', ''))),
    )
    const record = fc.array(field, { minLength: 2, maxLength: 4 }).map((fields) => fields.join(','))
    fc.assert(
      fc.property(record, (text) => {
        const parser = new CsvParser(',', true)
        parser.begin()
        for (const line of text.split('\n')) parser.feed(line)
        const [expected] = parse(text, { relax_quotes: true, record_delimiter: '\n' })
        expect(parser.fields).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })

  it('writes the header once, and records byte for byte', async () => {
    const content = '\uFEFFtext,n\r\n"a\n""b""",1\r\n\u00e9,2\r\nbroken\r\n"c" ,3\r\nd,4\r\n'
    const directory = directoryWith({ 'a.csv': content })
    const all = await rewrite(directory, {}, () => true)
    expect(all.bytes.toString()).toBe(content)
    const some = await rewrite(directory, {}, ({ line }) => line === 4 || line === 7)
    expect(some.bytes.toString()).toBe('\uFEFFtext,n\r\n\u00e9,2\r\nd,4\r\n')
  })
})
