/** `.json` files: what they hold is found out, read in bounded memory, and written again as what it was. */

import { describe, expect, it } from 'vitest'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'

import { directoryWith, itemsOf, readOne, rewrite, texts } from '../../test/input-kit.ts'
import { isReject, listShards } from './index.ts'
import { ValueScanner } from './value-scanner.ts'

const documents = texts.map((text, at) => ({ id: `名${at}`, text, more: { nested: ['{', text] } }))
const lines = documents.map((one) => `${JSON.stringify(one)}\n`).join('')

describe('what a .json file holds', () => {
  it.each([
    ['an array', JSON.stringify(documents), 'json'],
    ['an array that is set out', JSON.stringify(documents, undefined, 2), 'json'],
    ['an array with a mark', `\uFEFF ${JSON.stringify(documents)}`, 'json'],
    ['lines', lines, 'jsonl'],
    ['lines with a mark and blank lines', `\uFEFF\n\n${lines}`, 'jsonl'],
    ['lines of which the first is broken', `{"id": 1, "te\n${lines}`, 'jsonl'],
    [
      'documents that are set out',
      documents.map((d) => JSON.stringify(d, null, 1)).join(''),
      'json',
    ],
    ['one document', JSON.stringify(documents[0]), 'files'],
    ['one document that is set out', JSON.stringify(documents[0], null, 2), 'files'],
    ['nothing', '', 'jsonl'],
    ['an empty array', '[]', 'json'],
    ['something else', 'no JSON', 'json'],
  ])('is %s', async (_, content, format) => {
    for (const [name, bytes] of [
      ['a.json', content],
      ['a.json.gz', gzipSync(content)],
    ] as const) {
      const directory = directoryWith({ [name]: bytes })
      const { shards } = await listShards([directory])
      expect(shards.map((shard) => shard.format)).toEqual([format])
      const items = (await itemsOf(shards[0]!)).filter((item) => !isReject(item))
      const wanted = /one/.test(_)
        ? documents.slice(0, 1)
        : /no|empty|else/.test(_)
          ? []
          : documents
      expect(items).toMatchObject(wanted.map(({ id, text }) => ({ id, text })))
    }
  })

  it('is asked of other names and of stdin with --format json', async () => {
    const { items } = await readOne('a.data', JSON.stringify(documents), { format: 'json' })
    expect(items).toHaveLength(documents.length)
  })

  it('is a folder of documents, a file each, which share a shard', async () => {
    const files = Object.fromEntries(
      documents.map((one, at) => [`${at}.json`, JSON.stringify(one, undefined, 2)]),
    )
    const { shards } = await listShards([directoryWith({ ...files, 'x.txt': 'text' })])
    expect(shards.map(({ files: own }) => own?.length)).toEqual([documents.length, 1])
    expect(await itemsOf(shards[0]!)).toMatchObject(documents.map(({ id, text }) => ({ id, text })))
    expect(await itemsOf(shards[1]!)).toMatchObject([{ id: 'x.txt', text: 'text' }])
  })
})

describe('an array', () => {
  it('gives ids by the number of the element, and rejects single elements', async () => {
    const content =
      '[{"text":"a"},"b",5,{"text":7},{"text":"c"} , {"x":[1,"]"]},\n{"text": "d\\""}]'
    const { items } = await readOne('a.json', content)
    expect(items.map((item) => (isReject(item) ? item.reason : `${item.id} ${item.text}`))).toEqual(
      [
        'a.json#1 a',
        'a.json#2 b',
        'wrong-type',
        'wrong-type',
        'a.json#5 c',
        'missing-field',
        'a.json#7 d"',
      ],
    )
    const { items: resumed } = await readOne('a.json', content, {}, { resume: 5 })
    expect(resumed.map(({ position }) => position)).toEqual([5, 6])
  })

  it.each([
    ['is not closed', '[{"text":"a"},', 'the array is not closed'],
    ['ends within an element', '[{"text":"a"},{"text":"b', 'ends within a value'],
    ['lacks a comma', '[{"text":"a"} {"text":"b"}]', 'no comma between two elements, at byte 14'],
    ['is followed by something', '[{"text":"a"}] {"text":"b"}', 'follows the end of the array'],
    ['has an empty element', '[{"text":"a"},,{"text":"b"}]', 'where a value should be'],
    ['closes too much', '[{"text":"a"}, }]', 'there is } where a value should be'],
  ])('that %s is read up to there', async (_, content, why) => {
    const { documents: good, rejects } = await readOne('a.json', content)
    expect(good.map(({ text }) => text)).toEqual(['a'])
    expect(rejects).toMatchObject([{ reason: 'truncated', message: expect.stringContaining(why) }])
  })

  it('has elements of any length that are rejected, and never held', async () => {
    const content = `[{"text":"a"},{"text":"${'x'.repeat(5000)}"},{"text":"b"}]`
    const { items } = await readOne('a.json', content, {}, { lineBytesMax: 100 })
    expect(items).toMatchObject([
      { text: 'a' },
      { reason: 'too-long', sample: expect.stringContaining('{"text":"xxx') },
      { text: 'b' },
    ])
  })

  it('is found wherever its blocks are cut', () => {
    const content = Buffer.from(` \uFEFF[${documents.map((d) => JSON.stringify(d)).join(' ,\n')}] `)
    const expected = documents.map((one) => JSON.stringify(one))
    const bytes = content.subarray(1)
    for (const size of [1, 2, 3, 7, 64]) {
      const scanner = new ValueScanner(1e6)
      const found: string[] = []
      for (let at = 0; at < bytes.length; at += size) {
        scanner.feed(bytes.subarray(at, at + size))
        while (scanner.next()) found.push(scanner.bytes.toString())
      }
      scanner.end()
      while (scanner.next()) found.push(scanner.bytes.toString())
      expect([found, scanner.problem]).toEqual([expected, undefined])
    }
  })
})

describe('what is kept', () => {
  it.each([
    ['an array', JSON.stringify(documents, undefined, 2)],
    ['values', documents.map((one) => JSON.stringify(one, undefined, 2)).join('\n')],
  ])('of %s is one again, each value in its very bytes', async (what, content) => {
    for (const name of ['a.json', 'a.json.gz']) {
      const bytes = name.endsWith('.gz') ? gzipSync(content) : content
      const file = join(directoryWith({ [name]: bytes }), name)
      const kept = await rewrite(file, {}, ({ position }) => position % 2 === 0)
      expect(kept.name).toBe(name)
      const again = await readOne(name, kept.bytes)
      expect(again.shards[0]?.format).toBe('json')
      const wanted = documents.filter((_, at) => at % 2 === 0)
      expect(again.documents.map(({ id, text }) => ({ id, text }))).toEqual(
        wanted.map(({ id, text }) => ({ id, text })),
      )
      if (what === 'an array' && name === 'a.json') {
        expect(JSON.parse(kept.bytes.toString())).toEqual(wanted)
        expect(kept.bytes.toString()).toContain(`"id": "名0",\n    "text"`)
      }
    }
  })

  it('of an array of which nothing is kept is an empty array, of a document its file', async () => {
    const array = join(directoryWith({ 'a.json': '[{"text":"a"}]' }), 'a.json')
    expect((await rewrite(array, {}, () => false)).bytes.toString()).toBe('[]\n')
    const one = join(directoryWith({ 'a.json': '{\n "text": "a" }' }), 'a.json')
    expect((await rewrite(one)).bytes.toString()).toBe('{\n "text": "a" }')
  })
})
