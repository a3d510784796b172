import { gunzipSync, gzipSync } from 'node:zlib'

import { describe, expect, it } from 'vitest'

import { directoryWith, readOne, rewrite, texts, zstdFrame } from '../../test/input-kit.ts'
import { zstdOfNode } from './decompress.ts'

const contents = {
  jsonl: texts.map((text) => `${JSON.stringify({ text })}\n`).join(''),
  csv: `text\n${texts.map((text) => `"${text.replaceAll('"', '""')}"\n`).join('')}`,
  tsv: `text\n${texts.map((text) => `"${text.replaceAll('"', '""')}"\n`).join('')}`,
  lines: texts.map((text) => `${text}\n`).join(''),
} as const

const packers = {
  none: { extension: '', pack: (bytes: Buffer) => bytes, unpack: (bytes: Buffer) => bytes },
  gzip: { extension: '.gz', pack: gzipSync, unpack: gunzipSync },
  zstd: {
    extension: '.zst',
    pack: (bytes: Buffer) => zstdFrame(bytes, 10),
    unpack: (bytes: Buffer) => bytes,
  },
} as const

const cells = Object.keys(contents).flatMap((format) =>
  Object.keys(packers).map((compression) => [format, compression] as const),
)

describe.each(cells)('%s with %s', (format, compression) => {
  const { extension, pack, unpack } = packers[compression as keyof typeof packers]
  const content = Buffer.from(contents[format as keyof typeof contents])
  const name = `a.${format}${extension}`
  const listing = { format: format as keyof typeof contents }

  it('is read', async () => {
    const { documents, rejects, shards } = await readOne(name, pack(content), listing)
    expect(rejects).toEqual([])
    expect(documents.map(({ text }) => text)).toEqual(texts)
    expect(documents[0]?.source).toBe('a')
    expect(shards[0]).toMatchObject({ format, compression })
  })

  it('is written as it was', async () => {
    const directory = directoryWith({ [name]: pack(content) })
    const written = await rewrite(directory, listing)
    const isPlain = compression === 'zstd' && !zstdOfNode('createZstdCompress')
    expect(written.name).toBe(isPlain ? `a.${format}` : name)
    expect(written.note === undefined).toBe(!isPlain)
    if (compression === 'zstd' && !isPlain) {
      const again = await readOne(name, written.bytes, listing)
      expect(again.documents.map(({ text }) => text)).toEqual(texts)
    } else expect(unpack(written.bytes)).toEqual(content)
  })
})

describe('compressed input', () => {
  it('reads what zstd itself wrote, and several frames in one file', async () => {
    const base64 =
      'KLUv/QRojQEAVAJ7InRleHQiOiLgpKjgpK7gpLjgpY3gpKTgpYcifQpvbmUgIn0KAwDsIiGzD0OhnG3SfxEotS/9BFjxAAB7InRleHQiOiLgpKjgpK7gpLjgpY3gpKTgpYcifQqJ3rjn'
    const { documents, rejects } = await readOne('a.jsonl.zst', Buffer.from(base64, 'base64'))
    expect(rejects).toEqual([])
    expect(documents.map(({ text }) => text)).toEqual([
      'नमस्ते',
      'one',
      `one${' one'.repeat(12)}`,
      'नमस्ते',
    ])
  })

  it('reads zstd frames among those that are to be skipped, wherever they lie', async () => {
    const note = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
    const frames = texts.flatMap((text) => [
      note,
      zstdFrame(Buffer.from(`${JSON.stringify({ text })}\n`), 7),
    ])
    const { documents, rejects } = await readOne('a.jsonl.zst', Buffer.concat([...frames, note]))
    expect(rejects).toEqual([])
    expect(documents.map(({ text }) => text)).toEqual(texts)
  })

  it('reads several gzip members in one file', async () => {
    const both = Buffer.concat([gzipSync('{"text":"a"}\n'), gzipSync('{"text":"b"}\n')])
    expect((await readOne('a.jsonl.gz', both)).documents.map(({ text }) => text)).toEqual([
      'a',
      'b',
    ])
  })

  it.each(['.gz', '.zst'])(
    'rejects an empty file%s and one that is something else',
    async (extension) => {
      for (const content of ['', 'plain text, and long enough for a header']) {
        const { items } = await readOne(`a.jsonl${extension}`, content)
        expect(items).toMatchObject([{ reason: 'truncated', position: 0 }])
      }
    },
  )

  it('keeps what a truncated zstd had', async () => {
    const whole = zstdFrame(Buffer.from(contents.jsonl), 10)
    const { documents, rejects } = await readOne(
      'a.jsonl.zst',
      whole.subarray(0, whole.length - 50),
    )
    expect(documents.map(({ text }) => text)).toEqual(texts.slice(0, documents.length))
    expect(documents.length).toBeGreaterThan(4)
    expect(rejects).toMatchObject([{ reason: 'truncated' }])
  })

  it('reads much that was packed into little, block by block', async () => {
    const line = `${JSON.stringify({ text: 'x'.repeat(1000) })}\n`
    const { documents } = await readOne('a.jsonl.gz', gzipSync(line.repeat(20_000)))
    expect(documents).toHaveLength(20_000)
  })
})
