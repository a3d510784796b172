/**
 * Answers of models, by their prompts: what the adapters of model libraries need of a cache. A cache that finds prompts by
 * their meaning fits as well as a plain store, which knows a prompt by its very text.
 */

import { createHash } from 'node:crypto'

import { type JsonValue, jsonText, type Store } from '../store/index.ts'

/** What an answer depends on besides the prompt. */
export interface AnswerCall {
  /** Prompts of different scopes never get each other's answers: model, settings, tools. Any JSON. */
  readonly scope?: JsonValue | undefined
}

/** The part of a cache that the adapters use. */
export interface AnswerCache {
  get(
    prompt: string,
    call: AnswerCall,
  ): Promise<{ readonly answer: JsonValue; readonly prompt?: string } | undefined>
  set(prompt: string, answer: JsonValue, call: AnswerCall): Promise<unknown>
}

export interface StoredAnswersOptions {
  /** Keys of the store begin so. Default: `answer:`. */
  readonly prefix?: string | undefined
  /** Milliseconds until an answer expires. Default: the store's `defaultTtlMs`. */
  readonly ttlMs?: number | undefined
}

/** Answers in a store: each distinct answer is kept once, whatever the number of prompts it was given to. */
export function storedAnswers(store: Store, options: StoredAnswersOptions = {}): AnswerCache {
  const { prefix = 'answer:', ttlMs } = options
  const keyOf = (prompt: string, { scope = null }: AnswerCall) =>
    prefix +
    createHash('sha256')
      .update(jsonText([scope, prompt]))
      .digest('hex')
  return {
    async get(prompt, call) {
      const answer = await store.getJson(keyOf(prompt, call))
      return answer === undefined ? undefined : { answer }
    },
    set: (prompt, answer, call) => store.putJson(keyOf(prompt, call), answer, { ttlMs }),
  }
}
