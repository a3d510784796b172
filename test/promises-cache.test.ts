/** What the cache promises, with the model that is built in: no answer to another question. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type CacheLookup, openCache } from '../src/cache/index.ts'
import { openEmbedder, type SentenceEmbedder } from '../src/semantic/index.ts'

/** Of each, the second is at least 0.8 similar to the first, and has another answer. Eight kinds, and opposites besides. */
const TRAPS = [
  [
    'numbers',
    'What do I pay for a bill of 1,500 euros?',
    'What do I pay for a bill of 1,600 euros?',
  ],
  ['negation', 'What is the capital of France?', 'What is not the capital of France?'],
  ['order', 'How do I send money from Alice to Bob?', 'How do I send money from Bob to Alice?'],
  ['versions', 'Which bugs were fixed in Node 20.1.0?', 'Which bugs were fixed in Node 20.2.0?'],
  ['names', 'When does the store in Berlin open?', 'When does the store in Munich open?'],
  ['dates', 'Is the office open on Monday?', 'Is the office open on Tuesday?'],
  ['units', 'Can I take 10 mg of the drug daily?', 'Can I take 10 g of the drug daily?'],
  ['identifiers', 'What does error E1001 mean?', 'What does error E1002 mean?'],
  ['words', 'How do I turn on two-factor login?', 'How do I turn off two-factor login?'],
  ['words', 'How do I enable dark mode?', 'How do I disable dark mode?'],
  ['words', 'Is it safe to mix these drugs?', 'Is it unsafe to mix these drugs?'],
  ['words', 'Can I return an item after 30 days?', 'Can I return an item before 30 days?'],
  ['words', 'What are the pros of solar power?', 'What are the cons of solar power?'],
] as const

let model: SentenceEmbedder
beforeAll(async () => {
  model = await openEmbedder()
}, 60_000)
afterAll(() => model.close())

describe('the cache', () => {
  it.each(TRAPS)('never answers by what differs in %s: %s / %s', async (guard, first, second) => {
    const lookups: CacheLookup[] = []
    const onLookup = (lookup: CacheLookup) => lookups.push(lookup)
    await using cache = await openCache('memory:', { model, threshold: 0.7, onLookup })
    await cache.set(first, 'the answer to the first')
    expect(await cache.get(second)).toBeUndefined()
    expect(lookups).toMatchObject([{ outcome: 'vetoed', nearest: first }])
    expect(lookups[0]?.vetoes?.map((veto) => veto.guard)).toContain(guard)
    await cache.set(second, 'the answer to the second')
    expect(await cache.get(first)).toMatchObject({ answer: 'the answer to the first' })
    await using bare = await openCache('memory:', { model, threshold: 0.7, guards: false })
    await bare.set(first, 'the answer to the first')
    expect(await bare.get(second)).toMatchObject({ answer: 'the answer to the first' })
  })

  it('serves none of the eight kinds where all of them are stored, at a threshold of 0.7', async () => {
    const eight = TRAPS.slice(0, 8)
    expect(eight.map(([guard]) => guard)).toEqual([
      'numbers',
      'negation',
      'order',
      'versions',
      'names',
      'dates',
      'units',
      'identifiers',
    ])
    await using cache = await openCache('memory:', { model, threshold: 0.7 })
    for (const [, first] of eight) await cache.set(first, first)
    for (const [, first, second] of eight) {
      expect(await cache.get(second)).toBeUndefined()
      expect(await cache.get(first)).toMatchObject({ answer: first })
    }
  })

  it('answers a paraphrase, also beside vetoed neighbours that are nearer', async () => {
    await using cache = await openCache('memory:', { model, threshold: 0.8 })
    await cache.set('How do I reset my password?', 'a')
    await cache.set('How do I not reset my password?', 'b')
    const hit = await cache.get('What is the way to reset my password?')
    expect(hit).toMatchObject({ answer: 'a', method: 'semantic' })
    const scope = { tenant: 2 }
    expect(await cache.get('How do I reset my password?', { scope })).toBeUndefined()
  })
})
