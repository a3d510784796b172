/** How a resolver is opened, what it remembers of that, and what it measures. */

import { afterAll, describe, expect, it } from 'vitest'

import { engines, placeOf } from '../../test/resolver/open.ts'
import { removeTemporaryDirectories } from '../../test/subjects.ts'
import { openResolver, type ResolverOptions, resolverOptionsFrom } from '../index.ts'
import type { MetricLabels } from '../platform/telemetry.ts'

afterAll(removeTemporaryDirectories)

const TEXT = 'the quick brown fox jumps over the lazy dog while nobody is watching'
const VECTOR = { dimensions: 4, threshold: 0.9 } as const

describe.each(engines)('what a resolver was written with, on %s', (engine) => {
  const others: [string, ResolverOptions, RegExp][] = [
    ['threshold', { threshold: 0.9 }, /threshold is 0.7 there, and 0.9 was asked for\. Leave/],
    ['profile', { profile: 'words-3' }, /profile is 'adaptive' there, and 'words-3' was asked for/],
    ['evidence', { evidence: 'sketch' }, /evidence is 'text' there, and 'sketch' was asked/],
    ['canonical', { canonical: 'none' }, /canonical is .*unicode.* there/],
    ['bands', { bands: 7, rows: 3 }, /bands is .* there, and 7 was asked for/],
    [
      'dimensions',
      { vector: { ...VECTOR, dimensions: 5 } },
      /vector\.dimensions is 4 there, and 5/,
    ],
    ['threshold', { vector: { ...VECTOR, threshold: 0.5 } }, /vector\.threshold is 0\.9 there/],
  ]
  it.each(others)('cannot be opened with another %s', async (_name, options, message) => {
    const place = await placeOf(engine)
    await (await place.open({ threshold: 0.7, vector: VECTOR })).close()
    const opening = place.open(options)
    await expect(opening).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    await expect(opening).rejects.toThrow(message)
    await (await place.open()).close()
  })

  it('is taken over where nothing is said', async () => {
    const place = await placeOf(engine)
    const options = {
      threshold: 0.65,
      profile: 'chars',
      bands: 16,
      rows: 4,
      evidence: 'hashes',
      vector: { ...VECTOR, bits: 128, bands: 30, rows: 4, form: 'dense', seed: 7 },
    } as const
    const first = await place.open(options)
    await first.resolve('g', TEXT)
    await first.close()
    await using again = await place.open()
    expect(again.settings).toEqual(first.settings)
    expect(again.settings.text).toMatchObject({ threshold: 0.65, bands: 16, rows: 4 })
    expect(await again.resolve('g', TEXT)).toMatchObject({ status: 'exact' })
    expect((await again.stats('g')).tables).toBeDefined()
    await using same = await place.open({ profile: 'chars-3', vector: VECTOR })
    expect(same.settings).toEqual(first.settings)
  })

  it('may get vectors later', async () => {
    const place = await placeOf(engine)
    await (await place.open()).close()
    await using resolver = await place.open({ vector: VECTOR })
    expect(await resolver.resolve('g', [1, 2, 3, 4])).toMatchObject({ status: 'new' })
    expect((await place.open()).settings.vector?.dimensions).toBe(4)
  })

  it('does not hold what only a search cares about', async () => {
    const place = await placeOf(engine)
    const first = await place.open({ candidatesMax: 5, bucketMax: 9, cacheMax: 3, ttlMs: 5 })
    const { id } = await first.resolve('g', TEXT)
    await first.close()
    await using again = await place.open({ candidatesMax: 50, bucketMax: 90 })
    expect(await again.resolve('g', TEXT)).toMatchObject({ id, status: 'exact' })
  })
})

describe('options', () => {
  const wrong: [string, unknown][] = [
    ['threshold', { threshold: 0 }],
    ['threshold', { threshold: 1.1 }],
    ['threshold', { threshold: '0.8' }],
    ['bands', { bands: 4 }],
    ['bands', { bands: 100, rows: 100, slots: 128 }],
    ['slots', { slots: 100 }],
    ['profile', { profile: 'letters' }],
    ['ttlMs', { ttlMs: Infinity }],
    ['ttlMs', { ttlMs: 2 ** 50 }],
    ['vector', { vector: { dimensions: 4 } }],
    ['dimensions', { vector: { dimensions: 100_000, threshold: 0.9 } }],
    ['bits', { vector: { ...VECTOR, bits: 12 } }],
    ['bands', { vector: { ...VECTOR, bits: 64, bands: 64, rows: 2 } }],
    ['unknown', { treshold: 0.8 }],
  ]
  it.each(wrong)('%s: %j is refused, and nothing is kept of it', async (_name, options) => {
    const opening = openResolver('memory:', options as ResolverOptions)
    await expect(opening).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    const place = await placeOf('memory')
    await place.open(options as ResolverOptions).catch(() => {})
    await (await place.open({ threshold: 0.66, vector: VECTOR })).close()
  })

  it('of a disk are refused in memory', async () => {
    const opening = openResolver('memory:', { durability: 'os' })
    await expect(opening).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('do not make a resolver where none is wanted', async () => {
    const opening = openResolver('memory:', { create: false })
    await expect(opening).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it('of the preset lsh are those of the resolver this one grew from', async () => {
    await using resolver = await openResolver('memory:', { preset: 'lsh' })
    const { text, vector } = resolver.settings
    expect(text).toMatchObject({ threshold: 0.6, profile: 'chars-3', bands: 40, rows: 5 })
    expect(vector).toMatchObject({ dimensions: 20, threshold: 0.5, bits: 200, bands: 40, rows: 5 })
    expect(resolver.calculateApproximateThreshold()).toBeCloseTo((1 / 40) ** (1 / 5), 10)
    expect(resolver.calculateApproximateThreshold('vector')).toBeLessThan(0.5)
    await using other = await openResolver('memory:', { preset: 'lsh', threshold: 0.7 })
    expect(other.settings.text).toMatchObject({ threshold: 0.7, bands: 40, rows: 5 })
  })
})

describe('environment variables', () => {
  it('give the options of their names', async () => {
    const options = resolverOptionsFrom({
      LSH_BANDS: '20',
      LSH_SHINGLE_SIZE: '4',
      LSH_JAC_THRESHOLD: '0.75',
      LSH_MAX_TOTAL_CANDIDATES: '30',
      LSH_MAX_BUCKET_SIZE: '50',
      LSH_RESOLVED_CACHE_SIZE: '10',
      LSH_SEED: '13374269',
      VLSH_VECTOR_DIMENSIONS: '8',
      VLSH_COS_THRESHOLD: '0.6',
    })
    expect(options).toMatchObject({ candidatesMax: 30, bucketMax: 50, cacheMax: 10 })
    await using resolver = await openResolver('memory:', options)
    expect(resolver.settings.text).toMatchObject({
      threshold: 0.75,
      profile: 'chars-4',
      bands: 20,
      rows: 5,
    })
    expect(resolver.settings.vector).toMatchObject({ dimensions: 8, threshold: 0.6, bits: 200 })
  })

  it('that are not set give no options', () => {
    expect(resolverOptionsFrom({})).toEqual({})
    expect(resolverOptionsFrom({ LSH_BANDS: ' ' })).toEqual({})
  })

  it('come from variables of vectors too, where those of texts are not set', () => {
    const vectors = { VLSH_MAX_BUCKET_SIZE: '60', VLSH_RESOLVED_CACHE_SIZE: '20' }
    expect(resolverOptionsFrom(vectors)).toMatchObject({ bucketMax: 60, cacheMax: 20 })
    const both = { ...vectors, LSH_MAX_BUCKET_SIZE: '50' }
    expect(resolverOptionsFrom(both)).toMatchObject({ bucketMax: 50, cacheMax: 20 })
  })

  it.each([{ LSH_BANDS: 'many' }, { LSH_SEED: '7' }, { VLSH_COS_THRESHOLD: 'NaN' }])(
    '%j is refused by name',
    (environment) => {
      const refused = () => resolverOptionsFrom(environment)
      expect(refused).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
      expect(refused).toThrow(new RegExp(Object.keys(environment)[0]!))
    },
  )
})

describe('metrics', () => {
  function sink() {
    const sent: { name: string; value: number; labels: MetricLabels | undefined }[] = []
    const keep = (name: string, value: number, labels?: MetricLabels) => {
      sent.push({ name, value, labels })
    }
    return { sent, sink: { counter: keep, histogram: keep, gauge: keep } }
  }

  it('have the names and results of the resolver this one grew from', async () => {
    const { sent, sink: metrics } = sink()
    const place = await placeOf('memory')
    const first = await place.open({ metrics, threshold: 0.7, vector: VECTOR })
    await first.resolve('g', TEXT)
    await first.resolve('g', TEXT)
    await first.resolve('g', `${TEXT}!`)
    await first.resolve('g', [1, 2, 3, 4])
    await using again = await place.open({ metrics, cacheMax: 0 })
    await again.resolve('g', TEXT)
    await again.resolve('g', `${TEXT}!`)
    const totals = sent.filter(({ name }) => name.endsWith('upsert.total'))
    expect(totals.map(({ name, labels }) => [name, labels])).toEqual([
      ['lsh.dedup.upsert.total', { result: 'new' }],
      ['lsh.dedup.upsert.total', { result: 'l2_hit' }],
      ['lsh.dedup.upsert.total', { result: 'match' }],
      ['lsh.vector.upsert.total', { result: 'new' }],
      ['lsh.dedup.upsert.total', { result: 'l1_hit' }],
      ['lsh.dedup.upsert.total', { result: 'l3_hit' }],
    ])
    const count = (name: string) => sent.filter((one) => one.name === name).length
    expect(count('lsh.dedup.upsert.duration')).toBe(5)
    expect(count('lsh.dedup.new_id.total')).toBe(1)
    expect(count('lsh.vector.new_id.total')).toBe(1)
    const candidates = sent.filter(({ name }) => name === 'lsh.dedup.candidates.count')
    expect(candidates.map(({ value }) => value)).toEqual([0, 1])
    expect(count('lsh.dedup.exact_compare.count')).toBe(2)
    expect(count('lsh.dedup.bucket_reps.returned')).toBe(0)
  })

  it('name groups only where that is asked for', async () => {
    const { sent, sink: metrics } = sink()
    await using resolver = await openResolver('memory:', { metrics, labelGroups: true })
    await resolver.resolve('g', TEXT)
    expect(new Set(sent.map(({ labels }) => labels?.['group']))).toEqual(new Set(['g']))
  })

  it('of a sink that throws do not turn an answer into a failure', async () => {
    const fail = () => {
      throw new Error('no room')
    }
    const metrics = { counter: fail, histogram: fail, gauge: fail }
    await using resolver = await openResolver('memory:', { metrics })
    expect(await resolver.resolve('g', TEXT)).toMatchObject({ status: 'new' })
  })
})
