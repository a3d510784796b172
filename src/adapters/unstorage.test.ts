/** The driver behind unstorage itself, on a store in memory and in a directory. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createStorage, type Driver, prefixStorage, restoreSnapshot, snapshot } from 'unstorage'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

import { openStore, type Store } from '../store/index.ts'
import { prestigeDriver } from './unstorage.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-unstorage-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

describe.each(['memory', 'a directory', 'a base in memory'])('unstorage on %s', (kind) => {
  const options = () => ({
    location: kind === 'a directory' ? directory : 'memory:',
    ...(kind.startsWith('a base') && { base: 'site:cache' }),
  })
  // A type of unstorage, so that the compiler compares the two.
  const driver: Driver = prestigeDriver({ location: 'memory:' })
  let own = prestigeDriver({ location: 'memory:' })
  let storage = createStorage({ driver })
  beforeAll(() => {
    own = prestigeDriver(options())
    storage = createStorage({ driver: own })
  })
  afterEach(() => storage.clear())
  afterAll(() => storage.dispose())

  it('has nothing at first, and says null', async () => {
    expect(await storage.hasItem('a:b')).toBe(false)
    expect(await storage.getItem('a:b')).toBeNull()
    expect(await storage.getItemRaw('a:b')).toBeNull()
    expect(await storage.getKeys()).toEqual([])
    expect(await storage.getMeta('a:b')).toEqual({})
  })

  it('gives back strings, numbers, booleans, objects and null', async () => {
    const values = { text: 'some text', zero: 0, no: false, nothing: null, list: [1, { a: 'b' }] }
    for (const [key, value] of Object.entries(values)) await storage.setItem(key, value)
    for (const [key, value] of Object.entries(values))
      expect(await storage.getItem(key)).toEqual(value)
    expect(await storage.hasItem('zero')).toBe(true)
  })

  it('gives back bytes of any kind, and refuses what is neither text nor bytes', async () => {
    const bytes = Uint8Array.of(0, 255, 128)
    await storage.setItemRaw('raw', bytes)
    await storage.setItemRaw('buffer', bytes.buffer)
    await storage.setItemRaw('view', new DataView(bytes.buffer, 1, 2))
    expect(await storage.getItemRaw('raw')).toEqual(Buffer.from(bytes))
    expect(await storage.getItemRaw('buffer')).toEqual(Buffer.from(bytes))
    expect(await storage.getItemRaw('view')).toEqual(Buffer.of(255, 128))
    await expect(storage.setItemRaw('object', { a: 1 })).rejects.toMatchObject({
      code: 'INVALID_VALUE',
    })
  })

  it('lists keys of a base, to a depth, and clears a base alone', async () => {
    const keys = ['a', 'b:c', 'b:d:e', 'bc']
    await storage.setItems(keys.map((key) => ({ key, value: key })))
    expect(await storage.getKeys()).toEqual(['a', 'b:c', 'b:d:e', 'bc'])
    expect(await storage.getKeys('b')).toEqual(['b:c', 'b:d:e'])
    expect(await storage.getKeys(undefined, { maxDepth: 0 })).toEqual(['a', 'bc'])
    // unstorage clears whole mounts only.
    await own.clear('b')
    expect(await storage.getKeys()).toEqual(['a', 'bc'])
  })

  it('gets many in the order asked for, and removes one', async () => {
    await storage.setItems<string | object>([
      { key: 'one', value: '1a' },
      { key: 'two', value: { n: 2 } },
    ])
    expect(await storage.getItems(['two', 'none', 'one'])).toEqual([
      { key: 'two', value: { n: 2 } },
      { key: 'none', value: null },
      { key: 'one', value: '1a' },
    ])
    await storage.removeItem('one')
    expect(await storage.getKeys()).toEqual(['two'])
  })

  it('works below a prefix, and restores a snapshot', async () => {
    const inner = prefixStorage(storage, 'inner')
    await inner.setItem('k', 'v')
    const taken = await snapshot(storage, '')
    await storage.clear()
    await restoreSnapshot(storage, taken)
    expect(await inner.getItem('k')).toBe('v')
  })
})

describe('the driver', () => {
  it('keeps equal values once, and says how long and until when they are kept', async () => {
    await using store = await openStore('memory:')
    const storage = createStorage({ driver: prestigeDriver({ store, base: 'site' }) })
    const page = { html: '<p>the same page</p>' }
    await storage.setItem('a', page)
    await storage.setItem('b', page, { ttl: 60 })
    expect(await store.stats()).toMatchObject({ keys: 2, contents: 1 })
    expect(await store.getText('site:a')).toBe(JSON.stringify(page))
    const { ttl, size, mtime } = await storage.getMeta('b')
    expect([ttl, size, mtime instanceof Date]).toEqual([60, JSON.stringify(page).length, true])
    expect((await storage.getMeta('a')).ttl).toBeUndefined()
    await storage.dispose()
    expect(await store.has('site:a')).toBe(true)
  })

  it('lets values expire after so many seconds', async () => {
    let now = 1_000_000
    const clock = () => now
    await using store = await openStore('memory:', { clock })
    const storage = createStorage({ driver: prestigeDriver({ store, ttl: 10 }) })
    await storage.setItem('usual', 'x')
    await storage.setItem('longer', 'x', { ttl: 20 })
    now += 10_001
    expect(await storage.getKeys()).toEqual(['longer'])
    now += 10_000
    expect(await storage.getItem('longer')).toBeNull()
  })

  it('keeps a directory for the next process, and refuses calls once it is disposed of', async () => {
    const location = join(directory, 'again')
    const first = prestigeDriver({ location })
    await first.setItem('k', 'v')
    await first.dispose()
    await first.dispose()
    await expect(first.getItem('k')).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
    const second = prestigeDriver({ location })
    expect(await second.getItem('k')).toBe('v')
    await second.dispose()
  })

  it('refuses neither and both of store and location, and tries again where opening failed', async () => {
    expect(() => prestigeDriver({})).toThrow('Give either store or location.')
    await using store: Store = await openStore('memory:')
    expect(() => prestigeDriver({ store, location: 'memory:' })).toThrow('either')
    expect(() => prestigeDriver({ store, open: {} })).toThrow('open already')
    const late = prestigeDriver({ location: join(directory, 'late'), open: { create: false } })
    await expect(late.getItem('k')).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
    await (await openStore(join(directory, 'late'))).close()
    expect(await late.getItem('k')).toBeNull()
    await late.dispose()
  })
})
