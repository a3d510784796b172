/** The index of representatives follows what is committed, by whoever, from near and from far behind. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { idOf, UnitVectors } from '../../../test/texts/unit-vectors.ts'
import { cell, type Scope, type Transaction } from '../../backends/contract.ts'
import { MemoryBackend } from '../../backends/memory/backend.ts'
import { documentOf } from '../../semantic/document.ts'
import type { IndexOptions } from '../../semantic/index.ts'
import { sequenceKey } from '../../match/rows.ts'
import { semanticJournal, semanticLinks } from './rows.ts'
import { VectorRows } from './vectors.ts'
import { SEMANTIC_HEAD, noteChange, SemanticView } from './view.ts'

const DIMENSIONS = 20
const NO_DIGEST = Buffer.alloc(32)

function openWorld(index: IndexOptions = {}, path?: string) {
  const backend = new MemoryBackend({})
  const rows = new VectorRows('made up', DIMENSIONS, 1 << 20)
  const wanted = { embedder: 'made up', dimensions: DIMENSIONS, index, path }
  const view = new SemanticView(backend, rows, wanted)
  const made = new UnitVectors(3, DIMENSIONS, 1)
  const vectors = new Map<number, Float32Array>()

  function* begin(scope: Scope, number: number): Transaction<void> {
    const vector = made.any()
    vectors.set(number, vector)
    const row = { digest: NO_DIGEST, bytes: 1, role: 'representative', to: undefined } as const
    scope.write(cell(semanticLinks.links, idOf(number)), row)
    rows.write(scope, idOf(number), documentOf([vector]))
    yield* noteChange(scope, idOf(number))
  }

  function* leave(scope: Scope, number: number): Transaction<void> {
    vectors.delete(number)
    scope.remove(cell(semanticLinks.links, idOf(number)))
    yield* rows.remove(scope, idOf(number))
    yield* noteChange(scope, idOf(number))
  }

  const expectAll = async () => {
    const { index } = await view.catchUp()
    expect(index.size).toBe(vectors.size)
    for (const [number, vector] of vectors) {
      expect(index.searchNow(vector, 1)).toEqual([{ id: idOf(number), similarity: 1 }])
    }
    return index
  }
  const put = (number: number) => backend.run(begin, number)
  const remove = (number: number) => backend.run(leave, number)
  const reopened = () => new SemanticView(backend, rows, wanted)
  return { backend, view, vectors, put, remove, expectAll, reopened }
}

describe('the index of representatives', () => {
  it('takes in what came and went since it looked last', async () => {
    const { put, remove, expectAll } = openWorld()
    const index = await expectAll()
    let next = 0
    for (const count of [1, 3, 0, 99, 1, 100, 101, 2, 250]) {
      for (let at = 0; at < count; at++) await put(next++)
      if (count > 2) await remove(next - 2)
      expect(await expectAll()).toBe(index)
    }
    await remove(0)
    await put(0)
    expect(await expectAll()).toBe(index)
  })

  it('gets all that is new in one read, where that is little', async () => {
    const { backend, view, put, expectAll } = openWorld()
    await put(0)
    await expectAll()
    let reads = 0
    const read = backend.read.bind(backend)
    backend.read = (...args) => {
      reads++
      return read(...args)
    }
    await view.catchUp()
    expect(reads).toBe(1)
    for (let at = 1; at < 20; at++) await put(at)
    await view.catchUp()
    expect(reads).toBe(2)
    await expectAll()
  })

  it('is rebuilt where the journal is another, or does not reach back', async () => {
    const { backend, view, put, vectors, expectAll } = openWorld()
    for (let at = 0; at < 5; at++) await put(at)
    const first = await expectAll()
    await put(5)
    // oxlint-disable-next-line require-yield -- a body that reads nothing is one too
    await backend.run(function* (scope: Scope): Transaction<void> {
      scope.remove(cell(semanticLinks.links, idOf(0)))
      const nonce = scope.id()
      scope.write(cell(semanticJournal, sequenceKey(5)), { nonce, id: idOf(4) })
    })
    vectors.delete(0)
    const second = await expectAll()
    expect(second).not.toBe(first)
    await put(6)
    await put(7)
    await view.trim(1)
    expect(await expectAll()).not.toBe(second)
  })

  it('is rebuilt where the journal has a gap, or ends before what it knows', async () => {
    const { backend, put, vectors, expectAll } = openWorld()
    for (let at = 0; at < 3; at++) await put(at)
    const first = await expectAll()
    for (let at = 3; at < 6; at++) await put(at)
    // oxlint-disable-next-line require-yield -- a body that reads nothing is one too
    await backend.run(function* (scope: Scope): Transaction<void> {
      scope.remove(cell(semanticJournal, sequenceKey(5)))
    })
    const second = await expectAll()
    expect(second).not.toBe(first)
    // oxlint-disable-next-line require-yield -- a body that reads nothing is one too
    await backend.run(function* (scope: Scope): Transaction<void> {
      scope.remove(cell(semanticLinks.links, idOf(1)))
      scope.write(SEMANTIC_HEAD, { sequence: 2, nonce: scope.id() })
    })
    vectors.delete(1)
    expect(await expectAll()).not.toBe(second)
  })
})

describe('the file of an index of lists', () => {
  it('is written again only when it is far behind, and is followed until then', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-view-'))
    const path = join(directory, 'lists')
    const { view, put, vectors, reopened } = openWorld({ engine: 'ivf' }, path)
    for (let at = 0; at < 300; at++) await put(at)
    await view.catchUp()
    expect(await view.save()).toBe(true)
    await view.close()
    const second = reopened()
    for (const [at, isSaved] of [
      [300, false],
      [301, false],
      [302, false],
      [303, true],
      [304, false],
    ] as const) {
      await put(at)
      await second.catchUp()
      expect([at, await second.save()]).toEqual([at, isSaved])
    }
    await second.close()
    const { index, rebuiltBecause } = await reopened().catchUp()
    expect([rebuiltBecause, index.size]).toEqual([undefined, 305])
    for (const [number, vector] of vectors) {
      expect(index.searchNow(vector, 1)).toEqual([{ id: idOf(number), similarity: 1 }])
    }
    await rm(directory, { recursive: true })
  })
})
