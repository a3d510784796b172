import { gzipSync } from 'node:zlib'

import { describe, expect, it } from 'vitest'

import { directoryWith, readOne, zstdFrame } from '../../test/input-kit.ts'
import { Decompressed } from './decompress.ts'
import { listShards } from './list-shards.ts'
import { openInput } from './open-input.ts'
import { decompressors } from './parquet-file.ts'
import { TooLarge, ZstdBlocks } from './zstd-blocks.ts'

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd]
const padding = Buffer.alloc(25)

/** A frame of blocks that repeat one byte: four bytes stand for 128 KiB. */
function repeatedBlocks(count: number, bytes = 128 * 1024): Buffer {
  const blocks = Buffer.alloc(count * 4)
  for (let at = 0; at < count; at++) {
    blocks.writeUIntLE((bytes << 3) | 2 | (at === count - 1 ? 1 : 0), at * 4, 3)
    blocks[at * 4 + 3] = 'x'.charCodeAt(0)
  }
  return Buffer.concat([Buffer.from([...MAGIC, 0, 0x58]), blocks])
}

describe('a zstd frame that declares a window above 128 MiB', () => {
  const frames = {
    'in its descriptor': Buffer.from([...MAGIC, 0, 21 << 3]),
    'a little above': Buffer.from([...MAGIC, 0, (17 << 3) | 1]),
    'as one segment': Buffer.from([...MAGIC, 0xa0, 1, 0, 0, 8]),
    'as one segment, in eight bytes': Buffer.from([...MAGIC, 0xe0, 0, 0, 0, 0, 0, 0, 0, 1]),
  }

  it.each(Object.entries(frames))('is refused by name: %s', async (_, frame) => {
    const bytes = Buffer.concat([frame, padding]).subarray(0, 31)
    const { items } = await readOne('a.jsonl.zst', bytes)
    expect(items).toMatchObject([{ reason: 'too-long' }])
    expect(items[0]).toHaveProperty('message', expect.stringMatching(/window.* 128 MiB/))
  })

  it.each(Object.values(frames))('is refused before the decoder gets a byte of it', (frame) => {
    expect(() => [...new ZstdBlocks().feed(Buffer.concat([frame, padding]))]).toThrow(TooLarge)
  })

  it('is refused behind a good frame, whose documents are read', async () => {
    const good = zstdFrame(Buffer.from('{"text":"a"}\n'))
    const bytes = Buffer.concat([good, frames['in its descriptor'], padding])
    const { documents, rejects } = await readOne('a.jsonl.zst', bytes)
    expect([documents.length, rejects.length]).toEqual([1, 1])
  })
})

it('a window of 128 MiB is read', () => {
  const frame = Buffer.concat([Buffer.from([...MAGIC, 0, 17 << 3]), padding])
  expect([...new ZstdBlocks().feed(frame)].length).toBeGreaterThan(0)
})

describe('zstd blocks that repeat a byte', () => {
  it('are given to the decoder one at a time, however the input is cut', () => {
    const bytes = repeatedBlocks(50)
    for (const step of [1, 3, 7, bytes.length]) {
      const cutter = new ZstdBlocks()
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += step) {
        pieces.push(...cutter.feed(Buffer.from(bytes.subarray(at, at + step))))
      }
      expect([pieces.length, cutter.rest.length]).toEqual([51, 0])
      expect(Buffer.concat(pieces)).toEqual(bytes)
    }
  })

  it('that declare more than a block may have are refused', async () => {
    const { items } = await readOne('a.jsonl.zst', repeatedBlocks(1, 2 ** 20))
    expect(items).toMatchObject([{ reason: 'too-long' }])
  })

  it('of half a gigabyte are read in a fraction of the memory', async () => {
    const directory = directoryWith({ 'a.jsonl.zst': repeatedBlocks(4096) })
    const [shard] = (await listShards([directory])).shards
    const input = openInput(shard!)
    const before = process.memoryUsage().rss
    let most = 0
    let bytes = 0
    for await (const block of new Decompressed(input, 'zstd').blocks()) {
      bytes += block.length
      if (bytes % (1 << 23) === 0) most = Math.max(most, process.memoryUsage().rss - before)
    }
    input.close()
    expect(bytes).toBe(4096 * 128 * 1024)
    expect(most).toBeLessThan(300 * 1024 * 1024)
  })
})

describe('a page of Parquet', () => {
  const bombs: Record<string, Buffer> = {
    GZIP: gzipSync(Buffer.alloc(1 << 20)),
    ZSTD: repeatedBlocks(100),
  }

  it.each(Object.entries(bombs))('of %s never gives more than it declares', async (name, bytes) => {
    const { [name as 'GZIP']: decompress } = await decompressors()
    expect(() => decompress?.(bytes, 1000)).toThrow()
    expect(() => decompress?.(bytes, 2 ** 31)).toThrow('declares')
  })

  it('of ZSTD is read', async () => {
    const { ZSTD } = await decompressors()
    expect(ZSTD?.(repeatedBlocks(2), 2 ** 18)).toHaveLength(2 ** 18)
  })
})
