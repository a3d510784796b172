/** The cache: what is served to whom, what never is, and what is asked once. */

import { afterEach, describe, expect, it } from 'vitest'

import { sentence, wordEmbedder } from '../../test/texts/meanings.ts'
import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { openStore } from '../store/index.ts'
import { encodeRow } from './entries.ts'
import { type Cache, type CacheLookup, type CacheOptions, openCache } from './index.ts'
import { addressOf } from './scope.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function open(options: CacheOptions = {}, engine?: MemoryEngine): Promise<Cache> {
  const given = { model: wordEmbedder(), threshold: 0.8, ...options }
  const cache = await openCache(engine ? new MemoryBackend({}, engine) : 'memory:', given)
  opened.push(() => cache.close())
  return cache
}

const later = () => new Promise((resolve) => setTimeout(resolve, 5))

describe('an answer', () => {
  it('is served to the same prompt, the same wording and the same meaning, and says by which', async () => {
    const cache = await open()
    const prompt = `Tell me: ${sentence(1)}`
    await cache.set(prompt, { text: 'yes' }, { tags: ['t'], source: 's' })
    expect(await cache.get(prompt)).toMatchObject({
      answer: { text: 'yes' },
      method: 'exact',
      tags: ['t'],
      source: 's',
    })
    expect(await cache.get(`tell me:  ${sentence(1)}`)).toMatchObject({ method: 'near', prompt })
    const hit = await cache.get(`Tell me: ${sentence(1, 1)}`)
    expect(hit).toMatchObject({ method: 'semantic', prompt, answer: { text: 'yes' } })
    expect(hit?.similarity).toBeLessThan(1)
    expect(await cache.get(sentence(2))).toBeUndefined()
    expect(await cache.stats()).toMatchObject({
      lookups: 4,
      hits: { exact: 1, near: 1, semantic: 1 },
      misses: 1,
      hitRatio: 0.75,
      callsSaved: 3,
    })
  })

  it('is found by equal wording without a model', async () => {
    const cache = await open({ model: false, threshold: undefined })
    await cache.set('What is the time?', 1)
    expect(await cache.get('what is  the time?')).toMatchObject({ answer: 1, method: 'near' })
    expect(await cache.get('What is the hour?')).toBeUndefined()
  })

  it('is never served to another scope, and scopes do not take each other hits away', async () => {
    const cache = await open()
    const scopes = Array.from({ length: 40 }, (_, tenant) => ({ tenant, model: 'm' }))
    for (const scope of scopes) await cache.set(sentence(1), `of ${scope.tenant}`, { scope })
    for (const { tenant, model } of scopes) {
      // The order of members does not matter.
      const hit = await cache.get(sentence(1, 1), { scope: { model, tenant } })
      expect(hit).toMatchObject({ answer: `of ${tenant}`, method: 'semantic' })
    }
    expect(await cache.get(sentence(1), { scope: { tenant: 99, model: 'm' } })).toBeUndefined()
    expect(await cache.get(sentence(1, 1))).toBeUndefined()
  })

  it('is not served where two prompts with different answers are about as near', async () => {
    const lookups: CacheLookup[] = []
    const onLookup = (lookup: CacheLookup) => lookups.push(lookup)
    const cache = await open({ margin: 0.5, onLookup })
    await cache.set(sentence(1, 1), 'one')
    await cache.set(sentence(1, 2), 'one')
    expect(await cache.get(sentence(1, 3))).toMatchObject({ answer: 'one' })
    await cache.set(sentence(1, 2), 'two')
    expect(await cache.get(sentence(1, 3))).toBeUndefined()
    expect(lookups.at(-1)).toMatchObject({ outcome: 'ambiguous' })
    // Kept for itself, so that the prompts around it do not become ambiguous.
    const ask = cache.wrap(async () => 'three')
    expect(await ask(sentence(1, 3))).toBe('three')
    expect(await cache.get(sentence(1, 3))).toMatchObject({ method: 'exact', answer: 'three' })
    const bare = await open({ margin: 0 })
    await bare.set(sentence(1, 1), 'one')
    await bare.set(sentence(1, 2), 'two')
    expect((await bare.get(sentence(1, 3)))?.method).toBe('semantic')
  })

  it('needs a margin in proportion to its distance', async () => {
    const angles: Record<string, number> = { near: 0.1, next: 0.2, far: 0.5, farther: 0.55 }
    const model = {
      id: 'angles',
      dimensions: 2,
      embed: async (texts: readonly string[]) =>
        texts.map((text) => {
          const angle = angles[/\w+$/.exec(text)?.[0] ?? ''] ?? 0
          return Float32Array.of(Math.cos(angle), Math.sin(angle))
        }),
    }
    const answerOf = async (...prompts: string[]) => {
      const cache = await open({ model, threshold: 0.5, guards: false })
      for (const prompt of prompts) await cache.set(prompt, prompt)
      return (await cache.get('asked'))?.answer
    }
    // By cosine 0.995 and 0.980, 0.878 and 0.853: the closer two are nearer to each other.
    expect(await answerOf('near', 'next')).toBe('near')
    expect(await answerOf('far', 'farther')).toBeUndefined()
    expect(await answerOf('far')).toBe('far')
  })

  it('expires, and makes room for others', async () => {
    let now = 1000
    const cache = await open({ ttlMs: 100, maxEntries: 4, clock: () => now })
    await cache.set(sentence(1), 'old')
    now += 50
    expect(await cache.get(sentence(1, 1))).toMatchObject({ answer: 'old', setAt: 1000 })
    now += 60
    expect(await cache.get(sentence(1))).toBeUndefined()
    expect(await cache.get(sentence(1, 1))).toBeUndefined()
    for (let number = 2; number < 12; number++) await cache.set(sentence(number), number)
    expect((await cache.stats()).keys).toBeLessThanOrEqual(8)
    expect(await cache.get(sentence(11))).toMatchObject({ answer: 11 })
    expect(await cache.get(sentence(2))).toBeUndefined()
  })

  it('goes by tag, source and age', async () => {
    let now = 1000
    const cache = await open({ clock: () => now })
    await cache.set(sentence(1), 1, { tags: ['a', 'b'], source: 'x' })
    await cache.set(sentence(2), 2, { tags: ['b'], source: 'y' })
    now += 100
    await cache.set(sentence(3), 3, { source: 'y' })
    expect(await cache.invalidate({ tag: 'a' })).toBe(1)
    expect(await cache.get(sentence(1))).toBeUndefined()
    expect(await cache.get(sentence(1, 1))).toBeUndefined()
    expect(await cache.invalidate({ source: 'y', olderThanMs: 50 })).toBe(1)
    expect(await cache.get(sentence(2))).toBeUndefined()
    expect(await cache.get(sentence(3))).toMatchObject({ answer: 3 })
    await expect(cache.invalidate({})).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('is not kept if it was asked for before an invalidation', async () => {
    const cache = await open()
    const ask = cache.wrap(async () => {
      await cache.invalidate({ tag: 'x' })
      return 'stale'
    })
    expect(await ask(sentence(1))).toBe('stale')
    expect(await cache.get(sentence(1))).toBeUndefined()
  })
})

describe('a wrapped function', () => {
  it('is called once for prompts that ask the same at the same time', async () => {
    const cache = await open()
    const asked: string[] = []
    const ask = cache.wrap(
      async (prompt) => {
        asked.push(prompt)
        await later()
        return { to: prompt }
      },
      { tokensOf: () => 7 },
    )
    const prompts = [sentence(1), sentence(1), sentence(1, 1), sentence(1, 2), sentence(1)]
    const answers = await Promise.all(prompts.map((prompt) => ask(prompt)))
    expect(asked).toHaveLength(1)
    expect(answers).toEqual(prompts.map(() => ({ to: asked[0] })))
    expect(new Set(answers).size).toBe(prompts.length)
    expect(await ask(sentence(1))).toEqual({ to: asked[0] })
    const { callsSaved, tokensSaved } = await cache.stats()
    expect(callsSaved).toBe(5)
    expect(tokensSaved).toBeGreaterThanOrEqual(7)
    await Promise.all([ask(sentence(2)), ask(sentence(3))])
    expect(asked).toHaveLength(3)
  })

  it('is called again after it failed, and nothing of that is kept', async () => {
    const cache = await open()
    let calls = 0
    const ask = cache.wrap(async () => {
      if (calls++ === 0) throw new Error('overloaded')
      return 'fine'
    })
    await expect(ask(sentence(1))).rejects.toThrow('overloaded')
    expect(await ask(sentence(1))).toBe('fine')
    expect(await ask(sentence(1, 1))).toBe('fine')
    expect(calls).toBe(2)
  })

  it('is always called in shadow mode, which reports what would have been served', async () => {
    const lookups: CacheLookup[] = []
    const cache = await open({ shadow: true, onLookup: (lookup) => lookups.push(lookup) })
    let calls = 0
    const ask = cache.wrap(async () => ++calls)
    expect(await ask(sentence(1))).toBe(1)
    expect(await ask(sentence(1, 1))).toBe(2)
    expect(await cache.get(sentence(1))).toBeUndefined()
    expect(lookups.map(({ outcome, method, isShadow }) => [outcome, method, isShadow])).toEqual([
      ['miss', undefined, true],
      ['hit', 'semantic', true],
      ['hit', 'exact', true],
    ])
    expect(await cache.stats()).toMatchObject({ hitRatio: 2 / 3, callsSaved: 0 })
  })
})

describe('a stream', () => {
  const chunks = ['Pa', { delta: 'ri' }, 's.']

  async function read<T>(stream: AsyncIterable<T>, most = Infinity): Promise<T[]> {
    const all: T[] = []
    for await (const chunk of stream) {
      all.push(chunk)
      if (all.length >= most) break
    }
    return all
  }

  it('is given again in the same chunks, also to others while it is on its way', async () => {
    const cache = await open()
    let calls = 0
    const ask = cache.wrapStream(async function* () {
      calls++
      for (const chunk of chunks) {
        await later()
        yield chunk
      }
    })
    const both = await Promise.all([read(ask(sentence(1))), read(ask(sentence(1)))])
    expect(both).toEqual([chunks, chunks])
    expect(await read(ask(sentence(1)))).toEqual(chunks)
    expect(await read(ask(sentence(1, 1)))).toEqual(chunks)
    expect(calls).toBe(1)
    // Whole answers are another thing.
    expect(await cache.get(sentence(1))).toBeUndefined()
  })

  it('is not kept if it failed or was left', async () => {
    const cache = await open()
    const ended: string[] = []
    let fails = true
    const ask = cache.wrapStream(async function* (prompt) {
      try {
        yield* chunks
        if (fails) throw new Error('cut off')
      } finally {
        ended.push(prompt)
      }
    })
    await expect(read(ask(sentence(1)))).rejects.toThrow('cut off')
    fails = false
    expect(await read(ask(sentence(1)), 1)).toEqual(['Pa'])
    expect(ended).toHaveLength(2)
    expect(await read(ask(sentence(1)))).toEqual(chunks)
    expect(ended).toHaveLength(3)
    expect(await read(ask(sentence(1)))).toEqual(chunks)
    expect(ended).toHaveLength(3)
  })
})

describe('feedback', () => {
  it('keeps a wrong answer from being served again, and tunes the threshold', async () => {
    const cache = await open()
    await cache.set(sentence(1), 'one')
    const wrong = await cache.get(sentence(1, 1))
    await cache.feedback(wrong!.lookup, false)
    expect(await cache.get(sentence(1, 1))).toBeUndefined()
    const right = await cache.get(sentence(1, 2))
    await cache.feedback(right!.lookup, true)
    expect(await cache.get(sentence(1, 2))).toMatchObject({ answer: 'one' })
    const exact = await cache.get(sentence(1))
    await cache.feedback(exact!.lookup, false)
    expect(await cache.get(sentence(1))).toBeUndefined()
    expect((await cache.tune()).threshold).toBeGreaterThan(0.8)
    await expect(cache.feedback('x', true)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' })
  })
})

describe('errors', () => {
  it('are thrown, unless they are to be misses', async () => {
    const failing = (isDown: () => boolean) => {
      const inner = wordEmbedder()
      return {
        ...inner,
        embed: async (texts: readonly string[]) => {
          if (isDown()) throw new Error('down')
          return inner.embed(texts, {})
        },
      }
    }
    const strict = await open({ model: failing(() => true) })
    await expect(strict.get(sentence(1))).rejects.toMatchObject({ code: 'EMBEDDER_FAILED' })
    const lenient = await open({ model: failing(() => true), onError: 'miss' })
    expect(await lenient.get(sentence(1))).toBeUndefined()
    expect(await lenient.wrap(async () => 'asked')(sentence(1))).toBe('asked')
    expect((await lenient.stats()).errors).toBeGreaterThan(1)
  })

  it('name what is missing or misspelt', async () => {
    await expect(openCache('memory:', { model: wordEmbedder() })).rejects.toThrow('threshold')
    const cache = await open()
    const misspelt = { scop: 1 } as object
    await expect(cache.get('x', misspelt)).rejects.toThrow('scope')
    const odd = { tenant: undefined } as never
    await expect(cache.get('x', { scope: odd })).rejects.toThrow('$[1].tenant is undefined')
  })
})

describe('rows of a cache', () => {
  it('are written as they always were', () => {
    const entry = { prompt: 'p', answer: { b: 1, a: [] }, tags: ['t'], setAt: 5, tokens: 2 }
    expect(encodeRow(entry).toString('latin1')).toBe(
      '\xff\x01{"answer":{"a":[],"b":1},"prompt":"p","setAt":5,"tags":["t"],"tokens":2}',
    )
    expect(addressOf('Hello  World', { b: 1, a: 2 }, 'answer')).toMatchInlineSnapshot(`
      {
        "form": "a7b3b24efdd137adff608a0ba59e6008/b94d27b9934d3e08a52e52d7da7dabfa/",
        "id": "a7b3b24efdd137adff608a0ba59e6008/b94d27b9934d3e08a52e52d7da7dabfa/60ab9317806dc4d589535de03f782620",
        "scope": "a7b3b24efdd137adff608a0ba59e6008",
        "text": "⢧⢳⢲⡎⣽⣑⠷⢭⣿⡠⢊⠋⢥⢞⡠⠈
      Hello  World",
      }
    `)
  })

  it('of somebody else are refused by name', async () => {
    const engine = new MemoryEngine()
    const store = await openStore(new MemoryBackend({}, engine))
    const { id } = addressOf('p', undefined, 'answer')
    await store.put(`a/${id}`, 'text')
    const cache = await open({ model: false, threshold: undefined }, engine)
    await expect(cache.get('p')).rejects.toMatchObject({ code: 'FORMAT_UNSUPPORTED' })
    await store.close()
  })
})
