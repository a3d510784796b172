/** Options of the public API: one word for one idea, and mistakes answered in the words that were typed. */

import { describe, expect, it } from 'vitest'

import { readInvocation } from '../src/cli/arguments.ts'
import { environmentLayer, readJobConfig } from '../src/dedupe/index.ts'
import { openDedupe, openResolver, openStore, reembedStore } from '../src/index.ts'
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
    expect(readJobConfig([]).config.near.threshold).toBe(0.8)
    expect(JSON.stringify([store.settings, resolver.settings])).not.toMatch(
      /similarityMin|cosineMin/,
    )
  })
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
