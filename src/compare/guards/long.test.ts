import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { differingParts } from './long.ts'
import { readingOf } from './reading.ts'

/** The same as plainly as it can be written: sentences as strings, counted in a map. */
function plainPieces(text: string): string[] {
  const sentences = text.match(/[^]*?(?:[.!?]\s|[\n。！？।])|[^]+$/g) ?? []
  return sentences.flatMap((one) => (one.length > 400 ? one.split(/(?<=[hpx]\s)/) : [one]))
}

function plainParts(a: string, b: string): [string, string] {
  const without = (own: readonly string[], others: readonly string[]) => {
    const counts = new Map<string, number>()
    for (const one of others) counts.set(one, (counts.get(one) ?? 0) + 1)
    const left = own.filter((one) => {
      const count = counts.get(one) ?? 0
      counts.set(one, count - 1)
      return count <= 0
    })
    return left.join('')
  }
  const [own, others] = [plainPieces(a), plainPieces(b)]
  return [without(own, others), without(others, own)]
}

const SENTENCES = [
  'The harbour opens. ',
  'It is 5 km!\n',
  'Why?\u00a0',
  'And... so ',
  '\n',
  '.\n',
  'नहीं है। ',
  '我不去。',
  'a\ud800. b',
  'e\u0301 🙂? ',
  'graph of the map is in the box and '.repeat(12),
  'no cut '.repeat(60),
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...SENTENCES), fc.string({ unit: 'grapheme', maxLength: 6 })), {
    minLength: 2,
    maxLength: 12,
  })
  .map((parts) => 'At first there is this. '.repeat(26) + parts.join(''))

describe('what two long texts do not share', () => {
  it('is what remains when equal sentences are taken away from both, for any text', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(differingParts(readingOf(a), readingOf(b))).toEqual(plainParts(a, b))
      }),
      { seed: 3, numRuns: 1000 },
    )
  })

  it('is left as often as one text has it more than the other', () => {
    const shared = 'Here is what both have. '.repeat(30)
    const [a, b] = [`${shared}Twice. Once. Twice. Twice. `, `${shared}Twice. Other. `]
    expect(differingParts(readingOf(a), readingOf(b))).toEqual(['Once. Twice. Twice. ', 'Other. '])
  })

  it('is not asked of short texts', () => {
    expect(differingParts(readingOf('Short.'), readingOf('Here. '.repeat(200)))).toBeUndefined()
  })
})
