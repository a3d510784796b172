/** A segment finds every entry that was put into it, in the pages it names and in no others. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { BandSegment, filterBits, numbersIn, SegmentWriter } from './band-segment.ts'
import { randomWords } from './mix.ts'

const BANDS = 2
const PARTITIONS = [1, 9].map((byte) => Buffer.alloc(16, byte))

interface Made {
  readonly segment: BandSegment
  readonly pages: ReadonlyMap<number, Uint8Array>
}

/** `keys`: by partition, then by band. */
function made(keys: readonly (readonly number[])[][], pageEntries: number, bits: number): Made {
  const parts = keys.map(([first = []], at) => ({
    partition: PARTITIONS[at]!,
    representatives: first.length,
  }))
  const layout = { bands: BANDS, pageEntries, filterBits: bits, parts }
  const writer = new SegmentWriter(BandSegment.empty(layout))
  for (const [at, place] of writer.segment.places.entries()) {
    for (let band = 0; band < BANDS; band++) {
      writer.beginBand(place, band)
      const entries = keys[at]![band]!.map((key, number) => ({ key, number }))
      entries.sort((one, other) => one.key - other.key || one.number - other.number)
      for (const { key, number } of entries) writer.add(key, number)
    }
  }
  writer.end()
  const pages = new Map(writer.take().map(({ number, bytes }) => [number, bytes]))
  const segment = BandSegment.of(Uint32Array.from(writer.segment.memory))
  return { segment: segment!, pages }
}

function numbersOf({ segment, pages }: Made, partition: number, band: number, key: number) {
  const place = segment.place(PARTITIONS[partition]!.toString('latin1'))
  const range = place && segment.find(place, band, key)
  const numbers: number[] = []
  for (let page = range?.from ?? 0; page < (range?.to ?? 0); page++) {
    const found = numbersIn(pages.get(page)!, segment.firstKey(page), key)
    expect(found, `page ${page}`).toBeDefined()
    numbers.push(...found!)
  }
  expect(range?.entriesMin ?? 0).toBeLessThanOrEqual(numbers.length)
  return numbers
}

describe('a segment of band keys', () => {
  it('has the numbers of every key, in their order, whatever the pages', () => {
    const key = fc.oneof(fc.nat(3), fc.constantFrom(0xffff_ffff, 0x8000_0000), fc.nat())
    const rows = fc.array(fc.tuple(key, key), { minLength: 1, maxLength: 30 })
    const property = fc.property(
      fc.tuple(rows, rows),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(0, 12),
      (both, pageEntries, bits) => {
        const keys = both.map((some) => [some.map(([one]) => one), some.map(([, two]) => two)])
        const one = made(keys, pageEntries, bits)
        keys.forEach((bands, partition) => {
          bands.forEach((all, band) => {
            for (const wanted of new Set([...all, 0, 7, 0xffff_ffff])) {
              const numbers = all.flatMap((found, number) => (found === wanted ? [number] : []))
              expect(numbersOf(one, partition, band, wanted)).toEqual(numbers)
            }
          })
        })
      },
    )
    fc.assert(property, { numRuns: 200 })
  })

  it('lets few keys pass that it does not have', () => {
    const next = randomWords(3)
    const random = () => Array.from({ length: 20_000 }, next)
    const { segment } = made([[random(), random()]], 510, 12)
    const place = segment.places[0]!
    const passed = random().filter((key) => segment.find(place, 1, key)).length
    expect(passed / 20_000).toBeLessThan(0.01)
    expect(segment.bytes).toBeLessThan((20_000 * BANDS * 12) / 8 + 2000)
  })

  it('knows how many entries a key has at least, without a look at its pages', () => {
    const same = Array.from({ length: 100 }, () => 5)
    const { segment } = made([[same, same]], 10, 0)
    expect(segment.find(segment.places[0]!, 1, 5)).toMatchObject({ from: 10, to: 20 })
    expect(segment.find(segment.places[0]!, 1, 5)!.entriesMin).toBeGreaterThanOrEqual(80)
  })

  it('has the finest filter that fits, or none', () => {
    expect([1e9, 1000, 700, 600, 0].map((bytes) => filterBits(bytes, 1000))).toEqual([
      12, 8, 5, 0, 0,
    ])
  })

  it('is not made of memory that was cut off, and takes no other page for its own', () => {
    const { segment, pages } = made(
      [
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
      ],
      2,
      12,
    )
    expect(BandSegment.of(segment.memory.subarray(0, -1))).toBeUndefined()
    expect(BandSegment.of(new Uint32Array(2))).toBeUndefined()
    expect(numbersIn(pages.get(1)!, segment.firstKey(0), 1)).toBeUndefined()
    expect(numbersIn(new Uint8Array(4), 0, 0)).toBeUndefined()
  })
})
