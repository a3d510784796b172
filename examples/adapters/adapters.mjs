/** One store behind unstorage and LangChain.js. `node examples/adapters/adapters.mjs`, after `npm ci`. */

import { Document } from '@langchain/core/documents'
import { index } from '@langchain/core/indexing'
import { FakeEmbeddings } from '@langchain/core/utils/testing'
import { VectorStore } from '@langchain/core/vectorstores'
import { openStore } from 'prestige-dedup'
import { PrestigeRecordManager } from 'prestige-dedup/langchain'
import { prestigeDriver } from 'prestige-dedup/unstorage'
import { createStorage } from 'unstorage'

/** Stands for a vector store, and counts what it has to embed. */
class Vectors extends VectorStore {
  embedded = 0

  constructor() {
    super(new FakeEmbeddings(), {})
  }

  _vectorstoreType() {
    return 'example'
  }

  async addDocuments(documents) {
    this.embedded += documents.length
  }

  async delete() {}
}

const store = await openStore('memory:')

const storage = createStorage({ driver: prestigeDriver({ store, base: 'pages' }) })
await storage.setItem('en:about', { title: 'About us' })
await storage.setItem('us:about', { title: 'About us' })
const { keys, contents } = await store.stats()
console.log(`unstorage: ${keys} keys, ${contents} content`)

const vectorStore = new Vectors()
const recordManager = new PrestigeRecordManager(store)
const part = (pageContent) => new Document({ pageContent, metadata: { source: 'manual.md' } })
for (const docsSource of [
  [part('one'), part('two')],
  [part('one'), part('two, changed')],
]) {
  const options = { cleanup: 'incremental', sourceIdKey: 'source' }
  const { numAdded, numSkipped, numDeleted } = await index({
    docsSource,
    recordManager,
    vectorStore,
    options,
  })
  console.log(`LangChain: ${numAdded} added, ${numSkipped} skipped, ${numDeleted} deleted`)
}
console.log(`LangChain: ${vectorStore.embedded} parts embedded`)
await store.close()
