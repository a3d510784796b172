/** LangChain.js on a store: the record manager of `index()`, a cache of model answers, a store of bytes. */

import { BaseCache, deserializeStoredGeneration, serializeGeneration } from '@langchain/core/caches'
import { RecordManager } from '@langchain/core/indexing'
import type { Generation } from '@langchain/core/outputs'
import { BaseStore } from '@langchain/core/stores'

import type { JsonValue, Store } from '../store/index.ts'
import { type AnswerCache, storedAnswers } from './answers.ts'
import { type RecordFilter, Records, type RecordUpdate } from './langchain-records.ts'

type StoredGeneration = Parameters<typeof deserializeStoredGeneration>[0]

export interface RecordManagerOptions {
  /** Keys of the store begin so. One for each vector store whose parts are recorded. Default: `records`. */
  readonly namespace?: string | undefined
}

/** What `index()` of `@langchain/core/indexing` keeps its records in. The store stays open: who opened it closes it. */
export class PrestigeRecordManager extends RecordManager {
  override lc_namespace = ['prestige', 'recordmanagers']
  readonly #records: Records

  constructor(store: Store, { namespace = 'records' }: RecordManagerOptions = {}) {
    super()
    this.#records = new Records(store, namespace)
  }

  /** There is none to create. */
  async createSchema(): Promise<void> {}

  /** A time later than that of every record so far. */
  getTime(): Promise<number> {
    return this.#records.begin()
  }

  update(keys: string[], options?: RecordUpdate): Promise<void> {
    return this.#records.update(keys, options)
  }

  exists(keys: string[]): Promise<boolean[]> {
    return this.#records.exists(keys)
  }

  listKeys(options?: RecordFilter): Promise<string[]> {
    return this.#records.list(options)
  }

  deleteKeys(keys: string[]): Promise<void> {
    return this.#records.remove(keys)
  }
}

/** Answers of models: `new ChatModel({ cache: new PrestigeCache(store) })`. Takes a store, or a cache of prompts. */
export class PrestigeCache extends BaseCache {
  readonly #answers: AnswerCache

  constructor(answers: Store | AnswerCache) {
    super()
    this.#answers = 'putJson' in answers ? storedAnswers(answers) : answers
  }

  async lookup(prompt: string, llmKey: string): Promise<Generation[] | null> {
    const found = await this.#answers.get(prompt, { scope: llmKey })
    if (!found) return null
    const stored = found.answer as unknown as StoredGeneration[] // safe: made by `update`
    return stored.map((one) => deserializeStoredGeneration(one))
  }

  async update(prompt: string, llmKey: string, value: Generation[]): Promise<void> {
    // As JSON has it: what is undefined is left out.
    const answer: JsonValue = JSON.parse(JSON.stringify(value.map(serializeGeneration)))
    await this.#answers.set(prompt, answer, { scope: llmKey })
  }
}

export interface ByteStoreOptions {
  /** Keys of the store begin so. Default: they are as LangChain has them. */
  readonly prefix?: string | undefined
}

/** Bytes by keys, such as `CacheBackedEmbeddings` and document stores take. Equal values are kept once. */
export class PrestigeByteStore extends BaseStore<string, Uint8Array> {
  override lc_namespace = ['prestige', 'storage']
  readonly #store: Store
  readonly #prefix: string

  constructor(store: Store, { prefix = '' }: ByteStoreOptions = {}) {
    super()
    this.#store = store
    this.#prefix = prefix
  }

  mget(keys: string[]): Promise<(Uint8Array | undefined)[]> {
    return Promise.all(keys.map((key) => this.#store.get(this.#prefix + key)))
  }

  async mset(pairs: [string, Uint8Array][]): Promise<void> {
    await Promise.all(pairs.map(([key, value]) => this.#store.put(this.#prefix + key, value)))
  }

  async mdelete(keys: string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#store.delete(this.#prefix + key)))
  }

  async *yieldKeys(prefix = ''): AsyncGenerator<string> {
    const below = this.#prefix + prefix
    for await (const key of this.#store.keys(below === '' ? {} : { prefix: below })) {
      yield key.toString().slice(this.#prefix.length)
    }
  }
}
