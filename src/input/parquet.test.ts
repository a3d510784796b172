import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

import { directoryWith, itemsOf, readAll, readOne, rewrite, texts } from '../../test/input-kit.ts'

type Columns = Parameters<typeof parquetWriteBuffer>[0]

const parquet = (options: Columns) => Buffer.from(parquetWriteBuffer(options))

function textFile(rowGroupSize = 3): Buffer {
  return parquet({
    columnData: [
      { name: 'id', data: texts.map((_, n) => BigInt(n) + 9007199254740993n), type: 'INT64' },
      { name: 'text', data: texts, type: 'STRING' },
    ],
    rowGroupSize,
  })
}

/** One column of each type that loses something when it is understood. */
function manyTypes(codec?: Columns['codec']): Buffer {
  const element = (name: string, more: object) => ({ name, repetition_type: 'OPTIONAL', ...more })
  const schema = [
    { name: 'root', num_children: 11 },
    element('text', {
      type: 'BYTE_ARRAY',
      converted_type: 'UTF8',
      logical_type: { type: 'STRING' },
    }),
    { name: 'n', type: 'INT32', repetition_type: 'REQUIRED' },
    element('micros', { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' }),
    element('price', { type: 'INT64', converted_type: 'DECIMAL', scale: 2, precision: 18 }),
    element('bytes', { type: 'BYTE_ARRAY' }),
    element('fixed', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2 }),
    element('share', { type: 'DOUBLE' }),
    element('isGood', { type: 'BOOLEAN' }),
    element('tags', { num_children: 1, converted_type: 'LIST' }),
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    element('element', { type: 'BYTE_ARRAY', converted_type: 'UTF8' }),
    element('meta', { num_children: 2 }),
    element('url', { type: 'BYTE_ARRAY', converted_type: 'UTF8' }),
    element('at', { type: 'INT32', converted_type: 'DATE' }),
    element('pairs', { num_children: 1, converted_type: 'MAP' }),
    { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
    { name: 'key', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
    element('value', { type: 'INT64' }),
  ] as Columns['schema']
  return parquet({
    schema: schema!,
    ...(codec ? { codec } : {}),
    compressors: { GZIP: (bytes) => gzipSync(bytes) },
    kvMetadata: [{ key: 'who', value: 'प्रेस्टीज' }],
    rowGroupSize: 2,
    columnData: [
      { name: 'text', data: ['a', 'नमस्ते', null, '', 'e'] },
      { name: 'n', data: [1, -2, 3, 4, 5] },
      { name: 'micros', data: [1577934245123456n, null, 0n, -1n, 5n] },
      { name: 'price', data: [900719925474099301n, -5n, null, 0n, 7n] },
      { name: 'bytes', data: [new Uint8Array([0xff, 0]), null, new Uint8Array(), null, null] },
      { name: 'fixed', data: [new Uint8Array([1, 2]), new Uint8Array([3, 4]), null, null, null] },
      { name: 'share', data: [0.1, NaN, -0, null, 1e300] },
      { name: 'isGood', data: [true, false, null, true, false] },
      { name: 'tags', data: [['x', null, 'é'], [], null, ['y'], []] },
      {
        name: 'meta',
        data: [
          { url: 'u', at: new Date(86400000) },
          { url: null, at: null },
          null,
          null,
          { url: 'v' },
        ],
      },
      { name: 'pairs', data: [{ b: 1n, a: 2n }, {}, null, { z: null }, null] },
    ],
  })
}

const rowsOf = (bytes: Buffer) => {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  return parquetReadObjects({
    file,
    compressors,
    utf8: false,
    parsers: { timestampFromMicroseconds: (n) => n },
  })
}

const schemaOf = (bytes: Buffer) => parquetMetadata(new Uint8Array(bytes)).schema

describe('Parquet', () => {
  it('reads texts of all scripts, and large ids exactly', async () => {
    const { documents, rejects } = await readOne('a.parquet', textFile())
    expect(rejects).toEqual([])
    expect(documents.map(({ text }) => text)).toEqual(texts)
    expect(documents.map(({ position }) => position)).toEqual(texts.map((_, at) => at))
    expect(documents[1]).toMatchObject({ id: '9007199254740994', line: 2 })
  })

  it('is cut into shards of row groups that give together the same', async () => {
    const directory = directoryWith({ 'a.parquet': textFile(2) })
    const reading = { fields: { id: 'none' } }
    const whole = await readAll(directory, {}, reading)
    const parts = await readAll(directory, { shardBytes: 1 }, reading)
    expect(parts.shards).toHaveLength(4)
    const strip = (items: typeof whole.items) => items.map((item) => ({ ...item, position: 0 }))
    expect(strip(parts.items)).toEqual(strip(whole.items))
    expect(whole.documents.at(-1)?.id).toBe(`a.parquet#${texts.length}`)
  })

  it('resumes at every position', async () => {
    const { items, shards } = await readAll(directoryWith({ 'a.parquet': textFile() }))
    for (let resume = 0; resume <= items.length; resume++) {
      expect(await itemsOf(shards[0]!, { resume })).toEqual(items.slice(resume))
    }
  })

  it('reads fields within fields, and times', async () => {
    const fields = { id: 'meta.url', time: 'micros', quality: 'n' }
    const { items } = await readOne('a.parquet', manyTypes(), {}, { fields })
    expect(items).toMatchObject([
      { id: 'u', text: 'a', time: 1577934245123, quality: 1 },
      { id: 'a.parquet#2', text: 'नमस्ते', quality: -2 },
      { reason: 'missing-field', position: 2, line: 3 },
      { text: '', position: 3 },
      { id: 'v', text: 'e' },
    ])
  })

  it('rejects what is not UTF-8, what has another type, and what is too long', async () => {
    const data = [new Uint8Array([0x61, 0xff]), Buffer.from('good'), Buffer.from('x'.repeat(100))]
    const bytes = parquet({ columnData: [{ name: 'text', data, type: 'BYTE_ARRAY' }] })
    const { items } = await readOne('a.parquet', bytes, {}, { lineBytesMax: 50 })
    expect(items).toMatchObject([
      { reason: 'invalid-utf8' },
      { text: 'good' },
      { reason: 'too-long' },
    ])
    const numbers = parquet({ columnData: [{ name: 'text', data: [1, 2], type: 'INT32' }] })
    expect((await readOne('a.parquet', numbers)).items).toMatchObject([
      { reason: 'wrong-type' },
      {},
    ])
  })

  it('rejects once what has no such column, is damaged, or is something else', async () => {
    const whole = textFile()
    const other = await readOne('a.parquet', whole, {}, { fields: { text: 'body' } })
    expect(other.items).toMatchObject([
      { reason: 'missing-field', message: expect.stringContaining('id, text') },
    ])
    for (const bytes of [Buffer.from('x'), Buffer.alloc(0), whole.subarray(0, whole.length - 9)]) {
      expect((await readOne('a.parquet', bytes)).items).toMatchObject([{ reason: 'unreadable' }])
    }
  })

  it('rejects a damaged row group, and reads the others at their positions', async () => {
    const bytes = textFile()
    const [group] = parquetMetadata(new Uint8Array(bytes)).row_groups
    const from = Number(group!.columns[1]!.meta_data!.data_page_offset)
    bytes.fill(0xff, from, from + 30)
    const { items } = await readOne('a.parquet', bytes)
    expect(items).toMatchObject([
      { reason: 'unreadable', position: 0, line: 1 },
      ...texts.slice(3).map((text, at) => ({ text, position: at + 3 })),
    ])
  })

  it.each(['SNAPPY', 'GZIP', 'UNCOMPRESSED'] as const)(
    'writes all rows and types as they were, with %s',
    async (codec) => {
      const original = manyTypes(codec)
      const { bytes } = await rewrite(directoryWith({ 'a.parquet': original }), {}, () => true)
      expect(await rowsOf(bytes)).toEqual(await rowsOf(original))
      expect(schemaOf(bytes)).toEqual(schemaOf(original))
      const metadata = parquetMetadata(new Uint8Array(bytes))
      expect(metadata.key_value_metadata).toEqual([{ key: 'who', value: 'प्रेस्टीज' }])
      expect(metadata.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([2, 2, 1])
      expect(metadata.row_groups[0]?.columns[0]?.meta_data?.codec).toBe(codec)
    },
  )

  it('writes some rows, shard by shard, and none', async () => {
    const original = manyTypes()
    const directory = directoryWith({ 'a.parquet': original })
    const some = await rewrite(directory, { shardBytes: 1 }, ({ line }) => line === 2 || line === 5)
    const rows = await rowsOf(original)
    expect(await rowsOf(some.bytes)).toEqual([rows[1], rows[4]])
    const none = await rewrite(directory, {}, () => false)
    expect(await rowsOf(none.bytes)).toEqual([])
    expect((await readOne('a.parquet', none.bytes)).items).toEqual([])
  })
})
