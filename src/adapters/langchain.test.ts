/** LangChain's own `index()`, chat models and byte stores on a store of ours. */

import { Document } from '@langchain/core/documents'
import { index } from '@langchain/core/indexing'
import { AIMessage } from '@langchain/core/messages'
import { FakeEmbeddings, FakeListChatModel } from '@langchain/core/utils/testing'
import { VectorStore } from '@langchain/core/vectorstores'
import { afterEach, describe, expect, it, vi } from 'vitest'

import { openStore, type Store } from '../store/index.ts'
import type { AnswerCache } from './answers.ts'
import { PrestigeByteStore, PrestigeCache, PrestigeRecordManager } from './langchain.ts'

/** Parts by id, and how many texts were embedded. `stopAfter` fails the next call after it was done, as a crash does. */
class Vectors extends VectorStore {
  readonly parts = new Map<string, string>()
  embedded = 0
  stopAfter: 'add' | 'delete' | undefined

  constructor() {
    super(new FakeEmbeddings(), {})
  }

  override _vectorstoreType(): string {
    return 'test'
  }

  override async addVectors(): Promise<void> {}

  override async addDocuments(documents: Document[], options?: { ids: string[] }): Promise<void> {
    this.embedded += documents.length
    documents.forEach((one, at) => this.parts.set(options?.ids[at] ?? '', one.pageContent))
    if (this.stopAfter === 'add') throw new Error('stopped')
  }

  override async delete({ ids }: { ids: string[] }): Promise<void> {
    for (const id of ids) this.parts.delete(id)
    if (this.stopAfter === 'delete') throw new Error('stopped')
  }

  override async similaritySearchVectorWithScore(): Promise<[Document, number][]> {
    return []
  }

  get texts(): string[] {
    return [...this.parts.values()].toSorted()
  }
}

const part = (source: string, text: string) =>
  new Document({ pageContent: text, metadata: { source } })

const run = (
  store: Store,
  vectorStore: Vectors,
  docsSource: Document[],
  cleanup: 'incremental' | 'full' = 'incremental',
) =>
  index({
    docsSource,
    vectorStore,
    recordManager: new PrestigeRecordManager(store),
    options: { cleanup, sourceIdKey: 'source', batchSize: 2 },
  })

describe('index() with the record manager', () => {
  it('embeds only what changed, and deletes stale parts of the sources it saw', async () => {
    await using store = await openStore('memory:')
    const vectors = new Vectors()
    const before = [part('a', 'a1'), part('a', 'a2'), part('b', 'b1')]
    expect(await run(store, vectors, before)).toMatchObject({ numAdded: 3, numSkipped: 0 })
    expect(await run(store, vectors, before)).toMatchObject({ numAdded: 0, numSkipped: 3 })
    const after = [part('a', 'a1'), part('a', 'a2, changed')]
    const result = await run(store, vectors, after)
    expect(result).toMatchObject({ numAdded: 1, numDeleted: 1, numSkipped: 1 })
    expect(vectors.texts).toEqual(['a1', 'a2, changed', 'b1'])
    expect(vectors.embedded).toBe(4)
    expect(await run(store, vectors, after, 'full')).toMatchObject({ numDeleted: 1 })
    expect(vectors.texts).toEqual(['a1', 'a2, changed'])
  })

  it('stopped between vector store and records, claims nothing that is not there', async () => {
    await using store = await openStore('memory:')
    const vectors = new Vectors()
    vectors.stopAfter = 'add'
    await expect(run(store, vectors, [part('a', 'a1')])).rejects.toThrow('stopped')
    expect(await new PrestigeRecordManager(store).listKeys()).toEqual([])
    vectors.stopAfter = undefined
    expect(await run(store, vectors, [part('a', 'a1')])).toMatchObject({ numAdded: 1 })
    expect(vectors.texts).toEqual(['a1'])
  })

  it('stopped while it deletes, still knows what is to be deleted', async () => {
    await using store = await openStore('memory:')
    const vectors = new Vectors()
    await run(store, vectors, [part('a', 'a1'), part('a', 'a2')])
    vectors.stopAfter = 'delete'
    await expect(run(store, vectors, [part('a', 'a1')])).rejects.toThrow('stopped')
    expect(await new PrestigeRecordManager(store).listKeys()).toHaveLength(2)
    vectors.stopAfter = undefined
    expect(await run(store, vectors, [part('a', 'a1')])).toMatchObject({ numDeleted: 1 })
    expect(await new PrestigeRecordManager(store).listKeys()).toHaveLength(1)
    expect(vectors.texts).toEqual(['a1'])
  })
})

describe('the record manager', () => {
  afterEach(() => vi.restoreAllMocks())

  it('gives times that ascend, later than every record, however fast runs follow', async () => {
    await using store = await openStore('memory:')
    const records = new PrestigeRecordManager(store)
    await records.createSchema()
    const now = Date.now()
    vi.spyOn(Date, 'now').mockReturnValue(now) // a clock that stands still
    for (let round = 0; round < 5; round++) {
      const time = await records.getTime()
      expect(await records.listKeys({ before: time })).toHaveLength(round)
      await records.update([`k${round}`], { timeAtLeast: time })
      expect(await records.listKeys({ after: time - 1 })).toEqual([`k${round}`])
    }
    const late = records.update(['k'], { timeAtLeast: Date.now() * 2 })
    await expect(late).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('lists by group, moves keys between groups, and keeps a group that is not given', async () => {
    await using store = await openStore('memory:')
    const records = new PrestigeRecordManager(store)
    await records.update(['x', 'y', 'z'], { groupIds: ['g', 'g', null] })
    await records.update(['x', 'x'], { groupIds: ['g', 'h'] })
    await records.update(['y'])
    expect(await records.listKeys({ groupIds: ['g', 'g'] })).toEqual(['y'])
    expect(await records.listKeys({ groupIds: ['h', null] })).toEqual(['x', 'z'])
    expect(await records.listKeys({ limit: 2 })).toEqual(['x', 'y'])
    await records.deleteKeys(['x', 'none', 'x'])
    expect(await records.exists(['x', 'y', 'z'])).toEqual([false, true, true])
    expect(await records.listKeys({ groupIds: ['h'] })).toEqual([])
    await expect(records.update(['x'], { groupIds: [] })).rejects.toThrow('one for each key')
  })

  it('keeps namespaces apart, and records of a source as one content', async () => {
    await using store = await openStore('memory:')
    const records = new PrestigeRecordManager(store)
    const keys = Array.from({ length: 50 }, (_, at) => `part ${at}`)
    await records.update(keys, { groupIds: keys.map(() => 'the source') })
    expect(await store.stats()).toMatchObject({ keys: 101, contents: 2 })
    const other = new PrestigeRecordManager(store, { namespace: 'other' })
    expect(await other.listKeys()).toEqual([])
  })

  it('loses no update where several write at once', async () => {
    await using store = await openStore('memory:')
    const records = new PrestigeRecordManager(store)
    const all = ['a', 'b', 'c', 'd'].map((group) =>
      records.update(['k1', 'k2'], { groupIds: [group, group] }),
    )
    await Promise.all(all)
    const grouped = await records.listKeys({ groupIds: ['a', 'b', 'c', 'd'] })
    expect(grouped.toSorted()).toEqual(['k1', 'k2'])
  })
})

describe('the cache', () => {
  const ask = async (cache: PrestigeCache) => {
    const model = new FakeListChatModel({ responses: ['one', 'two'], cache })
    return [(await model.invoke('question')).content, (await model.invoke('question')).content]
  }

  it('answers a chat model again, in a store and in a cache of prompts', async () => {
    await using store = await openStore('memory:')
    expect(await ask(new PrestigeCache(store))).toEqual(['one', 'one'])
    const kept = new Map<string, Awaited<ReturnType<AnswerCache['get']>>>()
    const answers: AnswerCache = {
      get: async (prompt, { scope }) => kept.get(JSON.stringify([prompt, scope])),
      set: async (prompt, answer, { scope }) =>
        kept.set(JSON.stringify([prompt, scope]), { answer }),
    }
    expect(await ask(new PrestigeCache(answers))).toEqual(['one', 'one'])
    expect(kept.size).toBe(1)
  })

  it('keeps models apart, gives messages back as messages, and equal answers once', async () => {
    await using store = await openStore('memory:')
    const cache = new PrestigeCache(store)
    const message = new AIMessage({ content: 'yes', id: 'm1' })
    const generation = { text: 'yes', message }
    await cache.update('is it?', 'model a', [generation])
    await cache.update('is it so?', 'model a', [generation])
    expect(await cache.lookup('is it?', 'model b')).toBeNull()
    const [found] = (await cache.lookup('is it?', 'model a')) ?? []
    expect(found).toEqual(generation)
    expect(await store.stats()).toMatchObject({ keys: 2, contents: 1 })
  })
})

describe('the byte store', () => {
  it('gets, sets, deletes and lists below its prefix', async () => {
    await using store = await openStore('memory:')
    const bytes = new PrestigeByteStore(store, { prefix: 'vectors/' })
    await store.put('else', 'x')
    await bytes.mset([
      ['a1', Uint8Array.of(1, 255)],
      ['a2', Uint8Array.of(1, 255)],
      ['b', Uint8Array.of(2)],
    ])
    expect(await bytes.mget(['b', 'none', 'a1'])).toEqual([
      Buffer.of(2),
      undefined,
      Buffer.of(1, 255),
    ])
    const keys = async (prefix?: string) => {
      const found: string[] = []
      for await (const key of bytes.yieldKeys(prefix)) found.push(key)
      return found
    }
    expect(await keys('a')).toEqual(['a1', 'a2'])
    await bytes.mdelete(['a1'])
    expect(await keys()).toEqual(['a2', 'b'])
    expect(await store.has('else')).toBe(true)
  })
})
