/** Promises that the original makes and breaks, kept here. Each test is named after the promise. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { cell, read, type Scope } from '../src/backends/contract.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { openStore, PrestigeError, type Store, type StoreOptions } from '../src/index.ts'
import { settings, storeSpaces } from '../src/store/rows.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-promises-'))
})
afterEach(() => rm(directory, { recursive: true }))

const open = (options: StoreOptions = {}) => openStore(directory, { durability: 'os', ...options })

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    return error instanceof PrestigeError ? error.code : String(error)
  }
  return 'no error'
}

describe('expiry', () => {
  const engines: [string, (clock: () => number) => Promise<Store>][] = [
    ['memory', (clock) => openStore('memory:', { clock })],
    ['lmdb', (clock) => open({ clock })],
    [
      'simulated',
      (clock) => {
        const world = new SimulatedWorld(5)
        Object.defineProperty(world, 'time', { get: clock })
        return openStore(world.open('w'))
      },
    ],
  ]

  it.each(engines)(
    'a value put again after it expired is there again (%s)',
    async (_name, openIt) => {
      let time = 1_000
      await using store = await openIt(() => time)
      await store.put('a', 'value', { ttlMs: 10 })
      time += 10
      expect(await store.get('a')).toBeUndefined()
      expect((await store.put('a', 'value', { ttlMs: 10 })).key).toBe('created')
      expect(await store.getText('a')).toBe('value')
      time += 9
      expect(await store.has('a')).toBe(true)
      time += 1
      expect(await store.has('a')).toBe(false)
    },
  )

  it.each(engines)(
    'a new key lives whatever became of others with its value (%s)',
    async (_name, openIt) => {
      let time = 1_000
      await using store = await openIt(() => time)
      await store.put('old', 'value', { ttlMs: 10 })
      await store.put('stays', 'value')
      time += 100
      await store.put('new', 'value', { ttlMs: 50 })
      expect(await store.getText('new')).toBe('value')
      expect(await store.collect()).toMatchObject({ expiredKeys: 1, contents: 0 })
      expect(await store.getText('stays')).toBe('value')
      expect(await store.getText('new')).toBe('value')
      time += 50
      expect(await store.collect()).toMatchObject({ expiredKeys: 1, contents: 0 })
      expect(await store.delete('stays')).toBe(true)
      expect(await store.stats()).toMatchObject({ keys: 0, contents: 0, contentBytes: 0 })
    },
  )

  it('re-putting renews, and a put without a ttl keeps the key for good', async () => {
    let time = 0
    await using store = await openStore('memory:', { clock: () => time })
    await store.put('a', 'v', { ttlMs: 10 })
    time = 9
    expect((await store.put('a', 'v', { ttlMs: 10 })).key).toBe('unchanged')
    time = 18
    expect(await store.has('a')).toBe(true)
    await store.put('a', 'v')
    time = 1_000_000
    expect(await store.has('a')).toBe(true)
    expect(await store.stats()).toMatchObject({ keys: 1, keysWithExpiry: 0 })
  })

  it('expired keys are gone from every view at once', async () => {
    let time = 0
    await using store = await openStore('memory:', { clock: () => time })
    await store.put('a', 'v', { ttlMs: 10 })
    await store.put('b', 'v')
    time = 10
    expect(await store.explain('a')).toBeUndefined()
    expect(await store.delete('a')).toBe(false)
    await store.put('a', 'v', { ttlMs: 1 })
    time = 11
    const keys: string[] = []
    for await (const key of store.keys()) keys.push(String(key))
    for await (const [key] of store.entries()) keys.push(String(key))
    expect(keys).toEqual(['b', 'b'])
  })

  it('expired keys stay expired when the clock steps back', async () => {
    let time = 100
    await using store = await openStore('memory:', { clock: () => time })
    await store.put('a', 'v', { ttlMs: 10 })
    time = 110
    expect(await store.has('a')).toBe(false)
    time = 105
    expect(await store.has('a')).toBe(false)
    expect((await store.put('a', 'v', { ttlMs: 10 })).key).toBe('created')
  })

  it('refuses a ttl that is none', async () => {
    await using store = await openStore('memory:')
    for (const ttlMs of [0, -1, Number.NaN, -Infinity, '5' as unknown as number]) {
      expect(await codeOf(store.put('a', 'v', { ttlMs }))).toBe('INVALID_OPTIONS')
    }
    expect(await store.has('a')).toBe(false)
  })
})

describe('own bytes', () => {
  const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const samples: [StoreOptions['canonical'], (string | Buffer)[]][] = [
    ['none', ['Hello World', '  hello  world', binary, '']],
    ['whitespace', ['Hello World', '  Hello  World', 'a\nb', 'a b']],
    ['ascii-case', ['Hello World', '  hello  world', 'HELLO\tWORLD']],
    ['unicode', ['Straße', 'STRASSE', 'ﬁn', 'fin', 'e\u0301', 'é', 'नमस्ते', '你好', 'مرحبا', '🎩']],
    ['json', ['{"a":1,"b":2}', '{ "b": 2, "a": 1 }', '[1.0]', '[1]']],
  ]

  it.each(samples)(
    'every key gives back the very bytes put under it (canonical %s)',
    async (canonical, values) => {
      await using store = await open({ canonical })
      for (const [at, value] of values.entries()) await store.put(`k${at}`, value)
      for (const [at, value] of values.entries()) {
        expect(await store.get(`k${at}`)).toEqual(Buffer.from(value as string))
      }
    },
  )

  it('a value that is the same only after canonicalisation is linked, and told so', async () => {
    await using store = await open({ canonical: 'ascii-case' })
    const first = await store.put('first', 'Hello World')
    const second = await store.put('second', '  hello  world')
    expect(second).toMatchObject({ content: 'linked', method: 'canonical', bytesSaved: 0 })
    expect(second.of).toMatchObject({ content: first.contentId, firstKey: Buffer.from('first') })
    expect(await store.explain('second')).toMatchObject({ content: 'linked', of: second.of })
    const third = await store.put('third', '  hello  world')
    expect(third).toMatchObject({ content: 'duplicate', method: 'digest', bytesSaved: 14 })
  })

  it('binary values pass through every profile unharmed with onUnreadable bytes', async () => {
    await using store = await open({ canonical: 'unicode', onUnreadable: 'bytes' })
    await store.put('a', binary)
    expect((await store.put('b', binary)).content).toBe('duplicate')
    expect(await store.get('b')).toEqual(binary)
  })

  it('a value the profile cannot read is refused by name, and nothing is written', async () => {
    await using store = await open({ canonical: 'json' })
    expect(await codeOf(store.put('a', '{"a":'))).toBe('UNREADABLE_VALUE')
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 0 })
  })

  it('the first bytes win only where fidelity representative was asked for', async () => {
    await using store = await open({ canonical: 'unicode', fidelity: 'representative' })
    await store.put('first', 'Straße')
    const receipt = await store.put('second', 'STRASSE')
    expect(receipt).toMatchObject({ content: 'duplicate', method: 'canonical', bytesSaved: 7 })
    expect(await store.getText('second')).toBe('Straße')
    expect(await store.stats()).toMatchObject({ keys: 2, contents: 1 })
  })

  it('bytes changed by their owner after put was called are not what is stored', async () => {
    await using store = await open()
    const mine = Buffer.from('before')
    const under = Buffer.from('key')
    const putting = store.put(under, mine)
    mine.write('AFTER!')
    under.write('KEY')
    await putting
    expect(await store.getText('key')).toBe('before')
    const got = await store.get('key')
    got?.fill(0)
    expect(await store.getText('key')).toBe('before')
  })

  it('texts without a UTF-8 form are refused rather than folded into one another', async () => {
    await using store = await open()
    expect(await codeOf(store.put('\ud800', 'v'))).toBe('INVALID_KEY')
    expect(await codeOf(store.put('k', 'v\udfff'))).toBe('INVALID_VALUE')
    await store.put('k', Buffer.from([0xff, 0xfe]))
    expect(await codeOf(store.getText('k'))).toBe('UNREADABLE_VALUE')
  })
})

describe('concurrency', () => {
  it('a get sees what another process put before it, also within one turn of the event loop', async () => {
    const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
    await using store = await open()
    await store.put('mine', 'value')
    const before = store.get('theirs')
    execFileSync(process.execPath, [main, 'put', 'theirs', 'value', '--store', directory])
    const after = store.get('theirs')
    expect(await before).toBeUndefined()
    expect((await after)?.toString()).toBe('value')
  })

  it.each(['os', 'fsync'] as const)(
    'long values put one after another do not share their memory (%s)',
    async (durability) => {
      await using store = await open({ durability })
      const values = Array.from({ length: 200 }, (_, at) => randomBytes(65_536 - (at % 3)))
      const puts: Promise<unknown>[] = []
      for (const [at, value] of values.entries()) {
        puts.push(store.put(String(at), value))
        // Those before it are under way, and not yet committed.
        for (let step = 0; step < 20; step++) await Promise.resolve()
        if (at % 50 === 49) await Promise.all(puts)
      }
      await Promise.all(puts)
      for (const [at, value] of values.entries()) {
        expect((await store.get(String(at)))?.equals(value)).toBe(true)
      }
    },
  )

  it('a key that always exists is always found while it is overwritten', async () => {
    await using store = await open()
    await using reader = await open()
    await store.put('key', 'value 0')
    let isWriting = true
    const writing = (async () => {
      for (let count = 1; count <= 1500; count++) await store.put('key', `value ${count}`)
      isWriting = false
    })()
    let reads = 0
    while (isWriting) {
      for (let count = 0; count < 20; count++, reads++) {
        expect(await reader.getText('key')).toMatch(/^value \d+$/)
      }
      await new Promise(setImmediate)
    }
    await writing
    expect(reads).toBeGreaterThan(100)
  })

  it('collecting never takes what is in use', async () => {
    await using store = await open({ gc: 'manual' })
    const work: Promise<unknown>[] = []
    for (let round = 0; round < 60; round++) {
      for (let key = 0; key < 10; key++) {
        work.push(store.put(`k${key}`, `value ${(round + key) % 7}`))
        if ((round + key) % 3 === 0) work.push(store.delete(`k${key}`))
      }
      work.push(store.collect())
    }
    await Promise.all(work)
    for await (const [, value] of store.entries()) expect(String(value)).toMatch(/^value \d$/)
    expect((await store.verify()).problems).toEqual([])
  })

  it('many putting and deleting the same values never fail or wait for one another', async () => {
    await using store = await open()
    const lanes = Array.from({ length: 32 }, async (_, lane) => {
      for (let round = 0; round < 40; round++) {
        await store.put(`a${lane}`, 'shared')
        await store.put(`b${lane}`, round % 2 ? 'left' : 'right')
        await store.put(`a${lane}`, round % 2 ? 'right' : 'left')
        await store.delete(`a${lane}`)
      }
    })
    await Promise.all(lanes)
    expect(await store.stats()).toMatchObject({ keys: 32, contents: 1 })
    expect((await store.verify()).problems).toEqual([])
  })

  it('identical bytes put by many at once are stored once', async () => {
    await using store = await open()
    const receipts = await Promise.all(
      Array.from({ length: 200 }, (_, at) => store.put(`k${at}`, 'the same')),
    )
    expect(receipts.filter(({ content }) => content === 'new')).toHaveLength(1)
    expect(await store.stats()).toMatchObject({ keys: 200, contents: 1, contentBytes: 8 })
  })

  it('closing waits for what was accepted and refuses what comes later', async () => {
    const store = await open()
    const accepted = Array.from({ length: 300 }, (_, at) => store.put(`k${at}`, `v${at}`))
    const closing = store.close()
    expect(await codeOf(store.put('late', 'v'))).toBe('BACKEND_CLOSED')
    expect(await codeOf(store.get('late'))).toBe('BACKEND_CLOSED')
    await closing
    await Promise.all(accepted)
    await store.close()
    await using again = await open()
    expect((await again.stats()).keys).toBe(300)
    expect(await again.has('late')).toBe(false)
  })
})

describe('scale', () => {
  it('stats never scans', async () => {
    const backend = new MemoryBackend()
    let scans = 0
    const scan = backend.scan.bind(backend)
    backend.scan = (space, range) => {
      scans++
      return scan(space, range)
    }
    await using store = await openStore(backend)
    await store.putMany(
      Array.from({ length: 50 }, (_, at) => ({ key: `k${at}`, value: `${at % 5}` })),
    )
    expect(await store.stats()).toMatchObject({ keys: 50, contents: 5, dedupRatio: 10 })
    expect(scans).toBe(0)
  })

  it('many puts share a few commits', async () => {
    const backend = await openLmdb(directory, { spaces: storeSpaces })
    await using store = await openStore(backend)
    const before = backend.commits
    await store.putMany(
      Array.from({ length: 1000 }, (_, at) => ({ key: `k${at}`, value: `v${at}` })),
    )
    expect(backend.commits - before).toBeLessThan(20)
  })

  it('the number of distinct values is exact at once, and after a restart', async () => {
    {
      await using store = await open()
      await store.put('a', 'v')
      await store.put('b', 'v')
      expect(await store.stats()).toMatchObject({
        keys: 2,
        contents: 1,
        valueBytes: 2,
        contentBytes: 1,
      })
    }
    await using store = await open()
    expect(await store.stats()).toMatchObject({
      keys: 2,
      contents: 1,
      valueBytes: 2,
      contentBytes: 1,
    })
  })

  it('a value of more than 256 MiB is kept, shared and given back', async () => {
    await using store = await open()
    const large = Buffer.alloc(256 * 1024 * 1024 + 1, 'prestige ')
    expect(await store.put('large', large)).toMatchObject({ content: 'new' })
    expect(await store.put('again', large)).toMatchObject({ content: 'duplicate' })
    expect((await store.get('again'))?.equals(large)).toBe(true)
    await store.delete('large')
    await store.delete('again')
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 0, contentBytes: 0 })
    expect((await store.verify()).problems).toEqual([])
  }, 120_000)
})

describe('an error', () => {
  it('keeps its code, kind and message through JSON.stringify', () => {
    const error = new PrestigeError('KEY_NOT_FOUND', 'There is no key "a".')
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({
      error: {
        name: 'PrestigeError',
        code: 'KEY_NOT_FOUND',
        kind: 'missing',
        message: error.message,
      },
    })
  })
})

describe('what a store was written with', () => {
  const others: [StoreOptions, RegExp][] = [
    [{ canonical: 'whitespace' }, /canonical is 'unicode, version .+'whitespace, version/],
    [{ canonical: { version: 'mine', canonicalise: (bytes) => bytes } }, /function:mine/],
    [{ fidelity: 'representative' }, /fidelity is 'own'.+'representative'/],
  ]

  it.each(others)(
    'opening it otherwise is an error that says what differs',
    async (options, message) => {
      await (await open({ canonical: 'unicode' })).close()
      await expect(open(options)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
      await expect(open(options)).rejects.toThrow(message)
    },
  )

  it('is taken from the store where nothing was asked for', async () => {
    await (await open({ canonical: 'unicode' })).close()
    await using store = await open()
    await store.put('a', 'A')
    expect((await store.put('b', 'a')).content).toBe('linked')
  })

  it('a store written with a function can be read without it, and put to only with it', async () => {
    const canonical = {
      version: 'first-letter',
      canonicalise: (bytes: Uint8Array) => bytes.slice(0, 1),
    }
    {
      await using store = await open({ canonical })
      await store.put('a', 'apple')
      expect((await store.put('b', 'ape')).content).toBe('linked')
    }
    await using store = await open()
    expect(await store.getText('b')).toBe('ape')
    expect(await codeOf(store.put('c', 'v'))).toBe('SETTINGS_MISMATCH')
  })

  it('a store of another format is refused by name', async () => {
    const engine = new MemoryEngine()
    await new MemoryBackend({}, engine).run(function* (scope: Scope) {
      yield* read(cell(settings, Buffer.from('store')))
      scope.write(cell(settings, Buffer.from('store')), Buffer.from('{"format":99}'))
    })
    expect(await codeOf(openStore(new MemoryBackend({}, engine)))).toBe('FORMAT_UNSUPPORTED')
  })

  it('stores of different namespaces in one location never see each other', async () => {
    await using one = await open({ namespace: 'one' })
    await using two = await open({ namespace: 'two', canonical: 'unicode' })
    await one.put('k', 'in one')
    await one.put('other', 'in two')
    expect(await two.put('k', 'in two')).toMatchObject({ key: 'created', content: 'new' })
    expect(await one.getText('k')).toBe('in one')
    expect(await two.stats()).toMatchObject({ keys: 1, contents: 1 })
    await one.delete('other')
    expect(await two.getText('k')).toBe('in two')
    expect((await two.verify()).problems).toEqual([])
  })
})
