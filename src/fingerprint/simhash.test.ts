import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { randomWords } from './mix.ts'
import { simHashDistance, simHashHex, simHashOf, type SimHash } from './simhash.ts'
import { SimHashIndex } from './simhash-index.ts'

const words = randomWords(5)
const randomHash = (): SimHash => ({ low: words(), high: words() })

function flipped({ low, high }: SimHash, bits: readonly number[]): SimHash {
  let [newLow, newHigh] = [low, high]
  for (const bit of bits) {
    if (bit < 32) newLow = (newLow ^ (1 << bit)) >>> 0
    else newHigh = (newHigh ^ (1 << (bit - 32))) >>> 0
  }
  return { low: newLow, high: newHigh }
}

const text = Array.from({ length: 400 }, (_, at) => `word${(at * 7919) % 311}`).join(' ')

describe('SimHash', () => {
  it('of texts that differ a little differs in few bits', () => {
    const near = simHashDistance(simHashOf(text), simHashOf(`${text} one more`))
    const far = simHashDistance(simHashOf(text), simHashOf(text.replaceAll('word', 'term')))
    expect(near).toBeLessThanOrEqual(6)
    expect(far).toBeGreaterThan(15)
  })

  it('of nothing says that it is of nothing', () => {
    expect(simHashOf('')).toMatchObject({ isEmpty: true, shingles: 0 })
    expect(simHashOf('ह')).toMatchObject({ isEmpty: false, shingles: 1 })
  })

  it('prints as sixteen digits', () => {
    expect(simHashHex({ low: 1, high: 0xabc })).toBe('00000abc00000001')
  })
})

describe('a SimHash index', () => {
  it('finds exactly what a look at all would find, at every distance', () => {
    const flips = fc.array(fc.nat(63), { maxLength: 10 })
    const action = fc.record({ id: fc.nat(60), base: fc.nat(4), flips, removes: fc.boolean() })
    const bases = Array.from({ length: 5 }, randomHash)
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 120 }),
        fc.nat(8),
        flips,
        (actions, distance, by) => {
          const index = new SimHashIndex<number>()
          const all = new Map<number, SimHash>()
          for (const { id, base, flips: own, removes } of actions) {
            if (removes) expect(index.remove(id)).toBe(all.delete(id))
            else {
              const hash = flipped(bases[base]!, own)
              all.delete(id)
              all.set(id, hash)
              index.add(id, hash)
            }
          }
          const asked = flipped(bases[0]!, by)
          const expected = [...all]
            .map(([id, hash]) => ({ id, distance: simHashDistance(hash, asked) }))
            .filter((match) => match.distance <= distance)
            .toSorted((a, b) => a.distance - b.distance)
          expect(index.query(asked, distance)).toEqual(expected)
          expect(index.size).toBe(all.size)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('holds no fingerprint of nothing, and finds nothing like it', () => {
    const index = new SimHashIndex<number>()
    index.add(1, { low: 1, high: 0 })
    expect(() => index.add(1, simHashOf(''))).toThrow(/nothing cannot be searched/)
    expect(index.query(simHashOf(''))).toEqual([])
    expect(index.query({ low: 0, high: 0 })).toEqual([{ id: 1, distance: 1 }])
  })

  it('refuses distances it was not made for', () => {
    expect(() => new SimHashIndex<number>().query(randomHash(), 9)).toThrow(/0 to 8/)
  })
})
