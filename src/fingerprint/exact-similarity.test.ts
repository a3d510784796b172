import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { jaccard, jaccardFrom } from './exact-similarity.ts'

const members = fc.oneof(
  fc.uniqueArray(fc.nat(40), { maxLength: 30 }),
  fc.uniqueArray(fc.nat(400), { minLength: 100, maxLength: 300 }),
)
const sorted = (numbers: readonly number[]) => Uint32Array.from(numbers).toSorted()

describe('a similarity that must be at least so much', () => {
  it('is exactly the similarity, or less than that', () => {
    const least = fc.oneof(
      fc.constantFrom(0.25, 0.5, 0.8, 1),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
    )
    const property = fc.property(members, members, least, (one, other, asked) => {
      const [first, second] = [sorted(one), sorted(other)]
      const exact = jaccard(first, second)
      // What is asked for may be just what it is, and just more.
      for (const wanted of [asked, exact, exact + 1e-9]) {
        if (wanted <= 0 || wanted > 1) continue
        const measured = jaccardFrom(wanted, first, second)
        if (exact >= wanted) expect(measured).toBe(exact)
        else expect(measured).toBeLessThan(wanted)
      }
    })
    fc.assert(property, { numRuns: 2000 })
  })

  it('does not look at what cannot be enough', () => {
    const first = Uint32Array.from({ length: 1000 }, (_, at) => at * 2)
    const second = first.map((one) => one + 1)
    expect(jaccardFrom(0.5, first, second)).toBe(0)
    expect(jaccardFrom(0.5, first, first)).toBe(1)
    expect(jaccardFrom(0.5, new Uint32Array(0), new Uint32Array(0))).toBe(0)
    expect(jaccardFrom(1, first, first.subarray(1))).toBe(0)
    expect(jaccardFrom(0.999, first, first.subarray(1))).toBe(0.999)
  })
})
