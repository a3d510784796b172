import { describe, expect, it } from 'vitest'

import { bandKeys64, chooseBands, collisionProbability, computeBands } from './bands.ts'
import { explainParameters } from './explain-parameters.ts'
import { randomWords } from './mix.ts'

describe('bands', () => {
  it('collide as theory says', () => {
    expect(collisionProbability(0.6, 40, 8)).toBeCloseTo(0.492, 3)
    expect(collisionProbability(0.8, 40, 8)).toBeCloseTo(0.9994, 4)
    expect(collisionProbability(0, 40, 8)).toBe(0)
    expect(collisionProbability(1, 40, 8)).toBe(1)
  })

  it('collide in practice as often as in theory', () => {
    const next = randomWords(9)
    const similarity = 0.7
    const [bands, rows, pairs] = [10, 5, 4000]
    let found = 0
    for (let pair = 0; pair < pairs; pair++) {
      const first = Uint16Array.from({ length: 50 }, () => next() >>> 16)
      const second = first.map((slot) => (next() / 2 ** 32 < similarity ? slot : next() >>> 16))
      const own = computeBands(first, bands, rows)
      if (computeBands(second, bands, rows).some((band, at) => band === own[at])) found++
    }
    const expected = collisionProbability(similarity, bands, rows)
    expect(Math.abs(found / pairs - expected)).toBeLessThan(0.03)
  })

  it('have keys of 64 bits that are equal where all rows are, and differ between bands', () => {
    const next = randomWords(10)
    const slots = Uint16Array.from({ length: 50 }, () => next() >>> 16)
    const keys = bandKeys64(slots, 10, 5)
    expect(keys.map((key) => Number(BigInt.asUintN(64, key) >> 32n))).toEqual([
      ...computeBands(slots, 10, 5),
    ])
    const other = slots.slice()
    other[7] = (other[7] ?? 0) ^ 1
    const same = bandKeys64(other, 10, 5).map((key, band) => key === keys[band])
    expect(same.filter((isSame) => !isSame)).toHaveLength(1)
    expect(same[1]).toBe(false)
    // The lower half follows from the rows as well.
    const lower = (key: bigint | undefined) => BigInt.asUintN(32, key ?? 0n)
    expect(lower(bandKeys64(other, 10, 5)[1])).not.toBe(lower(keys[1]))
    const repeated = bandKeys64(new Uint16Array(50).fill(7), 10, 5)
    expect(new Set(repeated).size).toBe(10)
    expect(new Set(repeated.map(lower)).size).toBe(10)
  })

  it.each([0.5, 0.6, 0.7, 0.8, 0.9, 1])(
    'are chosen to find what is as similar as %f',
    (threshold) => {
      for (const slots of [128, 256]) {
        const { bands, rows } = chooseBands({ slots, threshold })
        expect(bands * rows).toBeLessThanOrEqual(slots)
        expect(collisionProbability(threshold, bands, rows)).toBeGreaterThanOrEqual(0.95)
        const above = collisionProbability(Math.min(1, threshold + 0.05), bands, rows)
        expect(above).toBeGreaterThanOrEqual(0.99)
      }
    },
  )

  it('are the same as ever for the same wish', () => {
    const chosen = [0.5, 0.6, 0.7, 0.8, 0.9].map((threshold) => {
      const { bands, rows } = chooseBands({ slots: 128, threshold })
      return `${bands}x${rows}`
    })
    expect(chosen).toMatchInlineSnapshot(`
      [
        "26x3",
        "24x4",
        "17x5",
        "13x7",
        "10x12",
      ]
    `)
  })

  it('are refused where no choice finds enough', () => {
    expect(() => chooseBands({ slots: 64, threshold: 0.01 })).toThrow(/more slots/)
    expect(() => chooseBands({ slots: 128, threshold: 0 })).toThrow(/threshold/)
    expect(() => computeBands(new Uint16Array(64), 13, 5)).toThrow(/do not fit/)
  })

  it('are not chosen or explained by shares that are none', () => {
    for (const share of [0, -0.1, 1.01, 95, NaN]) {
      const refusal = expect.objectContaining({ code: 'INVALID_OPTIONS' })
      const wanted = { slots: 128, threshold: 0.8 }
      expect(() => chooseBands({ ...wanted, recallMin: share })).toThrow(refusal)
      expect(() => chooseBands({ ...wanted, recallAboveMin: share })).toThrow(refusal)
      const explained = { slots: 128, threshold: share, bands: 13, rows: 7 }
      expect(() => explainParameters(explained)).toThrow(refusal)
    }
  })

  it('are not explained where there are none', () => {
    // @ts-expect-error: no bands
    expect(() => explainParameters({ slots: 128, threshold: 0.8 })).toThrow(/do not fit/)
    const parameters = { slots: 64, threshold: 0.8, bands: 13, rows: 7 }
    expect(() => explainParameters(parameters)).toThrow(/13 bands of 7 rows do not fit in 64/)
  })

  it('explain themselves with a plot', () => {
    expect(explainParameters({ slots: 128, threshold: 0.8, bands: 13, rows: 7 }))
      .toMatchInlineSnapshot(`
      "13 bands of 7 rows use 91 of 128 slots.
      Of pairs as similar as 0.8 they find 95.3 %, of 0.85 99.34 %.
      Of pairs as similar as 0.6 they also look at 30.9 % needlessly;
      over all similarities below 0.8 that is 19.6 % on average.

       100 % ┤                                        ●●●●●●●●●●●
        90 % ┤                                      ●●│
        80 % ┤                                     ●  │
        70 % ┤                                   ●●   │
        60 % ┤                                  ●     │
        50 % ┤                                 ●      │
        40 % ┤                               ●●       │
        30 % ┤                             ●●         │
        20 % ┤                           ●●           │
        10 % ┤                       ●●●●             │
         0 % ┤●●●●●●●●●●●●●●●●●●●●●●●                 │
             └───────────────────────────────────────────────────
              0.0       0.2       0.4       0.6       0.8       1.0  similarity"
    `)
  })
})
