/**
 * Inputs that nobody would give on purpose: bombs, lines without an end, pipes, sockets, devices and loops. Each ends with
 * a named reason, in bounded memory, and what else was given is read.
 */

import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { listShards, openWriter } from '../src/input/index.ts'
import { inProcess } from './children/cli.ts'
import { jsonl, linesOf, writeFiles } from './corpus-kit.ts'
import { itemsOf } from './input-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-hostile-in-'))
  writeFiles(directory, { 'in/good.jsonl': GOOD })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => inProcess(['dedupe', ...args], { cwd: directory })
const GOOD = jsonl([{ id: 'good', text: 'A document that has nothing to do with it.' }])
const keptGood = () => linesOf(at('out/kept/good.jsonl')).map(({ id }) => id)

const MEBIBYTE = 1024 * 1024

/** Files of many members are as good as one, and quickly made. */
function bomb(name: string, piece: Buffer, times: number): void {
  const packed = gzipSync(piece, { level: 9 })
  const file = openSync(at('in', name), 'w')
  for (let n = 0; n < times; n++) writeSync(file, packed)
  closeSync(file)
}

/** A Zstandard frame of blocks that say: this byte, so many times. */
function zstdBomb(megabytes: number): Buffer {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])]
  const blocks = megabytes * 8
  for (let at = 0; at < blocks; at++) {
    const block = Buffer.alloc(4, 'x')
    block.writeUIntLE(((128 * 1024) << 3) | (1 << 1) | (at === blocks - 1 ? 1 : 0), 0, 3)
    parts.push(block)
  }
  return Buffer.concat(parts)
}

describe('a small file that expands to much', () => {
  /** So that the tests are quick: a megabyte is free. */
  const reading = { expansionMax: 10, expandedBytesFree: MEBIBYTE }

  it.each([
    ['an endless line', 'bomb.jsonl.gz', 'x'],
    ['an endless array', 'bomb.json.gz', '['],
    ['an endless header', 'bomb.csv.gz', 'x'],
    ['an endless record', 'bomb.tsv.gz', 'text\n"'],
  ])('as %s is rejected by name', async (_, name, piece) => {
    bomb(name, Buffer.concat([Buffer.from(piece), Buffer.alloc(MEBIBYTE, piece.at(-1))]), 40)
    const { shards } = await listShards([at('in', name)])
    const items = await itemsOf(shards[0]!, reading)
    expect(items).toMatchObject([
      { reason: 'truncated', message: expect.stringContaining('10 times its size (input.exp') },
    ])
    const writer = await openWriter(shards[0]!, { directory: at('kept') })
    expect(await writer.writeKept([])).toMatchObject({ documents: 0 })
    await writer.close()
  })

  it('as many short lines is read up to the limit', async () => {
    bomb('bomb.jsonl.gz', Buffer.from('{"text": "a"}\n'.repeat(75_000)), 10)
    const { shards } = await listShards([at('in/bomb.jsonl.gz')])
    const items = await itemsOf(shards[0]!, reading)
    expect(items.length).toBeLessThan(90_000)
    expect(items.at(-1)).toMatchObject({ reason: 'truncated' })
    const resumed = await itemsOf(shards[0]!, { ...reading, resume: items.length - 2 })
    expect(resumed).toEqual(items.slice(-2))
  })

  it('in Zstandard is rejected in the same way', async () => {
    writeFiles(at('in'), { 'bomb.jsonl.zst': zstdBomb(20) })
    const { shards } = await listShards([at('in/bomb.jsonl.zst')])
    expect(await itemsOf(shards[0]!, reading)).toMatchObject([{ reason: 'truncated' }])
  })

  it('takes a fraction of the memory it expands to, and the rest of the inputs is read', async () => {
    bomb('bomb.jsonl.gz', Buffer.alloc(8 * MEBIBYTE, 'x'), 70)
    const child = `
      const { run } = await import(process.argv[1])
      const code = await run(['dedupe', 'in', '-o', 'out', '-q'])
      process.stdout.write(JSON.stringify({ code, kilobytes: process.resourceUsage().maxRSS }))`
    const main = new URL('../dist/cli/run.js', import.meta.url).href
    const args = ['--input-type=module', '-e', child, main]
    const printed = execFileSync(process.execPath, args, {
      cwd: directory,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const { code, kilobytes } = JSON.parse(printed)
    expect([code, keptGood()]).toEqual([1, ['good']])
    expect(kilobytes / 1024).toBeLessThan(400)
    expect(linesOf(at('out/rejects.jsonl'))).toMatchObject([
      { reason: 'truncated', message: expect.stringContaining('input.expansionMax') },
    ])
  })
})

describe('what is no file', () => {
  it('in a directory is passed over and listed', async () => {
    execFileSync('mkfifo', [at('in/pipe.jsonl')])
    symlinkSync(at('in'), at('in/loop'))
    symlinkSync('self.jsonl', at('in/self.jsonl'))
    symlinkSync('/dev/zero', at('in/zero.jsonl'))
    const server = createServer().listen(at('in/socket.jsonl'))
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      const run = await dedupe('in', '-o', 'out')
      expect([run.code, keptGood()]).toEqual([0, ['good']])
      expect(run.err).toContain('passed over: in/pipe.jsonl, in/socket.jsonl (neither a file nor')
      expect(run.err).toContain('in/loop (a link to a directory)')
      expect(run.err).toContain('in/self.jsonl (a link to nothing)')
      expect(run.text).toContain('in/zero.jsonl')
      const follow = await dedupe('in', '-o', 'follow', '--follow-symlinks')
      expect(follow.err).toContain('in/zero.jsonl')
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it.each(['pipe', '/dev/zero', '/dev/null', 'socket'])(
    'is refused by name if it is an input: %s',
    async (name) => {
      execFileSync('mkfifo', [at('pipe')])
      const server = createServer().listen(at('socket'))
      await new Promise((resolve) => server.once('listening', resolve))
      try {
        const { code, err } = await dedupe('in', name, '-o', 'out')
        expect([code, err]).toEqual([
          1,
          expect.stringContaining(`${name} is neither a file nor a directory`),
        ])
      } finally {
        await new Promise((resolve) => server.close(resolve))
      }
    },
  )

  it('and takes the place of a file that was listed is not waited for', async () => {
    const { shards } = await listShards([at('in')])
    rmSync(at('in/good.jsonl'))
    execFileSync('mkfifo', [at('in/good.jsonl')])
    await expect(itemsOf(shards[0]!)).rejects.toMatchObject({ code: 'INPUT_CHANGED' })
  })

  it('is a loop of links that is named: it is not there', async () => {
    symlinkSync('b', at('a'))
    symlinkSync('a', at('b'))
    const { code, err } = await dedupe('a', '-o', 'out')
    expect([code, err]).toEqual([expect.any(Number), expect.stringContaining('a')])
    expect(code).toBeGreaterThan(0)
  })
})

it('stdin that is nothing but NULs is refused, and does not fill the disk', async () => {
  const input = Buffer.alloc(3 * MEBIBYTE)
  const run = await inProcess(['dedupe', '-', '-o', '-'], { cwd: directory, input })
  expect([run.code, run.text, run.err]).toEqual([1, '', expect.stringContaining('NUL bytes')])
})

it('a directory may have very many names', async () => {
  mkdirSync(at('many'))
  for (let n = 0; n < 500; n++) closeSync(openSync(at('many', `${n}.bin`), 'w'))
  writeFiles(at('many'), { 'good.jsonl': GOOD })
  const run = await dedupe('many', '-o', 'out')
  expect(run.err).toMatch(/^500 files passed over: .*, … \(unknown extension/)
  expect(keptGood()).toEqual(['good'])
})
