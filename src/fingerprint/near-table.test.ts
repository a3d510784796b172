import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { idOf, shuffled, TableModel } from '../../test/table-model.ts'
import {
  chooseBands,
  collisionProbability,
  computeBands,
  equalSlots,
  NearTable,
  NearTables,
} from './index.ts'
import { randomWords } from './mix.ts'

const SLOTS = 64
const shape = { slots: SLOTS, bands: 9, rows: 3 }
const next = randomWords(21)
const chance = () => next() / 2 ** 32
const randomSketch = (slots = SLOTS) => Uint16Array.from({ length: slots }, () => next() >>> 16)

/** Every slot is kept with this probability. */
const likeness = (sketch: Uint16Array, similarity: number) =>
  sketch.map((slot) => (chance() < similarity ? slot : next() >>> 16))

const newModel = () =>
  new TableModel<Uint16Array>({
    keysOf: (sketch) => computeBands(sketch, shape.bands, shape.rows),
    estimate: (first, second) => equalSlots(first, second) / SLOTS,
  })

/** Few sketches, so that many are alike: by steps of eight slots of two originals. */
const bases = [randomSketch(), randomSketch()]
const mixed = (choice: number) =>
  Uint16Array.from({ length: SLOTS }, (_, at) => bases[(choice >>> (at >>> 3)) & 1]?.[at] ?? 0)

describe('a near-duplicate table', () => {
  it('finds what a look at all pairs would find, whatever was inserted, changed and removed', () => {
    const action = fc.record({
      id: fc.nat(40),
      choice: fc.nat(255),
      kind: fc.constantFrom('insert', 'insert', 'remove', 'query'),
    })
    const query = fc.record({
      estimateMin: fc.constantFrom(0, 0.25, 0.5, 0.7),
      limit: fc.constantFrom(1, 3, 100),
      bucketMax: fc.constantFrom(undefined, 2, 5),
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 150 }), query, (actions, asked) => {
        const [table, model] = [new NearTable(shape), newModel()]
        for (const { id, choice, kind } of actions) {
          if (kind === 'remove') expect(table.remove(idOf(id))).toBe(model.remove(idOf(id)))
          else if (kind === 'insert') {
            table.insert(idOf(id), mixed(choice))
            model.insert(idOf(id), mixed(choice))
          } else {
            const { candidates } = table.query(mixed(choice), asked)
            expect(candidates).toEqual(model.query(mixed(choice), asked))
          }
        }
        expect(table.size).toBe(model.size)
        expect(table.query(mixed(0), asked).candidates).toEqual(model.query(mixed(0), asked))
      }),
      { numRuns: 300 },
    )
  })

  it.each(['at once', 'with a look after each', 'with a look now and then'])(
    'grows over many pages, filled %s',
    (pace) => {
      const [table, model] = [new NearTable(shape), newModel()]
      const sketches: Uint16Array[] = []
      for (let number = 0; number < 9000; number++) {
        const earlier = sketches[Math.floor(chance() * number)]
        const sketch = earlier && chance() < 0.3 ? likeness(earlier, 0.8) : randomSketch()
        sketches.push(sketch)
        table.insert(idOf(number), sketch)
        model.insert(idOf(number), sketch)
        if (pace === 'with a look after each' || number % 777 === 5) table.settle()
        if (pace !== 'at once' && number % 7 === 0) {
          const gone = idOf(Math.floor(chance() * number))
          expect(table.remove(gone)).toBe(model.remove(gone))
        }
      }
      expect(table.size).toBe(model.size)
      for (let at = 0; at < 9000; at += 900) {
        expect(table.query(sketches[at]!).candidates).toEqual(model.query(sketches[at]!))
      }
    },
  )

  it('answers alike in whatever order its representatives came, and whoever was there before', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(255), { minLength: 1, maxLength: 60 }), fc.nat(), (all, seed) => {
        const model = newModel()
        all.forEach((choice, number) => model.insert(idOf(number), mixed(choice)))
        const words = randomWords(seed)
        const [one, other] = [0, 1].map(() => {
          const table = new NearTable(shape)
          for (let ghost = 0; ghost < words() % 9; ghost++) {
            table.insert(idOf(1000 + ghost), mixed(words() & 255))
          }
          model.pourInto(table, shuffled(all.length, words))
          for (let ghost = 0; ghost < 9; ghost++) table.remove(idOf(1000 + ghost))
          return table
        })
        for (const limit of [1, 2, 7, 100]) {
          const answer = one!.query(mixed(85), { limit, bucketMax: 20 })
          expect(other!.query(mixed(85), { limit, bucketMax: 20 })).toEqual(answer)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('gives the oldest of equals first', () => {
    const table = new NearTable(shape)
    for (const number of [5, 3, 9, 4]) table.insert(idOf(number), mixed(0))
    const { candidates } = table.query(mixed(0), { limit: 2 })
    expect(candidates).toEqual([
      { id: idOf(3), estimate: 1 },
      { id: idOf(4), estimate: 1 },
    ])
  })

  it('takes a candidate whose estimate is exactly the least, however it is written', () => {
    // 7 / 400 * 400 is more than 7.
    const table = new NearTable({ slots: 400, bands: 1, rows: 1 })
    const sketch = randomSketch(400)
    for (let equal = 1; equal <= 400; equal++) {
      table.insert(
        idOf(1),
        sketch.map((slot, at) => (at < equal ? slot : slot ^ 1)),
      )
      expect(table.query(sketch, { estimateMin: equal / 400 }).candidates).toHaveLength(1)
      const above = Math.min(1, equal / 400 + 1e-9)
      expect(table.query(sketch, { estimateMin: above }).candidates.length).toBe(
        equal < 400 ? 0 : 1,
      )
    }
  })

  it('gives the slots of removed representatives to new ones', () => {
    const table = new NearTable(shape)
    for (let number = 0; number < 1000; number++) table.insert(idOf(number), randomSketch())
    const before = table.stats().bytes
    for (let number = 1000; number < 20_000; number++) {
      expect(table.remove(idOf(number - 1000))).toBe(true)
      table.insert(idOf(number), randomSketch())
    }
    expect(table.size).toBe(1000)
    expect(table.stats().bytes).toEqual(before)
  })

  it.each([0.6, 0.7, 0.8, 0.9])(
    'with bands chosen for %d finds at least 99 of 100 that are 0.05 or more above',
    (threshold) => {
      const banding = chooseBands({ slots: 128, threshold })
      const table = new NearTable({ slots: 128, ...banding })
      const sketches = Array.from({ length: 10_000 }, () => randomSketch(128))
      sketches.forEach((sketch, number) => table.insert(idOf(number), sketch))
      const recall = (similarity: () => number) =>
        sketches.filter((sketch, number) => {
          const { candidates } = table.query(likeness(sketch, similarity()), { limit: 1 })
          return candidates[0]?.id.equals(idOf(number))
        }).length / sketches.length
      const least = threshold + 0.05
      expect(recall(() => least + chance() * (1 - least))).toBeGreaterThanOrEqual(0.99)
      const theory = collisionProbability(least, banding.bands, banding.rows)
      expect(theory).toBeGreaterThanOrEqual(0.99)
      const deviation = Math.sqrt((theory * (1 - theory)) / sketches.length)
      expect(recall(() => least)).toBeGreaterThan(theory - 3 * deviation)
    },
  )

  it('reports its fullest buckets, and passes over them only if asked to, and says so', () => {
    const table = new NearTable(shape)
    const letterhead = randomSketch()
    for (let number = 0; number < 500; number++) {
      const sketch = randomSketch()
      sketch.set(letterhead.subarray(0, 3))
      if (number < 20) sketch.set(letterhead.subarray(24, 27), 24)
      table.insert(idOf(number), sketch)
    }
    const { fullestBuckets, chainLongest, chainMean, representatives, bands } = table.stats()
    expect(fullestBuckets.slice(0, 2)).toMatchObject([
      { band: 0, size: 500 },
      { band: 8, size: 20 },
    ])
    expect(fullestBuckets[0]!.key).toBe(computeBands(letterhead, 9, 3)[0])
    expect({ representatives, bands }).toEqual({ representatives: 500, bands: 9 })
    expect(chainLongest).toBeGreaterThanOrEqual(500)
    expect(chainMean).toBeGreaterThan(1)
    expect(table.query(letterhead)).toMatchObject({ compared: 500, bucketsPassedOver: 0 })
    const capped = table.query(letterhead, { bucketMax: 100 })
    expect(capped).toMatchObject({ compared: 20, bucketsPassedOver: 1 })
    expect(capped.candidates).toHaveLength(20)
  })

  it('costs less than 200 bytes a representative with 14 bands, sketches and ids apart', () => {
    const table = new NearTable({ slots: 128, bands: 14, rows: 8 })
    const sketch = randomSketch(128)
    const count = 65_536
    for (let number = 0; number < count; number++) {
      sketch.fill(number & 0xffff)
      table.insert(idOf(number), sketch)
    }
    const { buckets, signatures, ids } = table.stats().bytes
    expect(buckets / count).toBe(168)
    expect(signatures / count).toBe(256)
    expect(ids / count).toBe(28)
  })

  it('refuses what does not fit', () => {
    const table = new NearTable(shape)
    expect(() => table.insert(idOf(1), randomSketch(128))).toThrow(/128 slots does not compare/)
    expect(() => table.query(randomSketch(128))).toThrow(/128 slots does not compare/)
    expect(() => table.insert(Buffer.alloc(15), randomSketch())).toThrow(/16 bytes, not 15/)
    expect(() => table.query(randomSketch(), { estimateMin: 1.1 })).toThrow(/estimateMin/)
    expect(() => table.query(randomSketch(), { estimateMin: NaN })).toThrow(/estimateMin/)
    expect(() => table.query(randomSketch(), { limit: 0 })).toThrow(/limit/)
    expect(() => table.query(randomSketch(), { bucketMax: 1.5 })).toThrow(/bucketMax/)
    expect(() => new NearTable({ slots: 64, bands: 9, rows: 8 })).toThrow(/do not fit/)
    expect(() => new NearTable({ slots: 60, bands: 9, rows: 3 })).toThrow(/multiple of 16/)
    expect(table.size).toBe(0)
  })
})

describe('near-duplicate tables of many groups', () => {
  it('never see one another', () => {
    const action = fc.record({
      group: fc.constantFrom('a', 'b', '', 'a\0'),
      id: fc.nat(9),
      choice: fc.nat(255),
      removes: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const tables = new NearTables(shape)
        const models = new Map<string, ReturnType<typeof newModel>>()
        for (const { group, id, choice, removes } of actions) {
          const model = models.get(group) ?? newModel()
          models.set(group, model)
          if (removes) expect(tables.remove(group, idOf(id))).toBe(model.remove(idOf(id)))
          else {
            tables.insert(group, idOf(id), mixed(choice))
            model.insert(idOf(id), mixed(choice))
          }
        }
        for (const [group, model] of models) {
          expect(tables.query(group, mixed(0)).candidates).toEqual(model.query(mixed(0)))
          expect(tables.sizeOf(group)).toBe(model.size)
        }
        const filled = [...models].filter(([, model]) => model.size > 0).map(([group]) => group)
        expect([...tables.groups].toSorted()).toEqual(filled.toSorted())
      }),
      { numRuns: 200 },
    )
  })

  it('are dropped whole, and asking makes none', () => {
    const tables = new NearTables(shape)
    tables.insert('a', idOf(1), mixed(1))
    expect(tables.query('b', mixed(1)).candidates).toEqual([])
    expect(tables.removeGroup('a')).toBe(true)
    expect(tables.query('a', mixed(1)).candidates).toEqual([])
    expect(tables.stats('a')).toBeUndefined()
    expect([...tables.groups]).toEqual([])
  })

  it('cost a few kilobytes where they are small', () => {
    const tables = new NearTables({ slots: 128, bands: 14, rows: 8 })
    const sketch = randomSketch(128)
    tables.insert('small', idOf(1), sketch)
    const { buckets, signatures, ids } = tables.stats('small')!.bytes
    expect(buckets + signatures + ids).toBeLessThan(1024)
    const before = process.memoryUsage()
    for (let group = 0; group < 5000; group++) tables.insert(String(group), idOf(1), sketch)
    const after = process.memoryUsage()
    const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
    expect(bytes / 5000).toBeLessThan(8192)
  })
})
