/** What a store promises of single operations, whatever engine it is on. */

import { createHash } from 'node:crypto'
import { text } from 'node:stream/consumers'

import { describe, expect, it } from 'vitest'

import type { Store } from '../src/index.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Nothing, if the value was replaced while it was read. */
async function streamed(
  stream: AsyncIterable<Uint8Array> | undefined,
): Promise<string | undefined> {
  try {
    return stream && (await text(stream))
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONTENDED' })
    return undefined
  }
}

export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => ({ code: 'none' }),
    (error: unknown) => error,
  )
  return String(Reflect.get(Object(error), 'code'))
}

async function listed(keys: AsyncIterable<Buffer>): Promise<string[]> {
  const all: string[] = []
  for await (const key of keys) all.push(key.toString())
  return all
}

/** Those of a store that a client of a server has, too. */
export type Basics = Pick<
  Store,
  'put' | 'get' | 'getText' | 'has' | 'head' | 'delete' | 'keys' | 'entries' | 'stats' | 'close'
>

function opener<S extends Pick<Store, 'close'>>(open: (clock: () => number) => Promise<S>) {
  return async () => {
    const clock = { time: Date.now() }
    const store = await open(() => clock.time)
    return { store, clock, [Symbol.asyncDispose]: () => store.close() }
  }
}

/** What holds of a store in this process and of one behind a server. `open` as for `describeOperations`. */
export function describeBasics(open: (clock: () => number) => Promise<Basics>): void {
  const opened = opener(open)

  describe('a receipt', () => {
    it('says what became of the key and of the content, of which content, and what it saved', async () => {
      await using world = await opened()
      const { store, clock } = world
      const { time } = clock
      const first = await store.put('a', 'hello')
      expect(first).toEqual({
        key: 'created',
        content: 'new',
        contentId: expect.stringMatching(/^[0-9a-f]{32}$/),
        bytes: 5,
        bytesSaved: 0,
      })
      clock.time += 1000
      const of = { content: first.contentId, firstKey: Buffer.from('a'), storedAt: time }
      expect(await store.put('b', 'hello')).toEqual({
        key: 'created',
        content: 'duplicate',
        contentId: first.contentId,
        of,
        method: 'digest',
        bytes: 5,
        bytesSaved: 5,
      })
      expect((await store.put('b', 'hello')).key).toBe('unchanged')
      expect((await store.put('b', 'other')).key).toBe('replaced')
      expect((await store.put('c', 'hello', { ttlMs: 5 })).expiresAt).toBe(time + 1005)
    })
  })

  describe('listings', () => {
    it('are in byte order, by prefix, after a key, and limited', async () => {
      await using world = await opened()
      const { store } = world
      for (const key of ['b', 'a/2', 'é', 'a/1', 'a', '𝒵', 'z']) await store.put(key, key)
      expect(await listed(store.keys())).toEqual(['a', 'a/1', 'a/2', 'b', 'z', 'é', '𝒵'])
      expect(await listed(store.keys({ prefix: 'a/' }))).toEqual(['a/1', 'a/2'])
      expect(await listed(store.keys({ prefix: '' }))).toHaveLength(7)
      expect(await listed(store.keys({ startAfter: 'a/1', limit: 2 }))).toEqual(['a/2', 'b'])
      expect(await listed(store.keys({ prefix: 'b', startAfter: 'a' }))).toEqual(['b'])
      expect(await listed(store.keys({ limit: 0 }))).toEqual([])
      const values: string[] = []
      for await (const [key, value] of store.entries({ limit: 2 })) values.push(`${key}=${value}`)
      expect(values).toEqual(['a=a', 'a/1=a/1'])
    })
  })

  describe('conditions', () => {
    it('ifAbsent puts once, and again when the key has expired or was deleted', async () => {
      await using world = await opened()
      const { store, clock } = world
      const put = (value: string) => store.put('k', value, { ifAbsent: true, ttlMs: 1000 })
      expect((await put('one')).key).toBe('created')
      await expect(put('two')).rejects.toMatchObject({
        code: 'PRECONDITION_FAILED',
        kind: 'conflict',
        retryable: false,
      })
      expect(await store.getText('k')).toBe('one')
      clock.time += 1000
      expect((await put('two')).key).toBe('created')
      await store.delete('k')
      expect((await put('three')).key).toBe('created')
      expect(await store.stats()).toMatchObject({ keys: 1, contents: 1 })
    })

    it('ifMatch replaces and deletes what head has shown, and nothing else', async () => {
      await using world = await opened()
      const { store, clock } = world
      expect(await store.head('k')).toBeUndefined()
      const ifMatch = sha256('one')
      expect(await codeOf(store.put('k', 'two', { ifMatch }))).toBe('PRECONDITION_FAILED')
      expect(await codeOf(store.delete('k', { ifMatch }))).toBe('PRECONDITION_FAILED')
      // As the digest of a head that there is none of.
      const none = { ifMatch: undefined } as object
      expect(await codeOf(store.put('k', 'two', none))).toBe('INVALID_OPTIONS')
      expect(await codeOf(store.delete('k', none))).toBe('INVALID_OPTIONS')
      const { contentId } = await store.put('k', 'one', { ttlMs: 1000 })
      expect(await store.head('k')).toEqual({
        bytes: 3,
        digest: ifMatch,
        contentId,
        putAt: clock.time,
        expiresAt: clock.time + 1000,
      })
      expect((await store.put('k', 'two', { ifMatch })).key).toBe('replaced')
      expect(await codeOf(store.put('k', 'three', { ifMatch }))).toBe('PRECONDITION_FAILED')
      expect(await codeOf(store.delete('k', { ifMatch }))).toBe('PRECONDITION_FAILED')
      expect(await store.getText('k')).toBe('two')
      expect(await store.delete('k', { ifMatch: sha256('two') })).toBe(true)
      expect(await store.has('k')).toBe(false)
    })

    it('ifMatch * replaces and deletes whatever value a key has, and makes no key', async () => {
      await using world = await opened()
      const { store, clock } = world
      const ifMatch = '*'
      expect(await codeOf(store.put('k', 'one', { ifMatch }))).toBe('PRECONDITION_FAILED')
      expect(await codeOf(store.delete('k', { ifMatch }))).toBe('PRECONDITION_FAILED')
      await store.put('k', 'one')
      expect((await store.put('k', 'two', { ifMatch, ttlMs: 1000 })).key).toBe('replaced')
      clock.time += 1000
      expect(await codeOf(store.put('k', 'three', { ifMatch }))).toBe('PRECONDITION_FAILED')
      await store.put('k', 'four')
      expect(await store.delete('k', { ifMatch })).toBe(true)
      expect(await store.has('k')).toBe(false)
    })

    it('of two that put at once with ifAbsent or the same ifMatch, exactly one succeeds', async () => {
      await using world = await opened()
      const { store } = world
      for (const options of [{ ifAbsent: true }, { ifMatch: sha256('a') }]) {
        if (options.ifMatch) await store.put('k', 'a')
        const codes = await Promise.all(
          Array.from({ length: 8 }, (_, at) => codeOf(store.put('k', `value ${at}`, options))),
        )
        expect(codes.filter((code) => code === 'none')).toHaveLength(1)
        expect(codes.filter((code) => code === 'PRECONDITION_FAILED')).toHaveLength(7)
      }
    })
  })

  it('keys are any bytes, and values come back as they were put', async () => {
    await using world = await opened()
    const { store } = world
    const keys = [
      '_count',
      'a/b',
      'a b',
      'ключ',
      '%2e%2e',
      '?',
      '#',
      '\0',
      'é',
      Buffer.from([255, 254]),
    ]
    for (const key of keys) {
      const value = Buffer.concat([Buffer.from(key), Buffer.from([0, 255])])
      await store.put(key, value)
      expect(await store.get(key)).toEqual(value)
      expect(await store.has(key)).toBe(true)
    }
    expect((await store.stats()).keys).toBe(keys.length)
    for (const key of keys) expect(await store.delete(key)).toBe(true)
    expect(await store.delete('a/b')).toBe(false)
    expect(await store.get('a/b')).toBeUndefined()
  })

  it('a key that is none is refused', async () => {
    await using world = await opened()
    const { store } = world
    const wrong = ['', 'k'.repeat(901), Buffer.alloc(901)]
    for (const key of wrong) {
      expect(await codeOf(store.put(key, 'v'))).toBe('INVALID_KEY')
      expect(await codeOf(store.get(key))).toBe('INVALID_KEY')
      expect(await codeOf(store.has(key))).toBe('INVALID_KEY')
      expect(await codeOf(store.delete(key))).toBe('INVALID_KEY')
    }
    expect(await codeOf(store.put('k', 'v', { ttl: 5 } as object))).toBe('INVALID_OPTIONS')
    expect(await codeOf(store.keys({ limit: -1 }).next())).toBe('INVALID_OPTIONS')
  })
}

/** `open` gives an empty store on every call, with a clock that the test moves. */
export function describeOperations(open: (clock: () => number) => Promise<Store>): void {
  const opened = opener(open)
  describeBasics(open)

  describe('metadata', () => {
    const png = { 'content-type': 'image/png', author: 'Zoë' }
    const of = async (store: Store, key: string) => (await store.head(key))?.metadata

    it('are kept with the value, and replaced with it, whatever way it is put', async () => {
      await using world = await opened()
      const { store } = world
      expect((await store.put('k', 'v', { metadata: png })).key).toBe('created')
      expect(await of(store, 'k')).toEqual(png)
      expect((await store.getWithHead('k'))?.head.metadata).toEqual(png)
      await store.putMany([{ key: 'many', value: 'v', metadata: { a: '' } }])
      expect(await of(store, 'many')).toEqual({ a: '' })
      await store.transaction([{ put: 'together', value: 'v', metadata: png }, { delete: 'many' }])
      expect(await of(store, 'together')).toEqual(png)
      const long = async function* () {
        for (let at = 0; at < 5; at++) yield Buffer.alloc(50_000, at)
      }
      await store.put('long', long(), { metadata: png })
      expect((await store.getWithHead('long'))?.head).toMatchObject({
        bytes: 250_000,
        metadata: png,
      })
      await store.update('k', (value) => `${value}2`, { metadata: { step: '2' } })
      expect(await of(store, 'k')).toEqual({ step: '2' })
      await store.put('k', 'other')
      expect(await store.head('k')).not.toHaveProperty('metadata')
      const most = { x: 'y'.repeat(2047) }
      await store.put('k', 'other', { metadata: most })
      expect(await of(store, 'k')).toEqual(most)
      expect((await store.verify()).problems).toEqual([])
    })

    it('that differ replace those of the same value, and ifMatch compares values alone', async () => {
      await using world = await opened()
      const { store } = world
      await store.put('k', 'v', { metadata: png })
      const reversed = Object.fromEntries(Object.entries(png).toReversed())
      expect((await store.put('k', 'v', { metadata: reversed })).key).toBe('unchanged')
      const ifMatch = sha256('v')
      const other = await store.put('k', 'v', { metadata: { a: 'b' }, ifMatch })
      expect(other).toMatchObject({ key: 'replaced', content: 'duplicate' })
      expect(await of(store, 'k')).toEqual({ a: 'b' })
      expect((await store.put('k', 'v', { ifMatch })).key).toBe('replaced')
      expect(await of(store, 'k')).toBeUndefined()
      expect((await store.put('k', 'v', { metadata: {} })).key).toBe('unchanged')
      expect(await store.stats()).toMatchObject({ keys: 1, contents: 1 })
      expect((await store.verify()).problems).toEqual([])
    })

    it('stay when the expiry of the key is changed', async () => {
      await using world = await opened()
      const { store, clock } = world
      await store.put('k', 'v', { metadata: png, ttlMs: 8000, sliding: true })
      clock.time += 4000
      await store.get('k')
      expect(await store.head('k')).toMatchObject({ expiresAt: clock.time + 8000, metadata: png })
      await store.touch('k', 1000)
      await store.persist('k')
      expect(await store.head('k')).not.toHaveProperty('expiresAt')
      expect(await of(store, 'k')).toEqual(png)
      await store.expire('k', 1000)
      expect(await of(store, 'k')).toEqual(png)
      expect((await store.explain('k'))?.content).toBe('new')
      clock.time += 1000
      expect(await store.head('k')).toBeUndefined()
    })
  })

  it('getWithHead answers value and head of one moment, however often the key is put meanwhile', async () => {
    await using world = await opened()
    const { store } = world
    expect(await store.getWithHead('k')).toBeUndefined()
    const values = ['one', 'two and more', 'x'.repeat(300_000), 'y'.repeat(300_000)]
    await store.put('k', values[0] ?? '')
    const writing = (async () => {
      for (let round = 0; round < 24; round++)
        await store.put('k', values[round % values.length] ?? '')
    })()
    for (let round = 0; round < 60; round++) {
      const found = await store.getWithHead('k')
      expect(found?.head.bytes).toBeGreaterThan(0)
      const read = found?.value?.toString() ?? (await streamed(found?.stream()))
      if (read !== undefined) expect(sha256(read)).toBe(found?.head.digest)
    }
    await writing
    const last = await store.getWithHead('k')
    expect(await streamed(last?.stream({ start: 1, end: 4 }))).toBe('yyy')
  })

  describe('transactions', () => {
    it('do everything, or nothing', async () => {
      await using world = await opened()
      const { store } = world
      await store.put('old', 'value')
      const ifMatch = sha256('value')
      const results = await store.transaction([
        { put: 'a', value: 'shared', ifAbsent: true },
        { put: 'b', value: 'shared', ttlMs: 60_000 },
        { delete: 'old', ifMatch },
        { delete: 'never there' },
        { check: 'missing', ifAbsent: true },
      ])
      expect(results).toMatchObject([
        { key: 'created', content: 'new' },
        { key: 'created', content: 'duplicate', bytesSaved: 6 },
        true,
        false,
        false,
      ])
      expect(await listed(store.keys())).toEqual(['a', 'b'])
      const failed = store.transaction([
        { put: 'a', value: 'other' },
        { delete: 'b' },
        { check: 'c', ifMatch },
      ])
      expect(await codeOf(failed)).toBe('PRECONDITION_FAILED')
      expect(await store.getText('a')).toBe('shared')
      expect(await store.stats()).toMatchObject({ keys: 2, contents: 1 })
      expect((await store.verify()).problems).toEqual([])
    })

    it('move a value between keys however many try it at once', async () => {
      await using world = await opened()
      const { store } = world
      await store.put('from', 'coin')
      const ifMatch = sha256('coin')
      const codes = await Promise.all(
        Array.from({ length: 6 }, (_, at) =>
          codeOf(
            store.transaction([
              { delete: 'from', ifMatch },
              { put: `to ${at}`, value: 'coin' },
            ]),
          ),
        ),
      )
      expect(codes.filter((code) => code === 'none')).toHaveLength(1)
      expect(await listed(store.keys())).toHaveLength(1)
      expect((await store.verify()).problems).toEqual([])
    })

    it('take values that are longer than a row, also the same one twice', async () => {
      await using world = await opened()
      const { store } = world
      const large = Buffer.alloc((store.settings.chunks?.fromBytes ?? 0) * 2 + 1, 'large ')
      const operations = [
        { put: 'a', value: large },
        { put: 'b', value: large },
        { put: 'c', value: Buffer.from(large).fill('other') },
      ]
      const first = await store.transaction(operations)
      expect(first.map((end) => end.content)).toEqual(['new', 'duplicate', 'new'])
      const second = await store.transaction(operations)
      expect(second.map((end) => end.key)).toEqual(['unchanged', 'unchanged', 'unchanged'])
      expect((await store.get('b'))?.equals(large)).toBe(true)
      const failed = store.transaction([
        { put: 'd', value: Buffer.alloc(large.byteLength, 'third') },
        { check: 'a', ifAbsent: true },
      ])
      expect(await codeOf(failed)).toBe('PRECONDITION_FAILED')
      const medium = Buffer.alloc(
        Math.min(50_000, store.settings.chunks?.fromBytes ?? 0),
        'medium ',
      )
      const third = await store.transaction([
        { put: 'd', value: medium },
        { put: 'e', value: medium },
      ])
      expect(third.map((end) => end.content)).toEqual(['new', 'duplicate'])
      expect((await store.verify()).problems).toEqual([])
      expect(await store.stats()).toMatchObject({ keys: 5, contents: 3 })
    }, 30_000)

    it('update counts without losing one', async () => {
      await using world = await opened()
      const { store } = world
      const add = () => store.update('n', (value) => String(Number(value ?? 0) + 1))
      await Promise.all(Array.from({ length: 10 }, add))
      expect(await store.getText('n')).toBe('10')
      expect(await store.update('n', () => undefined)).toBeUndefined()
      expect(await store.getText('n')).toBe('10')
    }, 30_000)
  })

  describe('ranges', () => {
    it('are listed and deleted by prefix, start and end, and counted first', async () => {
      await using world = await opened()
      const { store, clock } = world
      const names = ['a/1', 'a/2', 'a/3', 'b/1', 'c']
      await store.putMany(names.map((key) => ({ key, value: 'shared' })))
      await store.put('a/0', 'expired', { ttlMs: 1 })
      clock.time += 1
      expect(await listed(store.keys({ start: 'a/2', end: 'c' }))).toEqual(['a/2', 'a/3', 'b/1'])
      expect(await listed(store.keys({ prefix: 'a/', start: 'a/2', end: 'a/3' }))).toEqual(['a/2'])
      expect(await listed(store.keys({ prefix: 'a/', start: 'b' }))).toEqual([])
      expect(await listed(store.keys({ start: 'c', end: 'b' }))).toEqual([])
      expect(await listed(store.values({ start: 'b/1' }))).toEqual(['shared', 'shared'])
      const all: string[] = []
      for await (const [key, value] of store) all.push(`${key.toString()}=${value.toString()}`)
      expect(all).toEqual(names.map((key) => `${key}=shared`))

      const wouldGo = await store.deleteRange({ prefix: 'a/', dryRun: true })
      expect(wouldGo).toEqual({ keys: 3, valueBytes: 18 })
      expect((await store.stats()).keys).toBe(6)
      expect(await store.deleteRange({ prefix: 'a/', limit: 1 })).toEqual({
        keys: 1,
        valueBytes: 6,
      })
      expect(await listed(store.keys())).toEqual(['a/2', 'a/3', 'b/1', 'c'])
      expect(await store.deleteRange({ start: 'a/3', end: 'c' })).toEqual({
        keys: 2,
        valueBytes: 12,
      })
      expect(await codeOf(store.deleteRange({ prefix: '' }))).toBe('INVALID_OPTIONS')
      expect(await listed(store.keys())).toEqual(['a/2', 'c'])
      expect(await store.clear()).toEqual({ keys: 2, valueBytes: 12 })
      expect(await store.stats()).toMatchObject({ keys: 0, contents: 0 })
      expect((await store.verify()).problems).toEqual([])
    })
  })
}
