import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

import type { EngineFile } from '../../backends/index.ts'
import { openLmdb } from '../../backends/lmdb/index.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/index.ts'
import { openStore, type Store, type StoreChange, type StoreOptions } from '../../index.ts'
import { storeSpaces } from '../rows.ts'
import { ChangeFeed } from './feed.ts'
import { trimChanges } from './trim.ts'

let base = ''
beforeAll(async () => void (base = await mkdtemp(join(tmpdir(), 'prestige-changes-'))))
afterAll(() => rm(base, { recursive: true, force: true }))

async function all(changes: AsyncIterable<StoreChange>): Promise<StoreChange[]> {
  const list: StoreChange[] = []
  for await (const change of changes) list.push(change)
  return list
}

const short = ({ kind, key, content }: StoreChange) =>
  [kind, String(key), content].filter(Boolean).join(' ')

const opened = (options: StoreOptions = {}) => openStore('memory:', { changes: true, ...options })

describe('the feed of a store', () => {
  it('lists puts, links, replacements and deletes in their order, each once', async () => {
    await using store = await opened({ canonical: 'unicode' })
    await store.put('a', 'Straße')
    await store.put('b', 'STRASSE')
    await store.put('c', 'Straße')
    await store.put('a', 'Straße')
    await store.put('a', 'other')
    await store.delete('b')
    await store.delete('b')
    const changes = await all(store.changes())
    expect(changes.map(short)).toEqual([
      'put a new',
      'link b linked',
      'put c duplicate',
      'put a new',
      'delete b',
    ])
    const [first, , , replacing, gone] = changes
    expect(replacing?.replaced).toBe(first?.digest)
    expect(first).not.toHaveProperty('replaced')
    expect(first).not.toHaveProperty('namespace')
    expect(gone?.bytes).toBe(7)
    expect(first?.digest).toBe((await store.head('c'))?.digest)
  })

  it('goes on behind any cursor, and names the namespace', async () => {
    await using store = await opened({ namespace: 'tenant' })
    for (let at = 0; at < 200; at++) await store.put(`key ${at}`, `value ${at}`)
    const changes = await all(store.changes())
    expect(changes).toHaveLength(200)
    expect(changes[0]?.namespace).toBe('tenant')
    for (const at of [0, 1, 88, 89, 90, 91, 198, 199]) {
      const rest = await all(store.changes({ after: changes[at]?.cursor }))
      expect(rest).toEqual(changes.slice(at + 1))
    }
    expect(await store.changesCursor()).toBe(changes.at(-1)?.cursor)
    expect(await all(store.changes({ prefix: 'key 19', limit: 3 }))).toHaveLength(3)
  })

  it('keeps the changes of a transaction together, under one number', async () => {
    await using store = await opened()
    await store.put('before', 'x')
    await store.transaction([
      { put: 'a', value: '1' },
      { put: 'b', value: '2' },
      { delete: 'before' },
    ])
    await store.put('after', 'x')
    const changes = await all(store.changes())
    expect(changes.map(short)).toEqual([
      'put before new',
      'put a new',
      'put b new',
      'delete before',
      'put after new',
    ])
    expect(changes.map(({ transaction }) => transaction)).toEqual([1, 2, 2, 2, 5])
  })

  it('records expiries when the key goes: by a sweep, a put or a delete', async () => {
    let now = 1_700_000_000_000
    await using store = await opened({ clock: () => now })
    for (const key of ['swept', 'put', 'deleted', 'again']) await store.put(key, 'v', { ttlMs: 10 })
    const after = await store.changesCursor()
    now += 11
    await store.put('put', 'w')
    await store.put('again', 'v')
    await store.delete('deleted')
    await store.collect()
    const changes = await all(store.changes({ after }))
    expect(changes.map(short)).toEqual([
      'expire put',
      'put put new',
      'expire again',
      'put again duplicate',
      'expire deleted',
      'expire swept',
    ])
    expect(changes[0]?.transaction).toBe(changes[1]?.transaction)
    expect(changes[1]).not.toHaveProperty('replaced')
  })

  it('records evictions and prunes', async () => {
    let now = 1_700_000_000_000
    await using store = await opened({ clock: () => now++, maxKeys: 2, evictTo: 1 })
    for (const key of ['a', 'b', 'c']) await store.put(key, key)
    now += 1000
    await store.prune({ olderThanMs: 500 })
    const changes = await all(store.changes())
    expect(changes.slice(3).map(short)).toEqual(['evict a', 'evict b', 'evict c'])
  })
})

describe('following', () => {
  it('wakes for changes of the same store, and ends with the signal', async () => {
    await using store = await opened()
    const ending = new AbortController()
    const seen: string[] = []
    const following = (async () => {
      const options = { follow: true, pollMs: 3_600_000, signal: ending.signal }
      for await (const change of store.changes(options)) {
        seen.push(short(change))
        if (seen.length === 3) ending.abort()
      }
    })()
    for (const key of ['a', 'b', 'c']) {
      await store.put(key, key)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await following
    expect(seen).toEqual(['put a new', 'put b new', 'put c new'])
  })

  it('ends when the store is closed', async () => {
    const store = await opened()
    await store.put('a', 'a')
    const following = all(store.changes({ follow: true, pollMs: 3_600_000 }))
    await store.put('b', 'b')
    await new Promise((resolve) => setTimeout(resolve, 20))
    await store.close()
    expect((await following).map(short)).toEqual(['put a new', 'put b new'])
  })

  it('finds changes of others by looking now and then', async () => {
    const engine = new MemoryEngine()
    await using store = await openStore(new MemoryBackend({}, engine), { changes: true })
    await using other = await openStore(new MemoryBackend({}, engine))
    const following = all(store.changes({ follow: true, pollMs: 5, limit: 1 }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await other.put('a', 'a')
    expect((await following).map(short)).toEqual(['put a new'])
  })

  it('without follow ends at the last change, also while others go on', async () => {
    await using store = await opened()
    await store.put('a', '0')
    let count = 0
    for await (const _change of store.changes()) await store.put('a', String(++count))
    expect(count).toBe(1)
  })
})

describe('retention', () => {
  it('trims what is too old or too much, and refuses cursors from before that', async () => {
    let now = 1_700_000_000_000
    const changes = { maxChanges: 100, retentionMs: 1000 }
    await using store = await opened({ clock: () => now, changes })
    for (let at = 0; at < 300; at++) await store.put(`${at}`, `${at}`)
    const before = await all(store.changes())
    expect(before).toHaveLength(300)
    expect((await store.collect()).changes).toBe(200)
    expect(await all(store.changes())).toEqual(before.slice(200))
    expect(await all(store.changes({ after: before[199]?.cursor }))).toEqual(before.slice(200))
    await expect(all(store.changes({ after: before[198]?.cursor }))).rejects.toMatchObject({
      code: 'CURSOR_EXPIRED',
    })
    now += 1001
    await store.put('last', 'x')
    expect((await store.collect()).changes).toBe(100)
    expect((await all(store.changes())).map(short)).toEqual(['put last new'])
  })

  it('fails under a reader whose changes are trimmed, and leaves none out', async () => {
    await using store = await opened({ changes: { maxChanges: 10 } })
    for (let at = 0; at < 200; at++) await store.put(`${at}`, `${at}`)
    const reader = store.changes()
    await reader.next()
    await store.collect()
    await expect(all(reader)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
  })

  it('trims a transaction as a whole, however long', async () => {
    await using store = await opened({ changes: { maxChanges: 100 } })
    await store.put('before', '0')
    const keys = Array.from({ length: 150 }, (_, at) => `${at}`)
    await store.transaction(keys.map((key) => ({ put: key, value: key })))
    for (let at = 0; at < 20; at++) await store.put('after', `${at}`)
    const before = await all(store.changes())
    expect((await store.collect()).changes).toBe(151)
    expect(await all(store.changes())).toEqual(before.slice(151))
    expect(await all(store.changes({ after: before[150]?.cursor }))).toHaveLength(20)
    expect((await store.collect()).changes).toBe(0)
    expect((await store.verify()).problems).toEqual([])
  })

  it('counts a transaction as trimmed before the first of its changes goes', async () => {
    const engine = new MemoryEngine()
    const backend = new MemoryBackend({}, engine)
    await using store = await openStore(backend, { changes: { maxChanges: 1 } })
    const keys = Array.from({ length: 150 }, (_, at) => `${at}`)
    await store.transaction(keys.map((key) => ({ put: key, value: key })))
    await store.put('after', 'x')
    await using reader = await openStore(new MemoryBackend({}, engine))
    const steps = trimChanges(backend, new ChangeFeed({ maxChanges: 1 }))
    for await (const count of steps) {
      expect(count).toBeLessThanOrEqual(64)
      expect((await all(reader.changes())).map(short)).toEqual(['put after new'])
    }
  })

  it('gives a reader of few keys a cursor that does not expire while it keeps up', async () => {
    await using store = await opened({ changes: { maxChanges: 10 } })
    await store.put('rare', '0')
    let cursor: string | undefined
    const read = () =>
      all(store.changes({ after: cursor, prefix: 'rare', onCursor: (one) => (cursor = one) }))
    expect(await read()).toHaveLength(1)
    for (let round = 0; round < 4; round++) {
      for (let at = 0; at < 50; at++) await store.put('frequent', `${round} ${at}`)
      expect(await read()).toEqual([])
      await store.collect()
    }
    await store.put('rare', '1')
    expect((await read()).map(short)).toEqual(['put rare new'])
    expect(cursor).toBe(await store.changesCursor())
  })

  it('is trimmed in the background', async () => {
    const how = { gc: 'background', gcGraceMs: 0, gcBudgetMs: 1000 } as const
    await using store = await opened({ ...how, changes: { maxChanges: 5 } })
    for (let at = 0; at < 50; at++) await store.put(`${at}`, `${at}`)
    await expect.poll(async () => (await all(store.changes())).length, { timeout: 5000 }).toBe(5)
  })
})

describe('which stores have a feed', () => {
  it('is off unless asked for, and says what to type', async () => {
    await using store = await openStore('memory:')
    await store.put('a', 'a')
    expect(() => store.changes({ after: '1' })).not.toThrow()
    await expect(all(store.changes())).rejects.toMatchObject({
      code: 'CHANGES_OFF',
      message: expect.stringContaining('changes: true'),
    })
    await expect(store.changesCursor()).rejects.toMatchObject({ code: 'CHANGES_OFF' })
  })

  it('is remembered, and its limits can be changed', async () => {
    const path = join(base, 'remembered')
    await (await openStore(path, { changes: { maxChanges: 7 } })).close()
    const store = await openStore(path, { changes: { retentionMs: 5000 } })
    expect(store.settings).toMatchObject({
      format: 4,
      changes: { maxChanges: 7, retentionMs: 5000 },
    })
    await store.put('a', 'a')
    await store.close()
    await using again = await openStore(path, { readOnly: true })
    expect((await all(again.changes())).map(short)).toEqual(['put a new'])
  })

  it('is turned on and off in a directory that nobody else has open', async () => {
    const path = join(base, 'switched')
    const before = await openStore(path)
    await before.put('a', 'a')
    expect(before.settings.format).toBe(3)
    await expect(openStore(path, { changes: true })).rejects.toMatchObject({ code: 'CONTENDED' })
    await before.put('b', 'b')
    await before.close()
    const on = await openStore(path, { changes: true })
    const start = await on.changesCursor()
    await on.put('c', 'c')
    expect((await all(on.changes())).map(short)).toEqual(['put c new'])
    await using off = await openStore(path, { changes: false })
    expect(off.settings.format).toBe(3)
    await off.put('d', 'd')
    await expect(all(on.changes())).rejects.toMatchObject({ code: 'CHANGES_OFF' })
    await on.close()
    await off.close()
    await using again = await openStore(path, { changes: true })
    await again.put('e', 'e')
    expect((await all(again.changes())).map(short)).toEqual(['put e new'])
    await expect(all(again.changes({ after: start }))).rejects.toMatchObject({
      code: 'CURSOR_EXPIRED',
    })
  })

  it('cannot be turned on where nobody knows who else has the store open', async () => {
    const engine = new MemoryEngine()
    await (await openStore(new MemoryBackend({}, engine))).close()
    await expect(openStore(new MemoryBackend({}, engine), { changes: true })).rejects.toMatchObject(
      { code: 'INVALID_OPTIONS' },
    )
  })

  it('cannot be turned on during a backup, and says so', async () => {
    const directory = join(base, 'backed up')
    await (await openStore(directory)).close()
    const backend = await openLmdb(directory, { spaces: storeSpaces })
    const moment = await backend.snapshot()
    await expect(openStore(backend, { changes: true })).rejects.toMatchObject({
      code: 'CONTENDED',
      message: expect.stringContaining('backing it up'),
    })
    await moment.close()
    await using store = await openStore(backend, { changes: true })
    await store.put('a', 'a')
    expect(await all(store.changes())).toHaveLength(1)
  })

  it('refuses cursors of other stores and what is no cursor', async () => {
    await using store = await opened()
    await using other = await opened()
    await store.put('a', 'a')
    await other.put('a', 'a')
    const after = await other.changesCursor()
    await expect(all(store.changes({ after }))).rejects.toMatchObject({ code: 'CURSOR_UNKNOWN' })
    await expect(all(store.changes({ after: '1' }))).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    // @ts-expect-error no such option
    await expect(all(store.changes({ from: 1 }))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

/** An engine in memory with a file, which is asked whether others have it open. */
class FiledBackend extends MemoryBackend {
  readonly file: EngineFile
  #isDead = false

  constructor(engine: MemoryEngine, isShared: () => Promise<boolean>) {
    super({}, engine)
    this.file = { bytes: () => 0, compact: async () => {}, isShared }
  }

  /** As if the process was killed when it asked. */
  static dying(engine: MemoryEngine): FiledBackend {
    const backend = new FiledBackend(engine, async () => {
      backend.#isDead = true
      throw new Error('killed')
    })
    return backend
  }

  override run: MemoryBackend['run'] = (body, ...args) => {
    if (this.#isDead) throw new Error('killed')
    return super.run(body, ...args)
  }
}

describe('turning a feed on that is interrupted', () => {
  const OFF = { code: 'CHANGES_OFF', message: expect.stringContaining('changes: true') }
  let engine: MemoryEngine
  let unaware: Store
  const alone = () => new FiledBackend(engine, async () => false)

  beforeEach(async () => {
    engine = new MemoryEngine()
    unaware = await openStore(new MemoryBackend({}, engine))
    await unaware.put('before', '1')
    const dying = openStore(FiledBackend.dying(engine), { changes: true })
    await expect(dying).rejects.toThrow('killed')
  })

  it('leaves a feed that nobody can read, as others write without recording', async () => {
    await using store = await openStore(new MemoryBackend({}, engine))
    await unaware.put('missed', '2')
    await store.put('recorded', '3')
    await expect(all(store.changes())).rejects.toMatchObject(OFF)
    await expect(store.changesCursor()).rejects.toMatchObject(OFF)
    expect((await store.verify()).problems).toEqual([])
    const shared = new FiledBackend(engine, async () => true)
    await expect(openStore(shared, { changes: true })).rejects.toMatchObject({ code: 'CONTENDED' })
    await expect(all(store.changes())).rejects.toMatchObject(OFF)
  })

  it('is completed by the next one who turns it on, from then on', async () => {
    const waiting = await openStore(new MemoryBackend({}, engine))
    await waiting.put('recorded', '3')
    const last = new FiledBackend(engine, async () => {
      await unaware.put('missed', '2')
      await unaware.close()
      return false
    })
    await using store = await openStore(last, { changes: { maxChanges: 50 } })
    await waiting.put('after', '4')
    expect((await all(store.changes())).map(short)).toEqual(['put after new'])
    expect(await all(waiting.changes())).toEqual(await all(store.changes()))
    expect(store.settings.changes).toEqual({ maxChanges: 50 })
  })

  it('is cancelled by turning it off', async () => {
    await using store = await openStore(alone(), { changes: false })
    expect(store.settings.format).toBe(3)
    await expect(all(store.changes())).rejects.toMatchObject(OFF)
    await using again = await openStore(alone(), { changes: true })
    await again.put('a', 'a')
    expect((await all(again.changes())).map(short)).toEqual(['put a new'])
  })
})

describe('a damaged feed', () => {
  it.each([
    ['missing', undefined],
    ['unreadable', Buffer.from('damaged')],
  ])(
    'with a change that is %s is an error, and after a repair an expired cursor',
    async (_, bytes) => {
      const engine = new MemoryEngine()
      await using store = await openStore(new MemoryBackend({}, engine), { changes: true })
      for (const key of ['a', 'b', 'c', 'd']) await store.put(key, key)
      const before = await all(store.changes())
      const journal = engine.space('changes.journal')
      const second = journal.slice('', '\u00ff', 4)[1]?.[0] ?? ''
      if (bytes) journal.set(second, bytes)
      else journal.delete(second)
      await expect(all(store.changes())).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
      expect((await store.verify()).problems.map(({ kind }) => kind)).toEqual(['changes-missing'])
      await store.verify({ repair: true })
      expect((await store.verify()).problems).toEqual([])
      const after = before[0]?.cursor
      await expect(all(store.changes({ after }))).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
      expect(await all(store.changes())).toEqual(before.slice(2))
      await store.put('e', 'e')
      expect(await all(store.changes({ after: before[2]?.cursor }))).toHaveLength(2)
    },
  )
})
