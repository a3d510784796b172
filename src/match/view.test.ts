/** Views of one journal agree, whoever wrote its rows, and whatever was rolled back. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import type { Scope, Transaction } from '../backends/contract.ts'
import { openResolver } from '../resolve/open.ts'
import { MatchIndex } from './match-index.ts'
import { TextScheme } from './scheme/text.ts'
import { nearSpaces } from './rows.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-view-'))
})
afterAll(() => rm(directory, { recursive: true }))

const SLOTS = 64
const GROUP = Buffer.alloc(16, 1)
const spaces = nearSpaces('test')
const signature = (seed: number) => Uint16Array.from({ length: SLOTS }, (_, at) => seed * 100 + at)

function makeIndex(): MatchIndex<Uint16Array> {
  const likeness = new TextScheme(SLOTS, { bands: 8, rows: 8 })
  return new MatchIndex(spaces, likeness, { serial: true, candidatesMax: 10, bucketMax: 100 })
}

function* find(scope: Scope, index: MatchIndex<Uint16Array>, seed: number): Transaction<number> {
  const { candidates } = yield* index.find(GROUP, signature(seed), 0.5, scope)
  return candidates.length
}

function* add(scope: Scope, index: MatchIndex<Uint16Array>, seed: number): Transaction<void> {
  yield* index.find(GROUP, signature(seed), 0.5, scope)
  yield* index.insert(scope, GROUP, scope.id(), signature(seed), Buffer.alloc(0))
}

function* addAndFail(scope: Scope, index: MatchIndex<Uint16Array>, seed: number) {
  yield* add(scope, index, seed)
  yield* find(scope, index, seed)
  throw new Error('never committed')
}

describe('a view of the journal', () => {
  it('has its own rows and those of others, in whatever order they came', async () => {
    const backend = new MemoryBackend({}, new MemoryEngine())
    const indexes = [makeIndex(), makeIndex(), makeIndex()]
    for (let seed = 1; seed <= 60; seed++) {
      await backend.run(add, indexes[(seed * seed) % 2]!, seed)
      if (seed % 7 === 0) expect(await backend.run(find, indexes[2]!, seed)).toBe(1)
    }
    for (const index of indexes) {
      for (let seed = 1; seed <= 60; seed++) expect(await backend.run(find, index, seed)).toBe(1)
    }
  })

  it('is right again after a row of its own was rolled back and another took its number', async () => {
    const backend = new MemoryBackend({}, new MemoryEngine())
    const [own, other] = [makeIndex(), makeIndex()]
    await backend.run(add, own, 1)
    await expect(backend.run(addAndFail, own, 2)).rejects.toThrow('never committed')
    own.invalidate()
    await backend.run(add, other, 3)
    await backend.run(add, own, 4)
    for (const index of [own, other]) {
      const found = []
      for (const seed of [1, 2, 3, 4]) found.push(await backend.run(find, index, seed))
      expect(found).toEqual([1, 0, 1, 1])
    }
  })
})

describe('resolvers on one directory', () => {
  it('give one text one id, whoever is asked', async () => {
    const open = () => openResolver(directory, { durability: 'os', cacheMax: 0 })
    const [first, second] = await Promise.all([open(), open()])
    const texts = Array.from(
      { length: 300 },
      (_, at) => `text number ${(at * 7919) % 40} of a few that come again${'!'.repeat(at % 3)}`,
    )
    const resolved = await Promise.all(
      texts.map((text, at) => (at % 2 ? first : second).resolve('group', text)),
    )
    const third = await open()
    for (const [at, text] of texts.entries()) {
      for (const resolver of [first, second, third]) {
        expect((await resolver.lookup('group', text))?.id).toBe(resolved[at]!.id)
      }
    }
    await Promise.all([first.close(), second.close(), third.close()])
  })

  it('answer what is known without a write, and renew it when that is due', async () => {
    let now = 1_000_000
    const resolver = await openResolver('memory:', {
      ttlMs: 1000,
      renewMs: 100,
      cacheMax: 0,
      clock: () => now,
    })
    const { id } = await resolver.resolve('group', 'a text that lives')
    for (let step = 0; step < 30; step++) {
      now += 90
      const again = await resolver.resolve('group', 'a text that lives')
      expect([again.id, again.status]).toEqual([id, 'exact'])
    }
    now += 1001
    expect((await resolver.resolve('group', 'a text that lives')).status).toBe('new')
    await resolver.close()
  })
})
