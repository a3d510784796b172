/** Contents that are kept as what differs from another: own bytes come back, and a base stays as long as it is needed. */

import { describe, expect, it } from 'vitest'

import { edited, textOf } from '../../../test/texts/near-texts.ts'
import { cell, type Scope, type Space, type Transaction } from '../../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { seededRandom, SimulatedWorld } from '../../backends/simulated/backend.ts'
import { collectContent } from '../collect.ts'
import { hasNotes } from '../collecting-steps.ts'
import { adoptingSlices } from '../near/adopt.ts'
import { nearLinks } from '../near/rows.ts'
import { openStore } from '../open.ts'
import type { StoreOptions } from '../options.ts'
import { contents, digests, entries, refKey, refs, released } from '../rows.ts'
import { twin } from '../verify/raw.ts'
import type { VerifyReport } from '../verify/report.ts'
import { DeltaCoding, deltaBases, deltaIn, deltaRow, deltas, readableDelta } from './delta-rows.ts'
import { Layout } from './layout.ts'

const A = textOf(1, 400)
const ONE = edited(A, 1)
const TWO = edited(A, 2, 'y')
const LONG = textOf(7, 6000)

async function open(options: StoreOptions = {}, engine = new MemoryEngine()) {
  const backend = new MemoryBackend({}, engine)
  const store = await openStore(new MemoryBackend({}, engine), { dedup: 'near', ...options })
  return { engine, backend, store }
}

const rowsIn = (engine: MemoryEngine, name: string) => engine.space(name).slice('', undefined, 1e6)
const bytesIn = (engine: MemoryEngine, name: string) =>
  rowsIn(engine, name).reduce((sum, [, value]) => sum + value.byteLength, 0)

/** Without the first byte of rows that are not compressed, which is not counted. */
const storedIn = (engine: MemoryEngine) =>
  bytesIn(engine, 'deltas') +
  rowsIn(engine, 'contents').reduce(
    (sum, [, row]) => sum + row.length - (row[0] === 0x10 ? 1 : 0),
    0,
  )

/** The first key of a space. */
async function keyIn(backend: MemoryBackend, space: Space<unknown>): Promise<Buffer> {
  for await (const { key } of backend.scan(space)) return key
  throw new Error(`${space.name} is empty`)
}

/** Without a row, it is removed. */
function change<T>(backend: MemoryBackend, space: Space<T>, key: Buffer, row?: T) {
  // oxlint-disable-next-line require-yield -- a body that reads nothing is one too
  return backend.run(function* (scope: Scope): Transaction<void> {
    if (row) scope.write(cell(space, key), row)
    else scope.remove(cell(space, key))
  })
}

async function digestOfContent(backend: MemoryBackend, id: Buffer): Promise<Buffer> {
  for await (const { key, value } of backend.scan(digests)) if (value.id.equals(id)) return key
  throw new Error('no digest names the content')
}

/** Numbers, and bytes, that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  const random = seededRandom(seed)
  return (below) => Math.floor(random() * below)
}

function noise(seed: number, bytes: number): Buffer {
  const below = numbers(seed)
  return Buffer.from(Array.from({ length: bytes }, () => below(256)))
}

describe('the coding', () => {
  const id = Buffer.alloc(16, 7)
  const same = (base: Buffer, value: Buffer) => {
    const delta = deltaIn(deltaRow({ id, value: base }, value))!
    expect(delta.base).toEqual(id)
    expect(readableDelta(delta, base)?.equals(value)).toBe(true)
  }

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('gives the very bytes back after random edits (%i)', (seed) => {
    const below = numbers(seed)
    for (let round = 0; round < 12; round++) {
      const base = Buffer.concat([
        Buffer.from(textOf(below(50) + 1, below(4000))),
        Buffer.from('Zürich 東京 🎉'.repeat(below(20))),
        noise(below(1e6), below(300)),
      ])
      const at = below(base.length + 1)
      const left = below(Math.min(9000, base.length - at + 1))
      const inserted = below(2)
        ? noise(below(1e6), below(9000))
        : Buffer.from('é🎉'.repeat(below(2000)))
      same(base, Buffer.concat([base.subarray(0, at), inserted, base.subarray(at + left)]))
    }
  })

  it('knows bytes that have nothing in common, are empty, or much longer or shorter', () => {
    const long = noise(1, 65_536)
    for (const [base, value] of [
      [Buffer.alloc(0), long],
      [long, Buffer.alloc(0)],
      [Buffer.from('a'), Buffer.from('a')],
      [long.subarray(0, 300), long],
      [long, long.subarray(40_000)],
      [noise(2, 50_000), long],
    ] as const)
      same(base, value)
  })

  it('takes about a tenth of a text that is nine tenths the same, wherever it differs', () => {
    for (const base of [A, LONG, textOf(3, 9000)].map((text) => Buffer.from(text))) {
      const other = Buffer.from(textOf(99, 1000)).subarray(0, base.length / 10)
      for (const at of [0, 0.3, 0.5, 0.9]) {
        const from = Math.floor(base.length * at)
        const rest = base.subarray(from + other.length)
        const value = Buffer.concat([base.subarray(0, from), other, rest])
        const { byteLength } = deltaRow({ id, value: base }, value)
        expect(byteLength).toBeLessThan(0.12 * value.length)
      }
    }
  })

  it('refuses every row in which a bit is changed, and never gives other bytes', () => {
    const base = Buffer.from(A)
    const row = deltaRow({ id, value: base }, Buffer.from(ONE))
    for (let at = 0; at < row.length; at++) {
      const bad = Buffer.from(row)
      bad[at] = bad[at]! ^ 4
      const delta = deltaIn(bad)
      const value = delta && readableDelta(delta, base)
      expect(value === undefined || value.equals(Buffer.from(ONE))).toBe(true)
    }
    expect(readableDelta(deltaIn(row)!, Buffer.from(TWO))).toBeUndefined()
    expect(deltaIn(row.subarray(0, 20))).toBeUndefined()
  })

  it('is not used where it saves less than half', () => {
    const value = Buffer.from(textOf(5, 400))
    expect(new DeltaCoding(value, () => value).against(id, Buffer.from(A))).toBeUndefined()
    const half = Buffer.from(`${A.slice(0, A.length * 0.8)}${textOf(9, 80)}`)
    const delta = new DeltaCoding(half, () => half).against(id, Buffer.from(A))!
    expect(delta.byteLength).toBeGreaterThan(half.length / 10)
    const small = () => Buffer.alloc(delta.byteLength + 100)
    expect(new DeltaCoding(half, small).against(id, Buffer.from(A))).toBeUndefined()
  })
})

describe('a store that keeps deltas', () => {
  it('keeps what is linked as a delta, one step deep, and says so', async () => {
    const { engine, store } = await open()
    await store.put('a', A)
    const { bytes, bytesSaved } = await store.put('b', ONE)
    expect(bytesSaved).toBeGreaterThan(0.85 * bytes)
    await store.put('c', TWO)
    expect(rowsIn(engine, 'contents')).toHaveLength(1)
    expect(rowsIn(engine, 'deltas')).toHaveLength(2)
    const bases = rowsIn(engine, 'deltas').map(([, row]) => deltaIn(row)!.base.toString('hex'))
    expect(new Set(bases).size).toBe(1)
    const { delta, points } = (await store.explain('b'))!
    expect(delta).toEqual({ of: bases[0], bytes: bytes - bytesSaved })
    expect(points.content).not.toBe(bases[0])
    for (const [key, text] of Object.entries({ a: A, b: ONE, c: TWO }))
      expect(await store.getText(key)).toBe(text)
    expect(await store.put('d', ONE)).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect((await store.stats()).storedBytes).toBe(storedIn(engine))
    expect((await store.verify()).problems).toEqual([])
  })

  it('does so for long texts, and for the same text in another form', async () => {
    const { engine, store } = await open({ canonical: 'unicode' })
    const [long, other] = [LONG.slice(0, 50_000), edited(LONG, 5).slice(0, 50_000)]
    await store.put('a', long)
    await store.put('b', other)
    await store.put('c', A)
    await store.put('d', `\uFEFF${A}\r\n`)
    expect(rowsIn(engine, 'deltas')).toHaveLength(2)
    expect(await store.getText('b')).toBe(other)
    expect(await store.getText('d')).toBe(`\uFEFF${A}\r\n`)
    expect((await store.verify()).problems).toEqual([])
  })

  it.each(['immediate', 'manual'] as const)(
    'writes deltas otherwise when their base goes (%s)',
    async (gc) => {
      const { engine, store } = await open({ gc })
      await store.put('a', A)
      await store.put('b', ONE)
      await store.put('c', TWO)
      await store.delete('a')
      if (gc === 'manual') await store.collect()
      // One of them stands for both now.
      expect(rowsIn(engine, 'contents')).toHaveLength(1)
      expect(rowsIn(engine, 'deltas')).toHaveLength(1)
      expect(rowsIn(engine, 'delta.held')).toEqual([])
      expect(await store.getText('b')).toBe(ONE)
      expect(await store.getText('c')).toBe(TWO)
      expect((await store.stats()).storedBytes).toBe(storedIn(engine))
      expect((await store.verify()).problems).toEqual([])
      await store.delete('b')
      await store.put('c', 'something else')
      if (gc === 'manual') await store.collect()
      for (const name of ['deltas', 'delta.bases', 'delta.held'])
        expect(rowsIn(engine, name), name).toEqual([])
      expect((await store.stats()).storedBytes).toBe(14)
    },
  )

  it('reports a damaged base for those that depend on it, and is healed by its bytes', async () => {
    const { engine, backend, store } = await open()
    await store.put('a', A)
    await store.put('b', ONE)
    const key = await keyIn(backend, contents)
    const bad = Buffer.from(rowsIn(engine, 'contents')[0]![1])
    bad[200] = bad[200]! ^ 1
    await change(backend, contents, key, bad)
    await expect(store.get('b')).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    const { problems } = await store.verify()
    const damaged = problems.filter(({ kind }) => kind === 'content-damaged')
    expect(damaged.flatMap(({ keys }) => keys.map(String)).toSorted()).toEqual(['a', 'b'])
    expect(await store.put('x', A)).toMatchObject({ content: 'duplicate', healed: true })
    expect(await store.getText('b')).toBe(ONE)
    expect((await store.verify()).problems).toEqual([])
  })

  it('heals a delta by a row of its own where its base is damaged', async () => {
    const { engine, backend, store } = await open()
    await store.put('a', A)
    await store.put('b', ONE)
    await change(backend, contents, await keyIn(backend, contents))
    expect(await store.put('x', ONE)).toMatchObject({ content: 'duplicate', healed: true })
    expect(await store.getText('b')).toBe(ONE)
    expect(rowsIn(engine, 'deltas')).toEqual([])
    expect(rowsIn(engine, 'delta.bases')).toEqual([])
  })

  it('counts what is stored right after a delta was healed', async () => {
    const { engine, backend, store } = await open()
    await store.put('a', LONG)
    await store.put('b', edited(LONG, 1))
    const bad = Buffer.from(rowsIn(engine, 'deltas')[0]![1])
    bad[bad.length - 5] = bad[bad.length - 5]! ^ 255
    await change(backend, deltas, await keyIn(backend, deltas), bad)
    expect(await store.put('x', edited(LONG, 1))).toMatchObject({
      content: 'duplicate',
      healed: true,
    })
    expect((await store.stats()).storedBytes).toBe(storedIn(engine))
    expect((await store.verify()).problems).toEqual([])
    await store.clear()
    expect((await store.stats()).storedBytes).toBe(0)
  })

  it('repairs the row by which a base is kept', async () => {
    const { backend, store } = await open()
    await store.put('a', A)
    await store.put('b', ONE)
    await change(backend, deltaBases, await keyIn(backend, deltaBases))
    const found = await store.verify({ repair: true })
    expect(found.problems.map(({ kind }) => kind)).toEqual(['delta-unlisted'])
    expect((await store.verify()).problems).toEqual([])
  })

  it('keeps a base that nothing names but its deltas, and frees it after them', async () => {
    const { engine, backend, store } = await open()
    await store.put('a', A)
    await store.put('b', ONE)
    const base = await keyIn(backend, contents)
    await change(backend, digests, await digestOfContent(backend, base))
    await change(backend, entries, Buffer.from('a'))
    await change(backend, refs, refKey(base, Buffer.from('a')))
    const found = await store.verify({ repair: true })
    expect(found.problems.map(({ kind }) => kind)).toContain('content-unknown')
    // It stays as a row that is held, or its delta was written otherwise by the same repair.
    expect(await store.getText('b')).toBe(ONE)
    await store.collect()
    expect(rowsIn(engine, 'delta.held')).toEqual([])
    expect(rowsIn(engine, 'deltas')).toEqual([])
    expect(rowsIn(engine, 'contents')).toHaveLength(1)
    expect(await store.getText('b')).toBe(ONE)
    // Its link goes, then what was linked to it is compared again.
    await store.verify({ repair: true })
    await store.verify({ repair: true })
    expect((await store.verify()).problems).toEqual([])
  })

  it('writes deltas otherwise in slices, and goes on where it was stopped', async () => {
    const { engine, backend, store } = await open({ gc: 'manual' })
    const texts = Array.from({ length: 6 }, (_, at) => edited(A, at + 1, `v${at}`))
    await store.put('a', A)
    for (const [at, text] of texts.entries()) await store.put(`k${at}`, text)
    await store.delete('a')
    const layout = new Layout({ chunks: store.settings.chunks, deltas: true }, 'fast')
    const keeping = { layout, near: undefined, semantic: undefined }
    await collectContent(backend, await keyIn(backend, released), keeping)
    expect(rowsIn(engine, 'delta.held')).toHaveLength(1)
    expect(await hasNotes(backend, keeping)).toBe(true)
    for (const left of [5, 4]) {
      const slices = adoptingSlices(backend, keeping)
      await slices.next()
      await slices.return(undefined)
      expect(rowsIn(engine, 'deltas')).toHaveLength(left)
    }
    let slices = 0
    for await (const _slice of adoptingSlices(backend, keeping)) slices++
    expect(slices).toBe(5) // those that are left, and their base
    for (const name of ['deltas', 'delta.bases', 'delta.held'])
      expect(rowsIn(engine, name), name).toEqual([])
    for (const [at, text] of texts.entries()) expect(await store.getText(`k${at}`)).toBe(text)
    expect(await hasNotes(backend, keeping)).toBe(false)
  })

  it('writes deltas otherwise although the link of one cannot be read', async () => {
    const { engine, backend, store } = await open({ gc: 'manual' })
    const texts = { b: ONE, c: TWO }
    await store.put('a', A)
    for (const [key, text] of Object.entries(texts)) await store.put(key, text)
    await change(
      backend,
      twin(nearLinks.links),
      await keyIn(backend, deltas),
      Buffer.from('nonsense'),
    )
    await store.delete('a')
    await expect(store.collect()).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    expect(rowsIn(engine, 'deltas')).toEqual([])
    for (const [key, text] of Object.entries(texts)) expect(await store.getText(key)).toBe(text)
    await store.verify({ repair: true })
    await store.collect()
    expect(rowsIn(engine, 'delta.held')).toEqual([])
    expect((await store.verify()).problems).toEqual([])
    for (const [key, text] of Object.entries(texts)) expect(await store.getText(key)).toBe(text)
  })

  it.each(['immediate', 'manual'] as const)(
    'keeps a base whose row for its delta is lost when it goes (%s)',
    async (gc) => {
      const { engine, backend, store } = await open({ gc })
      await store.put('a', A)
      await store.put('b', ONE)
      await store.put('c', TWO)
      await change(backend, deltaBases, await keyIn(backend, deltaBases))
      await change(backend, deltaBases, await keyIn(backend, deltaBases))
      await store.delete('a')
      await store.collect()
      expect(await store.getText('b')).toBe(ONE)
      expect(await store.getText('c')).toBe(TWO)
      expect(rowsIn(engine, 'delta.held')).toEqual([])
      expect(rowsIn(engine, 'contents')).toHaveLength(1)
      expect((await store.verify()).problems).toEqual([])
    },
  )

  it.each(['damaged', 'missing'] as const)(
    'says which values are lost with a base that is %s; repaired and put again, all are there',
    async (how) => {
      const { engine, backend, store } = await open()
      const texts = { a: A, b: ONE, c: TWO }
      for (const [key, text] of Object.entries(texts)) await store.put(key, text)
      const bad = Buffer.from(rowsIn(engine, 'contents')[0]![1])
      bad[200] = bad[200]! ^ 1
      await change(
        backend,
        contents,
        await keyIn(backend, contents),
        how === 'damaged' ? bad : undefined,
      )
      const lost = async (report: Promise<VerifyReport>) =>
        (await report).problems
          .filter(({ kind }) => /^content-(damaged|missing)$/.test(kind))
          .flatMap(({ kind, keys }) => keys.map((key) => `${key} ${kind}`))
          .toSorted()
      const expected = [`a content-${how}`, 'b content-damaged', 'c content-damaged']
      expect(await lost(store.verify())).toEqual(expected)
      expect(await lost(store.verify({ repair: true }))).toEqual(expected)
      for (const key of Object.keys(texts))
        await expect(store.get(key)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
      for (const [key, text] of Object.entries(texts)) await store.put(key, text)
      for (const [key, text] of Object.entries(texts)) expect(await store.getText(key)).toBe(text)
      await store.verify({ repair: true })
      await store.collect()
      expect((await store.verify()).problems).toEqual([])
      expect(rowsIn(engine, 'delta.held')).toEqual([])
      expect((await store.stats()).storedBytes).toBe(storedIn(engine))
    },
  )

  it('reports a delta that cannot be read', async () => {
    const { backend, store } = await open()
    await store.put('a', A)
    await store.put('b', ONE)
    await change(backend, deltas, await keyIn(backend, deltas), Buffer.from('nonsense'))
    await expect(store.get('b')).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    const { problems } = await store.verify()
    expect(problems.map(({ kind }) => kind)).toContain('content-damaged')
    expect(await store.put('x', ONE)).toMatchObject({ healed: true })
    expect(await store.getText('b')).toBe(ONE)
  })

  it('remembers whether it does, and is refused where nothing is linked', async () => {
    const engine = new MemoryEngine()
    const { store } = await open({ deltas: false }, engine)
    await store.put('a', A)
    expect(await store.put('b', ONE)).toMatchObject({ content: 'linked', bytesSaved: 0 })
    await expect(open({ deltas: true }, engine)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
    })
    await (await open({}, engine)).store.put('c', TWO)
    expect(rowsIn(engine, 'deltas')).toEqual([])
    const exact = { dedup: 'exact', deltas: true } as const
    await expect(open(exact)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    const shared = { fidelity: 'representative', deltas: true } as const
    await expect(open(shared)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('works on an engine that interleaves transactions', async () => {
    const world = new SimulatedWorld(11)
    const stores = [
      await openStore(world.open('one'), { dedup: 'near' }),
      await openStore(world.open('two'), { dedup: 'near' }),
    ] as const
    await stores[0].put('a', A)
    for (let round = 0; round < 3; round++) {
      const texts = Array.from({ length: 6 }, (_, at) => edited(A, 1 + at, `r${round}`))
      await Promise.all([
        ...texts.map((text, at) => stores[at % 2]!.put(`k${at}`, text)),
        stores[1].put('a', edited(A, 3, `q${round}`)),
        stores[0].delete('k0'),
      ])
      await stores[1].collect()
      for (let at = 1; at < 6; at++) expect(await stores[1].getText(`k${at}`)).toBe(texts[at])
      expect((await stores[0].verify()).problems).toEqual([])
    }
  })
})
