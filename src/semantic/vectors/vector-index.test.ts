import { setImmediate } from 'node:timers/promises'

import { describe, expect, it } from 'vitest'

import { idOf, TopicVectors, unit, UnitVectors } from '../../../test/texts/unit-vectors.ts'
import { vectorCosine } from '../document.ts'
import { GraphIndex } from './graph-index.ts'
import { IvfIndex, LEARN_MIN } from './ivf-index.ts'
import { readIndexOptions } from './options.ts'
import { ScanIndex } from './scan-index.ts'
import type { VectorIndex, VectorMatch } from './vector-index.ts'
import { openVectorIndex } from './vector-view.ts'

const DIMENSIONS = 48

const engines: readonly [string, () => Promise<VectorIndex>][] = [
  ['scan', () => openVectorIndex(DIMENSIONS)],
  ['scan by the twin', async () => new ScanIndex({ dimensions: DIMENSIONS, kernels: 'twin' })],
  ['hnsw', () => openVectorIndex(DIMENSIONS, { engine: 'hnsw', searchK: 200, efSearch: 256 })],
  ['ivf, of few', () => openVectorIndex(DIMENSIONS, { engine: 'ivf' })],
  ['ivf, in lists', () => inLists()],
  ['ivf, in lists by the twin', () => inLists('twin')],
]

/** Empty, but with lists, which it learned from vectors that went again. */
async function inLists(kernels: 'wasm' | 'twin' = 'wasm'): Promise<IvfIndex> {
  const index = new IvfIndex({ dimensions: DIMENSIONS, probes: 64, searchK: 600, kernels })
  const vectors = new UnitVectors(6, DIMENSIONS, 20)
  for (let at = 0; at < LEARN_MIN; at++) index.add(idOf(at), vectors.member())
  await index.settled()
  expect(index.lists?.shape.lists).toBe(64)
  for (let at = 0; at < LEARN_MIN; at++) index.remove(idOf(at))
  return index
}

function expected(
  model: ReadonlyMap<number, Float32Array>,
  query: Float32Array,
  k: number,
  similarityMin = -1,
): VectorMatch[] {
  return [...model]
    .map(([number, vector]) => ({ id: idOf(number), similarity: vectorCosine(query, vector) }))
    .filter(({ similarity }) => similarity >= similarityMin)
    .toSorted((a, b) => b.similarity - a.similarity || Buffer.compare(a.id, b.id))
    .slice(0, k)
}

describe.each(engines)('an index of vectors: %s', (name, open) => {
  it('answers as a list that is looked through, whatever comes and goes', async () => {
    const vectors = new UnitVectors(7, DIMENSIONS, 20)
    const model = new Map<number, Float32Array>()
    const index = await open()
    for (let step = 0; step < 3000; step++) {
      const number = vectors.below(600)
      const kind = vectors.below(10)
      if (kind < 5) {
        const vector = vectors.member()
        model.set(number, vector)
        index.add(idOf(number), vector)
      } else if (kind < 8) {
        expect(index.remove(idOf(number))).toBe(model.delete(number))
      } else if (step % 5 === 0) {
        const query = vectors.member()
        const k = 1 + vectors.below(12)
        const found = index.searchNow(query, k)
        if (name !== 'hnsw') expect(found).toEqual(expected(model, query, k))
        // A graph may miss one, but what it finds is there and is measured exactly.
        for (const { id, similarity } of found) {
          expect(similarity).toBe(vectorCosine(query, model.get(id.readUInt32BE(12))!))
        }
        expect(await index.search(query, k)).toEqual(found)
      }
      expect(index.size).toBe(model.size)
    }
  })

  it('never finds what was removed, and finds all others', async () => {
    const vectors = new UnitVectors(8, DIMENSIONS, 5)
    const index = await open()
    const all = Array.from({ length: 400 }, () => vectors.member())
    all.forEach((vector, at) => index.add(idOf(at), vector))
    for (let at = 0; at < 400; at += 2) index.remove(idOf(at))
    all.forEach((vector, at) => {
      const [best] = index.searchNow(vector, 1)
      if (at % 2 === 1) expect(best).toEqual({ id: idOf(at), similarity: 1 })
      else expect(best!.id.readUInt32BE(12) % 2).toBe(1)
    })
    for (let at = 0; at < 400; at += 2) index.add(idOf(at), all[at]!)
    expect(index.searchNow(all[0]!, 1)).toEqual([{ id: idOf(0), similarity: 1 }])
  })

  it('does not find what was removed where all else is far away', async () => {
    const index = await open()
    const vector = new UnitVectors(14, DIMENSIONS, 1).any()
    const away = vector.map((number) => -number)
    index.add(idOf(1), vector)
    index.add(idOf(2), away)
    index.remove(idOf(1))
    expect(index.searchNow(vector, 5)).toEqual([{ id: idOf(2), similarity: -1 }])
  })

  it('takes vectors of any length, and gives equals the lowest id first', async () => {
    const index = await open()
    const vector = new UnitVectors(9, DIMENSIONS, 1).any()
    index.add(
      idOf(2),
      vector.map((number) => number * 1e15),
    )
    index.add(idOf(1), vector)
    index.add(
      idOf(3),
      vector.map((number) => -number),
    )
    const found = index.searchNow(vector, 3)
    expect(found.map(({ similarity }) => similarity.toFixed(6))).toEqual([
      '1.000000',
      '1.000000',
      '-1.000000',
    ])
    expect(index.searchNow(vector, 3, { threshold: 0.5 })).toHaveLength(2)
  })

  it('is empty at first', async () => {
    const index = await open()
    expect(index.searchNow(new Float32Array(DIMENSIONS).fill(1), 5)).toEqual([])
    expect(index.remove(idOf(1))).toBe(false)
  })

  it('refuses what has no direction or other dimensions, and stays as it was', async () => {
    const index = await open()
    const good = new Float32Array(DIMENSIONS).fill(1)
    index.add(idOf(1), good)
    for (const bad of [
      new Float32Array(DIMENSIONS),
      new Float32Array(DIMENSIONS).fill(NaN),
      new Float32Array(DIMENSIONS).fill(Infinity),
    ]) {
      expect(() => index.add(idOf(1), bad)).toThrow(/no direction/)
      expect(() => index.searchNow(bad, 1)).toThrow(/no direction/)
    }
    expect(() => index.add(idOf(2), new Float32Array(3).fill(1))).toThrow(
      expect.objectContaining({ code: 'EMBEDDER_MISMATCH' }),
    )
    expect(() => index.searchNow(good, 0)).toThrow(/k is a whole number/)
    expect(() => index.searchNow(good, 1, { threshold: 2 })).toThrow(/threshold/)
    expect(index.searchNow(good, 9)).toEqual([{ id: idOf(1), similarity: 1 }])
  })
})

describe('a graph', () => {
  it('is not crowded by what was removed', async () => {
    const vectors = new UnitVectors(15, DIMENSIONS, 1)
    const index = await openVectorIndex(DIMENSIONS, { engine: 'hnsw', searchK: 5, efSearch: 8 })
    const query = vectors.any()
    for (let at = 0; at < 300; at++) index.add(idOf(at), vectors.near(query, 0.99))
    index.add(idOf(300), vectors.near(query, 0.6))
    for (let at = 0; at < 300; at++) index.remove(idOf(at))
    expect(index.searchNow(query, 1)[0]!.id).toEqual(idOf(300))
    if (!(index instanceof GraphIndex)) throw new Error('not a graph')
    expect(index.graph.size()).toBe(1)
    index.add(idOf(300), query)
    expect(index.graph.size()).toBe(1)
  })
})

describe('lists of codes', () => {
  const dimensions = 40
  const vectors = new TopicVectors(17, dimensions, 30)

  function added(index: IvfIndex, from: number, count: number): Map<number, Float32Array> {
    const model = new Map<number, Float32Array>()
    for (let at = from; at < from + count; at++) {
      const vector = vectors.member()
      model.set(at, vector)
      index.add(idOf(at), vector)
    }
    return model
  }

  function recallAt1(index: IvfIndex, model: ReadonlyMap<number, Float32Array>): number {
    const queries = Array.from({ length: 100 }, (_, at) =>
      vectors.near([...model.values()][(at * 37) % model.size]!, at % 2 === 0 ? 0.95 : 0.8),
    )
    const found = queries.filter(
      (query) => index.searchNow(query, 1)[0]?.id.equals(expected(model, query, 1)[0]!.id) ?? false,
    )
    return found.length / queries.length
  }

  it.each(['wasm', 'twin'] as const)(
    'find what a list finds that is looked through, by %s',
    async (kernels) => {
      const index = new IvfIndex({ dimensions, probes: 16, searchK: 50, kernels })
      const model = added(index, 0, 3000)
      await index.settled()
      expect(index.lists).toBeDefined()
      expect(recallAt1(index, model)).toBeGreaterThanOrEqual(0.98)
    },
  )

  it('know what comes and goes while they are made, and replace those before', async () => {
    const index = new IvfIndex({ dimensions, probes: 16, searchK: 50, turnMs: 0 })
    const model = added(index, 0, LEARN_MIN)
    await index.settled()
    const before = index.lists
    for (const [at, vector] of added(index, LEARN_MIN, LEARN_MIN * 4)) model.set(at, vector)
    let isLearning = true
    const settled = index.settled().then(() => (isLearning = false))
    let changes = 0
    while (isLearning) {
      const number = vectors.below(LEARN_MIN * 5)
      index.remove(idOf(number))
      model.delete(number)
      const other = vectors.below(LEARN_MIN * 6)
      const vector = vectors.member()
      index.add(idOf(other), vector)
      model.set(other, vector)
      expect(index.searchNow(vector, 1)).toEqual([{ id: idOf(other), similarity: 1 }])
      changes++
      await setImmediate()
    }
    await settled
    expect(changes).toBeGreaterThan(3)
    expect(index.lists).not.toBe(before)
    expect(index.lists?.shape.lists).toBeGreaterThanOrEqual(128)
    // All that is in lists: each vector once, and nothing that went.
    const { slots } = index.lists!.propose(new Float32Array(40).fill(1), 1000, 10_000)
    const found = slots.map((slot) => index.rows.ids.idOf(slot).readUInt32BE(12))
    expect(found.toSorted((a, b) => a - b)).toEqual([...model.keys()].toSorted((a, b) => a - b))
    for (const [at, vector] of [...model].slice(0, 300)) {
      expect(index.searchNow(vector, 1)).toEqual([{ id: idOf(at), similarity: 1 }])
    }
  })

  it('leave learning when they are closed', async () => {
    const index = new IvfIndex({ dimensions, probes: 1, searchK: 1 })
    added(index, 0, LEARN_MIN)
    await index.close()
    expect(index.lists).toBeUndefined()
  })
})

describe('a scan', () => {
  it('finds the best of more vectors than one step takes, as a list does', async () => {
    const vectors = new UnitVectors(11, 32, 300)
    const index = new ScanIndex({ dimensions: 32 })
    const model = new Map<number, Float32Array>()
    for (let at = 0; at < 10_000; at++) {
      const vector = vectors.member()
      model.set(at, vector)
      index.add(idOf(at), vector)
    }
    for (let at = 0; at < 20; at++) {
      const query = vectors.near(model.get(at * 499)!, 0.8)
      expect(index.searchNow(query, 10)).toEqual(expected(model, query, 10))
    }
  })

  it.each(['wasm', 'twin'] as const)(
    'leaves out nothing that is similar enough, wherever in a vector it lies, by %s',
    (kernels) => {
      const dimensions = 100
      const vectors = new UnitVectors(16, dimensions, 8)
      const index = new ScanIndex({ dimensions, kernels })
      const model = new Map<number, Float32Array>()
      // What counts lies all over the vector, in its first third, behind that, or in one number.
      const shapes: ((number: number, at: number) => number)[] = [
        (number) => number,
        (number, at) => (at < 40 ? number : number / 50),
        (number, at) => (at < 50 ? number / 50 : number),
        (number, at) => (at === 60 ? 1 : number / 20),
      ]
      const queries: Float32Array[] = []
      for (let at = 0; at < 2500; at++) {
        const base = unit(vectors.member().map(shapes[at % 4]!))
        if (at % 50 < 4) queries.push(base)
        const like = queries[vectors.below(queries.length)]!
        const cosine = [0.99, 0.9, 0.8, 0.7][vectors.below(4)]!
        const vector = vectors.below(4) === 0 ? vectors.near(like, cosine) : base
        model.set(at, vector)
        index.add(idOf(at), vector)
      }
      for (const similarityMin of [0.2, 0.5, 0.65, 0.7, 0.8, 0.9, 0.95, 0.999, 1]) {
        for (const query of queries.slice(0, 60)) {
          const found = index.searchNow(query, 50, { threshold: similarityMin })
          expect(found).toEqual(expected(model, query, 50, similarityMin))
        }
      }
    },
  )

  it('is right about vectors whose codes are the same', () => {
    const index = new ScanIndex({ dimensions: 64 })
    const base = new UnitVectors(12, 64, 1).any()
    // Moved by less than a step of a code, so that only floats tell them apart.
    const all = Array.from({ length: 50 }, (_, at) =>
      base.map((number, dimension) => (dimension === at ? number * 1.001 : number)),
    )
    all.forEach((vector, at) => index.add(idOf(at), vector))
    all.forEach((vector, at) => expect(index.searchNow(vector, 1)[0]!.id).toEqual(idOf(at)))
  })

  it('is not led astray by what goes while it waits for its turn', async () => {
    const index = new ScanIndex({ dimensions: 64, turnMs: 0 })
    const next = new UnitVectors(13, 64, 1)
    const best = next.any()
    const second = next.near(best, 0.9)
    index.add(idOf(0), best)
    for (let at = 1; at < 9000; at++) index.add(idOf(at), next.any())
    index.add(idOf(9000), second)
    const searched = index.search(best, 1)
    // The first step is done, and has seen the best, which keeps all others out.
    index.remove(idOf(0))
    expect((await searched)[0]!.id).toEqual(idOf(9000))
  })

  it('stops when the signal aborts', async () => {
    const index = new ScanIndex({ dimensions: 8 })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(index.search(new Float32Array(8).fill(1), 1, { signal })).rejects.toThrow('enough')
  })
})

describe('the options of an index', () => {
  it('are understood under the names they once had', () => {
    expect(
      readIndexOptions({ hnsw_m: 8, hnsw_ef_construction: 200, hnsw_ef_search: 100 }),
    ).toMatchObject({ m: 8, efConstruction: 200, efSearch: 100, searchK: 50 })
    expect(readIndexOptions({ semantic_search_k: 10 }).searchK).toBe(10)
  })

  it('are refused where they are unknown, doubled or out of bounds', () => {
    expect(() => readIndexOptions({ ef: 1 })).toThrow(/ef is not an option/)
    expect(() => readIndexOptions({ m: 8, hnsw_m: 9 })).toThrow(/given twice/)
    expect(() => readIndexOptions({ m: 1.5 })).toThrow(/whole number/)
  })

  it('choose the engine by how many vectors are expected', async () => {
    expect((await openVectorIndex(8)).engine).toBe('scan')
    expect((await openVectorIndex(8, { expected: 200_001 })).engine).toBe('ivf')
    expect((await openVectorIndex(8, { expected: 11, scanMax: 10 })).engine).toBe('ivf')
    expect((await openVectorIndex(8, { expected: 11, scanMax: 10, engine: 'scan' })).engine).toBe(
      'scan',
    )
  })
})
