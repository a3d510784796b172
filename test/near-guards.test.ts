/** What is similar but not the same: kept apart, linked with the reason, never dropped, shared or merged. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { compareTexts, openDedupe, openResolver, openStore } from '../src/index.ts'

const closes: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close()
})

const TEN = 'Take 10 mg of the medicine every morning before breakfast, with a glass of water.'
const FIFTY = TEN.replace('10 mg', '50 mg')
const TEN_AGAIN = TEN.replace('every', 'evry')
const FIFTY_AGAIN = FIFTY.replace('water.', 'water')

const NUMBERS = expect.arrayContaining([{ guard: 'numbers', a: ['50'], b: ['10'] }])

const ENGINES = ['memory', 'lmdb', 'simulated'] as const

async function locationOf(engine: (typeof ENGINES)[number]) {
  if (engine === 'memory') return new MemoryBackend({}, new MemoryEngine())
  if (engine === 'simulated') return new SimulatedWorld(1).open('one')
  const path = await mkdtemp(join(tmpdir(), 'prestige-guards-'))
  closes.push(() => rm(path, { recursive: true }))
  return path
}

describe.each(ENGINES)('another amount on %s', (engine) => {
  it('is another content of a store, and the receipt says what it is not the same as', async () => {
    const store = await openStore(await locationOf(engine), { dedup: 'near' })
    closes.push(() => store.close())
    await store.put('ten', TEN)
    const receipt = await store.put('fifty', FIFTY)
    expect(receipt).toMatchObject({ content: 'new' })
    expect(receipt.refused?.vetoes).toContainEqual({ guard: 'numbers', a: ['50'], b: ['10'] })
    expect(String(receipt.refused?.of.firstKey)).toBe('ten')
    expect(receipt.refused?.similarity).toBeGreaterThan(0.8)
    expect((await store.explain('fifty'))?.refused).toEqual(receipt.refused)
    // Whatever is most similar: what is the same is found.
    expect(String((await store.put('again', FIFTY_AGAIN)).of?.firstKey)).toBe('fifty')
    expect(String((await store.put('typo', TEN_AGAIN)).of?.firstKey)).toBe('ten')
    const similar = await store.similar(FIFTY_AGAIN, { limit: 2, vetoed: true })
    expect(similar.map(({ firstKey, vetoes }) => [String(firstKey), vetoes?.length])).toEqual([
      ['fifty', 0],
      ['ten', 2],
    ])
    expect(await store.similar(FIFTY_AGAIN, { limit: 2 })).toEqual(similar.slice(0, 1))
    expect((await store.verify()).problems).toEqual([])
  })

  it('is never served in place of a value', async () => {
    const options = { dedup: 'near', fidelity: 'representative' } as const
    const store = await openStore(await locationOf(engine), options)
    closes.push(() => store.close())
    await store.put('ten', TEN)
    await store.put('fifty', FIFTY)
    await store.put('typo', TEN_AGAIN)
    expect(await store.getText('fifty')).toBe(FIFTY)
    expect(await store.getText('typo')).toBe(TEN)
  })

  it('has another id, and the resolution says why', async () => {
    const resolver = await openResolver(await locationOf(engine))
    closes.push(() => resolver.close())
    const ten = await resolver.resolve('g', TEN)
    const fifty = await resolver.resolve('g', FIFTY)
    expect(fifty).toMatchObject({ status: 'new', refused: { id: ten.id } })
    expect(fifty.refused?.vetoes).toContainEqual({ guard: 'numbers', a: ['50'], b: ['10'] })
    expect(await resolver.resolve('g', TEN_AGAIN)).toMatchObject({ id: ten.id, status: 'match' })
    expect(await resolver.resolve('g', FIFTY_AGAIN)).toMatchObject({ id: fifty.id })
    expect(await resolver.explain('g', TEN, FIFTY)).toMatchObject({
      isDuplicate: false,
      vetoes: expect.arrayContaining([{ guard: 'numbers', a: ['10'], b: ['50'] }]),
    })
  })

  it('is linked by the job, with the reason, and its copies are dropped as its own', async () => {
    const deduper = await openDedupe(await locationOf(engine))
    closes.push(() => deduper.close())
    const texts = { ten: TEN, fifty: FIFTY, typo: TEN_AGAIN, again: FIFTY_AGAIN }
    const decisions = []
    for (const [id, text] of Object.entries(texts))
      decisions.push(await deduper.decide({ id, text }))
    expect(decisions.map(({ action, of }) => [action, of?.id])).toEqual([
      ['keep', undefined],
      ['link', 'ten'],
      ['drop', 'ten'],
      ['drop', 'fifty'],
    ])
    expect(decisions[1]).toMatchObject({
      method: 'near',
      vetoes: NUMBERS,
    })
    // Given again, it says the same again.
    expect(await deduper.decide({ id: 'fifty', text: FIFTY })).toMatchObject({
      action: 'link',
      of: { id: 'ten' },
      vetoes: NUMBERS,
    })
  })
})

describe('guards', () => {
  it('are settings: off, they keep nothing apart, and nothing else is asked of what is there', async () => {
    const engine = new MemoryEngine()
    const open = (options: object) => openStore(new MemoryBackend({}, engine), options)
    const store = await open({ dedup: 'near', near: { guards: false } })
    await store.put('ten', TEN)
    expect(await store.put('fifty', FIFTY)).toMatchObject({ content: 'linked' })
    expect(store.settings.near?.guards).toBe(false)
    await expect(open({ near: { guards: { numbers: true } } })).rejects.toThrow(/near\.guards/)
    const again = await open({})
    expect(await again.put('more', FIFTY.replace('50', '60'))).toMatchObject({ content: 'linked' })
  })

  it('can be asked one by one', async () => {
    const resolver = await openResolver('memory:', { guards: { numbers: false, units: false } })
    closes.push(() => resolver.close())
    const { id } = await resolver.resolve('g', TEN)
    expect(await resolver.resolve('g', FIFTY)).toMatchObject({ id })
    const denied = TEN.replace('Take', 'Do not take')
    expect(await resolver.resolve('g', denied)).toMatchObject({ status: 'new' })
  })

  it('need texts: other evidence is refused by name', async () => {
    const options = { evidence: 'hashes', guards: { numbers: true } } as const
    await expect(openResolver('memory:', options)).rejects.toThrow(/guards.*evidence/)
    const near = { near: { evidence: 'sketch', guards: {} } } as const
    await expect(openDedupe('memory:', near)).rejects.toThrow(/guards.*evidence/)
  })

  it('speak of two texts in a comparison', () => {
    expect(compareTexts(TEN, FIFTY)).toMatchObject({ isDuplicate: false })
    expect(compareTexts(TEN, FIFTY, { guards: false })).toMatchObject({ isDuplicate: true })
    expect(compareTexts(TEN, TEN.toUpperCase())).toMatchObject({ isDuplicate: true, vetoes: [] })
  })

  it('are listed in the records of a run', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-guards-'))
    closes.push(() => rm(directory, { recursive: true }))
    const [input, out] = [join(directory, 'in.jsonl'), join(directory, 'out')]
    const lines = [TEN, FIFTY, TEN_AGAIN].map((text, at) => JSON.stringify({ id: `d${at}`, text }))
    await writeFile(input, lines.join('\n'))
    const deduper = await openDedupe(join(out, 'state'))
    closes.push(() => deduper.close())
    const { summary } = await deduper.run({ inputs: [input], out })
    expect(summary).toMatchObject({ kept: 1, linked: 1, dropped: 1 })
    const records = (await readFile(join(out, 'duplicates.jsonl'), 'utf8')).trim().split('\n')
    expect(records.map((line) => JSON.parse(line))).toMatchObject([
      { id: 'd1', action: 'link', of: { id: 'd0' }, vetoes: NUMBERS },
      { id: 'd2', action: 'drop', of: { id: 'd0' } },
    ])
  })
})
