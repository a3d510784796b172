/** A precision in place of a threshold: a judge decides in store, resolver and job, and is recorded with them. */

import { afterEach, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { defaultJudge } from '../src/compare/index.ts'
import { openDedupe, openResolver, openStore } from '../src/index.ts'

const closes: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close()
})

const TEXT =
  'The committee approved the new budget for the coming year after a long discussion in the town hall on the main square of the old city, and the mayor thanked everybody who had taken part in it.'
/** Below a similarity of 0.8, and the same to any reader. */
const REWRITTEN = TEXT.replace('after a long discussion', 'following a lengthy discussion').replace(
  'and the mayor thanked everybody',
  'and then the mayor thanked everyone',
)
const OTHER =
  'A recipe for bread: flour, water, salt and yeast, mixed by hand and baked in a hot oven.'

describe('a precision', () => {
  it('finds in a store what the threshold alone would not, and says how sure it is', async () => {
    const plain = await openStore('memory:', { dedup: 'near' })
    closes.push(() => plain.close())
    await plain.put('a', TEXT)
    expect(await plain.put('b', REWRITTEN)).toMatchObject({ content: 'new' })
    const store = await openStore('memory:', { dedup: 'near', near: { precision: 0.9 } })
    closes.push(() => store.close())
    await store.put('a', TEXT)
    const receipt = await store.put('b', REWRITTEN)
    expect(receipt).toMatchObject({ content: 'linked', method: 'near' })
    expect(receipt.method === 'near' && receipt.probability).toBeGreaterThan(0.5)
    expect(await store.put('c', OTHER)).toMatchObject({ content: 'new' })
    expect((await store.verify()).problems).toEqual([])
  })

  it('decides in resolver and job, with guards first', async () => {
    const resolver = await openResolver('memory:', { precision: 0.9 })
    closes.push(() => resolver.close())
    const { id } = await resolver.resolve('g', TEXT)
    expect(await resolver.resolve('g', REWRITTEN)).toMatchObject({ id, status: 'match' })
    const denied = TEXT.replace('approved', 'has not approved')
    const { status, refused } = await resolver.resolve('g', denied)
    expect([status, refused?.vetoes.map(({ guard }) => guard)]).toEqual([
      'new',
      expect.arrayContaining(['negation']),
    ])
    const deduper = await openDedupe('memory:', { near: { precision: 0.9 } })
    closes.push(() => deduper.close())
    await deduper.decide({ id: 'a', text: TEXT })
    expect(await deduper.decide({ id: 'b', text: REWRITTEN })).toMatchObject({ action: 'drop' })
    expect(await deduper.decide({ id: 'c', text: OTHER })).toMatchObject({ action: 'keep' })
  })

  it('is recorded with its judge: another one is refused by name, and nobody has to say it again', async () => {
    const engine = new MemoryEngine()
    const open = (options: object) => openStore(new MemoryBackend({}, engine), options)
    const first = await open({ dedup: 'near', near: { precision: 0.9 } })
    await first.put('a', TEXT)
    expect(first.settings.near?.judge?.model.hash).toBe(defaultJudge().hash)
    const again = await open({})
    expect(await again.put('b', REWRITTEN)).toMatchObject({ content: 'linked' })
    await expect(open({ near: { precision: 0.8 } })).rejects.toThrow(
      /near\.precision is 0\.9 there/,
    )
    const states = new MemoryEngine()
    const openState = (near: object) => openDedupe(new MemoryBackend({}, states), { near })
    await (await openState({ precision: 0.9 })).decide({ id: 'a', text: TEXT })
    await openState({})
    await expect(openState({ precision: 0.8 })).rejects.toThrow(/near\.precision is 0\.9 there/)
  })

  it('is refused where it cannot be kept', async () => {
    const open = (near: object) => openStore('memory:', { dedup: 'near', near })
    await expect(open({ precision: 0.999 })).rejects.toThrow(/0\.999/)
    await expect(open({ judge: defaultJudge() })).rejects.toThrow(/precision/)
    const meaning = { precision: 0.9, judge: defaultJudge({ cosine: true }) }
    await expect(open(meaning)).rejects.toThrow(/meaning/)
    const resolver = openResolver('memory:', { precision: 0.9, evidence: 'hashes' })
    await expect(resolver).rejects.toThrow(/evidence/)
  })
})
