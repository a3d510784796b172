/** Promises that the original resolver makes and breaks, kept here. Each test is named after the promise. */

import { afterAll, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { openResolver, type Resolver, type ResolverOptions } from '../src/index.ts'
import { placeOf } from './resolver/open.ts'
import { RECALL_ONE, textsOf } from './resolver/texts.ts'
import { removeTemporaryDirectories } from './subjects.ts'

afterAll(removeTemporaryDirectories)

const TEXT = 'the quick brown fox jumps over the lazy dog while nobody else is watching it at all'
const NEAR = TEXT.replace('lazy', 'lazier')
const EXACT = {
  ...RECALL_ONE,
  threshold: 0.6,
  profile: 'chars-3',
  cacheMax: 0,
  guards: false,
} as const

const engines: [string, (options: ResolverOptions) => Promise<Resolver>][] = [
  ['memory', (options) => openResolver('memory:', options)],
  ['lmdb', async (options) => (await placeOf('lmdb')).open(options)],
  [
    'simulated',
    (options) => {
      const { profile, threshold } = options
      const small = { slots: 64, bands: 32, rows: 1 }
      const world = new SimulatedWorld(5)
      return openResolver(world.open('w'), { ...options, ...small, profile, threshold })
    },
  ],
]

/** Three texts in a row: each is like the next, the first and the last are not. */
function chain(): readonly [string, string, string] {
  const words = textsOf(4).words(24)
  const at = (from: number) => words.slice(from, from + 18).join(' ')
  return [at(0), at(3), at(6)]
}

describe.each(engines)('on %s', (_name, open) => {
  it('what one group has seen is never told to another (1)', async () => {
    await using resolver = await open({ ...EXACT, cacheMax: 1000 })
    const first = await resolver.resolve('a', TEXT)
    await resolver.resolve('a', NEAR)
    expect(await resolver.resolve('b', NEAR)).toMatchObject({ status: 'new' })
    const [inB] = [await resolver.resolve('b', TEXT)]
    expect(inB.id).not.toBe(first.id)
    expect(await resolver.resolve('a', NEAR)).toMatchObject({ id: first.id })
  })

  it('the most similar wins, not the first that is similar enough (5)', async () => {
    const [, middle, last] = chain()
    const nearer = `${last} indeed`
    for (const order of [
      [middle, last],
      [last, middle],
    ] as const) {
      await using resolver = await open({ ...EXACT, threshold: 0.75 })
      const ids = new Map<string, string>()
      for (const text of order) {
        const { status, id } = await resolver.resolve('g', text)
        expect(status).toBe('new')
        ids.set(text, id)
      }
      expect(await resolver.resolve('g', nearer)).toMatchObject({ id: ids.get(last) })
    }
  })

  it('of two that are equally similar the older wins, every time (5)', async () => {
    const asked = 'съешь же ещё этих мягких французских булок да выпей чаю наконец'
    const [one, other] = [`${asked} abcdefghijklmnopqrst`, `${asked} tsrqponmlkjihgfedcba`] as const
    const twins = [one, other] as const
    for (const [first, second] of [twins, [other, one], twins, [other, one]] as const) {
      await using resolver = await open({ ...EXACT, threshold: 0.65 })
      const older = await resolver.resolve('g', first)
      expect(await resolver.resolve('g', second)).toMatchObject({ status: 'new' })
      const explained = twins.map((twin) => resolver.explain('g', asked, twin))
      const similarities = (await Promise.all(explained)).map(({ similarity }) => similarity)
      expect(similarities[0]).toBe(similarities[1])
      const found = await resolver.resolve('g', asked)
      expect(found).toMatchObject({ id: older.id, similarity: similarities[0] })
    }
  })

  it('a member is like what stands for it, not only like another member (13)', async () => {
    const [first, middle, last] = chain()
    await using resolver = await open({ ...EXACT, threshold: 0.6 })
    const explained = async (one: string, other: string) =>
      (await resolver.explain('g', one, other)).isDuplicate
    expect([await explained(first, middle), await explained(middle, last)]).toEqual([true, true])
    expect(await explained(first, last)).toBe(false)
    const { id } = await resolver.resolve('g', first)
    expect(await resolver.resolve('g', middle)).toMatchObject({ id, status: 'match' })
    expect(await resolver.resolve('g', last)).toMatchObject({ status: 'new' })
  })

  it('can look without a trace, forget, list members, explain and take many (12)', async () => {
    await using resolver = await open(EXACT)
    expect(await resolver.lookup('g', TEXT)).toBeUndefined()
    const items = [TEXT, NEAR].map((value) => ({ group: 'g', value }))
    const [first] = await resolver.resolveMany(items)
    const id = first!.ok ? first!.result.id : ''
    const members: number[] = []
    for await (const { similarity } of resolver.members('g', id)) members.push(similarity)
    const explained = await resolver.explain('g', TEXT, NEAR)
    expect(members).toEqual([1, explained.similarity])
    expect(explained).toMatchObject({ isDuplicate: true, threshold: 0.6 })
    expect(explained.sharedBands.length).toBeGreaterThan(0)
    expect(await resolver.delete('g', { id })).toBe(true)
    expect(await resolver.lookup('g', TEXT)).toBeUndefined()
    expect(await resolver.lookup('g', NEAR)).toBeUndefined()
  })
})

it('an answer is never one that other settings gave (2)', async () => {
  const place = await placeOf('lmdb')
  const first = await place.open({ threshold: 0.6, candidatesMax: 10 })
  const { id } = await first.resolve('g', TEXT)
  await first.close()
  await expect(place.open({ threshold: 0.99 })).rejects.toMatchObject({
    code: 'SETTINGS_MISMATCH',
  })
  // What only searching is about orphans nothing.
  await using again = await place.open({ candidatesMax: 20, bucketMax: 7 })
  expect(await again.resolve('g', NEAR)).toMatchObject({ id, status: 'match' })
})

it.each(['memory', 'lmdb'] as const)('a cluster in use never expires on %s (3)', async (engine) => {
  const place = await placeOf(engine)
  await using resolver = await place.open({ ...EXACT, cacheMax: 1000, ttlMs: 10_000 })
  const { id } = await resolver.resolve('g', TEXT)
  for (let use = 0; use < 30; use++) {
    place.clock.time += 4_000
    const text = use % 3 === 0 ? TEXT : use % 3 === 1 ? NEAR : `${TEXT} ${use}`
    expect(await resolver.resolve('g', text)).toMatchObject({ id })
    await resolver.collect()
  }
  place.clock.time += 10_000
  expect(await resolver.lookup('g', TEXT)).toBeUndefined()
})

describe('what a full bucket may have hidden is told, and nobody is turned away (4)', () => {
  const texts = textsOf(8)
  const words = texts.words(20)
  const family = Array.from({ length: 30 }, () => texts.variant(words, 9))

  it.each([
    ['memory', async () => new MemoryBackend({}, new MemoryEngine())],
    ['simulated', async () => new SimulatedWorld(3).open('w')],
  ] as const)('on %s', async (_name, backend) => {
    const banding = { slots: 64, bands: 32, rows: 1, bucketMax: 2 }
    const passed: number[] = []
    const metrics = {
      counter: (name: string, value: number) => {
        if (name === 'lsh.dedup.buckets_passed_over.total') passed.push(value)
      },
      histogram: () => {},
      gauge: () => {},
    }
    const options = { ...banding, threshold: 0.95, profile: 'chars-3', metrics } as const
    await using resolver = await openResolver(await backend(), options)
    for (const text of family) {
      expect(await resolver.resolve('g', text)).toMatchObject({ status: 'new' })
    }
    const stats = await resolver.stats('g')
    expect(stats.clusters).toBe(family.length)
    expect(stats.possibleMisses).toBeGreaterThan(0)
    expect(stats.possibleMisses).toBe(passed.length)
    for (const text of family) {
      expect(await resolver.resolve('g', text)).toMatchObject({ status: 'exact' })
    }
  })
})

describe('full buckets hide no vector', () => {
  // Every bucket has about half of them, on several pages.
  const vector = { dimensions: 2, threshold: 0.9999, bits: 64, bands: 4, rows: 1 }
  const at = (degrees: number) =>
    [0, 90].map((from) => Math.cos(((degrees - from) * Math.PI) / 180))
  const circle = Array.from({ length: 36 }, (_, number) => number * 10)

  it.each([
    ['memory', async () => new MemoryBackend({}, new MemoryEngine())],
    ['simulated', async () => new SimulatedWorld(3).open('w')],
  ] as const)('on %s', async (name, backend) => {
    const options = { vector, cacheMax: 0, ...(name === 'simulated' && { bucketMax: 2 }) }
    await using resolver = await openResolver(await backend(), options)
    const born = await Promise.all(circle.map((degrees) => resolver.resolve('g', at(degrees))))
    expect(born.every(({ status }) => status === 'new')).toBe(true)
    // Pages in the middle lose all that they had, and what comes behind them is still found.
    const gone = circle.slice(4, 20)
    for (const degrees of gone) expect(await resolver.delete('g', at(degrees))).toBe(true)
    for (const [number, degrees] of circle.entries()) {
      const found = await resolver.lookup('g', at(degrees + 0.1))
      expect(found?.id, String(degrees)).toBe(gone.includes(degrees) ? undefined : born[number]?.id)
    }
    for (const degrees of gone) {
      expect(await resolver.resolve('g', at(degrees))).toMatchObject({ status: 'new' })
      expect(await resolver.lookup('g', at(degrees + 0.1))).toMatchObject({ status: 'match' })
    }
    expect(await resolver.stats('g')).toMatchObject({ clusters: 36, possibleMisses: 0 })
  })
})

it('defaults make sense: half of all pairs are found well below the threshold', async () => {
  await using resolver = await openResolver('memory:', { preset: 'lsh' })
  const { text, vector } = resolver.settings
  expect(resolver.calculateApproximateThreshold()).toBeLessThan(text.threshold)
  expect(resolver.calculateApproximateThreshold('vector')).toBeLessThan(vector!.threshold)
})
