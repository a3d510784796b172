/** Containment in a near store: what contains what, where, and what becomes of the rows. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import { textOf } from '../../../test/texts/near-texts.ts'
import { cell, type Scope } from '../../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { openStore, type Store, type StoreOptions } from '../../index.ts'
import { containmentRows } from '../verify/near-index.ts'

const OPTIONS: StoreOptions = { dedup: 'near', near: { containment: { min: 0.7 } } }
const QUOTED =
  'Ünïcödé: “we met – at last – at the Café Zürich, near the old harbour, and talked all night long about 東京都港区六本木一丁目九番十号 🎉”'
const REPLY = `On Monday she wrote:\n> ${QUOTED}\nand I replied. ${textOf(5, 80)}`

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function open(engine = new MemoryEngine(), options = OPTIONS): Promise<Store> {
  const store = await openStore(new MemoryBackend({}, engine), options)
  opened.push(() => store.close())
  return store
}

const cut = (text: string, spans: readonly { start: number; end: number }[] = []) =>
  spans.map(({ start, end }) => Buffer.from(text).subarray(start, end).toString())

describe('a near store that looks for containment', () => {
  it('finds what contains a text and what a text contains, with spans of both originals', async () => {
    const store = await open()
    await store.put('reply', REPLY)
    await store.put('other', textOf(6, 200))
    const [container, ...more] = await store.similar(QUOTED.toUpperCase(), { containment: true })
    expect(more).toEqual([])
    expect(container).toMatchObject({ similarity: 1, containment: { share: 1 } })
    expect(container?.firstKey.toString()).toBe('reply')
    expect(container?.containment?.shareOfOther).toBeLessThan(0.5)
    expect(cut(REPLY, container?.containment?.spansOfOther)).toEqual([QUOTED.slice(0, -1)])
    await store.delete('reply')
    await store.put('quoted', QUOTED)
    const [contained] = await store.similar(REPLY, { containment: true })
    expect(contained?.containment).toMatchObject({ shareOfOther: 1 })
    expect(cut(REPLY, contained?.containment?.spans)).toEqual([QUOTED.slice(0, -1)])
    expect(await store.similar(QUOTED, { threshold: 0.9 })).toHaveLength(1)
    expect(await store.similar(REPLY)).toEqual([])
  })

  it('explains a key with what contains it, without itself', async () => {
    const store = await open()
    await store.put('quoted', QUOTED)
    await store.put('reply', REPLY)
    const explained = await store.explain('quoted')
    expect(explained).toMatchObject({
      content: 'new',
      containment: [{ containment: { share: 1 } }],
    })
    expect(explained?.containment?.[0]?.firstKey.toString()).toBe('reply')
    await store.delete('reply')
    expect((await store.explain('quoted'))?.containment).toEqual([])
  })

  it('records that it does, and refuses the question in a store that does not', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-containment-'))
    opened.push(() => rm(directory, { recursive: true }))
    const store = await openStore(directory, { ...OPTIONS, durability: 'os' })
    await store.put('quoted', QUOTED)
    await store.close()
    const again = await openStore(directory, { durability: 'os' })
    expect(await again.similar(REPLY, { containment: true })).toHaveLength(1)
    expect((await again.stats()).keys).toBe(1)
    await again.close()
    const other = { dedup: 'near', near: { containment: { min: 0.5 } } } as const
    await expect(openStore(directory, other)).rejects.toThrow('near.containment.min is 0.7 there')
    const plain = await open(new MemoryEngine(), { dedup: 'near' })
    await expect(plain.similar(QUOTED, { containment: true })).rejects.toThrow(
      'Open a new one with near: { containment: {} }',
    )
    const exact = await open(new MemoryEngine(), {})
    await expect(exact.similar(QUOTED, { containment: true })).rejects.toThrow("dedup: 'near'")
  })

  it('is refused on an engine that others share over a network, before anything is kept', async () => {
    const world = new SimulatedWorld(5)
    await expect(openStore(world.open('one'), OPTIONS)).rejects.toThrow(
      'containment needs an embedded engine',
    )
    const store = await openStore(world.open('two'), { dedup: 'near' })
    expect((await store.stats()).keys).toBe(0)
  })

  it('forgets a text with its content, and takes rows of the journal away at a collection', async () => {
    const engine = new MemoryEngine()
    const store = await open(engine)
    await store.put('quoted', QUOTED)
    await store.put('quoted', textOf(9, 100))
    expect(await store.similar(REPLY, { containment: true })).toEqual([])
    expect((await store.verify()).problems).toEqual([])
    await store.collect()
    expect((await store.verify()).problems).toEqual([])
  })

  it('sees what another process has put', async () => {
    const engine = new MemoryEngine()
    const [one, two] = [await open(engine), await open(engine)]
    await one.put('quoted', QUOTED)
    expect(await two.similar(REPLY, { containment: true })).toHaveLength(1)
    await two.delete('quoted')
    expect(await one.similar(REPLY, { containment: true })).toEqual([])
  })

  it.each([
    ['a row of the journal', 'journal'],
    ['a representative', 'representatives'],
  ] as const)('verifies %s that is gone, and repairs it', async (_, name) => {
    const engine = new MemoryEngine()
    const store = await open(engine)
    await store.put('quoted', QUOTED)
    const backend = new MemoryBackend({}, engine)
    for await (const { key } of backend.scan(containmentRows[name])) {
      await backend.run(function* (scope: Scope) {
        scope.remove(cell(containmentRows[name], key))
      })
    }
    const kinds = (await store.verify()).problems.map(({ kind }) => kind)
    expect(kinds).toContain('index-wrong')
    await store.verify({ repair: true })
    expect((await store.verify()).problems).toEqual([])
    expect(await (await open(engine)).similar(REPLY, { containment: true })).toHaveLength(1)
  })

  it.each(['', 'a', '漢', 'only a few words'])(
    'keeps %j, which nothing is found by',
    async (text) => {
      const store = await open()
      await store.put('short', text)
      expect(await store.similar(text, { containment: true })).toEqual([])
      expect((await store.verify()).problems).toEqual([])
    },
  )
})
