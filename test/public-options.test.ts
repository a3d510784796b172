/** Options of the public API: one word for one idea, and mistakes answered in the words that were typed. */

import type * as v from 'valibot'
import { describe, expect, it } from 'vitest'

import { readInvocation } from '../src/cli/call/arguments.ts'
import type { compareOptions, tuneOptions } from '../src/compare/options.ts'
import type { dedupeSchema } from '../src/dedupe/config/config.ts'
import type { DedupeConfig, DedupeSettings } from '../src/dedupe/config/options.ts'
import { environmentLayer, nearThreshold, readJobConfig } from '../src/dedupe/index.ts'
import {
  type CompareOptions,
  type LedgerOptions,
  openDedupe,
  openResolver,
  openStore,
  reembedStore,
  type ResolverOptions,
  type SemanticOptions,
  type StoreOptions,
  type TuneOptions,
} from '../src/index.ts'
import type {
  ListingInput,
  listingOptions,
  ReadingInput,
  readingOptions,
} from '../src/input/options.ts'
import type { ledgerOptions } from '../src/ledger/options.ts'
import type { resolverOptions } from '../src/resolve/options.ts'
import type { EmbedderOptions, embedderOptions } from '../src/semantic/embedding/options.ts'
import type { GuardOptions, guardOptions } from '../src/compare/guards/veto.ts'
import type { IndexOptions, indexOptions } from '../src/semantic/vectors/options.ts'
import type { storeOptions } from '../src/store/options.ts'
import type { semanticOptions } from '../src/store/semantic/options.ts'
import { wordEmbedder } from './texts/meanings.ts'

const embedder = wordEmbedder()
/** Options as somebody writes them whom no compiler helps. */
const raw = (options: object) => options

async function problemOf(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return `${code} ${message}`
  }
  return 'nothing was wrong'
}

const invoke = (...args: string[]) => readInvocation(args, new AbortController().signal)

describe('threshold is the one word for "at least this similar"', () => {
  it.each<[string, () => unknown, string]>([
    ['a store', () => openStore('memory:', raw({ similarityMin: 0.9 })), 'near.threshold'],
    [
      'the near section of a store',
      () => openStore('memory:', raw({ dedup: 'near', near: { similarityMin: 0.9 } })),
      'near.threshold',
    ],
    [
      'the semantic section of a store',
      () =>
        openStore(
          'memory:',
          raw({ dedup: 'semantic', semantic: { embedder, similarityMin: 0.9 } }),
        ),
      'threshold',
    ],
    [
      'similar',
      async () => {
        await using store = await openStore('memory:', { dedup: 'near' })
        await store.similar('x', raw({ similarityMin: 0.9 }))
      },
      'threshold',
    ],
    ['reembedStore', () => reembedStore('memory:', raw({ similarityMin: 0.9 })), 'threshold'],
    ['a resolver', () => openResolver('memory:', raw({ similarityMin: 0.9 })), 'threshold'],
    [
      'the vectors of a resolver',
      () => openResolver('memory:', raw({ vector: { dimensions: 2, cosineMin: 0.9 } })),
      'vector.threshold',
    ],
    [
      'the corpus job',
      () => openDedupe('memory:', raw({ near: { similarityMin: 0.9 } })),
      'near.threshold',
    ],
    [
      'the meanings of the corpus job',
      () => readJobConfig([{ from: 'c.yaml', values: { semantic: { similarityMin: 0.9 } } }]),
      'semantic.threshold',
    ],
    [
      'the environment',
      () => environmentLayer({ PRESTIGE_DEDUPE_NEAR_SIMILARITY_MIN: '0.9' }),
      'PRESTIGE_DEDUPE_NEAR_THRESHOLD',
    ],
  ])('%s answers the old name with the new one', async (_what, call, name) => {
    const problem = await problemOf(call)
    expect(problem).toMatch(/^INVALID_OPTIONS /)
    expect(problem).toContain(`Did you mean ${name}?`)
  })

  it.each([
    ['put', '--similarity-min', '--threshold'],
    ['dedupe', '--similarity-min', '--threshold'],
    ['resolve', '--similarity-min', '--threshold'],
    ['put', '--semantic-min', '--semantic-threshold'],
  ])('%s answers %s with %s', async (command, old, name) => {
    expect(await problemOf(() => invoke(command, 'x', old, '0.9'))).toContain(
      `INVALID_USAGE ${command} has no option ${old}. Did you mean "${name}"?`,
    )
  })

  it('is 0.8 everywhere unless said, and is shown by the settings', async () => {
    await using store = await openStore('memory:', { dedup: 'near' })
    await using resolver = await openResolver('memory:')
    expect(store.settings.near?.threshold).toBe(0.8)
    expect(resolver.settings.text.threshold).toBe(0.8)
    expect(nearThreshold(readJobConfig([]).config)).toBe(0.8)
    expect(JSON.stringify([store.settings, resolver.settings])).not.toMatch(
      /similarityMin|cosineMin/,
    )
  })
})

/** Whether an interface and what a schema takes are the same, field by field, however deep. */
type Same<A, B> = [A] extends [B]
  ? [B] extends [A]
    ? A extends (...given: never[]) => unknown
      ? true
      : A extends object
        ? [keyof A, keyof B] extends [keyof B, keyof A]
          ? false extends { [K in keyof A]-?: Same<A[K], B[K & keyof B]> }[keyof A]
            ? false
            : true
          : false
        : true
    : false
  : false

describe('option types', () => {
  it('are what the schemas take', () => {
    type In<S extends v.GenericSchema> = v.InferInput<S>
    // The compiler checks these; a field that only one of both has makes `true` an error.
    const same: [
      Same<StoreOptions, In<typeof storeOptions>>,
      Same<SemanticOptions, In<typeof semanticOptions>>,
      Same<ResolverOptions, In<typeof resolverOptions>>,
      Same<LedgerOptions, In<typeof ledgerOptions>>,
      Same<DedupeSettings, In<typeof dedupeSchema>>,
      Same<DedupeConfig, v.InferOutput<typeof dedupeSchema>>,
      Same<CompareOptions, In<typeof compareOptions>>,
      Same<TuneOptions, In<typeof tuneOptions>>,
      Same<EmbedderOptions, In<typeof embedderOptions>>,
      Same<GuardOptions, In<typeof guardOptions>>,
      Same<IndexOptions, In<typeof indexOptions>>,
      Same<ListingInput, In<typeof listingOptions>>,
      Same<ReadingInput, In<typeof readingOptions>>,
    ] = [true, true, true, true, true, true, true, true, true, true, true, true, true]
    expect(same).not.toContain(false)
  })
})

describe('receipts and outcomes', () => {
  it('say by their type what is there, and are readable as JSON', async () => {
    await using store = await openStore('memory:', { dedup: 'near' })
    await store.put('a', 'the quick brown fox jumps over the lazy dog')
    await store.put(Buffer.from([255]), 'bytes that have a key which is no text')
    const receipt = await store.put('b', 'the quick brown fox jumps over the lazy dogs')
    // Compiles only if the types follow from these questions.
    if (receipt.content === 'new') throw new Error(`${receipt.of} is undefined`)
    expect(String(receipt.of.firstKey)).toBe('a')
    if (receipt.method !== 'near') throw new Error('it is near')
    expect(receipt.similarity.toFixed(2)).toBe('0.93')
    expect(JSON.parse(JSON.stringify(receipt))).toMatchObject({ of: { firstKey: 'a' } })
    expect(JSON.parse(JSON.stringify(await store.explain('b')))).toMatchObject({
      key: 'b',
      of: { firstKey: 'a' },
    })
    const copy = await store.put('c', 'bytes that have a key which is no text')
    expect(JSON.parse(JSON.stringify(copy.of))).toMatchObject({ firstKey: { base64: '/w==' } })
    expect(receipt.of.firstKey).toEqual(Buffer.from('a'))
  })

  it('have errors with a code', async () => {
    await using store = await openStore('memory:')
    const broken = {
      get key(): string {
        throw new RangeError('a getter of the caller')
      },
      value: 'x',
    }
    const [empty, thrown] = await store.putMany([{ key: '', value: 'x' }, broken])
    expect(empty?.error?.code).toBe('INVALID_KEY')
    expect(thrown?.error).toMatchObject({ code: 'UNEXPECTED', cause: expect.any(RangeError) })
  })
})

describe('an index of meanings that cannot be', () => {
  it.each([{ engine: 'ivfpq' }, { m: -3 }, { size: 1 }])(
    '%j is refused at open, and no store is made',
    async (index) => {
      const semantic = { embedder, threshold: 0.8, index: raw(index) }
      const opening = openStore('memory:', { dedup: 'semantic', semantic })
      await expect(opening).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    },
  )
})

describe('verbs', () => {
  it('are the same in a store and in a resolver', async () => {
    await using store = await openStore('memory:')
    await using resolver = await openResolver('memory:')
    await resolver.resolve('g', 'a text')
    expect(await resolver.delete('g', 'a text')).toBe(true)
    expect(resolver.explain('g', 'a text', 'another')).toBeInstanceOf(Promise)
    for (const one of [store, resolver]) {
      expect(one).not.toHaveProperty('load')
      expect(one).not.toHaveProperty('forget')
    }
  })
})

describe('a mistake is reported in the words that were typed', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a number out of range',
      () => openStore('memory:', { dedup: 'near', near: { threshold: 90 } }),
      'near.threshold: must be a number greater than 0 and at most 1, not 90.',
    ],
    [
      'an option that is missing',
      () => openResolver('memory:', raw({ vector: { dimensions: 2 } })),
      'vector.threshold is missing.',
    ],
    [
      'a section that is none',
      () => openStore('memory:', raw({ dedup: 'near', near: 5 })),
      'near: must be an object, not 5.',
    ],
    [
      'options that are none',
      () => openStore('memory:', 5 as unknown as object),
      'Store options must be an object, not 5.',
    ],
    [
      'a group that is missing',
      async () => {
        await using resolver = await openResolver('memory:')
        // @ts-expect-error: a value is asked for
        await resolver.resolve('a text')
      },
      "the group comes first, as in resolve('default', text)",
    ],
    [
      'the environment',
      () => readJobConfig([environmentLayer({ PRESTIGE_DEDUPE_NEAR_THRESHOLD: '90' })]),
      'PRESTIGE_DEDUPE_NEAR_THRESHOLD=90: must be',
    ],
  ])('%s', async (_what, call, message) => {
    const problem = await problemOf(call)
    expect(problem).toContain(message)
    expect(problem).not.toContain('Invalid ')
  })
})
