import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { idOf, UnitVectors } from '../../../test/texts/unit-vectors.ts'
import { saveIndex } from './index-file.ts'
import { IvfIndex } from './ivf-index.ts'
import {
  openVectorIndex,
  openVectorView,
  type VectorChange,
  type VectorSource,
  type VectorView,
} from './vector-view.ts'

const DIMENSIONS = 24

/** Vectors and a journal of their changes, as a store keeps them. */
class Source implements VectorSource {
  embedder = 'model-1'
  dimensions = DIMENSIONS
  readonly vectors = new Map<number, Float32Array>()
  readonly journal: { number: number; vector: Float32Array | undefined }[] = []
  /** Rows before it are not there any more. */
  trimmed = 0
  readAll = 0

  set(number: number, vector: Float32Array | undefined): void {
    if (vector) this.vectors.set(number, vector)
    else this.vectors.delete(number)
    this.journal.push({ number, vector })
  }

  async count() {
    return this.vectors.size
  }

  async position() {
    return String(this.journal.length)
  }

  async *all() {
    this.readAll++
    for (const [number, vector] of this.vectors) yield { id: idOf(number), vector }
  }

  async since(position: string) {
    const from = Number(position)
    if (from < this.trimmed || from > this.journal.length) return undefined
    const rows = this.journal.slice(from)
    return (async function* (): AsyncGenerator<VectorChange> {
      for (const { number, vector } of rows) yield { id: idOf(number), vector }
    })()
  }
}

const vectors = new UnitVectors(21, DIMENSIONS, 8)

function filled(count = 300): Source {
  const source = new Source()
  for (let number = 0; number < count; number++) source.set(number, vectors.member())
  for (let number = 0; number < count; number += 7) source.set(number, undefined)
  return source
}

function expectWhole(view: VectorView, source: Source): void {
  expect(view.index.size).toBe(source.vectors.size)
  for (const [number, vector] of source.vectors) {
    expect(view.index.searchNow(vector, 1)).toEqual([{ id: idOf(number), similarity: 1 }])
  }
}

let directory: string
let files = 0
const newPath = () => join(directory, `index-${files++}`)
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-vectors-'))
})
afterAll(() => rm(directory, { recursive: true }))

describe.each(['scan', 'hnsw', 'ivf'] as const)('a view of vectors: %s', (engine) => {
  // So wide a search of so few vectors misses none.
  const options = { engine, efSearch: 256, searchK: 300 }

  it('is made from rows where there is no file, and from the file afterwards', async () => {
    const source = filled()
    const path = newPath()
    const first = await openVectorView(source, { ...options, path })
    expect(first.rebuiltBecause).toBe('missing')
    expectWhole(first, source)
    await first.save()
    const second = await openVectorView(source, { ...options, path })
    expect([second.rebuiltBecause, source.readAll]).toEqual([undefined, 1])
    expectWhole(second, source)
  })

  it('catches up with what changed since it was saved, removals included', async () => {
    const source = filled()
    const path = newPath()
    await (await openVectorView(source, { ...options, path })).save()
    for (let number = 1; number < 300; number += 5) source.set(number, undefined)
    for (let number = 300; number < 340; number++) source.set(number, vectors.member())
    source.set(2, vectors.member())
    const view = await openVectorView(source, { ...options, path })
    expect([view.rebuiltBecause, source.readAll]).toEqual([undefined, 1])
    expectWhole(view, source)
    await view.save()
    expectWhole(await openVectorView(source, { ...options, path }), source)
  })

  it('follows changes as they come', async () => {
    const source = filled(50)
    const view = await openVectorView(source, options)
    source.set(777, vectors.member())
    view.apply([{ id: idOf(777), vector: source.vectors.get(777)! }], await source.position())
    expectWhole(view, source)
    expect(view.position).toBe(await source.position())
  })

  it('is made again where the journal does not reach back, or was another', async () => {
    const source = filled()
    const path = newPath()
    await (await openVectorView(source, { ...options, path })).save()
    source.trimmed = source.journal.length + 1
    const view = await openVectorView(source, { ...options, path })
    expect([view.rebuiltBecause, source.readAll]).toEqual(['other journal', 2])
    expectWhole(view, source)
  })

  it('never trusts a file that is cut, changed, or of another embedder', async () => {
    const source = filled(60)
    const path = newPath()
    await (await openVectorView(source, { ...options, path })).save()
    const good = await readFile(path)
    const damages: [string, () => Promise<void>, RegExp][] = [
      ['empty', () => writeFile(path, ''), /torn/],
      ['cut to its half', () => truncate(path, good.length >> 1), /damaged|torn/],
      ['cut by a byte', () => truncate(path, good.length - 1), /damaged/],
      ['with a byte more', () => writeFile(path, Buffer.concat([good, Buffer.of(0)])), /damaged/],
      ['of somebody else', () => writeFile(path, 'x'.repeat(100)), /other version/],
    ]
    for (let at = 8; at < good.length; at += Math.ceil(good.length / 40)) {
      const changed = Buffer.from(good)
      changed[at] = changed[at]! ^ 1
      damages.push([`with byte ${at} changed`, () => writeFile(path, changed), /damaged/])
    }
    for (const [what, damage, why] of damages) {
      await writeFile(path, good)
      await damage()
      const view = await openVectorView(source, { ...options, path })
      expect(view.rebuiltBecause, what).toMatch(why)
      expectWhole(view, source)
    }
    await writeFile(path, good)
    source.embedder = 'model-2'
    expect((await openVectorView(source, { ...options, path })).rebuiltBecause).toBe(
      'other embedder',
    )
    source.embedder = 'model-1'
    const other = await openVectorView(source, {
      path,
      engine: engine === 'scan' ? 'hnsw' : 'scan',
    })
    expect(other.rebuiltBecause).toBe('other settings')
  })

  it('stands for the moment of its position while others go on', async () => {
    const source = filled(100)
    const path = newPath()
    const view = await openVectorView(source, { ...options, path })
    const saving = view.save()
    source.set(5, undefined)
    source.set(500, vectors.member())
    view.apply(
      [
        { id: idOf(5), vector: undefined },
        { id: idOf(500), vector: source.vectors.get(500)! },
      ],
      await source.position(),
    )
    await saving
    const opened = await openVectorView(source, { ...options, path })
    expect(opened.rebuiltBecause).toBeUndefined()
    expectWhole(opened, source)
  })

  it('leaves nothing aside, and the old file where a new one cannot be written', async () => {
    const source = filled(20)
    const path = newPath()
    const view = await openVectorView(source, { ...options, path })
    await view.save()
    await view.save()
    expect((await readdir(directory)).filter((name) => name.includes('.tmp-'))).toEqual([])
    const index = await openVectorIndex(DIMENSIONS, options)
    const nowhere = join(directory, 'no-such-folder', 'index')
    await expect(
      saveIndex(index, nowhere, { embedder: 'model-1', position: '0' }),
    ).rejects.toThrow()
    expectWhole(await openVectorView(source, { ...options, path }), source)
  })
})

describe('a view of vectors in lists', () => {
  const options = { engine: 'ivf' } as const

  async function saved(): Promise<{ source: Source; path: string }> {
    const source = filled(1500)
    const path = newPath()
    const view = await openVectorView(source, { ...options, path })
    expect(listsOf(view)).toBeGreaterThan(32)
    await view.save()
    await view.close()
    return { source, path }
  }

  function listsOf({ index }: VectorView): number | undefined {
    return index instanceof IvfIndex ? index.lists?.shape.lists : undefined
  }

  it('has the same lists when it is opened again, and follows what changed', async () => {
    const { source, path } = await saved()
    for (let number = 1; number < 200; number += 2) source.set(number, undefined)
    for (let number = 1500; number < 1600; number++) source.set(number, vectors.member())
    for (let number = 200; number < 300; number++) source.set(number, vectors.member())
    const view = await openVectorView(source, { ...options, path })
    expect([view.rebuiltBecause, source.readAll]).toEqual([undefined, 1])
    expect(listsOf(view)).toBeGreaterThan(32)
    expectWhole(view, source)
    // Slots of what went were given to what came, in a file of which nothing is left.
    expect((await readdir(directory)).filter((name) => name.includes('.tmp-'))).toEqual([])
    await view.save()
    await view.close()
    const again = await openVectorView(source, { ...options, path })
    expectWhole(again, source)
    await again.close()
  })

  it('reads on where its file was replaced or removed by others', async () => {
    const { source, path } = await saved()
    const view = await openVectorView(source, { ...options, path })
    const other = await openVectorView(source, { ...options, path })
    await other.save()
    await other.close()
    expectWhole(view, source)
    await rm(path)
    expectWhole(view, source)
    await view.close()
    expect(() => view.index.searchNow(vectors.member(), 1)).toThrow(/closed/)
  })

  it('is made again, with the same answers, where any part of its file is damaged', async () => {
    const { source, path } = await saved()
    const good = await readFile(path)
    const queries = Array.from({ length: 20 }, () => vectors.member())
    const answersOf = (view: VectorView) => queries.map((query) => view.index.searchNow(query, 3))
    const whole = await openVectorView(source, { ...options, path })
    const answers = answersOf(whole)
    await whole.close()
    for (const share of [0.01, 0.1, 0.5, 0.8, 0.99]) {
      const changed = Buffer.from(good)
      changed[Math.floor(good.length * share)]! ^= 1
      await writeFile(path, changed)
      const view = await openVectorView(source, { ...options, path })
      expect(view.rebuiltBecause).toBe('damaged')
      expect(answersOf(view)).toEqual(answers)
      await view.close()
    }
  })
})
