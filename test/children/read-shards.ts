/** Reads and writes all shards of a file in a worker thread, and prints what was read and how memory grew. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

import { isReject, listShards, openWriter, readShard, type Shard } from '../../src/input/index.ts'

export interface Measured {
  readonly documents: number
  readonly rejects: readonly string[]
  readonly bytesWritten: number
  readonly grownMegabytes: number
}

async function readAll(shards: readonly Shard[]): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-input-child-'))
  let [documents, bytesWritten] = [0, 0]
  const rejects: string[] = []
  const before = process.memoryUsage.rss()
  let peak = before
  const writer = await openWriter(shards[0]!, { directory })
  for (const shard of shards) {
    const kept: number[] = []
    for await (const batch of readShard(shard)) {
      for (const item of batch) {
        if (isReject(item)) rejects.push(item.reason)
        else kept.push(item.position)
      }
      peak = Math.max(peak, process.memoryUsage.rss())
    }
    documents += kept.length
    bytesWritten += (await writer.writeKept(kept, shard)).bytes
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  await writer.close()
  rmSync(directory, { recursive: true })
  return { documents, rejects, bytesWritten, grownMegabytes: (peak - before) / 1e6 }
}

if (isMainThread) {
  const { shards } = await listShards(process.argv.slice(2))
  // Node 20 does not hand the loader of TypeScript down to workers.
  const start = `import('tsx/esm/api').then(({ register }) => (register(), import('${import.meta.url}')))`
  const worker = new Worker(start, { eval: true, workerData: shards })
  worker.on('message', (measured) => process.stdout.write(JSON.stringify(measured)))
} else {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(await readAll(workerData))
}
