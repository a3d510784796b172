import { describe, expect, it } from 'vitest'

import { amount } from '../../test/amount.ts'
import { randomTexts } from '../../test/texts/random-texts.ts'
import { randomWords } from '../fingerprint/mix.ts'
import { alignTexts, type Span } from './align.ts'
import { matchSequences } from './matching.ts'
import { tokensOf, tokenText } from './tokens.ts'

const sideA = (spans: readonly Span[]) =>
  spans.map((span) => (span.kind === 'only-b' ? '' : span.a)).join('')
const sideB = (spans: readonly Span[]) =>
  spans.map((span) => (span.kind === 'only-a' ? '' : span.b)).join('')

/** `same`, `[-only in A-]`, `{+only in B+}`. */
function marked(a: string, b: string, options = {}): string {
  const shown = alignTexts(a, b, options).spans.map((span) => {
    if (span.kind === 'same') return span.a
    return span.kind === 'only-a' ? `[-${span.a}-]` : `{+${span.b}+}`
  })
  return shown.join('')
}

/** The length of a longest common subsequence, the slow and certain way. */
function longestCommon(a: Int32Array, b: Int32Array): number {
  let above = new Int32Array(b.length + 1)
  for (const one of a) {
    const row = new Int32Array(b.length + 1)
    b.forEach((other, at) => {
      row[at + 1] = one === other ? above[at]! + 1 : Math.max(above[at + 1]!, row[at]!)
    })
    above = row
  }
  return above[b.length]!
}

describe('a matching', () => {
  const next = randomWords(3)
  const below = (limit: number) => Math.floor((next() / 2 ** 32) * limit)
  const sequence = (length: number, kinds: number) =>
    Int32Array.from({ length }, () => below(kinds))

  function expectValid(a: Int32Array, b: Int32Array, editsMax: number): number {
    const { runs } = matchSequences(a, b, editsMax)
    let [atA, atB, same] = [0, 0, 0]
    for (const run of runs) {
      expect(run.a >= atA && run.b >= atB && run.length > 0).toBe(true)
      expect(a.slice(run.a, run.a + run.length)).toEqual(b.slice(run.b, run.b + run.length))
      atA = run.a + run.length
      atB = run.b + run.length
      same += run.length
    }
    expect(atA <= a.length && atB <= b.length).toBe(true)
    return same
  }

  it('finds the most that two sequences share in order', () => {
    for (let round = 0; round < 500; round++) {
      const a = sequence(below(30), 1 + below(6))
      const b = sequence(below(30), 1 + below(6))
      expect(expectValid(a, b, 1000)).toBe(longestCommon(a, b))
      expect(matchSequences(a, b, 1000).isComplete).toBe(true)
    }
  })

  it('finds most of it by places that are certain when it may not count many edits', () => {
    const a = sequence(4000, 1e6)
    const b = Int32Array.from([...a].flatMap((one, at) => (at % 40 === 0 ? [2e6 + at] : [one])))
    expect(expectValid(a, b, 20)).toBe(longestCommon(a, b))
    expect(matchSequences(a, b, 20).isComplete).toBe(true)
  })

  it('finds what lies between changes that are close together, too', () => {
    const a = sequence(6000, 1e6)
    const b = Int32Array.from([...a].flatMap((one, at) => (at % 3 === 0 ? [2e6 + at, one] : [one])))
    expect(expectValid(a, b, 20)).toBe(6000)
    expect(matchSequences(a, b, 20).isComplete).toBe(true)
  })

  it('says when it gave up, and is still right about what it found', () => {
    const [a, b] = [sequence(3000, 50), sequence(3000, 50)]
    expect(matchSequences(a, b, 100).isComplete).toBe(false)
    expectValid(a, b, 100)
  })

  it('keeps to its budget where every number is the same', () => {
    const a = new Int32Array(400_000)
    const b = new Int32Array(300_000)
    a[200_000] = 1
    b[100] = 2
    const started = performance.now()
    expectValid(a, b, 100_000)
    expect(performance.now() - started).toBeLessThan(20_000)
  })
})

describe('tokens', () => {
  const cut = (text: string) => {
    const tokens = tokensOf(text)
    return Array.from({ length: tokens.count }, (_, at) => tokenText(tokens, at))
  }

  it('are words, signs and single characters of scripts without spaces', () => {
    expect(cut('  Hello, big\nworld!')).toEqual(['  Hello', ', ', 'big\n', 'world', '!'])
    expect(cut('你好 world')).toEqual(['你', '好 ', 'world'])
    expect(cut('नमस्ते दुनिया')).toEqual(['नमस्ते ', 'दुनिया'])
    expect(cut('مرحبا بالعالم')).toEqual(['مرحبا ', 'بالعالم'])
    expect(cut('')).toEqual([])
    expect(cut(' \n')).toEqual([' \n'])
  })

  it('never tear apart what is drawn as one', () => {
    expect(cut('👩‍👩‍👧‍👦🎁')).toEqual(['👩‍👩‍👧‍👦', '🎁'])
    expect(cut('🇩🇪🇩🇰')).toEqual(['🇩🇪', '🇩🇰'])
    expect(cut('👍🏽👍')).toEqual(['👍🏽', '👍'])
    expect(cut('e\u0301a か\u3099き')).toEqual(['e\u0301a ', 'か\u3099', 'き'])
    expect(cut('❤️x')).toEqual(['❤️', 'x'])
  })

  it('tile any text, and none has white space in its middle', () => {
    const texts = randomTexts(11)
    for (let round = 0; round < 300; round++) {
      const text = texts.next()
      const tokens = cut(text)
      expect(tokens.join('')).toBe(text)
      for (const token of tokens) expect(token.trim()).not.toMatch(/\s/)
    }
  })
})

describe('an alignment', () => {
  it('shows what is the same and what only one side has', () => {
    expect(marked('the quick brown fox', 'the slow brown fox jumps')).toBe(
      'the [-quick -]{+slow +}brown fox{+jumps+}',
    )
    expect(marked('人人生而自由', '人人平等自由')).toBe('人人[-生而-]{+平等+}自由')
    expect(marked('🇩🇪 and 🎁', '🇩🇰 and 🎁')).toBe('[-🇩🇪 -]{+🇩🇰 +}and 🎁')
    expect(marked('', 'a')).toBe('{+a+}')
    expect(marked('', '')).toBe('')
  })

  it('compares words in their canonical form and shows them as they are', () => {
    const { spans } = alignTexts('Cafe\u0301  AU lait', 'caf\u00e9 au\nlait')
    expect(spans).toEqual([{ kind: 'same', a: 'Cafe\u0301  AU lait', b: 'caf\u00e9 au\nlait' }])
    expect(marked('A b', 'a b', { canonical: 'none' })).toBe('[-A -]{+a +}b')
    expect(marked('{"b":1, "a":2}', '{"a":2,"b":1}', { canonical: 'json' })).toBe('{"a":2,"b":1}')
  })

  it('gives back both texts, whatever they are', () => {
    const texts = randomTexts(5)
    for (let round = 0; round < 300; round++) {
      const [a, b] = [texts.next(), texts.next()]
      const other = round % 2 === 0 ? b : a.slice(0, texts.below(a.length)) + b
      const { spans } = alignTexts(a, other)
      expect([sideA(spans), sideB(spans)]).toEqual([a, other])
    }
  })

  it('of texts of megabytes ends soon, alike or not', { timeout: 180_000 }, () => {
    const next = randomWords(8)
    const words = (count: number) =>
      Array.from({ length: count }, () => (next() >>> 16).toString(36)).join(' ')
    const count = amount(700_000, 2_300_000)
    const long = words(count)
    expect(long.length).toBeGreaterThan(count * 4)
    const changed = long
      .split(' ')
      .map((word, at) => (at % 1000 === 0 ? 'changed' : word))
      .join(' ')
    const started = performance.now()
    const alike = alignTexts(long, changed)
    expect(alike.spans.filter(({ kind }) => kind === 'only-a').length).toBeGreaterThan(count / 1150)
    expect(sideB(alike.spans) === changed).toBe(true)
    const other = words(count)
    const unlike = alignTexts(long, other)
    expect(unlike.isComplete).toBe(false)
    expect(sideA(unlike.spans) === long).toBe(true)
    expect(performance.now() - started).toBeLessThan(120_000)
  })
})
