import { describe, expect, it } from 'vitest'

import { containment, hammingDistance, jaccard } from './exact-similarity.ts'
import { shapeOf } from './shingle-profile.ts'
import { estimateSimilarity, shingleHashes, sketchOf } from './similarity-sketch.ts'

const sentence = 'one two three four five six seven eight nine ten '

describe('a similarity sketch', () => {
  it('of nothing is empty and resembles nothing', () => {
    const empty = sketchOf('')
    expect(empty).toMatchObject({ isEmpty: true, shingles: 0, distinct: 0, profile: 'chars-3' })
    expect(estimateSimilarity(empty, sketchOf(''))).toBe(0)
    expect(estimateSimilarity(empty, sketchOf('a'))).toBe(0)
  })

  it('of one character, of blanks and of punctuation is not empty, and each is its own', () => {
    const texts = ['a', 'b', ' ', '  ', '?', '!', '👍', 'ह']
    for (const profile of ['chars', 'words', 'codepoints'] as const) {
      const sketches = texts.map((text) => sketchOf(text, { profile }))
      for (const [at, first] of sketches.entries()) {
        expect(first.isEmpty).toBe(false)
        for (const [to, second] of sketches.entries()) {
          expect(estimateSimilarity(first, second) > 0.5).toBe(at === to)
        }
      }
    }
  })

  it('takes a text of fewer words than a shingle has as one shingle', () => {
    expect(sketchOf('two words', { profile: 'words-5' }).shingles).toBe(1)
    expect(sketchOf('a b c d e', { profile: 'words-5' }).shingles).toBe(1)
    expect(sketchOf('a b c d e f', { profile: 'words-5' }).shingles).toBe(2)
    expect(sketchOf('你好', { profile: 'codepoints-5' }).shingles).toBe(1)
    expect(sketchOf('ab', { profile: 'chars-3' }).shingles).toBe(2)
  })

  it('splits words at white space and punctuation of any script, and nowhere else', () => {
    const same = (first: string, second: string) =>
      jaccard(shingleHashes(first, 'words-1'), shingleHashes(second, 'words-1'))
    expect(same('सत्यमेव जयते।', 'सत्यमेव\u3000“जयते”')).toBe(1)
    expect(same('a,b;c—d', 'a b\u00a0c\u2028d')).toBe(1)
    expect(same('don’t', "don't")).toBe(1)
    expect(same('कि ताब', 'किताब')).toBe(0)
    expect(same('می\u200cخواهم', 'می خواهم')).toBe(0)
    expect(same('snake_case', 'snake case')).toBe(0)
    expect(shingleHashes('x1 y2', 'words-1')).toHaveLength(2)
  })

  it('chooses its profile by length and script', () => {
    const auto = (text: string) => sketchOf(text, { profile: 'auto' }).profile
    expect(auto('short')).toBe('chars-3')
    expect(auto('x'.repeat(199))).toBe('chars-3')
    expect(auto('x'.repeat(200))).toBe('words-5')
    expect(auto(sentence.repeat(10))).toBe('words-5')
    expect(auto('人人生而自由在尊严和权利上'.repeat(30))).toBe('codepoints-5')
    expect(auto('มนุษย์ทั้งหลายเกิดมามีอิสระ'.repeat(20))).toBe('codepoints-5')
    expect(auto('सभी मनुष्यों को गौरव और '.repeat(20))).toBe('words-5')
    expect(auto('모든 인간은 태어날 때부터 '.repeat(20))).toBe('words-5')
  })

  it('refuses to be compared with one of another kind', () => {
    const first = sketchOf('some text', { profile: 'words' })
    expect(() => estimateSimilarity(first, sketchOf('some text'))).toThrow(/do not compare/)
    const longer = sketchOf('some text', { profile: 'words', slots: 256 })
    expect(() => estimateSimilarity(first, longer)).toThrow(/do not compare/)
  })

  it('refuses profiles, lengths and inputs it does not know', () => {
    // @ts-expect-error: not a profile
    expect(() => sketchOf('a', { profile: 'letters' })).toThrow(/shingle profile/)
    expect(() => shapeOf('words-33')).toThrow(/shingle profile/)
    expect(() => shapeOf('words-0')).toThrow(/shingle profile/)
    for (const slots of [0, 63, 65, 513, 100.5, NaN]) {
      expect(() => sketchOf('a', { slots })).toThrow(/multiple of 16/)
    }
    // @ts-expect-error: not text
    expect(() => sketchOf(5)).toThrow(/string or UTF-8/)
  })
})

describe('exact similarity', () => {
  it('is measured on sorted sets', () => {
    const first = Uint32Array.of(1, 2, 3, 4_000_000_000)
    const second = Uint32Array.of(2, 3, 5, 6, 7, 4_000_000_000)
    expect(jaccard(first, second)).toBe(3 / 7)
    expect(containment(first, second)).toBe(3 / 4)
    expect(jaccard(new Uint32Array(0), new Uint32Array(0))).toBe(0)
    expect(containment(new Uint32Array(0), second)).toBe(0)
    expect(hammingDistance(Uint8Array.of(255, 0), Uint8Array.of(0, 1))).toBe(9)
    expect(() => hammingDistance(new Uint8Array(1), new Uint8Array(2))).toThrow(/do not compare/)
  })
})
