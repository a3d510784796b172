/** The middleware in the AI SDK itself, around its mock of a model. Needs Node 22. */

import { generateText, streamText, wrapLanguageModel } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { describe, expect, it } from 'vitest'

import { openStore } from '../store/index.ts'
import { cachedAnswers } from './ai-sdk.ts'
import { type AnswerCache, storedAnswers } from './answers.ts'

type Model = ConstructorParameters<typeof MockLanguageModelV4>[0] & {}
type Parts =
  NonNullable<Model['doStream']> extends infer F
    ? F extends (...given: never[]) => PromiseLike<{ stream: ReadableStream<infer P> }>
      ? P[]
      : never
    : never

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
}
const finishReason = { unified: 'stop' as const, raw: 'stop' }
const timestamp = new Date(1_700_000_000_000)

const streamed = (word: string): Parts => [
  { type: 'stream-start', warnings: [] },
  { type: 'response-metadata', id: 'r1', timestamp, modelId: 'm' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: `${word}, ` },
  { delta: 'in parts', id: 't', type: 'text-delta' },
  { type: 'text-end', id: 't' },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: Uint8Array.of(1, 255) } },
  { type: 'finish', usage, finishReason, providerMetadata: { p: { $date: 'no date' } } },
]

/** A model that says another word with each call. */
function modelOf(parts: (word: string) => Parts = streamed) {
  let calls = 0
  return new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: 'text', text: `answer ${++calls}` }],
      finishReason,
      usage,
      warnings: [],
      request: { body: 'a secret' },
      response: { id: 'r1', timestamp, modelId: 'm' },
    }),
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: parts(`word ${++calls}`) }),
    }),
  })
}

async function partsOf(stream: ReadableStream<unknown>): Promise<unknown[]> {
  const parts: unknown[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

describe('cachedAnswers', () => {
  it('gives a generated answer again, apart by prompt, settings, model and scope', async () => {
    await using store = await openStore('memory:')
    const answers = storedAnswers(store)
    const base = modelOf()
    const model = wrapLanguageModel({ model: base, middleware: cachedAnswers({ answers }) })
    const first = await generateText({ model, prompt: 'why?' })
    const again = await generateText({ model, prompt: 'why?' })
    expect([first.text, again.text]).toEqual(['answer 1', 'answer 1'])
    expect(again.response.timestamp).toEqual(timestamp)
    expect(again.usage).toEqual(first.usage)
    for await (const value of store.values()) expect(value.toString()).not.toContain('a secret')
    expect((await generateText({ model, prompt: 'how?' })).text).toBe('answer 2')
    expect((await generateText({ model, prompt: 'why?', temperature: 1 })).text).toBe('answer 3')
    expect((await generateText({ model, prompt: 'why?', instructions: 'be brief' })).text).toBe(
      'answer 4',
    )
    const scoped = cachedAnswers({ answers, scope: { tenant: 'b' } })
    const other = wrapLanguageModel({ model: base, middleware: scoped })
    expect((await generateText({ model: other, prompt: 'why?' })).text).toBe('answer 5')
    expect(base.doGenerateCalls).toHaveLength(5)
  })

  it('gives a stream again in the same parts, to the byte', async () => {
    await using store = await openStore('memory:')
    const base = modelOf()
    const middleware = cachedAnswers({ answers: storedAnswers(store) })
    const model = wrapLanguageModel({ model: base, middleware })
    const call = {
      prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'why?' }] }],
    }
    const first = await partsOf((await model.doStream(call)).stream)
    const again = await partsOf((await model.doStream(call)).stream)
    expect(first).toEqual(streamed('word 1'))
    expect(again).toEqual(first)
    expect(JSON.stringify(again)).toBe(JSON.stringify(first))
    expect(base.doStreamCalls).toHaveLength(1)
    const whole = () => streamText({ model, prompt: 'why?' }).text
    expect([await whole(), await whole()]).toEqual(['word 2, in parts', 'word 2, in parts'])
  })

  it('keeps nothing of a stream that failed or was left', async () => {
    await using store = await openStore('memory:')
    const error = { type: 'error' as const, error: 'overloaded' }
    const [start, ...rest] = streamed('x')
    const failing = modelOf(() => (start ? [start, error, ...rest] : []))
    const middleware = cachedAnswers({ answers: storedAnswers(store) })
    const call = { prompt: [] }
    const broken = wrapLanguageModel({ model: failing, middleware })
    await partsOf((await broken.doStream(call)).stream)
    const left = wrapLanguageModel({ model: modelOf(), middleware })
    await (await left.doStream(call)).stream.cancel()
    expect((await store.stats()).keys).toBe(0)
  })

  it('asks the model where the cache fails, and says so', async () => {
    const fails = async () => {
      throw new Error('no cache')
    }
    const answers: AnswerCache = { get: fails, set: fails }
    const errors: unknown[] = []
    const middleware = cachedAnswers({ answers, onError: (error) => errors.push(error) })
    const model = wrapLanguageModel({ model: modelOf(), middleware })
    expect((await generateText({ model, prompt: 'why?' })).text).toBe('answer 1')
    expect(errors).toHaveLength(2)
  })

  it('asks a cache of prompts for the question of the user, and no more', async () => {
    const asked: string[] = []
    const answers: AnswerCache = {
      get: async (prompt) => void asked.push(prompt),
      set: async () => undefined,
    }
    const model = wrapLanguageModel({ model: modelOf(), middleware: cachedAnswers({ answers }) })
    await generateText({
      model,
      instructions: 'be brief',
      prompt: 'What is the capital of France?',
    })
    expect(asked).toEqual(['What is the capital of France?'])
  })
})
