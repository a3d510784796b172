import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { cell, type Scope, type Transaction } from '../backends/index.ts'
import { MemoryBackend } from '../backends/memory/backend.ts'
import { SimulatedWorld } from '../backends/simulated/index.ts'
import { openStore, PrestigeError, type Store } from '../index.ts'
import { released } from './rows.ts'

async function list(keys: AsyncIterable<Buffer>): Promise<string[]> {
  const found: string[] = []
  for await (const key of keys) found.push(key.toString())
  return found
}

const rejects = async (work: Promise<unknown>, code: string) =>
  expect(work).rejects.toMatchObject({ name: 'PrestigeError', code })

describe('a receipt', () => {
  it('can be had again later from explain, with the other keys of the content', async () => {
    await using store = await openStore('memory:')
    const first = await store.put('a', 'hello')
    await store.put('b', 'hello')
    await store.put('c', 'hello')
    const explained = await store.explain('b', { sharedWithMax: 1 })
    expect(explained).toMatchObject({ content: 'duplicate', method: 'digest', bytes: 5 })
    expect(explained?.of?.content).toBe(first.contentId)
    expect(explained?.sharedWith.map(String)).toEqual(['a'])
    expect((await store.explain('a'))?.content).toBe('new')
    await store.put('a', 'hello', { ttlMs: 1e6 })
    expect((await store.explain('a'))?.content).toBe('new')
    expect(await store.explain('missing')).toBeUndefined()
  })
})

/** Of contents that are not there. */
// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* noteReleased(scope: Scope, from: number, to: number): Transaction<void> {
  for (let at = from; at < to; at++) {
    const digest = Buffer.alloc(32)
    digest.writeUInt16BE(at)
    scope.write(cell(released, digest), scope.id())
  }
}

describe('collecting', () => {
  it('happens by itself: content nobody refers to is gone when delete resolves', async () => {
    await using store = await openStore('memory:')
    await store.put('a', 'v')
    await store.put('b', 'v')
    await store.delete('a')
    expect((await store.stats()).contents).toBe(1)
    await store.put('b', 'w')
    expect(await store.stats()).toMatchObject({ contents: 1, contentBytes: 1 })
    expect(await store.collect()).toEqual({
      expiredKeys: 0,
      contents: 0,
      contentBytes: 0,
      abandonedParts: 0,
      changes: 0,
      chunks: 0,
      chunkBytes: 0,
    })
  })

  it('waits for collect where gc is manual, and a re-put revives the content', async () => {
    await using store = await openStore('memory:', { gc: 'manual' })
    const first = await store.put('a', 'revived')
    await store.put('b', 'dropped')
    await store.delete('a')
    await store.delete('b')
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 2 })
    const again = await store.put('c', 'revived')
    expect(again).toMatchObject({ content: 'duplicate', contentId: first.contentId })
    expect(await store.collect()).toMatchObject({ contents: 1, contentBytes: 7 })
    expect(await store.getText('c')).toBe('revived')
    expect(await store.stats()).toMatchObject({ keys: 1, contents: 1 })
  })

  it('is counted as garbage until then, and makes no saving negative', async () => {
    for (const location of ['memory:', new SimulatedWorld(1).open('worker')]) {
      await using store = await openStore(location, { gc: 'manual' })
      for (let at = 0; at < 300; at++) await store.put(`gone ${at}`, `dropped ${at}`)
      await store.put('a', 'kept')
      await store.put('b', 'kept')
      for (let at = 0; at < 300; at++) await store.delete(`gone ${at}`)
      await store.delete('b')
      const { contentBytes, ...stats } = await store.stats()
      expect(stats).toMatchObject({ liveBytes: 4, garbageBytes: contentBytes - 4, bytesSaved: 0 })
      expect(stats).toMatchObject({ storedBytes: contentBytes, dedupRatio: 1 })
      await store.collect()
      expect(await store.stats()).toMatchObject({ liveBytes: 4, garbageBytes: 0, storedBytes: 4 })
    }
  })

  it('is looked at by stats for some contents only, and says so', async () => {
    await using store = await openStore('memory:', { gc: 'manual' })
    for (let at = 0; at <= 1024; at++) await store.put('a', String(10_000 + at))
    const all = await store.stats()
    expect(all).toMatchObject({ garbageBytes: 1024 * 5, liveBytes: 5 })
    expect(all).not.toHaveProperty('hasMoreGarbage')
    for (let at = 1025; at < 1100; at++) await store.put('a', String(10_000 + at))
    const some = await store.stats()
    expect(some).toMatchObject({ garbageBytes: 1024 * 5, hasMoreGarbage: true })
    expect(some.liveBytes).toBe(some.contentBytes - 1024 * 5)
    await store.collect()
    expect(await store.stats()).toMatchObject({ garbageBytes: 0, liveBytes: 5, contents: 1 })
    const backend = new SimulatedWorld(1).open('worker')
    await using shared = await openStore(backend, { gc: 'manual' })
    for (let from = 0; from < 1025; from += 41) await backend.run(noteReleased, from, from + 41)
    expect(await shared.stats()).toMatchObject({ garbageBytes: 0, hasMoreGarbage: true })
  })

  it('gives a form another representative when its own goes', async () => {
    await using store = await openStore('memory:', { canonical: 'unicode' })
    await store.put('1', 'Word')
    await store.put('2', 'WORD')
    await store.put('3', 'word')
    await store.delete('1')
    expect((await store.put('4', 'wORD')).of?.firstKey.toString()).toBe('2')
    for (const key of ['2', '3', '4']) await store.delete(key)
    expect((await store.put('5', 'Word')).content).toBe('new')
  })
})

describe('bad input', () => {
  it('gets an error with a stable code before anything is written', async () => {
    await using store = await openStore('memory:')
    await rejects(store.put('', 'v'), 'INVALID_KEY')
    await rejects(store.put('k'.repeat(901), 'v'), 'INVALID_KEY')
    await rejects(store.put(Buffer.alloc(901), 'v'), 'INVALID_KEY')
    await rejects(store.put(7 as unknown as string, 'v'), 'INVALID_KEY')
    await rejects(store.put(undefined as unknown as string, 'v'), 'INVALID_KEY')
    await rejects(store.put('k', undefined as unknown as string), 'INVALID_VALUE')
    await rejects(store.put('k', [1] as unknown as string), 'INVALID_VALUE')
    await rejects(store.get(''), 'INVALID_KEY')
    await rejects(store.has(''), 'INVALID_KEY')
    await rejects(store.delete(''), 'INVALID_KEY')
    await rejects(store.explain(''), 'INVALID_KEY')
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 0 })
    await store.put('k'.repeat(900), '')
    expect(await store.get('k'.repeat(900))).toEqual(Buffer.alloc(0))
  })

  it('in options names every option that is wrong', async () => {
    const wrong = { gc: 'later', canonicl: 'unicode' } as unknown as { gc: 'manual' }
    const opened = openStore('memory:', wrong)
    await expect(opened).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    await expect(opened).rejects.toThrow(/gc: must be one of immediate, background, manual, never/)
    await expect(opened).rejects.toThrow(/canonicl is not an option. Did you mean canonical\?/)
    await rejects(openStore('memory:', { canonical: 'rot13' as 'none' }), 'INVALID_OPTIONS')
    await rejects(openStore('memory:', { namespace: 'n'.repeat(65) }), 'INVALID_OPTIONS')
    await rejects(openStore('ftp://localhost'), 'INVALID_LOCATION')
    await rejects(openStore(''), 'INVALID_LOCATION')
    await rejects(openStore(5 as unknown as string), 'INVALID_LOCATION')
  })

  it('a misspelt option or a limit that is none is refused', async () => {
    await using store = await openStore('memory:')
    await rejects(store.put('a', 'v', { ttl: 5 } as object), 'INVALID_OPTIONS')
    for (const options of [{ limit: Number.NaN }, { limit: -1 }, { limit: 1.5 }, { perfix: 'a' }]) {
      await rejects(store.keys(options).next(), 'INVALID_OPTIONS')
      await rejects(store.entries(options).next(), 'INVALID_OPTIONS')
    }
    await rejects(store.explain('a', { max: 1 } as object), 'INVALID_OPTIONS')
    await store.put('a', 'v')
    expect(await list(store.keys({ startAfter: '', prefix: '' }))).toEqual(['a'])
  })

  it('a clock that says no time is refused before anything is written', async () => {
    let time = 1000
    await using store = await openStore('memory:', { clock: () => time })
    for (const wrong of [Number.NaN, -1, Infinity, 2 ** 48]) {
      time = wrong
      await rejects(store.put('a', 'v'), 'INVALID_OPTIONS')
    }
    time = 1000.7
    expect((await store.put('a', 'v', { ttlMs: 10 })).expiresAt).toBe(1010)
    const ids = await Promise.all(['b', 'c', 'd'].map((key) => store.put(key, key)))
    expect(new Set(ids.map(({ contentId }) => contentId)).size).toBe(3)
  })

  it('an option that would do nothing is refused, not ignored', async () => {
    await rejects(openStore('memory:', { durability: 'fsync' }), 'INVALID_OPTIONS')
    await rejects(openStore('memory:', { fidelity: 'representative' }), 'INVALID_OPTIONS')
    const opened = openStore(new MemoryBackend(), { namespace: 'n', clock: () => 0 })
    await expect(opened).rejects.toThrow(/namespace, clock cannot be used here/)
  })

  it('a store that is not there is not made where create is false', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-create-'))
    await rejects(openStore(join(directory, 'none'), { create: false }), 'STORE_NOT_FOUND')
    const store: Store = await openStore(join(directory, 'some'))
    await store.close()
    await (await openStore(join(directory, 'some'), { create: false })).close()
    const ghost = { create: false, namespace: 'ghost' }
    await rejects(openStore(join(directory, 'some'), ghost), 'STORE_NOT_FOUND')
    await rejects(openStore(join(directory, 'some'), ghost), 'STORE_NOT_FOUND')
    await rejects(openStore('memory:', { create: false }), 'STORE_NOT_FOUND')
    await rm(directory, { recursive: true })
  })
})

describe('an error', () => {
  it('says by its kind what can be done', () => {
    expect(new PrestigeError('CONTENDED', '').retryable).toBe(true)
    expect(new PrestigeError('BACKEND_UNAVAILABLE', '').retryable).toBe(true)
    expect(new PrestigeError('CONTENT_CORRUPT', '').retryable).toBe(false)
    expect(new PrestigeError('BACKEND_CLOSED', '').retryable).toBe(false)
    expect(new PrestigeError('INVALID_KEY', '').kind).toBe('invalid')
  })
})
