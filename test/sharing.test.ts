import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openStore } from '../src/index.ts'
import { amount } from './amount.ts'

const WRITER = fileURLToPath(new URL('./children/sharing-writer.mjs', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-sharing-'))
})
afterAll(() => rm(directory, { recursive: true }))

/** Operations of a writer. */
const EXACT = amount(1500, 3000)

async function process_(
  seed: number,
  place = directory,
  dedup: 'exact' | 'near' | 'semantic' = 'exact',
) {
  const operations = { exact: EXACT, near: amount(500, 1000), semantic: amount(300, 600) }[dedup]
  const child = spawn(process.execPath, [WRITER, place, String(seed), String(operations), dedup], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
}

async function thread(seed: number): Promise<void> {
  const worker = new Worker(WRITER, { workerData: [directory, seed, EXACT] })
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

describe('three processes writing versions of the same texts to a near store', () => {
  it('never take two near duplicates for new, lose nothing and leave a sound store', async () => {
    const place = join(directory, 'near')
    const first = await openStore(place, {
      durability: 'os',
      dedup: 'near',
      near: { guards: false },
    })
    await Promise.all([1, 2, 3].map((seed) => process_(seed, place, 'near')))
    // Tables that were made before all of it was written are brought up to date.
    for (const store of [first, await openStore(place, { durability: 'os' })]) {
      const representatives = new Set<string>()
      const kinds = new Set<string>()
      const distinct = new Set<string>()
      for await (const [key, value] of store.entries()) {
        const text = value.toString()
        distinct.add(text)
        kinds.add(/k(\d)w/.exec(text)?.[1] ?? 'none')
        expect(text).toMatch(/^shared \d+ k\dw0 .* k\dw99$/)
        for (const { content } of await store.similar(text)) representatives.add(content)
        expect(await store.has(key)).toBe(true)
      }
      expect(kinds.size).toBe(5)
      expect(representatives.size).toBe(kinds.size)
      const { contents, near } = await store.stats()
      expect(contents).toBe(distinct.size)
      expect(near?.links).toBe(contents - representatives.size)
      expect((await store.verify()).problems).toEqual([])
      await store.close()
    }
  })
})

describe('three processes writing versions of the same texts to a semantic store', () => {
  it('never take two of one meaning for new, lose nothing and leave a sound store', async () => {
    const place = join(directory, 'semantic')
    await Promise.all([1, 2, 3].map((seed) => process_(seed, place, 'semantic')))
    const store = await openStore(place, { durability: 'os' })
    const kinds = new Set<string>()
    const distinct = new Set<string>()
    for await (const [, value] of store.entries()) {
      const text = value.toString()
      distinct.add(text)
      kinds.add(/k(\d)w/.exec(text)?.[1] ?? 'none')
      expect(text).toMatch(/^shared \d+ k\dw0 .* k\dw99$/)
    }
    expect(kinds.size).toBe(5)
    expect(await store.stats()).toMatchObject({
      contents: distinct.size,
      semantic: { representatives: 5, links: distinct.size - 5 },
    })
    expect((await store.verify()).problems).toEqual([])
    await store.close()
  }, 120_000)
})
