import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { PassageText } from './passages.ts'

const textOf = (text: string) => new PassageText(Buffer.from(text))
const cut = (text: string, { start, end }: { start: number; end: number }) =>
  Buffer.from(text).subarray(start, end).toString()

/** Words of one script that stand for nothing, and how they are separated. */
const SCRIPTS = {
  Latin: { letters: 'abcdefghijklmnopqrstuvwxyzäéß', joiner: ' ', length: 5 },
  Hindi: { letters: 'कखगघचछजझटठडढतथदधनपफबभमयरलवशषसह', joiner: ' ', length: 4 },
  Chinese: {
    letters: '的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年',
    joiner: '',
    length: 2,
  },
  emoji: { letters: '😀😁😂🤣😃😄😅😆😉😊😋😎😍😘🥰😗😙😚🙂🤗🤩🤔🤨😐', joiner: '', length: 2 },
} as const

function wordsOf(script: keyof typeof SCRIPTS, count: number, seed: string): string[] {
  const { letters, length } = SCRIPTS[script]
  const all = Array.from(letters)
  return Array.from({ length: count }, (_, at) => {
    let word = ''
    for (let place = 0; place < length; place++) {
      word += all[hashOf(`${seed}/${at}/${place}`) % all.length]
    }
    return word
  })
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}

describe('passages that two texts share', () => {
  it.each(['Latin', 'Hindi', 'Chinese', 'emoji'] as const)(
    'of planted %s excerpts are where they were planted, give or take a unit',
    (script) => {
      const { joiner } = SCRIPTS[script]
      fc.assert(
        fc.property(fc.nat(), fc.integer({ min: 20, max: 120 }), fc.nat(400), (seed, size, at) => {
          const host = wordsOf(script, 600, `host ${seed}`)
          const excerpt = wordsOf(script, size, `excerpt ${seed}`).join(joiner)
          const before = host.slice(0, at).join(joiner) + joiner
          const whole = `${before}${excerpt}${joiner}${host.slice(at).join(joiner)}`
          const found = textOf(whole).passagesIn(textOf(excerpt))
          expect(found).toHaveLength(1)
          const [passage = { start: 0, end: 0 }] = found
          const start = Buffer.byteLength(before)
          const slack = script === 'Latin' || script === 'Hindi' ? 2 : 12
          expect(Math.abs(passage.start - start)).toBeLessThanOrEqual(slack)
          expect(Math.abs(passage.end - start - Buffer.byteLength(excerpt))).toBeLessThanOrEqual(
            slack,
          )
          expect(textOf(excerpt).shareIn(textOf(whole))).toBe(1)
          expect(textOf(excerpt).passagesIn(textOf(whole))).toEqual([
            { start: 0, end: Buffer.byteLength(excerpt) },
          ])
        }),
        { numRuns: 30 },
      )
    },
  )

  it('are found in other case, form and layout, in bytes of either original', () => {
    const one = 'Intro. The Café “Zur Straße” was closed on Monday, for good reasons! End.'
    const other =
      'He wrote:\n> THE CAFE\u0301 ZUR STRASSE\n> WAS CLOSED ON MONDAY\n> FOR GOOD REASONS\nok'
    const [passage] = textOf(one).passagesIn(textOf(other))
    expect(cut(one, passage!)).toBe('The Café “Zur Straße” was closed on Monday, for good reasons')
    const [others] = textOf(other).passagesIn(textOf(one))
    expect(cut(other, others!)).toMatch(/^THE CAFE[^]*REASONS$/)
    expect(textOf(one).shareIn(textOf(other))).toBeCloseTo(11 / 13)
  })

  it('are none where texts share only phrases', () => {
    const one = textOf('as a matter of fact I think that on the other hand it was late')
    const other = textOf('it is on the other hand a matter of taste as a matter of fact, no')
    expect(one.passagesIn(other)).toEqual([])
    expect(one.shareIn(other)).toBe(0)
  })

  it.each(['', 'a', '漢', '\ud800', '...'])('of %j and anything are none', (text) => {
    expect(textOf(text).shareIn(textOf('a b c d e f g h i j'))).toBe(0)
    expect(textOf('a b c d e f g h i j').passagesIn(textOf(text))).toEqual([])
  })
})
