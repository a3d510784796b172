import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'

import { describe, expect, it } from 'vitest'

import { directoryWith, itemsOf, readAll } from '../../test/input-kit.ts'
import { type Listing, listShards, sourceOfInput } from './index.ts'

describe('listing', () => {
  it('finds files, directories and globs, in byte order of their paths within each, each once', async () => {
    const directory = directoryWith({
      'b/x.jsonl': '',
      'b.jsonl': '',
      'B/y.ndjson': '',
      'é.csv': '',
      'a/z.tsv': '',
      'a/deep/er/q.txt': 'q',
    })
    const patterns = [`${directory}/**/*.jsonl`, directory, `${directory}/b/x.jsonl`]
    const { shards } = await listShards(patterns)
    expect(shards.map(({ path }) => path)).toEqual([
      'b.jsonl',
      'b/x.jsonl',
      'B/y.ndjson',
      'a/deep/er/q.txt',
      'a/z.tsv',
      'é.csv',
    ])
    expect(shards.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5])
    const byFile = await listShards(patterns.toReversed(), { sources: 'files' })
    expect(byFile.shards.map(({ path }) => path)).toEqual([
      'B/y.ndjson',
      'a/deep/er/q.txt',
      'a/z.tsv',
      'b.jsonl',
      'b/x.jsonl',
      'é.csv',
    ])
    expect(byFile.shards.every(({ source }) => source === undefined)).toBe(true)
  })

  it('takes inputs in the order given, and a file that two of them name for the first', async () => {
    const directory = directoryWith({
      'wiki/a.jsonl': '{"text":"w"}',
      'books/b.jsonl': '{"text":"b"}',
      'books/a.txt': 'a',
      'new/a.txt': 'n',
    })
    const before = process.cwd()
    process.chdir(directory)
    try {
      const { shards } = await listShards(
        ['wiki', './books/', 'new/*.txt', '-', 'books/b.jsonl', { path: 'wiki', source: 'again' }],
        {},
        Readable.from(['{"text":"s"}']),
      )
      expect(shards.map(({ path, source }) => `${source}: ${path}`)).toEqual([
        'wiki: wiki/a.jsonl',
        'books: books/a.txt',
        'books: books/b.jsonl',
        'new: new/a.txt',
        'stdin: stdin.jsonl',
      ])
      const items = await Promise.all(shards.map((shard) => itemsOf(shard)))
      expect(items.flat().map((item) => 'source' in item && item.source)).toEqual([
        'wiki',
        'books',
        'books',
        'new',
        'stdin',
      ])
    } finally {
      process.chdir(before)
    }
  })

  it.each([
    ['books', 'books'],
    ['./books//', 'books'],
    ['/data/books/', '/data/books'],
    ['books/**/*.jsonl', 'books'],
    ['*.jsonl', '*.jsonl'],
    ['.', '.'],
    ['./', '.'],
    ['/', '/'],
    ['../books', '../books'],
    ['-', 'stdin'],
  ])('calls the source of %s %s', (typed, source) => expect(sourceOfInput(typed)).toBe(source))

  it('names files below what all inputs have in common, or below the root that is given', async () => {
    const directory = directoryWith({ 'a/x.jsonl': '', 'b/x.jsonl': '', 'b/c/y.jsonl': '' })
    const paths = async (patterns: string[], root?: string) => {
      const { shards } = await listShards(patterns, root === undefined ? {} : { root })
      return shards.map(({ path }) => path)
    }
    expect(await paths([`${directory}/a/x.jsonl`])).toEqual(['x.jsonl'])
    expect(await paths([`${directory}/a/x.jsonl`, `${directory}/b/x.jsonl`])).toEqual([
      'a/x.jsonl',
      'b/x.jsonl',
    ])
    expect(await paths([`${directory}/b`])).toEqual(['c/y.jsonl', 'x.jsonl'])
    expect(await paths([`${directory}/b/*.jsonl`])).toEqual(['x.jsonl'])
    expect(await paths([`${directory}/b`], directory)).toEqual(['b/c/y.jsonl', 'b/x.jsonl'])
    await expect(paths([`${directory}/b`], `${directory}/a`)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('tells what it passes over', async () => {
    const directory = directoryWith({
      'a.jsonl': '',
      'b.pdf': '',
      '.hidden.jsonl': '',
      '.git/c.txt': '',
    })
    symlinkSync(directory, join(directory, 'loop'))
    symlinkSync(join(directory, 'nothing'), join(directory, 'broken.jsonl'))
    symlinkSync(join(directory, 'a.jsonl'), join(directory, 'link.jsonl'))
    const { shards, skipped } = await listShards([directory])
    expect(shards.map(({ path }) => path)).toEqual(['a.jsonl', 'link.jsonl'])
    const whys = Object.fromEntries(
      skipped.map(({ file, why }) => [file.slice(directory.length + 1), why]),
    )
    expect(whys).toEqual({
      '.git': 'hidden',
      '.hidden.jsonl': 'hidden',
      'b.pdf': expect.stringContaining('extension'),
      'broken.jsonl': 'a link to nothing',
      loop: 'a link to a directory',
    })
  })

  it('passes over what has a name that is not UTF-8, and says why', async () => {
    const directory = directoryWith({ 'a.jsonl': '', 'b\uFFFD.jsonl': '' })
    const named = (name: string) => Buffer.from(`${directory}/${name}`, 'latin1')
    // Other systems refuse such names.
    const isLinux = process.platform === 'linux'
    if (isLinux) {
      writeFileSync(named('bad\xff.txt'), 'x')
      mkdirSync(named('folder\xff'))
    }
    const passed = (skipped: Listing['skipped']) =>
      skipped.map(({ file, why }) => `${basename(file)}: ${why}`).toSorted()
    const why = 'its name is not UTF-8: rename it to have it read'
    const expected = isLinux ? [`bad\uFFFD.txt: ${why}`, `folder\uFFFD: ${why}`] : []
    const { shards, skipped } = await listShards([directory])
    expect(shards.map(({ path }) => path)).toEqual(['a.jsonl', 'b\uFFFD.jsonl'])
    expect(passed(skipped)).toEqual(expected)
    const globbed = await listShards([`${directory}/*`])
    expect(passed(globbed.skipped)).toEqual(expect.arrayContaining(expected.slice(0, 1)))
  })

  it.each([
    ['missing.jsonl', 'FILE_NOT_FOUND'],
    ['missing/*.jsonl', 'FILE_NOT_FOUND'],
    ['empty', 'FILE_NOT_FOUND'],
    ['what.pdf', 'INVALID_OPTIONS'],
    ['what.pdf/below.jsonl', 'FILE_NOT_FOUND'],
  ])('refuses %s with %s', async (name, code) => {
    const directory = directoryWith({ 'what.pdf': '' })
    mkdirSync(join(directory, 'empty'))
    await expect(listShards([join(directory, name)])).rejects.toMatchObject({ code })
  })

  it('refuses no inputs at all, and what is no file', async () => {
    await expect(listShards([])).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    await expect(listShards(['/dev/null'])).rejects.toMatchObject({ code: 'INPUT_UNREADABLE' })
  })

  it('notices that a file was changed since', async () => {
    const directory = directoryWith({ 'a.jsonl': '{"text":"a"}\n', 'b.txt': 'b' })
    const { shards } = await listShards([directory])
    writeFileSync(join(directory, 'a.jsonl'), '{"text":"a"}\n{"text":"b"}\n')
    writeFileSync(join(directory, 'b.txt'), 'other')
    for (const shard of shards) {
      await expect(itemsOf(shard)).rejects.toMatchObject({ code: 'INPUT_CHANGED' })
    }
  })

  it('has a digest that tells when inputs change', async () => {
    const directory = directoryWith({ 'a.jsonl': '{"text":"a"}\n' })
    const before = await listShards([directory])
    expect((await listShards([directory], { shardBytes: 3 })).digest).toBe(before.digest)
    linkSync(join(directory, 'a.jsonl'), join(directory, 'b.jsonl'))
    expect((await listShards([directory])).digest).not.toBe(before.digest)
  })

  it('groups small files, and rejects single ones without giving up the others', async () => {
    const directory = directoryWith({
      'a.txt': 'नमस्ते',
      'b.md': '\uFEFFwith a mark',
      'c.txt': new Uint8Array([0x61, 0xff]),
      'd.txt': '',
      'e.txt': 'a\u0000',
      'f.txt': new Uint8Array([0xff, 0xfe, 0x41, 0]),
      'g.txt.gz': gzipSync('packed'),
      'h.txt': 'x'.repeat(100),
    })
    const { items, shards } = await readAll(directory, { shardFiles: 4 }, { lineBytesMax: 50 })
    expect(shards.map(({ files }) => files?.length)).toEqual([4, 2, 1, 1])
    expect(items).toMatchObject([
      { id: 'a.txt', source: 'a', text: 'नमस्ते', position: 0 },
      { id: 'b.md', text: 'with a mark' },
      { reason: 'invalid-utf8', path: 'c.txt', position: 2 },
      { id: 'd.txt', text: '' },
      { reason: 'nul-byte', position: 0 },
      { reason: 'invalid-utf8', message: expect.stringContaining('UTF-16') },
      { id: 'g.txt.gz', text: 'packed' },
      { reason: 'too-long', path: 'h.txt' },
    ])
    expect(await itemsOf(shards[0]!, { resume: 3 })).toMatchObject([{ id: 'd.txt' }])
  })

  it.each([
    ['plain', (text: string) => Buffer.from(text), 'none'],
    ['packed', (text: string) => gzipSync(text), 'gzip'],
  ] as const)('keeps stdin in a file until it is closed, %s', async (_, pack, compression) => {
    const listing = await listShards(['-'], {}, Readable.from([pack('{"text":"a"}\n')]))
    const [shard] = listing.shards
    const ending = { none: '', gzip: '.gz', zstd: '.zst' }[compression]
    const path = `stdin.jsonl${ending}`
    expect(shard).toMatchObject({ path, format: 'jsonl', compression })
    expect(await itemsOf(shard!)).toMatchObject([{ id: `${path}#1`, source: 'stdin', text: 'a' }])
    await listing.close()
    expect(existsSync(dirname(shard!.file))).toBe(false)
  })

  it('tells bytes instead of lines where lines are not counted', async () => {
    const directory = directoryWith({ 'a.jsonl': '{"text":"a"}\n{"text":"b"}\n' })
    const { documents } = await readAll(directory, { countLines: false, shardBytes: 13 })
    expect(documents.map(({ id }) => id)).toEqual(['a.jsonl@0', 'a.jsonl@13'])
  })

  it('refuses a named pipe below a directory without waiting for it', async () => {
    const directory = directoryWith({ 'a.jsonl': '' })
    execFileSync('mkfifo', [join(directory, 'pipe.jsonl')])
    const { skipped } = await listShards([directory])
    expect(skipped).toMatchObject([{ why: 'neither a file nor a directory' }])
  })
})
