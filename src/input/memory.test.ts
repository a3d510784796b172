import { spawnSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import { describe, expect, it } from 'vitest'

import { amount } from '../../test/amount.ts'
import type { Measured } from '../../test/children/read-shards.ts'
import { temporaryDirectory } from '../../test/input-kit.ts'

const child = fileURLToPath(new URL('../../test/children/read-shards.ts', import.meta.url))

function fileOf(name: string, parts: Iterable<Uint8Array>): string {
  const file = join(temporaryDirectory(), name)
  const fd = openSync(file, 'w')
  for (const part of parts) writeSync(fd, part)
  closeSync(fd)
  return file
}

function* times(count: number, part: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < count; at++) yield part
}

function measure(file: string): Measured {
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', child, file])
  if (stdout.length === 0) throw new Error(stderr.toString())
  return JSON.parse(stdout.toString())
}

const megabyte = Buffer.from(`${JSON.stringify({ text: 'नमस्ते x'.repeat(180) })}\n`.repeat(250))
/** More than may be held. */
const count = Math.ceil(amount(200e6, 300e6) / megabyte.length)

describe('memory', () => {
  it('does not grow with a file of hundreds of megabytes, read and written in a worker thread', () => {
    const measured = measure(fileOf('a.jsonl', times(count, megabyte)))
    expect(measured).toMatchObject({
      documents: 250 * count,
      rejects: [],
      bytesWritten: megabyte.length * count,
    })
    expect(measured.grownMegabytes).toBeLessThan(150)
  })

  it('does not grow with hundreds of megabytes that were packed', () => {
    const packed = gzipSync(megabyte)
    const measured = measure(fileOf('a.jsonl.gz', times(count, packed)))
    expect(measured).toMatchObject({ documents: 250 * count, rejects: [] })
    expect(measured.grownMegabytes).toBeLessThan(150)
  })

  it('does not hold a line of 100 MB', () => {
    const line = Buffer.alloc(1e6, 'x')
    const file = fileOf('a.jsonl', [
      Buffer.from('{"text":"a"}\n'),
      ...times(100, line),
      Buffer.from('\n{"text":"b"}\n'),
    ])
    const measured = measure(file)
    expect(measured).toMatchObject({ documents: 2, rejects: ['too-long'], bytesWritten: 26 })
    expect(measured.grownMegabytes).toBeLessThan(100)
  })
})
