import { describe, expect, it } from 'vitest'

import { displayWidth, graphemes } from './display-width.ts'
import { harmless } from './harmless.ts'

describe('the width of a text on a terminal', () => {
  it.each([
    ['', 0],
    ['hello', 5],
    ['café', 4],
    ['cafe\u0301', 4],
    ['你好', 4],
    ['ＡＢ', 4],
    ['한국어', 6],
    ['\u1112\u1161\u11ab', 2],
    ['ひらがな', 8],
    ['か\u3099', 2],
    ['नमस्ते', 4],
    ['दुनिया', 5],
    ['مرحبا', 5],
    ['مَرْحَبًا', 5],
    ['שָׁלוֹם', 4],
    ['🎁', 2],
    ['👩‍👩‍👧‍👦', 2],
    ['👍🏽', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['❤', 1],
    ['a\u200bb', 2],
    ['𠀀', 2],
    ['→', 1],
  ])('of %j is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  it('is the sum of what is drawn as one', () => {
    expect([...graphemes('e\u0301👩‍👩‍👧‍👦न')]).toEqual(['e\u0301', '👩‍👩‍👧‍👦', 'न'])
  })
})

describe('text on its way to a terminal', () => {
  it('can neither colour, nor ring, nor reorder the line', () => {
    expect(harmless('a\u001b[31mb\u0007c\u202ed\u007fe\u009bf')).toBe('a␛[31mb␇c\ufffdd␡e\ufffdf')
    expect(harmless('a\t\r\n b\u3000c')).toBe('a b c')
  })
})
