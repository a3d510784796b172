/**
 * One of several writers of the same keys and values in one directory: a process of its own or a worker
 * thread. Arguments (argv or workerData): directory, seed, operations, dedup.
 */

import { isMainThread, workerData } from 'node:worker_threads'

import { openStore } from '../../dist/index.js'
import { seededRandom } from '../../dist/backends/simulated/backend.js'
import { wordEmbedder } from './word-embedder.mjs'

const [directory, seed, operations, dedup = 'exact'] = isMainThread
  ? process.argv.slice(2)
  : workerData
const random = seededRandom(Number(seed))

const embedder = wordEmbedder(64)
const semantic = { embedder, threshold: 0.9, guards: false }
const store = await openStore(directory, {
  durability: 'os',
  dedup,
  ...(dedup === 'semantic' && { semantic }),
  ...(dedup === 'near' && { near: { guards: false } }),
})

/** Five texts, five versions of each; or twenty-five that have nothing in common. */
function valueOf(number) {
  if (dedup === 'exact') return Buffer.alloc(200 + number * 7, `shared ${number} `)
  const words = Array.from({ length: 100 }, (_, at) => `k${number % 5}w${at}`)
  return Buffer.from(`shared ${number} ${words.join(' ')}`)
}

async function step() {
  const key = `key ${Math.floor(random() * 60)}`
  const number = Math.floor(random() * 25)
  const dice = random()
  if (dice < 0.5) await store.put(key, valueOf(number))
  else if (dice < 0.7) await store.delete(key)
  else if (dice < 0.72) await store.collect()
  else {
    const value = await store.get(key)
    const found = value && Number(/^shared (\d+)/.exec(value.toString('latin1', 0, 12))?.[1])
    if (value && !value.equals(valueOf(found)))
      throw new Error(`${key} holds bytes nobody put there`)
  }
}

let left = Number(operations)
const lanes = Array.from({ length: 16 }, async () => {
  while (left-- > 0) await step()
})
await Promise.all(lanes)
await store.close()
