/** A run of LangChain's `index()` is killed between the vector store and the records: those stay truthful. */

import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { PrestigeRecordManager } from '../src/exports/langchain.ts'
import { openStore } from '../src/index.ts'

const INDEXER = fileURLToPath(new URL('./children/langchain-indexer.mjs', import.meta.url))
type Part = readonly [source: string, text: string]

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-langchain-crash-'))
  await writeFile(join(directory, 'vectors.json'), '{}')
})
afterEach(() => rm(directory, { recursive: true }))

function run(parts: readonly Part[]): unknown {
  const args = [INDEXER, directory, JSON.stringify(parts), '0']
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

function killed(parts: readonly Part[], afterWrite: number): void {
  const args = [INDEXER, directory, JSON.stringify(parts), String(afterWrite)]
  expect(spawnSync(process.execPath, args).signal).toBe('SIGKILL')
}

async function vectors(): Promise<Record<string, string>> {
  return JSON.parse(await readFile(join(directory, 'vectors.json'), 'utf8'))
}

const texts = async () => Object.values(await vectors()).toSorted()

/** The keys of the records; that the store they are in is sound comes with it. */
async function records(): Promise<string[]> {
  await using store = await openStore(join(directory, 'records'))
  expect((await store.verify()).problems).toEqual([])
  return await new PrestigeRecordManager(store).listKeys()
}

const PARTS: readonly Part[] = [
  ['a', 'a1'],
  ['a', 'a2'],
  ['b', 'b1'],
]

describe.runIf(process.platform !== 'win32')('a run of index() that is killed', () => {
  it.each([
    [1, 0],
    [2, 2],
  ])('after batch %i was added claims no part of that batch', async (batch, recorded) => {
    killed(PARTS, batch)
    const there = await vectors()
    const claimed = await records()
    expect(claimed).toHaveLength(recorded)
    for (const key of claimed) expect(there).toHaveProperty([key])
    expect(run(PARTS)).toMatchObject({ numAdded: 3 - recorded, numSkipped: recorded })
    expect(await texts()).toEqual(['a1', 'a2', 'b1'])
    expect((await records()).toSorted()).toEqual(Object.keys(await vectors()).toSorted())
  })

  it('after stale parts were deleted still knows that they are to be deleted', async () => {
    run(PARTS)
    // The first write adds what changed, the second deletes what it replaces.
    const changed: readonly Part[] = [
      ['a', 'a1'],
      ['a', 'a2, changed'],
    ]
    killed(changed, 2)
    expect(await texts()).toEqual(['a1', 'a2, changed', 'b1'])
    expect(await records()).toHaveLength(4)
    expect(run(changed)).toMatchObject({ numAdded: 0, numDeleted: 1, numSkipped: 2 })
    expect(await texts()).toEqual(['a1', 'a2, changed', 'b1'])
    expect((await records()).toSorted()).toEqual(Object.keys(await vectors()).toSorted())
  })
})
