/** Long values: cut into chunks that contents share, put and read as streams, healed, collected, verified. */

import { createHash, randomBytes } from 'node:crypto'

import { describe, expect, it, vi } from 'vitest'

import { cell, type Scope, type Space, type Transaction } from '../../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { GcLease } from '../gc-lease.ts'
import { openStore } from '../open.ts'
import type { StoreOptions } from '../options.ts'
import { contents } from '../rows.ts'
import { chunks, packs, recipes } from './chunk-rows.ts'
import { compress, decompress } from './compression.ts'
import { LiveDigests } from './live-digests.ts'

const SMALL = { fromBytes: 1024, averageBytes: 256 } as const

/** Text that does not repeat itself. */
function textOf(lines: number, seed = 1): string {
  return Array.from({ length: lines }, (_, at) => `line ${(at * 7919 + seed) % 100_003}`).join('\n')
}

async function open(options: StoreOptions = {}) {
  const engine = new MemoryEngine()
  const backend = new MemoryBackend({}, engine)
  const store = await openStore(new MemoryBackend({}, engine), { chunks: SMALL, ...options })
  return { engine, backend, store }
}

const rowsIn = (engine: MemoryEngine, name: string) => engine.space(name).slice('', undefined, 1e6)
const bytesIn = (engine: MemoryEngine, name: string) =>
  rowsIn(engine, name).reduce((sum, [, value]) => sum + value.byteLength, 0)

async function* inPieces(value: Buffer, bytes: number): AsyncGenerator<Uint8Array> {
  // One piece of memory for all: whoever keeps it has other bytes later.
  const piece = Buffer.alloc(bytes)
  for (let at = 0; at < value.length; at += bytes) {
    const length = value.copy(piece, 0, at, at + bytes)
    yield piece.subarray(0, length)
  }
}

async function wholeOf(stream: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream!) pieces.push(piece)
  return Buffer.concat(pieces)
}

describe('a long value', () => {
  it('is not changed by whoever gets a piece of it', async () => {
    const { store } = await open({ chunks: { fromBytes: 65_536, averageBytes: 2 ** 18 } })
    const value = Buffer.alloc(8 * 2 ** 20, 7)
    await store.put('a', value)
    for await (const piece of (await store.getStream('a'))!) {
      expect(value.subarray(0, piece.length).equals(piece)).toBe(true)
      piece.fill(9)
    }
    expect((await store.get('a'))?.equals(value)).toBe(true)
  })

  it('shares its chunks with what is nearly the same, and says how many bytes', async () => {
    const { engine, store } = await open()
    const value = Buffer.from(textOf(4000))
    expect(await store.put('a', value)).toMatchObject({ content: 'new', bytesSaved: 0 })
    const before = bytesIn(engine, 'packs')
    const changed = Buffer.from(value)
    changed[20_000] = 0
    const { bytes, bytesSaved } = await store.put('b', changed)
    expect(bytes - bytesSaved).toBeLessThan(4096)
    expect(bytesIn(engine, 'packs') - before).toBeLessThan(4096)
    expect(await store.get('a')).toEqual(value)
    expect(await store.get('b')).toEqual(changed)
    expect((await store.stats()).storedBytes).toBe(bytesIn(engine, 'packs'))
    expect((await store.explain('b'))?.sharedBytes).toBe(bytesSaved)
    expect((await store.verify()).problems).toEqual([])
  })

  it('is never shared between namespaces', async () => {
    const engine = new MemoryEngine()
    const value = textOf(2000)
    for (const namespace of ['one', 'two']) {
      await using store = await openStore(new MemoryBackend({ namespace }, engine))
      expect(await store.put('a', value.repeat(4))).toMatchObject({ content: 'new' })
      expect((await store.stats()).storedBytes).toBeGreaterThan(0)
    }
    const names = rowsIn(engine, 'chunks').map(([key]) => key.slice(-32))
    expect(new Set(names).size).toBe(names.length / 2)
  })

  it('leaves nothing when it is gone, and what others need stays', async () => {
    const { engine, store } = await open({ gc: 'manual' })
    const value = textOf(3000)
    await store.put('a', value)
    await store.put('b', `${value.slice(0, 9000)} and more`)
    await store.put('c', 'short')
    await store.delete('a')
    expect((await store.collect()).chunks).toBeGreaterThan(0)
    expect(await store.getText('b')).toBe(`${value.slice(0, 9000)} and more`)
    expect((await store.verify()).problems).toEqual([])
    await store.delete('b')
    await store.collect()
    for (const name of ['chunks', 'packs', 'recipes', 'staged'])
      expect(rowsIn(engine, name), name).toEqual([])
    expect((await store.stats()).storedBytes).toBe(5)
  })

  it('is collected by itself when there is much garbage', async () => {
    const { engine, store } = await open({ chunks: undefined })
    await store.put('a', randomBytes(3_000_000))
    await store.delete('a')
    expect(rowsIn(engine, 'packs')).toEqual([])
  })

  it.each(['clear', 'delete'] as const)(
    'is collected by one collection at a time where %s removes many',
    async (how) => {
      const engine = new MemoryEngine()
      const backend = new MemoryBackend({}, engine)
      const store = await openStore(backend)
      const scan = vi.spyOn(backend, 'scan')
      const keys = Array.from({ length: 40 }, (_, at) => `key ${at}`)
      for (const key of keys) await store.put(key, randomBytes(200_000))
      expect(bytesIn(engine, 'packs')).toBeGreaterThan(8_000_000)
      if (how === 'clear') await store.clear()
      else await Promise.all(keys.map((key) => store.delete(key)))
      expect(bytesIn(engine, 'packs')).toBeLessThan(2 ** 20)
      const collections = scan.mock.calls.filter(([space]) => space.name === 'chunks').length
      expect(collections).toBeLessThanOrEqual(how === 'clear' ? 1 : 3)
    },
  )

  it('is left to another process that collects', async () => {
    const { engine, backend, store } = await open({ chunks: undefined })
    const lease = new GcLease(backend)
    expect(await lease.take()).toBe(true)
    await store.put('a', randomBytes(3_000_000))
    await store.delete('a')
    expect(bytesIn(engine, 'packs')).toBeGreaterThan(2_000_000)
    await lease.release()
    await store.put('b', randomBytes(100_000))
    await store.delete('b')
    expect(rowsIn(engine, 'packs')).toEqual([])
  })

  it.each<Space<unknown>>([chunks, packs, recipes])(
    'is healed by the same bytes where $name lost a row',
    async (space) => {
      const { engine, backend, store } = await open()
      const value = Buffer.from(textOf(3000))
      await store.put('a', value)
      const [key] = rowsIn(engine, space.name)[1] ?? rowsIn(engine, space.name)[0]!
      await backend.run(function* (scope: Scope): Transaction<void> {
        scope.remove(cell(space, Buffer.from(key, 'latin1').subarray(1)))
      })
      await expect(store.get('a')).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
      const streamed = wholeOf(await store.getStream('a'))
      // A stream finds a chunk without its row, behind the one before it in the pack, by its digest.
      if (space === chunks) expect(await streamed).toEqual(value)
      else await expect(streamed).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
      expect(await store.put('b', value)).toMatchObject({ content: 'duplicate', healed: true })
      expect(await store.get('a')).toEqual(value)
      await store.collect()
      expect((await store.verify({ repair: true })).isSound).toBe(true)
      expect((await store.verify()).problems).toEqual([])
      expect(await store.get('a')).toEqual(value)
    },
  )
})

describe('a damaged pack', () => {
  async function damaged(options: StoreOptions = {}) {
    const { engine, backend, store } = await open(options)
    const value = Buffer.from(textOf(3000))
    await store.put('a', value)
    const [first] = rowsIn(engine, 'packs') as [[string, Buffer]]
    const before = rowsIn(engine, 'packs').length
    await backend.run(function* (scope: Scope): Transaction<void> {
      const pack = Buffer.from(first[1])
      pack[pack.length - 5]! ^= 255
      scope.write(cell(packs, Buffer.from(first[0], 'latin1').subarray(1)), pack)
    })
    const isSound = async () => {
      expect((await store.stats()).storedBytes).toBe(bytesIn(engine, 'packs'))
      expect(rowsIn(engine, 'packs.left')).toEqual([])
      expect((await store.verify()).problems).toEqual([])
    }
    return { engine, store, value, before, isSound }
  }

  it('goes when the chunks in it are healed', async () => {
    const { engine, store, value, before, isSound } = await damaged()
    expect(before).toBeGreaterThan(1)
    expect(await store.put('b', value)).toMatchObject({ healed: true })
    expect(rowsIn(engine, 'packs')).toHaveLength(before + 1)
    await store.collect()
    expect(rowsIn(engine, 'packs')).toHaveLength(before)
    await isSound()
    expect(await store.get('a')).toEqual(value)
  })

  it('goes with the last content that has a chunk in it', async () => {
    const { engine, store, isSound } = await damaged()
    await store.delete('a')
    await store.collect()
    expect(rowsIn(engine, 'packs')).toEqual([])
    await isSound()
  })

  it('stays as long as a chunk is read from it', async () => {
    const { engine, store, value } = await damaged({ gc: 'manual', verifyReads: false })
    await store.put('b', value.subarray(0, 4000))
    await store.delete('a')
    await store.collect()
    expect((await store.verify()).problems.map(({ kind }) => kind)).toContain('pack-damaged')
    expect(rowsIn(engine, 'packs.left')).toEqual([])
    await store.delete('b')
    await store.collect()
    expect(rowsIn(engine, 'packs')).toEqual([])
  })
})

describe('a stream that is read', () => {
  it('fails where a byte of a pack is another', async () => {
    const { engine, backend, store } = await open()
    await store.put('a', randomBytes(40_000))
    const [key, row] = rowsIn(engine, 'packs')[1]!
    const bad = Buffer.from(row)
    bad[bad.length - 1]! ^= 1
    await backend.run(function* (scope: Scope): Transaction<void> {
      scope.write(cell(packs, Buffer.from(key, 'latin1').subarray(1)), bad)
    })
    await expect(wholeOf(await store.getStream('a'))).rejects.toMatchObject({
      code: 'CONTENT_CORRUPT',
    })
  })

  it('gives pieces that its reader may change', async () => {
    const { store } = await open()
    const whole = randomBytes(20_000)
    await store.put('whole', whole)
    // Parts of packs, needed again and again.
    const value = Buffer.concat(Array.from({ length: 60 }, () => whole.subarray(0, 5000)))
    await store.put('parts', value)
    const pieces: Buffer[] = []
    for await (const piece of (await store.getStream('parts'))!) {
      pieces.push(Buffer.from(piece))
      piece.fill(0)
    }
    expect(pieces.length).toBeGreaterThan(1)
    expect(Buffer.concat(pieces).equals(value)).toBe(true)
    expect(await store.get('whole')).toEqual(whole)
  })
})

describe('verify', () => {
  it('restores what says where a chunk is, and removes a pack that nothing needs', async () => {
    const { engine, backend, store } = await open()
    const value = Buffer.from(textOf(3000))
    await store.put('a', value)
    const [[key]] = rowsIn(engine, 'chunks') as [[string, Buffer]]
    const [[, pack]] = rowsIn(engine, 'packs') as [[string, Buffer]]
    const other = Buffer.alloc(16, 9)
    await backend.run(function* (scope: Scope): Transaction<void> {
      scope.remove(cell(chunks, Buffer.from(key, 'latin1').subarray(1)))
      scope.write(cell(packs, other), pack)
    })
    const found = await store.verify()
    expect(found.problems.map(({ kind }) => kind)).toContain('chunk-lost')
    const { problems, isSound } = await store.verify({ repair: true })
    const seen = problems.map(({ kind }) => kind)
    // The pack was never counted, and is taken off when it goes.
    expect(seen).toEqual(['chunk-lost', 'row-unaccounted', 'tallies-wrong'])
    expect(isSound).toBe(true)
    expect((await store.verify()).problems).toEqual([])
    expect(await store.get('a')).toEqual(value)
  })

  it('names the keys of a value whose chunks are damaged', async () => {
    const { engine, backend, store } = await open()
    await store.put('a', textOf(3000))
    await store.put('b', 'sound')
    const [[key, row]] = rowsIn(engine, 'packs') as [[string, Buffer]]
    const bad = Buffer.from(row)
    bad[60] = (bad[60] ?? 0) ^ 1
    await backend.run(function* (scope: Scope): Transaction<void> {
      scope.write(cell(packs, Buffer.from(key, 'latin1').subarray(1)), bad)
    })
    const { problems } = await store.verify()
    expect(problems.map(({ kind }) => kind)).toEqual(['pack-damaged', 'content-damaged'])
    expect(problems[1]?.keys).toEqual([Buffer.from('a')])
  })
})

describe('compression', () => {
  it.each(['fast', 'small'] as const)('%s gives the very bytes back', async (compression) => {
    const { engine, store } = await open({ chunks: undefined, compression })
    const value = textOf(3000)
    await store.put('a', value)
    expect(bytesIn(engine, 'contents')).toBeLessThan(value.length / 2)
    expect((await store.stats()).storedBytes).toBe(bytesIn(engine, 'contents'))
    expect(await store.getText('a')).toBe(value)
    expect(await store.put('b', value)).toMatchObject({ content: 'duplicate' })
    await store.delete('a')
    await store.delete('b')
    expect((await store.stats()).storedBytes).toBe(0)
  })

  it('leaves alone what is short or cannot be compressed, and all with none', async () => {
    expect(compress(Buffer.alloc(4095, 'a'), 'fast')).toBeUndefined()
    expect(compress(randomBytes(65_536), 'small')).toBeUndefined()
    const { engine, store } = await open({ compression: 'none', chunks: undefined })
    await store.put('a', Buffer.alloc(10_000, 'a'))
    expect(bytesIn(engine, 'contents')).toBe(10_001)
  })

  it.each([
    ['none', 20_000, 'damaged'],
    ['none', 100_000, 'damaged'],
    ['fast', 20_000, 'lost'],
  ] as const)(
    'is counted right after %s has healed %i bytes that were %s',
    async (compression, bytes, how) => {
      const { backend, engine, store } = await open({ chunks: false })
      const value = textOf(bytes / 5).slice(0, bytes)
      await store.put('a', value)
      const [row] = rowsIn(engine, 'contents') as [[string, Buffer]]
      await backend.run(function* (scope: Scope): Transaction<void> {
        const place = cell(contents, Buffer.from(row[0], 'latin1').subarray(1))
        const bad = Buffer.from(row[1])
        bad[bad.length - 5]! ^= 255
        if (how === 'lost') scope.remove(place)
        else scope.write(place, bad)
      })
      await using other = await openStore(backend, { compression })
      expect(await other.put('b', value)).toMatchObject({ healed: true })
      const stored = bytesIn(engine, 'contents') - (compression === 'none' ? 1 : 0)
      expect((await other.stats()).storedBytes).toBe(stored)
      expect((await other.verify()).problems).toEqual([])
      await other.clear()
      expect((await other.stats()).storedBytes).toBe(0)
    },
  )

  it('reads Zstandard on every version of Node', () => {
    const zstd = Buffer.from('KLUv/QBYCQAAYQ==', 'base64')
    expect(Buffer.from(decompress(0x12, zstd, 1)).toString()).toBe('a')
    expect(() => decompress(0x12, zstd, 2)).toThrow(/cannot be read/)
    expect(() => decompress(0x13, zstd, 1)).toThrow(/cannot be read/)
  })
})

describe('options', () => {
  it('are remembered, and other ones refused by name', async () => {
    const { engine } = await open()
    const again = (options: StoreOptions) => openStore(new MemoryBackend({}, engine), options)
    expect((await again({})).settings.chunks).toEqual(SMALL)
    await expect(again({ chunks: { averageBytes: 512 } })).rejects.toThrow(/chunks\.averageBytes/)
    await expect(again({ chunks: false })).rejects.toThrow(/chunks\.fromBytes/)
    await expect(open({ chunks: { averageBytes: 300 } })).rejects.toThrow(/power of two/)
    await expect(open({ chunks: { fromBytes: 8 } })).rejects.toThrow(/fromBytes/)
    await expect(open({ chunks: { averageBytes: 1024 * 1024 } })).rejects.toThrow(/at most 262144/)
  })

  it('false keeps in one row what fits into one', async () => {
    const { engine, store } = await open({ chunks: false })
    await store.put('a', randomBytes(4_000_000))
    expect(rowsIn(engine, 'chunks')).toEqual([])
    const long = randomBytes(5_000_000)
    await store.put('b', long)
    expect(rowsIn(engine, 'chunks').length).toBeGreaterThan(0)
    expect((await store.get('b'))?.equals(long)).toBe(true)
  })
})

describe.each(['memory', 'simulated'])('a stream on %s', (kind) => {
  const connect = async (options: StoreOptions = {}) =>
    openStore(kind === 'memory' ? new MemoryBackend() : new SimulatedWorld(3).open('w'), {
      chunks: SMALL,
      ...options,
    })

  it.each([0, 500, 1024, 1025, 40_000])('of %i bytes is the value it is', async (length) => {
    const store = await connect()
    const value = Buffer.from(textOf(4000)).subarray(0, length)
    const receipt = await store.put('a', inPieces(value, 777))
    expect(receipt).toMatchObject({ content: 'new', bytes: length })
    expect(await store.get('a')).toEqual(value)
    expect(await store.put('b', value)).toMatchObject({ content: 'duplicate' })
    expect(await store.put('c', new Blob([value]))).toMatchObject({ content: 'duplicate' })
    expect(await wholeOf(await store.getStream('c'))).toEqual(value)
    expect(await store.collect()).toMatchObject({ contents: 0, abandonedParts: 0 })
    expect((await store.verify()).problems).toEqual([])
  })

  it('gives any range, and only what is there', async () => {
    const store = await connect()
    const value = Buffer.from(textOf(3000))
    await store.put('a', inPieces(value, 1000))
    for (const [start, end] of [
      [0, 1],
      [0, 40_000],
      [7000, 7000],
      [1023, 9000],
      [30_000, 90_000],
    ]) {
      expect(await wholeOf(await store.getStream('a', { start, end }))).toEqual(
        value.subarray(start, end),
      )
    }
    expect(await wholeOf(await store.getStream('a', { start: 90_000 }))).toEqual(Buffer.alloc(0))
    await expect(store.getStream('a', { start: -1 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    expect(await store.getStream('missing')).toBeUndefined()
  })

  it('that fails or is stopped leaves nothing', async () => {
    const store = await connect()
    const stop = new AbortController()
    const failing = async function* () {
      yield Buffer.from(textOf(900))
      throw new Error('the source broke')
    }
    await expect(store.put('a', failing())).rejects.toThrow('the source broke')
    const endless = async function* () {
      yield randomBytes(20_000)
      stop.abort(new Error('enough'))
      await new Promise(() => undefined)
    }
    const stopped = store.put('a', endless(), { signal: stop.signal })
    await expect(stopped).rejects.toMatchObject({ code: 'ABORTED', outcome: 'not-done' })
    await expect(
      store.put(
        'a',
        (async function* () {
          yield 'text' as never
        })(),
      ),
    ).rejects.toThrow(/bytes, not string/)
    expect(await store.has('a')).toBe(false)
    // The call has ended; what it leaves is removed behind it.
    await vi.waitFor(async () => expect((await store.verify()).unfinishedUploads).toBe(0))
    await store.collect()
    expect((await store.stats()).storedBytes).toBe(0)
  })

  it('is cut as the whole value is, also where it is longer than a window', async () => {
    const value = randomBytes(9_000_000)
    const chunksOf = async (given: Buffer | AsyncIterable<Uint8Array>) => {
      const { engine, store } = await open({ chunks: { averageBytes: 8192 } })
      await store.put('a', given)
      expect((await store.get('a'))?.equals(value)).toBe(true)
      return rowsIn(engine, 'chunks').map(([key]) => key)
    }
    expect(await chunksOf(inPieces(value, 700_000))).toEqual(await chunksOf(value))
  })

  it('that is replaced while it is read fails by name', async () => {
    const store = await connect()
    const value = Buffer.from(textOf(40_000))
    await store.put('a', inPieces(value, 50_000))
    const reader = (await store.getStream('a'))!.getReader()
    await reader.read()
    await store.put('a', 'another')
    await store.collect()
    const rest = async () => {
      while (!(await reader.read()).done);
    }
    await expect(rest()).rejects.toMatchObject({ code: 'CONTENDED' })
  })
})

describe('the digests that were seen', () => {
  it('are found again, and no others', () => {
    const live = new LiveDigests()
    const digest = (at: number) => createHash('sha256').update(String(at)).digest()
    for (let at = 0; at < 5000; at++) live.add(digest(at))
    live.add(Buffer.alloc(32))
    expect(live.has(Buffer.alloc(32))).toBe(true)
    for (let at = 0; at < 5000; at++) expect(live.has(digest(at))).toBe(true)
    for (let at = 5000; at < 9000; at++) expect(live.has(digest(at))).toBe(false)
  })
})
