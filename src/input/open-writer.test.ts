import { open } from 'node:fs/promises'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it, vi } from 'vitest'

import { directoryWith, rewrite, temporaryDirectory } from '../../test/input-kit.ts'
import { listShards, openWriter } from './index.ts'

async function opened(files: Record<string, string | Uint8Array>, name = '') {
  const input = directoryWith(files)
  const { shards } = await listShards([join(input, name)])
  const directory = join(temporaryDirectory(), 'out')
  return { input, shards, directory, writer: await openWriter(shards[0]!, { directory }) }
}

async function failWritesWith(code: string): Promise<() => void> {
  const handle = await open(join(temporaryDirectory(), 'probe'), 'w')
  const prototype = Object.getPrototypeOf(handle) as typeof handle
  await handle.close()
  const spy = vi
    .spyOn(prototype, 'write')
    .mockRejectedValue(Object.assign(new Error(code), { code }))
  return () => spy.mockRestore()
}

describe('writing', () => {
  it('keeps the bytes of lines, and ends the last one', async () => {
    const content = '\uFEFF{"text": "a"}\r\n{"text":"b" }\n\n  {"text":"c"}'
    const { bytes } = await rewrite(directoryWith({ 'a.jsonl': content }))
    expect(bytes.toString()).toBe('\uFEFF{"text": "a"}\r\n{"text":"b" }\n  {"text":"c"}\n')
  })

  it('writes lines of any length, and much of it', async () => {
    const lines = Array.from({ length: 3000 }, (_, n) =>
      JSON.stringify({ text: 'é'.repeat((n * 7919) % 5000) }),
    )
    const content =
      [...lines, JSON.stringify({ text: 'x'.repeat(2_500_000) }), lines[7]].join('\n') + '\n'
    const { bytes } = await rewrite(directoryWith({ 'a.jsonl': content }), {
      shardBytes: 1_000_000,
    })
    expect(bytes.equals(Buffer.from(content))).toBe(true)
  })

  it('has nothing in place until it is closed, and nothing at all after it is given up', async () => {
    const { writer, directory } = await opened({ 'a.jsonl': '{"text":"a"}\n{"text":"b"}\n' })
    expect(await writer.writeKept([1])).toEqual({ documents: 1, bytes: 13 })
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/^a\.jsonl\.tmp-[0-9a-f]+$/)])
    await writer.abort()
    expect(readdirSync(directory)).toEqual([])
  })

  it('replaces what was there only when it is whole', async () => {
    const { writer, directory } = await opened({ 'a.jsonl': '{"text":"a"}\n' })
    writeFileSync(join(directory, 'a.jsonl'), 'old')
    await writer.writeKept([0])
    expect(readFileSync(join(directory, 'a.jsonl'), 'utf8')).toBe('old')
    await writer.close()
    expect(readFileSync(join(directory, 'a.jsonl'), 'utf8')).toBe('{"text":"a"}\n')
    expect(readdirSync(directory)).toEqual(['a.jsonl'])
  })

  it('writes an empty file when nothing is kept', async () => {
    const { writer, directory } = await opened({ 'a.jsonl': '{"text":"a"}\n' })
    await writer.writeKept([])
    await writer.close()
    expect(readFileSync(join(directory, 'a.jsonl'), 'utf8')).toBe('')
  })

  it('copies kept files under the same names', async () => {
    const files = { 'a.txt': new Uint8Array([0xff]), 'deep/b.md': 'b\r\n', 'c.txt': '' }
    const { writer, directory } = await opened(files)
    expect(await writer.writeKept([0, 2])).toEqual({ documents: 2, bytes: 4 })
    await writer.close()
    expect(readFileSync(join(directory, 'a.txt'))).toEqual(Buffer.from([0xff]))
    expect(readFileSync(join(directory, 'deep/b.md'), 'utf8')).toBe('b\r\n')
    expect(existsSync(join(directory, 'c.txt'))).toBe(false)
  })

  it.each([[[1, 0]], [[0, 0]], [[0.5]], [[-1]], [[7]]])(
    'refuses the positions %j',
    async (positions) => {
      const { writer, directory } = await opened({ 'a.jsonl': '{"text":"a"}\n{"text":"b"}\n' })
      await expect(writer.writeKept(positions)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      expect(readdirSync(directory)).toEqual([])
    },
  )

  it('refuses to replace its own input', async () => {
    for (const name of ['a.jsonl', 'b.txt']) {
      const directory = directoryWith({ [name]: '{"text":"a"}\n' })
      const { shards } = await listShards([directory])
      const write = async () => (await openWriter(shards[0]!, { directory })).writeKept([0])
      await expect(write()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      expect(readdirSync(directory)).toEqual([name])
    }
  })

  it.each([
    ['ENOSPC', 'BACKEND_FULL'],
    ['EIO', 'OUTPUT_FAILED'],
  ])('names %s, and leaves nothing behind', async (system, code) => {
    for (const name of ['a.jsonl', 'a.jsonl.gz', 'a.csv', 'a.txt']) {
      const content = name.endsWith('.gz') ? '' : 'text\n'.repeat(500_000)
      const { writer, directory } = await opened({ [name]: content })
      const restore = await failWritesWith(system)
      const write = async () => {
        await writer.writeKept(content === '' ? [] : [0])
        await writer.close()
      }
      await expect(write()).rejects.toMatchObject({ code })
      restore()
      expect(readdirSync(directory)).toEqual([])
    }
  })

  it('notices that the input was changed since, and leaves nothing behind', async () => {
    const { writer, input, directory } = await opened({ 'a.jsonl': '{"text":"a"}\n' })
    writeFileSync(join(input, 'a.jsonl'), '{"text":"other"}\n')
    await expect(writer.writeKept([0])).rejects.toMatchObject({ code: 'INPUT_CHANGED' })
    expect(readdirSync(directory)).toEqual([])
  })
})
