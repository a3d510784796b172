/** Answers of the AI SDK, given again. Needs Node 22. `node examples/adapters/ai-sdk.mjs`, after `npm ci`. */

import { streamText, wrapLanguageModel } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { openStore } from 'prestige-dedup'
import { cachedAnswers, storedAnswers } from 'prestige-dedup/ai-sdk'

const tokens = (total) => ({ total })
const chunks = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Paris' },
  { type: 'text-end', id: '1' },
  {
    type: 'finish',
    finishReason: { unified: 'stop' },
    usage: { inputTokens: tokens(7), outputTokens: tokens(1) },
  },
]

const store = await openStore('memory:')
const mock = new MockLanguageModelV4({
  doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
})
const model = wrapLanguageModel({
  model: mock,
  middleware: cachedAnswers({ answers: storedAnswers(store) }),
})
for (let asked = 0; asked < 2; asked++) {
  console.log(await streamText({ model, prompt: 'What is the capital of France?' }).text)
}
console.log(`asked the model ${mock.doStreamCalls.length} time`)
await store.close()
