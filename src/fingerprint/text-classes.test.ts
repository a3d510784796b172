import { describe, expect, it } from 'vitest'

import { simpleLowerCase, textClasses } from './text-classes.ts'

const isIn = (table: Uint8Array, point: number) => ((table[point >> 3]! >> (point & 7)) & 1) === 1

function* pointsOf(pattern: RegExp): Generator<number> {
  for (let point = 0; point < 0x20000; point++) {
    if (pattern.test(String.fromCodePoint(point))) yield point
  }
}

describe('the classes of code points', () => {
  it('never split words at letters, digits or marks of any script', () => {
    const { separators } = textClasses()
    const wrong = [...pointsOf(/[\p{L}\p{N}\p{M}\p{Pc}\p{Cf}]/u)].filter((at) =>
      isIn(separators, at),
    )
    expect(wrong).toEqual([])
  })

  it('split words at all white space and at the punctuation of the great scripts', () => {
    const { separators } = textClasses()
    const marks = Array.from(
      '.,;:!?"\'()[]{}<>/\\|@#$%^&*-+=~`…—–«»“”‘’¿¡।॥،؛؟۔。、，！？「」『』【】・׃·፡။៖',
    )
    const points = [...marks.map((mark) => mark.codePointAt(0)!), ...pointsOf(/\p{White_Space}/u)]
    expect(points.filter((at) => !isIn(separators, at))).toEqual([])
  })

  it('know the scripts that are written without spaces', () => {
    const { unspaced } = textClasses()
    for (const letter of '中ひカ호กລខမ') {
      expect(isIn(unspaced, letter.codePointAt(0)!), letter).toBe(letter !== '호')
    }
    for (const letter of 'aяאعहক') expect(isIn(unspaced, letter.codePointAt(0)!)).toBe(false)
  })

  it('lower every letter as this Node does, where one letter becomes one', () => {
    for (let point = 0; point < 0x1ea00; point++) {
      const character = String.fromCodePoint(point)
      const lower = simpleLowerCase(character)
      const isNewer = lower === character && character.toLowerCase() !== character
      if (isNewer || point === 0x130) continue
      expect(lower).toBe(character.toLowerCase())
    }
    expect(simpleLowerCase('İSTANBUL ΟΔΟΣ ÅÉ 𐐀')).toBe('istanbul οδοσ åé 𐐨')
  })
})
