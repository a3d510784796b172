import { gzipSync } from 'node:zlib'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { directoryWith, itemsOf, readAll, readOne, rewrite, texts } from '../../test/input-kit.ts'
import { listShards, readShard } from './index.ts'

const jsonl = (values: readonly unknown[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

describe('JSONL', () => {
  it('reads texts of all scripts, and derives ids from lines', async () => {
    const { documents, rejects } = await readOne('a.jsonl', jsonl(texts.map((text) => ({ text }))))
    expect(rejects).toEqual([])
    expect(documents.map(({ text }) => text)).toEqual(texts)
    expect(documents[2]).toEqual({
      id: 'a.jsonl#3',
      source: 'a',
      text: texts[2],
      position: 2,
      line: 3,
    })
  })

  it('reads fields by their names and dotted paths', async () => {
    const value = {
      body: 'b',
      meta: { url: 'u', lang: 'hi', at: '2020-01-02T03:04:05Z', score: '0.5' },
      kind: 'news',
      'meta.from': 'exact',
    }
    const fields = {
      text: 'body',
      id: 'meta.url',
      source: 'meta.from',
      language: 'meta.lang',
      time: 'meta.at',
      quality: 'meta.score',
      type: 'kind',
    }
    const { documents } = await readOne('a.ndjson', jsonl([value]), {}, { fields })
    expect(documents).toEqual([
      {
        id: 'u',
        source: 'exact',
        text: 'b',
        language: 'hi',
        time: Date.UTC(2020, 0, 2, 3, 4, 5),
        quality: 0.5,
        type: 'news',
        position: 0,
        line: 1,
      },
    ])
  })

  it.each([
    [1577934245, 1577934245000],
    [1577934245000, 1577934245000],
    ['1577934245', 1577934245000],
    ['2020-01-02', Date.UTC(2020, 0, 2)],
  ])('takes %j as a time', async (time, expected) => {
    const read = await readOne(
      'a.jsonl',
      jsonl([{ text: 'x', time }]),
      {},
      { fields: { time: 'time' } },
    )
    expect(read.documents[0]?.time).toBe(expected)
  })

  it('takes a string on a line as a text, and numbers as ids', async () => {
    const lines =
      '"just text"\n{"id":7,"text":"a"}\n{"id":9007199254740993,"text":"b"}\n{"id":1.5,"text":"c"}'
    const { documents } = await readOne('a.jsonl', lines)
    expect(documents.map(({ id }) => id)).toEqual(['a.jsonl#1', '7', '9007199254740993', '1.5'])
    expect(documents[0]?.text).toBe('just text')
  })

  it('skips blank lines and a byte order mark, and reads CRLF and a last line without newline', async () => {
    const { documents, rejects } = await readOne(
      'a.jsonl',
      '\uFEFF{"text":"a"}\r\n\r\n  \n\n{"text":"b"}\r\n{"text":"c"}',
    )
    expect(rejects).toEqual([])
    expect(documents.map(({ text, line, position }) => [text, line, position])).toEqual([
      ['a', 1, 0],
      ['b', 5, 1],
      ['c', 6, 2],
    ])
  })

  it('reads an empty file as nothing', async () => {
    expect((await readOne('a.jsonl', '')).items).toEqual([])
  })

  it.each([
    ['{"text":', 'invalid-json', 'not JSON'],
    ['{"text":"a\u0000"}', 'nul-byte', 'byte 10'],
    ['{"other":1}', 'missing-field', 'its fields are: other'],
    ['{"text":null}', 'missing-field', 'is null, not a string'],
    ['{"text":5}', 'wrong-type', 'the number 5'],
    ['[1]', 'wrong-type', 'an array'],
    ['null', 'wrong-type', 'null'],
    ['{"text":"x","id":{}}', 'wrong-type', 'the field id is an object'],
    [
      '{"text":"x","id":12345678901234567890,"n":{"id":12345678901234567890}}',
      'wrong-type',
      'exactly',
    ],
    ['{"text":"\\ud800"}', 'invalid-utf8', 'surrogate'],
    ['{"text":"x","time":"yesterday"}', 'wrong-type', '"yesterday", not a time'],
    ['{"__proto__":{"text":"x"}}', 'missing-field', 'no field text'],
  ])('rejects %s, and goes on', async (line, reason, message) => {
    const content = `{"text":"a"}\n${line}\n{"text":"b"}\n`
    const read = await readOne('a.jsonl', content, {}, { fields: { time: 'time' } })
    expect(read.documents.map(({ text }) => text)).toEqual(['a', 'b'])
    expect(read.rejects).toMatchObject([{ reason, line: 2, position: 1 }])
    expect(read.rejects[0]?.message).toMatch(new RegExp(message.replaceAll(/[{}.*]/g, '.'), 'i'))
    expect(read.rejects[0]?.sample).toBe(line.replaceAll('\u0000', '\uFFFD').slice(0, 80))
  })

  it('shows tabs and ends of lines in samples as they are typed, and other control characters as U+FFFD', async () => {
    const { rejects } = await readOne('a.jsonl', 'a\tb\u0007c\r\n')
    expect(rejects[0]?.sample).toBe('a\\tb\uFFFDc\\r')
  })

  it('says which byte is not UTF-8', async () => {
    const content = Buffer.concat([
      Buffer.from('{"text":"a'),
      Buffer.from([0xff, 0x41]),
      Buffer.from('"}\n'),
    ])
    const { rejects } = await readOne('a.jsonl', content)
    expect(rejects).toMatchObject([
      { reason: 'invalid-utf8', message: expect.stringContaining('byte 10 (0xff)') },
    ])
  })

  it('passes over a line that is too long, wherever blocks end', async () => {
    const long = `{"text":"${'x'.repeat(3_000_000)}"}`
    const content = `{"text":"a"}\n${long}\n{"text":"b"}\n${long}`
    const { documents, rejects } = await readOne('a.jsonl', content, {}, { lineBytesMax: 1000 })
    expect(documents.map(({ text }) => text)).toEqual(['a', 'b'])
    expect(rejects).toMatchObject([
      { reason: 'too-long', position: 1, line: 2, sample: long.slice(0, 80) },
      { reason: 'too-long', position: 3, line: 4, sample: long.slice(0, 80) },
    ])
    expect(rejects[0]?.message).toContain(String(long.length))
  })

  it('keeps what a truncated gzip had, and rejects its end once', async () => {
    const values = Array.from({ length: 5000 }, (_, n) => ({ text: `${n} ${Math.sin(n)}` }))
    const whole = gzipSync(jsonl(values))
    const { documents, rejects } = await readOne('a.jsonl.gz', whole.subarray(0, whole.length >> 1))
    expect(documents.length).toBeGreaterThan(1000)
    expect(documents.length).toBeLessThan(4000)
    expect(documents.at(-1)?.text).toBe(values[documents.length - 1]?.text)
    expect(rejects).toMatchObject([{ reason: 'truncated', position: documents.length }])
  })

  it('resumes at every position', async () => {
    const content = '{"text":"a"}\n\nbroken\n{"text":"b"}\r\n\n{"text":"c"}'
    const directory = directoryWith({ 'a.jsonl': content, 'b.jsonl.gz': gzipSync(content) })
    for (const name of ['a.jsonl', 'b.jsonl.gz']) {
      const { items, shards } = await readAll(`${directory}/${name}`)
      for (let resume = 0; resume <= items.length + 1; resume++) {
        expect(await itemsOf(shards[0]!, { resume })).toEqual(items.slice(resume))
      }
    }
  })

  it('hands over batches of the asked size', async () => {
    const content = jsonl(Array.from({ length: 10 }, (_, n) => ({ text: `${n}` })))
    const again = await listShards([directoryWith({ 'a.jsonl': content })])
    const sizes: number[] = []
    for await (const batch of readShard(again.shards[0]!, { batchDocuments: 4 }))
      sizes.push(batch.length)
    expect(sizes).toEqual([4, 4, 2])
  })
})

describe('plain lines', () => {
  it('takes each line as a document', async () => {
    const content = `${texts.join('\n')}\r\n\n  \nlast`
    const { documents } = await readOne('a.txt', content, { format: 'lines' })
    expect(documents.map(({ text }) => text)).toEqual([...texts, '  ', 'last'])
    expect(documents.at(-1)?.id).toBe(`a.txt#${texts.length + 3}`)
  })

  it('rejects NUL bytes', async () => {
    const { rejects } = await readOne('a.txt', 'a\nb\u0000c\n', { format: 'lines' })
    expect(rejects).toMatchObject([{ reason: 'nul-byte', line: 2 }])
  })
})

const line = fc.oneof(
  fc.constantFrom('', '\r', ' ', '{"text":"é"}', '{"text":"x"}\r', 'broken', '\uFEFF{"text":"b"}'),
  fc.string({ maxLength: 40 }).map((text) => JSON.stringify({ text })),
)

describe('byte ranges', () => {
  it('give together what one read gives, wherever they are cut', async () => {
    const lines = fc.array(line, { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.boolean(),
        fc.integer({ min: 1, max: 200 }),
        fc.boolean(),
        async (all, isEnded, shardBytes, countLines) => {
          const directory = directoryWith({ 'a.jsonl': all.join('\n') + (isEnded ? '\n' : '') })
          const whole = await readAll(directory, { countLines })
          const parts = await readAll(directory, { shardBytes, countLines })
          const strip = (items: typeof whole.items) =>
            items.map((item) => ({ ...item, position: 0, line: countLines ? item.line : 0 }))
          expect(strip(parts.items)).toEqual(strip(whole.items))
          expect(parts.shards.map(({ start }) => start)).toEqual([
            0,
            ...parts.shards.slice(0, -1).map(({ end }) => end),
          ])
        },
      ),
      { numRuns: 150 },
    )
  })

  it('give together the bytes of the input when all is kept', async () => {
    const texts = fc.array(
      fc.string({ maxLength: 30 }).map((text) => text.replaceAll(/[\r\n\0]/g, '') + 'x'),
      {
        minLength: 1,
        maxLength: 20,
      },
    )
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 100 }), async (all, shardBytes) => {
        const content = all.map((text) => `${text}\r\n`).join('')
        const directory = directoryWith({ 'a.txt': content })
        const { bytes } = await rewrite(directory, { format: 'lines', shardBytes })
        expect(bytes.toString()).toBe(content)
      }),
      { numRuns: 60 },
    )
  })
})
