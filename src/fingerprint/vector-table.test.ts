import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { idOf, shuffled, TableModel } from '../../test/table-model.ts'
import { unitVector, vectorAt } from '../../test/texts/random-vectors.ts'
import {
  bitCount,
  chooseVectorBands,
  cosineFromBits,
  hammingDistance,
  Hyperplanes,
  VectorTable,
  VectorTables,
} from './index.ts'
import { randomWords } from './mix.ts'

const BITS = 72
const next = randomWords(33)

function bitOf(signature: Uint8Array, bit: number): number {
  return ((signature[bit >>> 3] ?? 0) >>> (bit & 7)) & 1
}

function bandsOf(signature: Uint8Array, bands: number, rows: number): number[] {
  return Array.from({ length: bands }, (_, band) => {
    let value = 0
    for (let row = 0; row < rows; row++) value = value * 2 + bitOf(signature, band * rows + row)
    return value
  })
}

const estimate = (first: Uint8Array, second: Uint8Array) =>
  cosineFromBits(hammingDistance(first, second), BITS)

/** A scan is one band that everybody shares. */
const scanModel = () => new TableModel<Uint8Array>({ keysOf: () => [0], estimate })
const bandModel = (bands: number, rows: number) =>
  new TableModel<Uint8Array>({ keysOf: (bits) => bandsOf(bits, bands, rows), estimate })

const mixed = (choice: number) =>
  Uint8Array.from({ length: BITS / 8 }, (_, at) => ((choice >>> at) & 1 ? 0x55 : 0xf0 + at))

const action = fc.record({
  id: fc.nat(30),
  choice: fc.nat(511),
  kind: fc.constantFrom('insert', 'insert', 'remove', 'query'),
})
const query = fc.record({
  estimateMin: fc.constantFrom(-1, 0, 0.5, 0.8, 1),
  limit: fc.constantFrom(1, 4, 100),
})

describe('a table of vectors', () => {
  it.each([
    { bands: 9, rows: 8 },
    { bands: 2, rows: 32 },
    { bands: 14, rows: 5 },
  ])('finds what a look at all would find, scanned or by $bands bands of $rows', (banding) => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), query, (actions, asked) => {
        const table = new VectorTable({ bits: BITS, banding, scanMax: 12 })
        const [all, banded] = [scanModel(), bandModel(banding.bands, banding.rows)]
        for (const { id, choice, kind } of actions) {
          if (kind === 'remove') {
            expect(table.remove(idOf(id))).toBe(all.remove(idOf(id)))
            banded.remove(idOf(id))
          } else if (kind === 'insert') {
            for (const one of [table, all, banded]) one.insert(idOf(id), mixed(choice))
          } else {
            const model = all.size > 12 ? banded : all
            const { candidates } = table.query(mixed(choice), asked)
            expect(candidates).toEqual(model.query(mixed(choice), asked))
          }
        }
        expect(table.size).toBe(all.size)
      }),
      { numRuns: 200 },
    )
  })

  it('answers alike in whatever order its representatives came', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(511), { minLength: 1, maxLength: 60 }), fc.nat(), (all, seed) => {
        const model = scanModel()
        all.forEach((choice, number) => model.insert(idOf(number), mixed(choice)))
        const words = randomWords(seed)
        const options = { bits: BITS, banding: { bands: 9, rows: 8 }, scanMax: 30 }
        const [one, other] = [0, 1].map(() =>
          model.pourInto(new VectorTable(options), shuffled(all.length, words)),
        )
        for (const limit of [1, 5, 100]) {
          expect(other!.query(mixed(9), { limit })).toEqual(one!.query(mixed(9), { limit }))
        }
      }),
    )
  })

  it('with bands finds what is as near as they were chosen for', () => {
    const planes = new Hyperplanes({ dimensions: 64, bits: 256 })
    const banding = chooseVectorBands(256, 0.9)
    const table = new VectorTable({ bits: 256, banding, scanMax: 100 })
    const vectors = Array.from({ length: 3000 }, () => unitVector(64, next))
    vectors.forEach((vector, number) => table.insert(idOf(number), planes.bitsOf(vector)))
    const answers = vectors.map((vector) => table.query(planes.bitsOf(vectorAt(0.9, vector, next))))
    const found = answers.filter(({ candidates }, at) => candidates[0]?.id.equals(idOf(at)))
    expect(found.length / vectors.length).toBeGreaterThan(0.94)
    const compared = answers.reduce((sum, answer) => sum + answer.compared, 0) / vectors.length
    expect(compared).toBeLessThan(300)
    expect(table.stats()).toMatchObject({ representatives: 3000, bands: banding.bands })
  })

  it.each(['dense', 'hadamard'] as const)(
    'finds the source of a vector among 10,000 where a ranking by shared bands loses it (%s)',
    (form) => {
      const [dimensions, bits, bands, rows, limit] = [128, 200, 40, 5, 100]
      const planes = new Hyperplanes({ dimensions, bits, form })
      const table = new VectorTable({ bits })
      const sources = Array.from({ length: 10_000 }, () => unitVector(dimensions, next))
      const signatures = sources.map((vector) => planes.bitsOf(vector))
      signatures.forEach((signature, number) => table.insert(idOf(number), signature))
      const keys = Uint8Array.from(signatures.flatMap((one) => bandsOf(one, bands, rows)))

      /** How the resolver this project grew from ranks: by bands in common, those found first first. */
      function rankOfOverlap(asked: Uint8Array, source: number): number {
        const own = Uint8Array.from(bandsOf(asked, bands, rows))
        const overlaps = signatures.map((_, number) => {
          let shared = 0
          for (let band = 0; band < bands; band++) {
            if (keys[number * bands + band] === own[band]) shared++
          }
          return shared
        })
        const shared = overlaps[source]!
        if (shared === 0) return Infinity
        return overlaps.filter((one, at) => one > shared || (one === shared && at < source)).length
      }

      const found = { signature: 0, overlap: 0 }
      const queries = 1000
      for (let count = 0; count < queries; count++) {
        const source = (count * 7919) % sources.length
        const asked = planes.bitsOf(vectorAt(0.5, sources[source]!, next))
        const { candidates } = table.query(asked, { limit })
        if (candidates.some(({ id }) => id.equals(idOf(source)))) found.signature++
        if (rankOfOverlap(asked, source) < limit) found.overlap++
      }
      process.stdout.write(
        `  ${form}: found by signature ${found.signature / queries}, by overlap ${found.overlap / queries}\n`,
      )
      expect(found.signature / queries).toBeGreaterThanOrEqual(0.95)
      // The lower bound shows that the replay is a fair one: its authors' parameters give 0.55.
      expect(found.overlap / queries).toBeGreaterThan(0.45)
      expect(found.overlap / queries).toBeLessThan(0.7)
    },
  )

  it('keeps groups apart', () => {
    const tables = new VectorTables({ bits: BITS })
    tables.insert('a', idOf(1), mixed(1))
    tables.insert('b', idOf(2), mixed(1))
    const idsIn = (group: string) => tables.query(group, mixed(1)).candidates.map(({ id }) => id)
    expect([idsIn('a'), idsIn('b'), idsIn('c')]).toEqual([[idOf(1)], [idOf(2)], []])
    expect(tables.remove('b', idOf(1))).toBe(false)
    expect(tables.stats('a')).toMatchObject({ representatives: 1, bands: 0, fullestBuckets: [] })
  })

  it('refuses what does not fit', () => {
    const table = new VectorTable({ bits: BITS })
    expect(() => table.insert(idOf(1), new Uint8Array(8))).toThrow(/64 bits does not compare/)
    expect(() => new VectorTable({ bits: 12 })).toThrow(/multiple of 8/)
    const banding = { bands: 2, rows: 33 }
    expect(() => new VectorTable({ bits: BITS, banding })).toThrow(/at most 32 rows/)
    expect(bitCount(0xffffffff)).toBe(32)
  })
})
