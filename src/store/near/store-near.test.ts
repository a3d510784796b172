/** Near mode of the store: what is linked, to what, how it is reported, and what happens to it. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import { edited, exactSimilarity, lettersOf, textOf } from '../../../test/texts/near-texts.ts'
import { cell, type Range, type Row, type Scope, type Space } from '../../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { sketchOf } from '../../fingerprint/index.ts'
import { openStore, type Store, type StoreOptions } from '../../index.ts'
import { nearLinks } from './rows.ts'

const NEAR: StoreOptions = { dedup: 'near' }
const A = textOf(1)
const A_ONE = edited(A, 1)
const A_TWO = edited(A, 2, 'y')
const OTHER = textOf(2)
/** Whatever shares one slot of 64 is a candidate. */
const ALL = { profile: 'words-3', slots: 64, bands: 64, rows: 1 } as const

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function open(input: StoreOptions = NEAR, engine = new MemoryEngine(), clock?: () => number) {
  const store = await openStore(new MemoryBackend({ ...(clock && { clock }) }, engine), input)
  opened.push(() => store.close())
  return store
}

async function openOnDisk(input: StoreOptions = NEAR, directory?: string) {
  const path = directory ?? (await mkdtemp(join(tmpdir(), 'prestige-near-')))
  if (!directory) opened.push(() => rm(path, { recursive: true }))
  const store = await openStore(path, { ...input, durability: 'os' })
  opened.push(() => store.close())
  return { store, path }
}

const openSimulated = async (input: StoreOptions = NEAR) => {
  const world = new SimulatedWorld(5)
  return { world, store: await openStore(world.open('one'), { gc: 'immediate', ...input }) }
}

async function expectSound(store: Store): Promise<void> {
  expect((await store.verify()).problems).toEqual([])
}

describe.each(['memory', 'lmdb', 'simulated'] as const)('a near store on %s', (engine) => {
  const openHere = async (input: StoreOptions = NEAR) => {
    if (engine === 'memory') return open(input)
    return (engine === 'lmdb' ? await openOnDisk(input) : await openSimulated(input)).store
  }

  it('looks for the very bytes first, then for what is like them, and keeps own bytes', async () => {
    const store = await openHere()
    expect(await store.put('a', A)).toMatchObject({ key: 'created', content: 'new' })
    const similarity = exactSimilarity(A, A_ONE)
    const linked = await store.put('b', A_ONE)
    expect(linked).toMatchObject({
      content: 'linked',
      method: 'near',
      similarity,
      threshold: 0.8,
    })
    expect(linked.bytesSaved).toBeGreaterThan(0.8 * linked.bytes)
    expect(String(linked.of?.firstKey)).toBe('a')
    expect(similarity).toBeGreaterThan(0.85)
    expect(await store.put('c', A_ONE)).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(await store.put('d', OTHER)).toMatchObject({ content: 'new' })
    expect(await store.getText('a')).toBe(A)
    expect(await store.getText('b')).toBe(A_ONE)
    expect(await store.getText('c')).toBe(A_ONE)
    expect(await store.stats()).toMatchObject({
      contents: 3,
      near: { links: 1, possibleMisses: 0 },
    })
    await expectSound(store)
  })

  it('explains what the receipt said', async () => {
    const store = await openHere()
    await store.put('a', A)
    const receipt = await store.put('b', A_ONE)
    const { of, method, similarity, threshold } = receipt
    expect(await store.explain('b')).toMatchObject({
      content: 'linked',
      of,
      method,
      similarity,
      threshold,
    })
    await store.put('c', A_ONE)
    expect(await store.explain('c')).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(await store.explain('a')).toMatchObject({ content: 'new' })
    expect(await store.explain('a')).not.toHaveProperty('similarity')
  })

  it('re-evaluates what was linked when a representative goes', async () => {
    const store = await openHere()
    await store.put('a', A)
    await store.put('b', A_ONE)
    await store.put('c', edited(A_ONE, 1, 'z'))
    expect(await store.stats()).toMatchObject({ near: { links: 2 } })
    expect(await store.delete('a')).toBe(true)
    expect(await store.stats()).toMatchObject({ contents: 2, near: { links: 1 } })
    expect(await store.explain('b')).toMatchObject({ content: 'new' })
    const { of, similarity } = (await store.explain('c')) ?? {}
    expect(String(of?.firstKey)).toBe('b')
    expect(similarity).toBe(exactSimilarity(A_ONE, edited(A_ONE, 1, 'z')))
    expect(String((await store.put('d', A)).of?.firstKey)).toBe('b')
    expect(await store.getText('b')).toBe(A_ONE)
    await expectSound(store)
  })

  it('follows a key that is overwritten by something near', async () => {
    const store = await openHere()
    await store.put('a', A)
    expect(await store.put('a', A_ONE)).toMatchObject({ key: 'replaced', content: 'linked' })
    expect(await store.stats()).toMatchObject({ contents: 1, near: { links: 0 } })
    expect(await store.put('b', A)).toMatchObject({ content: 'linked' })
    await expectSound(store)
  })

  it('lists what is like a value, the most similar first, and keeps nothing', async () => {
    const store = await openHere({ ...NEAR, near: { threshold: 0.9, ...ALL } })
    const texts = [A, edited(A, 8), edited(A, 12, 'y'), OTHER]
    for (const [at, text] of texts.entries()) {
      expect((await store.put(`k${at}`, text)).content).toBe('new')
    }
    const found = await store.similar(A, { threshold: 0.5 })
    expect(found.map(({ firstKey }) => String(firstKey))).toEqual(['k0', 'k1', 'k2'])
    expect(found.map(({ similarity }) => similarity)).toEqual(
      texts.slice(0, 3).map((text) => exactSimilarity(A, text, 'words-3')),
    )
    expect(found.map(({ bytes }) => bytes)).toEqual(
      texts.slice(0, 3).map((t) => Buffer.byteLength(t)),
    )
    expect(await store.similar(A, { threshold: 0.5, limit: 2 })).toEqual(found.slice(0, 2))
    expect(await store.similar(A)).toEqual(found.slice(0, 1))
    expect(await store.similar(textOf(3))).toEqual([])
    expect(await store.stats()).toMatchObject({ keys: 4, contents: 4 })
  })

  it('shares the bytes of a representative where that was asked for', async () => {
    const store = await openHere({ ...NEAR, fidelity: 'representative' })
    await store.put('a', A)
    const receipt = await store.put('b', A_ONE)
    const similarity = exactSimilarity(A, A_ONE)
    expect(receipt).toMatchObject({ content: 'duplicate', method: 'near', similarity })
    expect(receipt.bytesSaved).toBe(Buffer.byteLength(A_ONE))
    expect(await store.getText('b')).toBe(A)
    expect(await store.explain('b')).toMatchObject({
      content: 'duplicate',
      method: 'near',
      similarity,
      threshold: 0.8,
    })
    expect(await store.put('c', A)).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(await store.explain('c')).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(await store.stats()).toMatchObject({ contents: 1, near: { links: 0 } })
    await expectSound(store)
    await store.delete('a')
    await store.delete('c')
    expect(await store.getText('b')).toBe(A)
    await store.delete('b')
    expect(await store.stats()).toMatchObject({ contents: 0 })
    expect(await store.put('d', A_ONE)).toMatchObject({ content: 'new' })
    await expectSound(store)
  })

  it('leaves everything to collect with manual collection', async () => {
    const store = await openHere({ ...NEAR, gc: 'manual' })
    await store.put('a', A)
    await store.put('b', A_ONE)
    await store.delete('a')
    expect(await store.put('c', A_TWO)).toMatchObject({ content: 'linked' })
    expect(await store.stats()).toMatchObject({ contents: 3, near: { links: 2 } })
    expect((await store.collect()).contents).toBe(1)
    expect(await store.stats()).toMatchObject({ contents: 2 })
    await expectSound(store)
    expect((await store.put('d', A)).of?.content).toBeDefined()
  })
})

describe('canonical forms and near duplicates together', () => {
  it('tell the same in canonical form from what is merely near', async () => {
    const store = await open({ ...NEAR, canonical: 'unicode' })
    await store.put('a', A)
    expect(await store.put('b', A.toUpperCase())).toMatchObject({
      content: 'linked',
      method: 'canonical',
    })
    const near = await store.put('c', A_ONE.toUpperCase())
    expect(near).toMatchObject({ content: 'linked', method: 'near' })
    expect(String(near.of?.firstKey)).toBe('a')
    expect(await store.explain('b')).toMatchObject({ method: 'canonical' })
    expect(await store.explain('c')).toMatchObject({ method: 'near' })
    await store.delete('a')
    expect(await store.getText('b')).toBe(A.toUpperCase())
    expect(await store.stats()).toMatchObject({ contents: 2, near: { links: 1 } })
    await expectSound(store)
  })

  it('compare in a form that reads the same, where the store has none of its own', async () => {
    const store = await open()
    await store.put('a', A)
    expect(await store.put('b', `  ${A.toUpperCase()}\n`)).toMatchObject({
      content: 'linked',
      method: 'near',
      similarity: 1,
    })
    expect(store.settings.near?.canonical.name).toBe('unicode')
  })

  it('compare by a function of the caller, and without it only take away', async () => {
    const firstLine = (bytes: Uint8Array) => Buffer.from(String(Buffer.from(bytes)).split('\n')[0]!)
    const canonical = { version: 'first-line-1', canonicalise: firstLine }
    const engine = new MemoryEngine()
    const store = await open({ ...NEAR, canonical }, engine)
    await store.put('a', `${A}\none`)
    expect(await store.put('b', `${A_ONE}\ntwo`)).toMatchObject({ method: 'near' })
    expect(await store.put('c', `${OTHER}\none`)).toMatchObject({ content: 'new' })
    const blind = await open({}, engine)
    await expect(blind.put('d', A)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    await expect(blind.similar(A)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    expect(await blind.delete('a')).toBe(true)
    expect(await blind.getText('b')).toBe(`${A_ONE}\ntwo`)
    const { problems, notes } = await blind.verify()
    expect(problems).toEqual([])
    expect(notes.join()).toContain('function was not given')
    await store.collect()
    expect(await store.explain('b')).toMatchObject({ content: 'new' })
    await expectSound(store)
  })
})

describe('what is compared', () => {
  it('is text: other values are kept, and the receipt says that they were not compared', async () => {
    const store = await open()
    const binary = Buffer.from(Array.from({ length: 600 }, (_, at) => at % 256))
    expect(await store.put('a', binary)).toMatchObject({ content: 'new', notCompared: 'not-text' })
    const other = Buffer.from(binary)
    other[0] = 1
    expect(await store.put('b', other)).toMatchObject({ content: 'new', notCompared: 'not-text' })
    expect(await store.put('c', binary)).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(await store.get('b')).toEqual(other)
    await expect(store.similar(binary)).rejects.toMatchObject({ code: 'UNREADABLE_VALUE' })
    await store.delete('a')
    await store.delete('b')
    await expectSound(store)
  })

  it('is not longer than 64 MiB', async () => {
    const store = await open()
    const huge = Buffer.alloc(64 * 1024 * 1024 + 1, 'one word after another ')
    expect(await store.put('a', huge)).toMatchObject({ content: 'new', notCompared: 'too-large' })
    await expect(store.similar(huge)).rejects.toMatchObject({ code: 'UNREADABLE_VALUE' })
    expect(await store.stats()).toMatchObject({ contents: 1, near: { links: 0 } })
    await expectSound(store)
  })

  it('may be in parts, as what is linked to and as what is linked', async () => {
    const { store } = await openOnDisk()
    const large = Array.from({ length: 70_000 }, (_, at) => textOf(at + 10, 8)).join(' ')
    expect(Buffer.byteLength(large)).toBeGreaterThan(4 * 1024 * 1024)
    const [first, second] = [`${large} one`, `two ${large}`]
    expect(await store.put('a', first)).toMatchObject({ content: 'new' })
    const receipt = await store.put('b', second)
    expect(receipt).toMatchObject({ content: 'linked', method: 'near' })
    expect(receipt.similarity).toBeGreaterThan(0.999)
    expect(await store.getText('b')).toBe(second)
    await store.delete('a')
    expect(await store.explain('b')).toMatchObject({ content: 'new' })
    expect(await store.put('c', first)).toMatchObject({ content: 'linked' })
    expect(await store.getText('c')).toBe(first)
    await expectSound(store)
  })

  const LANGUAGES = {
    Hindi: 'नमस्ते दुनिया, यह एक लंबा पाठ है जिसे हम यहाँ दो बार थोड़ा बदलकर रखते हैं और फिर उसकी तुलना करते हैं।',
    Chinese:
      '这是一段很长的文字，我们把它放在这里两次，第二次稍微修改一下，然后看看它们是不是几乎一样的内容，最后再比较一次。',
    Arabic:
      'هذا نص طويل نضعه هنا مرتين، وفي المرة الثانية نغيره قليلا، ثم ننظر هل هما متشابهان تقريبا أم لا.',
    emoji: '🎩🐇✨🎁🇩🇪👩‍👩‍👧‍👦🎉🎈🎂🍰🍭🍬🍫🍩🍪🥧🍦🍨🍧🥮🍢🍡🍠🍥🥠🍤🍣🍝🍜🍚🍙🍘🍱🍛🍲🥘',
  }

  it.each(Object.entries(LANGUAGES))('is %s as well', async (_name, text) => {
    const store = await open()
    await store.put('a', text)
    const near = await store.put('b', `${text}!?`)
    expect(near).toMatchObject({ content: 'linked', method: 'near' })
    expect(near.similarity).toBeGreaterThan(0.85)
    expect(await store.getText('b')).toBe(`${text}!?`)
    await expectSound(store)
  })

  it('does not depend on how a letter is composed', async () => {
    const store = await open()
    const composed = 'Ein schöner Käse für die Prüfung, größer als äußerst übliche Höhlen.'
    await store.put('a', composed.normalize('NFC'))
    const other = composed.normalize('NFD')
    expect(await store.put('b', other)).toMatchObject({ method: 'near', similarity: 1 })
    expect(await store.getText('b')).toBe(other)
  })

  it('may be empty, without a word, or one character', async () => {
    const store = await open()
    const values = ['', ' ', '\n\t', 'a', 'b', 'ab', '你', '好', '🎩', '!!!', '???', 'é']
    for (const value of values) {
      const { content } = await store.put(`key ${value}`, value)
      expect([value, content]).toEqual([value, 'new'])
    }
    expect(await store.put('A', 'A')).toMatchObject({ content: 'linked', similarity: 1 })
    expect(await store.put('nfd', 'e\u0301')).toMatchObject({ content: 'linked', similarity: 1 })
    for (const value of values) expect(await store.getText(`key ${value}`)).toBe(value)
    await expectSound(store)
  })

  it('finds one another on both sides of the border where auto takes another profile', async () => {
    const words =
      'about two hundred characters is where short texts become documents and the way in which they are cut into shingles changes so that both sides have to be looked at by whoever looks for near copies of what they have kept before'
    for (const [first, second] of [
      [words.slice(0, 199), words.slice(0, 201)],
      [words.slice(0, 201), words.slice(0, 199)],
    ] as const) {
      const store = await open({ ...NEAR, near: { profile: 'auto' } })
      await store.put('a', first)
      expect(await store.put('b', second)).toMatchObject({ content: 'linked', method: 'near' })
      await store.delete('a')
      expect(await store.put('c', first)).toMatchObject({ content: 'linked', method: 'near' })
      await expectSound(store)
    }
  })

  it('finds one another on both sides of the border where adaptive takes another width', async () => {
    const own = (count: number) => sketchOf(textOf(7, count)).profile
    const border = Array.from({ length: 3000 }, (_, at) => at + 100).find(
      (count) => own(count) !== own(count + 1),
    )!
    const [shorter, longer] = [textOf(7, border), textOf(7, border + 1)]
    for (const [first, second] of [
      [shorter, longer],
      [longer, shorter],
    ] as const) {
      const store = await open()
      await store.put('a', first)
      expect(await store.put('b', second)).toMatchObject({ content: 'linked', method: 'near' })
    }
  })
})

describe('a representative that goes', () => {
  it('by expiry is replaced when the collector has taken it', async () => {
    let time = 1_000_000
    const store = await open(NEAR, new MemoryEngine(), () => time)
    await store.put('a', A, { ttlMs: 1000 })
    await store.put('b', A_ONE)
    time += 1000
    expect(await store.getText('a')).toBeUndefined()
    expect(await store.explain('b')).toMatchObject({ content: 'linked' })
    expect(await store.collect()).toMatchObject({ expiredKeys: 1, contents: 1 })
    expect(await store.explain('b')).toMatchObject({ content: 'new' })
    expect((await store.put('c', A)).of?.firstKey).toEqual(Buffer.from('b'))
    await expectSound(store)
  })

  it('stays as long as another key has its bytes', async () => {
    const store = await open()
    await store.put('a', A)
    await store.put('again', A)
    await store.put('b', A_ONE)
    await store.delete('a')
    expect(await store.explain('b')).toMatchObject({ content: 'linked', method: 'near' })
    expect(await store.stats()).toMatchObject({ near: { links: 1 } })
  })

  it('leaves a note, which the next collection honours after a crash', async () => {
    const engine = new MemoryEngine()
    const store = await openStore(new CrashingBackend(engine), NEAR)
    await store.put('a', A)
    await store.put('b', A_ONE)
    await store.put('c', A_TWO)
    await expect(store.delete('a')).rejects.toThrow('the power went')
    const next = await open({}, engine)
    expect(await next.getText('a')).toBeUndefined()
    // It is still linked to what is gone, and nothing is wrong: there is a note.
    expect(await next.explain('b')).toMatchObject({ content: 'linked' })
    await expectSound(next)
    await next.collect()
    expect(await next.explain('b')).toMatchObject({ content: 'new' })
    expect((await next.explain('c'))?.of?.firstKey).toEqual(Buffer.from('b'))
    expect(await next.stats()).toMatchObject({ near: { links: 1 } })
    await expectSound(next)
  })

  it('may be noted although it is there: what is linked is merely decided again', async () => {
    const engine = new MemoryEngine()
    const store = await open(NEAR, engine)
    const { contentId } = await store.put('a', A)
    await store.put('b', A_ONE)
    await new MemoryBackend({}, engine).run(function* (scope: Scope) {
      scope.write(cell(nearLinks.orphaned, Buffer.from(contentId, 'hex')), Buffer.alloc(0))
    })
    await store.collect()
    expect(await store.explain('b')).toMatchObject({
      content: 'linked',
      of: { content: contentId },
    })
    expect(await store.stats()).toMatchObject({ near: { links: 1 } })
    await expectSound(store)
  })
})

/** Loses its power when what is noted would be looked at. */
class CrashingBackend extends MemoryBackend {
  constructor(engine: MemoryEngine) {
    super({}, engine)
  }

  override scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    if (space.name === 'near.orphaned') throw new Error('the power went')
    return super.scan(space, range)
  }
}

describe('several views of one store', () => {
  it('see at once what others have put and deleted', async () => {
    const { store: one, path } = await openOnDisk()
    const { store: other } = await openOnDisk({}, path)
    await one.put('a', A)
    expect(await other.put('b', A_ONE)).toMatchObject({ content: 'linked' })
    expect(await other.similar(A_TWO)).toHaveLength(1)
    await other.delete('a')
    expect(String((await one.put('c', A_TWO)).of?.firstKey)).toBe('b')
    expect(await one.similar(A)).toHaveLength(1)
    await expectSound(one)
    await expectSound(other)
  })

  it('never both take a near duplicate for new', async () => {
    const { store: one, path } = await openOnDisk()
    const { store: other } = await openOnDisk({}, path)
    const puts = Array.from({ length: 40 }, (_, at) =>
      (at % 2 ? one : other).put(`k${at}`, edited(A, 1, `m${lettersOf(at)}`)),
    )
    const outcomes = (await Promise.all(puts)).map(({ content }) => content)
    expect(outcomes.filter((content) => content === 'new')).toHaveLength(1)
    await expectSound(one)
  })

  it('go on after a put that was refused, and after one that failed', async () => {
    const store = await open({ ...NEAR, canonical: 'json' })
    await store.put('a', JSON.stringify(A))
    await expect(store.put('b', 'no json')).rejects.toMatchObject({ code: 'UNREADABLE_VALUE' })
    await expect(store.put('', '1')).rejects.toMatchObject({ code: 'INVALID_KEY' })
    expect(await store.put('b', JSON.stringify(A_ONE))).toMatchObject({ method: 'near' })
  })
})

describe('the settings of a near store', () => {
  it('are remembered, and taken from the store by whoever says nothing', async () => {
    const engine = new MemoryEngine()
    const input = { ...NEAR, near: { threshold: 0.7, profile: 'words-3', slots: 256 } } as const
    const store = await open(input, engine)
    await store.put('a', A)
    const again = await open({}, engine)
    expect(again.settings).toEqual(store.settings)
    expect(again.settings.near).toMatchObject({
      threshold: 0.7,
      profile: 'words-3',
      slots: 256,
    })
    expect(await again.put('b', A_TWO)).toMatchObject({ method: 'near', threshold: 0.7 })
    await open({ ...input, near: { ...input.near, candidatesMax: 5, bucketMax: 5 } }, engine)
  })

  it.each<[string, StoreOptions]>([
    ['threshold', { near: { threshold: 0.9 } }],
    ['profile', { near: { profile: 'chars-3' } }],
    ['slots', { near: { slots: 256 } }],
    ['bands', { near: { bands: 4, rows: 4 } }],
    ['dedup', { dedup: 'exact' }],
    ['canonical', { canonical: 'json' }],
    ['fidelity', { fidelity: 'representative' }],
  ])('are refused by name when they differ: %s', async (name, input) => {
    const engine = new MemoryEngine()
    await open(NEAR, engine)
    const refused = open(input, engine)
    await expect(refused).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    await expect(refused).rejects.toThrow(name)
  })

  it('are refused for a store that finds identical bytes only, and none is made by mistake', async () => {
    const engine = new MemoryEngine()
    await expect(open({ near: { threshold: 0.9 } }, engine)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    const store = await open({ ...NEAR, near: { threshold: 0.9 } }, engine)
    expect(store.settings.near?.threshold).toBe(0.9)
    const exact = await open({})
    await expect(exact.similar('x')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(await exact.stats()).not.toHaveProperty('near')
  })

  it.each<StoreOptions>([
    { ...NEAR, near: { threshold: 0 } },
    { ...NEAR, near: { threshold: 1.1 } },
    { ...NEAR, near: { bands: 4 } },
    { ...NEAR, near: { slots: 64, bands: 64, rows: 2 } },
    { ...NEAR, near: { profile: 'letters' as 'chars' } },
  ])('are refused when they make no sense: %j', async (input) => {
    await expect(open(input)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('name the version of what texts are compared by', async () => {
    for (const change of [
      { hashVersion: 'f0-00000000' },
      { canonical: { name: 'unicode', version: 0 } },
    ]) {
      const engine = new MemoryEngine()
      const store = await open(NEAR, engine)
      const { near, ...settings } = store.settings
      const kept = { ...near, similarityMin: near?.threshold, ...change }
      const written = { ...settings, format: 1, near: kept }
      engine.space('settings').set('\0store', Buffer.from(JSON.stringify(written)))
      await expect(open({}, engine)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    }
  })

  it.each([
    { limit: 0 },
    { limit: 1.5 },
    { threshold: 0 },
    { threshold: 2 },
    { most: 1 } as object,
  ])('and of similar are refused when they make no sense: %j', async (options) => {
    const store = await open()
    await expect(store.similar('x', options)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('full buckets', () => {
  it('are passed over, and stats tell how often that may have hidden something', async () => {
    const store = await open({ ...NEAR, near: { bands: 1, rows: 1, bucketMax: 2 } })
    // One band of one row: everything that shares its least shingle is in one bucket.
    const shared = 'aaa '
    let misses = 0
    for (let at = 0; at < 30; at++) await store.put(`k${at}`, shared + textOf(at + 50, 3))
    misses = (await store.stats()).near?.possibleMisses ?? 0
    expect(misses).toBeGreaterThan(0)
    await expectSound(store)
  })
})
