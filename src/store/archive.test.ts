import { readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'

import { inProcess as prestige } from '../../test/children/cli.ts'
import { removeTemporaryDirectories, temporaryDirectory } from '../../test/subjects.ts'
import { MemoryBackend } from '../backends/memory/backend.ts'
import { SimulatedWorld } from '../backends/simulated/backend.ts'
import { archiveStore, openStore, restoreStore } from '../index.ts'

afterAll(removeTemporaryDirectories)

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0
  for (let piece = 0; at < bytes.byteLength; piece++) {
    const size = sizes[piece % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

const VALUES: readonly (string | Buffer)[] = [
  '',
  'a',
  'नमस्ते दुनिया',
  '你好，世界',
  'مرحبا بالعالم',
  '👩‍👩‍👧‍👦 e\u0301',
  Buffer.from([0xff, 0xfe, 0x00, 0xc3]),
  'the same',
  'the same',
]

async function filled(clock = () => 1000) {
  const backend = new MemoryBackend({ clock })
  const store = await openStore(backend)
  for (const [at, value] of VALUES.entries()) await store.put(`key ${at} ключ`, value)
  await store.put(Buffer.from([0, 0xff, 0x80]), 'under bytes')
  await store.put('short-lived', 'gone soon', { ttlMs: 500 })
  return { backend, store }
}

describe('an archive', () => {
  it('carries a store from one engine to another, byte for byte, with expiries', async () => {
    const { backend, store } = await filled()
    const bytes = await bytesOf(archiveStore(backend))
    const world = new SimulatedWorld(1)
    world.time = 1200
    const other = await openStore(world.open('other'))
    const restored = await restoreStore(other, cut(bytes, [1, 7, 1000]), { clock: () => 1200 })
    expect(restored).toEqual({ keys: VALUES.length + 2, expired: 0 })
    for await (const [key, value] of store.entries()) expect(await other.get(key)).toEqual(value)
    expect((await other.stats()).contents).toBe((await store.stats()).contents)
    expect((await other.verify()).problems).toEqual([])
    world.time = 1499
    expect(await other.has('short-lived')).toBe(true)
    world.time = 1500
    expect(await other.has('short-lived')).toBe(false)
    expect(await other.has(Buffer.from([0, 0xff, 0x80]))).toBe(true)
  })

  it('holds each content once, whatever the number of its keys', async () => {
    const store = await openStore(new MemoryBackend())
    const backend = new MemoryBackend()
    const many = await openStore(backend)
    const value = 'x'.repeat(10_000)
    for (let at = 0; at < 50; at++) await many.put(`k${at}`, value)
    const bytes = await bytesOf(archiveStore(backend))
    expect(bytes.byteLength).toBeLessThan(2 * value.length)
    await restoreStore(store, cut(bytes, [4096]))
    expect(await store.stats()).toMatchObject({ keys: 50, contents: 1 })
  })

  it('leaves out what had expired, and says how much', async () => {
    const { backend } = await filled()
    const bytes = await bytesOf(archiveStore(backend))
    const other = await openStore('memory:')
    const restored = await restoreStore(other, cut(bytes, [64]), { clock: () => 2000 })
    expect(restored).toEqual({ keys: VALUES.length + 1, expired: 1 })
    expect(await other.has('short-lived')).toBe(false)
  })

  it('is refused by name wherever it is cut off or changed', async () => {
    const { backend } = await filled()
    const bytes = await bytesOf(archiveStore(backend))
    const damage = fc.oneof(
      fc.nat(bytes.byteLength - 1).map((length) => bytes.subarray(0, length)),
      fc.tuple(fc.nat(bytes.byteLength - 1), fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ by
        return changed
      }),
      fc.uint8Array({ minLength: 1, maxLength: 9 }).map((more) => Buffer.concat([bytes, more])),
    )
    await fc.assert(
      fc.asyncProperty(damage, async (broken) => {
        const store = await openStore('memory:')
        const work = restoreStore(store, cut(broken, [50]), { clock: () => 1000 })
        await expect(work).rejects.toMatchObject({ code: 'ARCHIVE_BROKEN' })
      }),
      { numRuns: 300, seed: 7 },
    )
  })

  it('of version 1 is what it was', async () => {
    const backend = new MemoryBackend({ clock: () => 1000 })
    const store = await openStore(backend)
    await store.put('a', 'value')
    await store.put('b', 'value', { ttlMs: 10 })
    const bytes = await bytesOf(archiveStore(backend))
    expect(bytes.subarray(0, 19).toString()).toBe('prestige archive 1\n')
    expect(createHash('sha256').update(bytes).digest('hex')).toMatchInlineSnapshot(
      `"92d775af62d6775b209d840fffbcaf512a8d061f7902380fce7d8d0867f2d1f2"`,
    )
  })

  it('does not make a store where there is none', async () => {
    const none = join(await temporaryDirectory(), 'none')
    const work = bytesOf(archiveStore(none))
    await expect(work).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
  })
})

describe('prestige export and import --archive', () => {
  it('carry a store over, through a file and through a pipe', async () => {
    const directory = await temporaryDirectory()
    const [one, two, three] = ['one', 'two', 'three'].map((name) => join(directory, name))
    const file = join(directory, 'store.archive')
    for (const at of [1, 2, 3]) await prestige(['put', `k${at}`, `v${at % 2}`], { store: one })
    const written = await prestige(['export', '--archive', file, '--json'], { store: one })
    expect(written.json).toEqual({ archive: file, bytes: (await readFile(file)).byteLength })
    const restored = await prestige(['import', '--archive', file], { store: two })
    expect(restored.text).toBe('3 keys restored\n')
    const piped = await prestige(['export', '--archive', '-'], { store: two })
    expect(piped.out.equals(await readFile(file))).toBe(true)
    await prestige(['import', '--archive', '-', '-q'], { store: three, input: piped.out })
    expect((await prestige(['get', 'k3'], { store: three })).text).toBe('v1')
    const broken = piped.out.subarray(0, -3)
    const failed = await prestige(['import', '--archive', '-'], { store: three, input: broken })
    expect(failed.code).not.toBe(0)
    expect(failed.err).toContain('it is cut off')
    const missing = await prestige(['import', '--archive', `${file}.not`], { store: three })
    expect(missing.code).toBe(3)
    const misplaced = await prestige(['export', '--archive', file, '--prefix', 'x'], { store: one })
    expect(misplaced.code).toBe(2)
  })
})
