import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { type Backend, cell, type Range, type Row, rows, type Space } from '../../backends/index.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { openStore, type Store, type StoreOptions } from '../../index.ts'
import type { Body, ReadBody } from '../../backends/index.ts'
import { settings } from '../rows.ts'
import { pins, recency, sliding, uses } from './rows.ts'

const MINUTE = 60_000

/** One engine, a clock that only a test moves, and how many rows were scanned. */
class Place {
  time = 1_000_000
  scanned = 0
  runs = 0
  readonly engine = new MemoryEngine()

  backend(): Backend {
    return new CountingBackend(new MemoryBackend({ clock: () => this.time }, this.engine), this)
  }

  open(options: StoreOptions = {}): Promise<Store> {
    return openStore(this.backend(), options)
  }

  async rows(space: Space<unknown>): Promise<Buffer[]> {
    const found: Buffer[] = []
    for await (const { key } of this.backend().scan(space)) found.push(key)
    return found
  }
}

class CountingBackend implements Backend {
  readonly #inner: Backend
  readonly #place: Place
  readonly limits: Backend['limits']
  readonly serial: boolean
  readonly snapshots: boolean

  constructor(inner: Backend, place: Place) {
    this.#inner = inner
    this.#place = place
    this.limits = inner.limits
    this.serial = inner.serial
    this.snapshots = inner.snapshots
  }

  now(): number {
    return this.#inner.now()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#inner.read(body, ...args)
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    this.#place.runs++
    return this.#inner.run(body, ...args)
  }

  async *scan<V>(space: Space<V>, range?: Range): AsyncGenerator<Row<V>> {
    for await (const row of this.#inner.scan(space, range)) {
      this.#place.scanned++
      yield row
    }
  }

  snapshot(): Promise<Backend> {
    return this.#inner.snapshot()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

async function keysOf(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const key of store.keys()) found.push(key.toString())
  return found
}

/** Puts one after another, a millisecond apart. */
async function fill(place: Place, store: Store, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    place.time++
    await store.put(key, `value of ${key}`)
  }
}

async function requireSound(store: Store): Promise<void> {
  expect((await store.verify()).problems).toEqual([])
}

describe('a bounded store', () => {
  it('keeps the keys used last', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 4, evictTo: 0.75, recencyMs: 0 })
    await fill(place, store, ['a', 'b', 'c', 'd'])
    place.time++
    await store.get('a')
    await fill(place, store, ['e'])
    expect(await keysOf(store)).toEqual(['a', 'd', 'e'])
    await requireSound(store)
  })

  it('counts the bytes of contents, not of keys that share them', async () => {
    const place = new Place()
    await using store = await place.open({ maxBytes: 1000, evictTo: 1 })
    for (let at = 0; at < 50; at++) await store.put(`same ${at}`, 'x'.repeat(400))
    expect((await store.stats()).keys).toBe(50)
    place.time++
    await store.put('other', 'y'.repeat(600))
    expect((await store.stats()).keys).toBe(51)
    place.time++
    await store.put('third', 'z'.repeat(400))
    // The content goes only with the last key that shares it.
    expect(await keysOf(store)).toEqual(['other', 'third'])
    expect((await store.stats()).contentBytes).toBe(1000)
    await requireSound(store)
  })

  it('evicts no more than it has to, and down to the share that was asked for', async () => {
    const place = new Place()
    const keys = Array.from({ length: 101 }, (_, at) => `k${String(at).padStart(3, '0')}`)
    await using store = await place.open({ maxKeys: 100, evictTo: 0.5 })
    await fill(place, store, keys)
    expect(await keysOf(store)).toEqual(keys.slice(-50))
  })

  it('evicts after a restart as well, also what was put without a bound (W3)', async () => {
    const place = new Place()
    const before = await place.open()
    await fill(place, before, ['c', 'b', 'a'])
    await before.close()
    await using store = await place.open({ maxBytes: 20, recencyMs: 0, evictTo: 1 })
    place.time++
    await store.get('c')
    await fill(place, store, ['d'])
    expect(await keysOf(store)).toEqual(['c', 'd'])
    expect(await store.evict({ toKeys: 1 })).toEqual({ keys: 1, contents: 1, bytes: 10 })
    expect(await keysOf(store)).toEqual(['d'])
  })

  it('reports the bytes that are there, whatever failed before (W3)', async () => {
    const place = new Place()
    await using store = await place.open({ maxBytes: 10_000, canonical: 'json' })
    await expect(store.put('bad', 'no JSON')).rejects.toThrow('json')
    expect((await store.stats()).contentBytes).toBe(0)
    await store.put('k', '1')
    await store.delete('k')
    expect((await store.stats()).contentBytes).toBe(0)
  })

  it('counts a put of the same value as a use: it is not the next to go (W30)', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 3, evictTo: 1 })
    await fill(place, store, ['a', 'b', 'c'])
    place.time++
    expect((await store.put('a', 'value of a')).key).toBe('unchanged')
    await fill(place, store, ['d'])
    expect(await keysOf(store)).toEqual(['a', 'c', 'd'])
    // Nor is one whose content was there before.
    place.time++
    expect((await store.put('e', 'value of c')).content).toBe('duplicate')
    await fill(place, store, ['f'])
    expect(await keysOf(store)).toEqual(['d', 'e', 'f'])
  })

  it('spares the key just put, even if it is larger than the bound', async () => {
    const place = new Place()
    await using store = await place.open({ maxBytes: 100 })
    await fill(place, store, ['a', 'b'])
    await store.put('a large one', 'x'.repeat(500))
    expect(await keysOf(store)).toEqual(['a large one'])
    await store.put('small', 'y')
    expect(await keysOf(store)).toEqual(['small'])
  })

  it('holds its bound when many are put at once', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 10 })
    const items = Array.from({ length: 200 }, (_, at) => ({ key: `k${at}`, value: `v${at}` }))
    for (const { ok } of await store.putMany(items)) expect(ok).toBe(true)
    expect((await store.stats()).keys).toBeLessThanOrEqual(10)
    await requireSound(store)
  })

  it('takes what nobody can read before what somebody may want', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 2, evictTo: 1, gc: 'manual' })
    await store.put('old', 'value')
    await store.put('expires', 'other', { ttlMs: 10 })
    place.time += 20
    await store.put('new', 'third')
    expect(await keysOf(store)).toEqual(['new', 'old'])
  })

  it('keeps recency for whoever opens it later, and costs others nothing', async () => {
    const place = new Place()
    await (await place.open({ maxKeys: 2 })).close()
    const unbounded = await place.open()
    await fill(place, unbounded, ['a', 'b', 'c'])
    await unbounded.close()
    expect(await place.rows(recency)).toHaveLength(3)
    const other = new Place()
    await using plain = await other.open()
    await fill(other, plain, ['a'])
    await plain.get('a')
    for (const space of [recency, uses, sliding, pins]) expect(await other.rows(space)).toEqual([])
  })

  it('finds keys of processes that know nothing of its bound', async () => {
    const place = new Place()
    await using unaware = await place.open()
    await using store = await place.open({ maxKeys: 3, evictTo: 1 })
    await fill(place, store, ['a', 'b', 'c'])
    // Overwritten, deleted and put without a row about its use.
    place.time++
    await unaware.put('a', 'again')
    await unaware.delete('b')
    await fill(place, unaware, ['x', 'y'])
    await fill(place, store, ['d'])
    expect(await keysOf(store)).toEqual(['d', 'x', 'y'])
    expect(await place.rows(recency)).toHaveLength(3)
    expect(await place.rows(uses)).toHaveLength(3)
  })

  it('looks at nothing but what goes (W26)', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 2000, evictTo: 0.999 })
    await fill(
      place,
      store,
      Array.from({ length: 2000 }, (_, at) => `k${at}`),
    )
    place.scanned = 0
    await fill(place, store, ['one more'])
    expect((await store.stats()).keys).toBe(1998)
    expect(place.scanned).toBeLessThan(64)
    place.scanned = 0
    await store.put('within', 'bounds')
    await store.get('within')
    expect(place.scanned).toBe(0)
  })
})

describe('recency', () => {
  it('is written in batches, and only when the recorded use is old', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 10 })
    await fill(place, store, ['a', 'b'])
    const before = place.runs
    for (let at = 0; at < 100; at++) {
      place.time += 500
      await store.get('a')
    }
    expect(place.runs).toBe(before)
    place.time += 20_000
    for (let at = 0; at < 100; at++) await store.get('a')
    await store.get('b')
    expect(await store.evict({ toKeys: 10 })).toMatchObject({ keys: 0 })
    expect(place.runs).toBe(before + 1)
    expect(await place.rows(recency)).toHaveLength(2)
  })

  it('survives a restart', async () => {
    const place = new Place()
    const first = await place.open({ maxKeys: 3, evictTo: 1 })
    await fill(place, first, ['a', 'b', 'c'])
    place.time += MINUTE
    await first.get('a')
    await first.close()
    await using store = await place.open({ maxKeys: 3, evictTo: 1 })
    await fill(place, store, ['d'])
    expect(await keysOf(store)).toEqual(['a', 'c', 'd'])
  })

  it('of a key that was deleted meanwhile is not written (W10)', async () => {
    const place = new Place()
    await using store = await place.open({ recencyMs: 0 })
    await fill(place, store, ['a', 'b'])
    place.time++
    await store.get('a')
    await store.delete('a')
    await store.evict({ toKeys: 1 })
    expect(await place.rows(uses)).toEqual([Buffer.from('b')])
    expect(await place.rows(recency)).toHaveLength(1)
  })
})

describe('keys that went', () => {
  it.each(['evict', 'prune', 'expiry'] as const)('by %s can be put again (W1)', async (way) => {
    const place = new Place()
    await using store = await place.open({ recencyMs: 0 })
    await store.put('k', 'value', { ttlMs: 10_000 })
    await store.put('shares', 'value', { ttlMs: 10_000 })
    place.time += way === 'expiry' ? 10_000 : 5000
    if (way === 'evict') await store.evict({ toKeys: 0 })
    if (way === 'prune') await store.prune({ olderThanMs: 1000 })
    if (way === 'expiry') await store.collect()
    expect(await keysOf(store)).toEqual([])
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 0, contentBytes: 0 })
    expect(await store.delete('k')).toBe(false)
    expect(await store.put('k', 'value')).toMatchObject({ key: 'created', content: 'new' })
    expect(await store.getText('k')).toBe('value')
    expect(await store.delete('k')).toBe(true)
    await requireSound(store)
  })

  it('by expiry are there again at once when the same value is put (W2)', async () => {
    const place = new Place()
    await using store = await place.open({ defaultTtlMs: 1000 })
    await store.put('k', 'value')
    place.time += 1000
    expect(await store.get('k')).toBeUndefined()
    expect((await store.put('k', 'value')).key).toBe('created')
    expect(await store.getText('k')).toBe('value')
    await store.put('another', 'value')
    expect(await store.getText('another')).toBe('value')
  })
})

describe('pins', () => {
  it('exempt from eviction and pruning, survive overwrites, and go with the key', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 2, evictTo: 1, recencyMs: 0 })
    await fill(place, store, ['a', 'b'])
    expect(await store.pin('a')).toBe(true)
    expect(await store.pin('missing')).toBe(false)
    await store.put('a', 'another value')
    await fill(place, store, ['c', 'd', 'e'])
    expect(await keysOf(store)).toEqual(['a', 'e'])
    place.time += 1000
    expect(await store.prune({ olderThanMs: 0, idleForMs: 0 })).toMatchObject({ keys: 1 })
    expect(await keysOf(store)).toEqual(['a'])
    await store.delete('a')
    await fill(place, store, ['a', 'b', 'c'])
    expect(await keysOf(store)).toEqual(['b', 'c'])
    expect(await place.rows(pins)).toEqual([])
  })

  it('do not survive the expiry of their key', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 1, evictTo: 1 })
    await store.put('a', 'value', { ttlMs: 10 })
    await store.pin('a')
    place.time += 10
    await fill(place, store, ['a', 'b'])
    expect(await keysOf(store)).toEqual(['b'])
  })

  it('can be taken away', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 2, evictTo: 1 })
    await fill(place, store, ['a', 'b'])
    await store.pin('a')
    expect(await store.unpin('b')).toBe(false)
    expect(await store.unpin('a')).toBe(true)
    await fill(place, store, ['c'])
    expect(await keysOf(store)).toEqual(['b', 'c'])
  })
})

describe('evict and prune', () => {
  it('say beforehand which keys go and what that frees', async () => {
    const place = new Place()
    await using store = await place.open()
    await store.put('a', 'shared')
    place.time++
    await store.put('b', 'shared')
    place.time++
    await store.put('c', 'alone')
    for (const way of ['evict', 'prune'] as const) {
      const gone: [string, number][] = []
      const onKey = (key: Buffer, bytes: number) => void gone.push([key.toString(), bytes])
      const options = { dryRun: true, onKey }
      const sum =
        way === 'evict'
          ? await store.evict({ toBytes: 5, ...options })
          : await store.prune({ olderThanMs: 1, ...options })
      expect(gone).toEqual([
        ['a', 0],
        ['b', 6],
      ])
      expect(sum).toEqual({ keys: 2, contents: 1, bytes: 6 })
      expect(await keysOf(store)).toEqual(['a', 'b', 'c'])
    }
    expect(await store.evict({ toBytes: 5 })).toEqual({ keys: 2, contents: 1, bytes: 6 })
    expect(await keysOf(store)).toEqual(['c'])
  })

  it('write nothing in a dry run, not even that uses are recorded', async () => {
    const place = new Place()
    await using store = await place.open()
    await fill(place, store, ['c', 'b', 'a'])
    await place.open({ recencyMs: 0 }).then((other) => other.close())
    const before = await Promise.all([uses, recency, settings].map((space) => place.rows(space)))
    const gone: string[] = []
    const onKey = (key: Buffer) => void gone.push(key.toString())
    await store.evict({ toKeys: 1, dryRun: true, onKey })
    expect(gone).toEqual(['c', 'b'])
    const after = await Promise.all([uses, recency, settings].map((space) => place.rows(space)))
    expect(after).toEqual(before)
  })

  it('keep every content of a store that never collects, and are refused where that has no end', async () => {
    const place = new Place()
    for (const bound of [{ maxKeys: 2 }, { maxBytes: 2 }]) {
      await expect(place.open({ gc: 'never', ...bound })).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining("gc: 'never'"),
      })
    }
    await using store = await place.open({ gc: 'never' })
    await fill(place, store, ['a', 'b'])
    await expect(store.evict({ toKeys: 1 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(await store.prune({ olderThanMs: 0 })).toMatchObject({ keys: 2, contents: 0 })
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 2 })
  })

  it('take only keys of the prefix, and only those idle for long enough', async () => {
    const place = new Place()
    await using store = await place.open({ recencyMs: 0 })
    await fill(place, store, ['x/a', 'x/b', 'y/a'])
    place.time += 1000
    await store.get('x/b')
    expect(await store.prune({ idleForMs: 500, prefix: 'x/' })).toMatchObject({ keys: 1 })
    expect(await keysOf(store)).toEqual(['x/b', 'y/a'])
    expect(await store.prune({ idleForMs: 500 })).toMatchObject({ keys: 1 })
    expect(await keysOf(store)).toEqual(['x/b'])
    expect(await store.prune({ olderThanMs: 500, prefix: 'y' })).toMatchObject({ keys: 0 })
    expect(await store.prune({ olderThanMs: 500 })).toMatchObject({ keys: 1 })
  })

  it('refuse what does not say what is to go', async () => {
    const place = new Place()
    await using store = await place.open()
    for (const [work, message] of [
      [() => store.prune({}), 'prune needs olderThanMs or idleForMs'],
      [() => store.prune({ olderThanMs: -1 }), 'olderThanMs is a number'],
      [() => store.prune({ idleForMs: 1 }), 'needs a store that records when keys are used'],
      [() => store.evict({}), 'evict needs toBytes or toKeys'],
      [() => store.evict({ toKeys: 1.5 }), 'toKeys is a whole number'],
      [() => store.put('k', 'v', { sliding: true }), 'sliding needs ttlMs'],
      [() => store.expire('k', 0), 'ttlMs is a number'],
    ] as const) {
      await expect(work()).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining(message) as string,
      })
    }
    await expect(place.open({ maxKeys: 0 })).rejects.toThrow('maxKeys: must be a whole number')
  })
})

describe('expiry', () => {
  it('is that of the store where a put gives none, and Infinity is none', async () => {
    const place = new Place()
    await using store = await place.open({ defaultTtlMs: 1000 })
    expect((await store.put('a', '1')).expiresAt).toBe(place.time + 1000)
    expect((await store.put('b', '1', { ttlMs: 5 })).expiresAt).toBe(place.time + 5)
    expect((await store.put('c', '1', { ttlMs: Infinity })).expiresAt).toBeUndefined()
  })

  it('that slides is extended by reads, at most eight times in a time to live', async () => {
    const place = new Place()
    await using store = await place.open()
    await store.put('a', 'value', { ttlMs: 800, sliding: true })
    await store.put('absolute', 'value', { ttlMs: 800 })
    const before = place.runs
    for (let at = 0; at < 160; at++) {
      place.time += 10
      expect(await store.getText('a')).toBe('value')
    }
    expect(place.runs - before).toBe(16)
    expect(await store.get('absolute')).toBeUndefined()
    place.time += 799
    expect(await store.get('a')).toBeDefined()
    place.time += 800
    expect(await store.get('a')).toBeUndefined()
    await store.collect()
    expect(await place.rows(sliding)).toEqual([])
    expect((await store.stats()).keysWithExpiry).toBe(0)
    await requireSound(store)
  })

  it('slides in all processes, and not after a put that says otherwise', async () => {
    const place = new Place()
    await using unaware = await place.open()
    await using store = await place.open({ expiry: 'sliding', defaultTtlMs: 100 })
    await store.put('a', 'value')
    await store.put('b', 'value')
    await using other = await place.open()
    place.time += 60
    await other.get('a')
    await unaware.put('b', 'value', { ttlMs: 100 })
    place.time += 60
    expect(await store.has('a')).toBe(true)
    await other.get('b')
    await store.put('a', 'value', { sliding: false })
    await other.get('a')
    place.time += 60
    expect(await store.has('b')).toBe(false)
    place.time += 40
    expect(await store.has('a')).toBe(false)
  })

  it('can be set, extended and taken away without the value', async () => {
    const place = new Place()
    await using store = await place.open({ recencyMs: 0 })
    await store.put('a', 'value')
    expect(await store.expire('a', 100)).toBe(true)
    expect((await store.stats()).keysWithExpiry).toBe(1)
    place.time += 90
    expect(await store.touch('a', 100)).toBe(true)
    place.time += 90
    expect(await store.has('a')).toBe(true)
    expect(await store.persist('a')).toBe(true)
    place.time += 1000
    expect(await store.getText('a')).toBe('value')
    expect(await store.expire('a', 100, { sliding: true })).toBe(true)
    place.time += 90
    expect(await store.touch('a')).toBe(true)
    place.time += 90
    expect(await store.has('a')).toBe(true)
    place.time += 10
    for (const work of [store.touch('a'), store.expire('a', 1), store.persist('a')]) {
      expect(await work).toBe(false)
    }
    await store.collect()
    expect(await store.stats()).toMatchObject({ keys: 0, keysWithExpiry: 0, contents: 0 })
    await requireSound(store)
  })

  it('touch is a use', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 2, evictTo: 1 })
    await fill(place, store, ['a', 'b'])
    place.time++
    await store.touch('a')
    await fill(place, store, ['c'])
    expect(await keysOf(store)).toEqual(['a', 'c'])
  })
})

it('counts what goes, and reads that are recorded or not', async () => {
  const place = new Place()
  const counted: Record<string, number> = {}
  const metrics = {
    counter: (name: string, delta: number) => void (counted[name] = (counted[name] ?? 0) + delta),
    histogram: () => {},
    gauge: () => {},
  }
  await using store = await place.open({ maxKeys: 3, evictTo: 1, metrics })
  await fill(place, store, ['a', 'b', 'c', 'd'])
  await store.get('b')
  await store.get('b')
  place.time += MINUTE
  await store.get('c')
  await store.evict({ toKeys: 2 })
  await store.prune({ olderThanMs: 1 })
  expect(counted).toMatchObject({
    'prestige.evict.deleted_total': 2,
    'prestige.prune.deleted_total': 2,
    'prestige.lru.update_total': 1,
    'prestige.lru.skip_total': 2,
  })
})

it('verify finds rows about uses that nothing accounts for, and repairs them', async () => {
  const place = new Place()
  await using store = await place.open({ maxKeys: 10 })
  await fill(place, store, ['a', 'b', 'c', 'd'])
  await store.put('d', 'slides', { ttlMs: 1000, sliding: true })
  await store.pin('c')
  await requireSound(store)
  const gone = Buffer.from('gone')
  const damage = {
    pins: { key: gone, bytes: Buffer.alloc(0) },
    recency: { key: Buffer.concat([Buffer.alloc(6, 1), Buffer.from('a')]), bytes: Buffer.alloc(0) },
    uses: { key: Buffer.from('b'), bytes: Buffer.from('no use') },
    sliding: { key: Buffer.from('d'), bytes: Buffer.alloc(17, 1) },
  }
  for (const [name, { key, bytes }] of Object.entries(damage)) {
    const raw = rows(name, { encode: () => bytes, decode: (read) => read })
    await place.backend().run(function* (scope) {
      scope.write(cell(raw, key), bytes)
    })
  }
  await expect(store.put('b', 'other')).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
  const { problems, isSound } = await store.verify()
  expect([isSound, problems.map(({ kind }) => kind)]).toEqual([
    false,
    Array(5).fill('row-unaccounted'),
  ])
  expect((await store.verify({ repair: true })).isSound).toBe(true)
  await requireSound(store)
  await store.put('b', 'other')
  await store.evict({ toKeys: 1 })
  expect(await keysOf(store)).toEqual(['c'])
})

it('a store that is only read records nothing', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-lifecycle-'))
  let time = 1_000_000
  const clock = () => time
  const store = await openStore(directory, { maxKeys: 2, clock, durability: 'os' })
  await store.put('a', 'value', { ttlMs: 2 * MINUTE, sliding: true })
  await store.close()
  time += MINUTE
  await using reader = await openStore(directory, { readOnly: true, maxKeys: 1, clock })
  expect(await reader.getText('a')).toBe('value')
  expect(await reader.evict({ toKeys: 0, dryRun: true })).toMatchObject({ keys: 1 })
  await expect(reader.evict({ toKeys: 0 })).rejects.toMatchObject({ code: 'READ_ONLY' })
  time += MINUTE
  expect(await reader.get('a')).toBeUndefined()
  await rm(directory, { recursive: true })
})

describe('keys that were just put are not evicted by', () => {
  it('their own transaction', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 10, evictTo: 0.5 })
    await fill(place, store, ['1', '2', '3', '4', '5', '6', '7', '8', '9'])
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    await store.transaction(keys.map((key) => ({ put: key, value: `value of ${key}` })))
    expect(await keysOf(store)).toEqual(keys)
  })

  it('another put that runs at the same time', async () => {
    const place = new Place()
    await using store = await place.open({ maxKeys: 4, evictTo: 0.25 })
    await fill(place, store, ['1', '2', '3', '4'])
    const keys = ['a', 'b', 'c']
    const isThere = await Promise.all(
      keys.map(async (key) => {
        await store.put(key, `value of ${key}`)
        return store.has(key)
      }),
    )
    expect(isThere).toEqual([true, true, true])
  })
})
