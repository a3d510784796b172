import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openStore } from '../src/index.ts'

const WRITER = fileURLToPath(new URL('./children/sharing-writer.mjs', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-sharing-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function process_(seed: number): Promise<void> {
  const child = spawn(process.execPath, [WRITER, directory, String(seed), '3000'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
}

async function thread(seed: number): Promise<void> {
  const worker = new Worker(WRITER, { workerData: [directory, seed, 3000] })
  const [code] = await once(worker, 'exit')
  expect(code).toBe(0)
}

describe('three processes and three worker threads writing the same keys and values', () => {
  it('keep identical bytes once, lose nothing and leave a sound store', async () => {
    const writers = [1, 2, 3].flatMap((seed) => [process_(seed), thread(seed + 10)])
    await Promise.all(writers)
    await using store = await openStore(directory, { durability: 'os' })
    const distinct = new Set<string>()
    let keys = 0
    for await (const [, value] of store.entries()) {
      keys++
      distinct.add(value.toString('latin1'))
    }
    const stats = await store.stats()
    expect(stats.keys).toBe(keys)
    expect(stats.contents).toBe(distinct.size)
    const report = await store.verify()
    expect(report.problems).toEqual([])
    expect(report.contents).toBe(distinct.size)
  })
})
