/** What the tests of input share: files in a directory of their own, and everything that a listing reads. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterEach } from 'vitest'

import {
  type Document,
  isReject,
  type ListingInput,
  listShards,
  openWriter,
  type ReadingInput,
  readShard,
  type Reject,
  type Shard,
} from '../src/input/index.ts'

const made: string[] = []

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-input-test-'))
  made.push(directory)
  return directory
}

/** Writes files by their names, and gives the directory. */
export function directoryWith(files: Record<string, string | Uint8Array>): string {
  const directory = temporaryDirectory()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), content)
  }
  return directory
}

export async function itemsOf(
  shard: Shard,
  options?: ReadingInput,
): Promise<(Document | Reject)[]> {
  const items: (Document | Reject)[] = []
  for await (const batch of readShard(shard, options)) items.push(...batch)
  return items
}

export interface Everything {
  readonly shards: readonly Shard[]
  readonly items: (Document | Reject)[]
  readonly documents: Document[]
  readonly rejects: Reject[]
}

export async function readAll(
  pattern: string,
  listing?: ListingInput,
  reading?: ReadingInput,
): Promise<Everything> {
  const { shards } = await listShards([pattern], { sources: 'files', ...listing })
  const items: (Document | Reject)[] = []
  for (const shard of shards) items.push(...(await itemsOf(shard, reading)))
  return {
    shards,
    items,
    documents: items.filter((item): item is Document => !isReject(item)),
    rejects: items.filter(isReject),
  }
}

/** One file by its name and content. */
export function readOne(
  name: string,
  content: string | Uint8Array,
  listing?: ListingInput,
  reading?: ReadingInput,
): Promise<Everything> {
  return readAll(join(directoryWith({ [name]: content }), name), listing, reading)
}

/** Writes what `keep` says of the first file, all its shards, and gives the bytes of the output. */
export async function rewrite(
  pattern: string,
  listing?: ListingInput,
  keep: (item: Document | Reject) => boolean = (item) => !isReject(item),
): Promise<{ name: string; bytes: Buffer; note: string | undefined }> {
  const { shards } = await listShards([pattern], listing)
  const directory = temporaryDirectory()
  const writer = await openWriter(shards[0]!, { directory })
  for (const shard of shards) {
    const items = await itemsOf(shard)
    await writer.writeKept(
      items.filter(keep).map(({ position }) => position),
      shard,
    )
  }
  await writer.close()
  const [name = ''] = readdirSync(directory)
  return { name, bytes: readFileSync(join(directory, name)), note: writer.note }
}

/** Texts that break what is careless about Unicode. */
export const texts = [
  'नमस्ते दुनिया',
  '你好，世界',
  'مرحبا بالعالم',
  '👩‍👩‍👧‍👦 🏳️‍🌈 🇮🇳',
  'cafe\u0301 Å A\u030a',
  'x',
  'a "quoted", text\\ with / all',
  '\u2028 line separators \u2029',
]

/** A Zstandard frame that holds the bytes as they are, in blocks. Node 20 cannot compress so. */
export function zstdFrame(bytes: Uint8Array, blockBytes = 1000): Buffer {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])]
  const count = Math.max(1, Math.ceil(bytes.length / blockBytes))
  for (let at = 0; at < count; at++) {
    const block = bytes.subarray(at * blockBytes, (at + 1) * blockBytes)
    const head = Buffer.alloc(3)
    head.writeUIntLE((block.length << 3) | (at === count - 1 ? 1 : 0), 0, 3)
    parts.push(head, Buffer.from(block))
  }
  return Buffer.concat(parts)
}
