/** Storage for Keyv, by Keyv's own test suite and by what only a store that deduplicates can do. Needs Node 22. */

import {
  keyvApiTests,
  keyvIteratorTests,
  keyvNamespaceTest,
  keyvValueTests,
} from '@keyv/test-suite'
import { Keyv, type KeyvStorageAdapter } from 'keyv'
import * as vitest from 'vitest'

import { openStore } from '../store/index.ts'
import { KeyvStorage } from './keyv.ts'

const { describe, expect, it } = vitest

/** The published suite is that of Keyv 5. Keyv 6 answers with a list: one outcome for each key. */
const OTHERWISE = '.deleteMany([keys]) with nonexistent keys resolves to false'

describe('the test suite of Keyv', async () => {
  const store = await openStore('memory:')
  vitest.afterAll(() => store.close())
  const made = (): KeyvStorageAdapter => new KeyvStorage({ store })
  const names: string[] = []
  const noted = (name: string, ...rest: [() => Promise<void>]) => {
    names.push(name)
    if (name !== OTHERWISE) it(name, ...rest)
  }
  const suite = [keyvApiTests, keyvValueTests, keyvNamespaceTest, keyvIteratorTests]
  const runner = { ...vitest, it: noted as typeof vitest.it }
  suite.forEach((tests, at) => {
    // The declarations of the suite are of Keyv 5.
    const run = tests as unknown as (...given: unknown[]) => void
    describe(`part ${at + 1}`, () => run(runner, Keyv, made))
  })

  it('is all there', async () => {
    expect(names).toContain(OTHERWISE)
    expect(names.length).toBeGreaterThan(40)
    expect(await new Keyv({ store: made() }).delete(['x', 'y'])).toEqual([false, false])
  })
})

describe('Keyv on a store', () => {
  it('keeps equal values once, whenever they expire, and Keyv knows when', async () => {
    await using store = await openStore('memory:')
    const keyv = new Keyv({ store: new KeyvStorage({ store }), namespace: 'pages' })
    const page = { html: 'the same', expires: 5 }
    const expires = Date.now() + 60_000
    await keyv.set('a', page)
    await keyv.set('b', page, 60_000)
    await keyv.set('c', page, 120_000)
    expect(await store.stats()).toMatchObject({ keys: 3, contents: 1 })
    expect(await keyv.get(['a', 'b', 'c'])).toEqual([page, page, page])
    expect(await keyv.getRaw('a')).toEqual({ value: page })
    const raw = await keyv.getRaw('b')
    const known = (typeof raw === 'object' && raw.expires) || 0
    expect(known).toBeGreaterThanOrEqual(expires)
    expect(known).toBeLessThan(expires + 30_000)
    expect(await store.has('pages::a')).toBe(true)
  })

  it('gives nothing that has expired, and stores nothing that already has', async () => {
    let now = Date.now()
    const clock = () => now
    await using store = await openStore('memory:', { clock })
    const storage = new KeyvStorage({ store })
    await storage.set('soon', '{"value":"x"}', Date.now() + 1000)
    await storage.set('gone', '{"value":"x"}', Date.now() - 1)
    expect(await storage.hasMany(['soon', 'gone'])).toEqual([true, false])
    now += 2000
    expect(await storage.get('soon')).toBeUndefined()
    expect((await storage.iterator().next()).done).toBe(true)
  })

  it('keeps namespaces apart that could be mistaken for each other', async () => {
    await using store = await openStore('memory:')
    const a = new KeyvStorage({ store, namespace: 'a' })
    await a.set('b::c', 'of a')
    await new KeyvStorage({ store, namespace: 'ab' }).set('c', 'of ab')
    await a.clear()
    expect(await new KeyvStorage({ store, namespace: 'ab' }).get('c')).toBe('of ab')
    for (const namespace of ['a::b', 'a:'])
      expect(() => new KeyvStorage({ store, namespace })).toThrow('Choose another')
  })

  it('says what to change where Keyv does not serialize, and closes what it opened alone', async () => {
    const storage = new KeyvStorage({ location: 'memory:' })
    await expect(storage.set('k', { value: 1 })).rejects.toMatchObject({ code: 'INVALID_VALUE' })
    await storage.disconnect()
    await expect(storage.get('k')).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
    await using store = await openStore('memory:')
    await new Keyv({ store: new KeyvStorage({ store }) }).disconnect()
    expect(await store.has('k')).toBe(false)
  })
})
