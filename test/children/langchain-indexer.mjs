/**
 * Runs LangChain's `index()` with a record manager in a directory and a vector store in a file, and kills itself right
 * after that file was written for the nth time, which is before the records are updated. Says what the run did.
 *
 * Arguments: directory, parts as JSON (source and text of each), which write it ends after (0: none).
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { Document } from '@langchain/core/documents'
import { index } from '@langchain/core/indexing'
import { FakeEmbeddings } from '@langchain/core/utils/testing'
import { VectorStore } from '@langchain/core/vectorstores'

import { PrestigeRecordManager } from '../../dist/exports/langchain.js'
import { openStore } from '../../dist/index.js'

const [directory, parts, last] = process.argv.slice(2)
const file = join(directory, 'vectors.json')

class FileVectors extends VectorStore {
  #writes = 0

  _vectorstoreType() {
    return 'file'
  }

  #write(change) {
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    change(kept)
    writeFileSync(file, JSON.stringify(kept))
    if (++this.#writes === Number(last)) process.kill(process.pid, 'SIGKILL')
  }

  async addDocuments(documents, { ids }) {
    this.#write((kept) => documents.forEach((one, at) => (kept[ids[at]] = one.pageContent)))
  }

  async delete({ ids }) {
    this.#write((kept) => ids.forEach((id) => delete kept[id]))
  }
}

const store = await openStore(join(directory, 'records'))
const result = await index({
  docsSource: JSON.parse(parts).map(
    ([source, pageContent]) => new Document({ pageContent, metadata: { source } }),
  ),
  vectorStore: new FileVectors(new FakeEmbeddings(), {}),
  recordManager: new PrestigeRecordManager(store),
  options: { cleanup: 'incremental', sourceIdKey: 'source', batchSize: 2 },
})
await store.close()
process.stdout.write(JSON.stringify(result))
