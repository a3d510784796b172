import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { bytesOfNotation, keyInJson, notationOf } from './key-notation.ts'

describe('the notation of keys', () => {
  it.each([
    ['plain/text.txt', 'plain/text.txt'],
    ['with space', 'with space'],
    ['नमस्ते 世界 مرحبا 👩‍👩‍👧‍👦', 'नमस्ते 世界 مرحبا 👩‍👩‍👧‍👦'],
    ['a\nb\tc', 'a\\x0ab\\x09c'],
    ['back\\slash', 'back\\\\slash'],
    ['\u0085\u2028', '\\xc2\\x85\\xe2\\x80\\xa8'],
    ['gpj.\u202eexe', 'gpj.\\xe2\\x80\\xaeexe'],
    ['\ufffd', '\\xef\\xbf\\xbd'],
  ])('shows %j as %s', (key, notation) => {
    expect(notationOf(Buffer.from(key))).toBe(notation)
  })

  it('shows bytes that are not UTF-8 between those that are', () => {
    expect(notationOf(Buffer.from('caf\xe9!', 'latin1'))).toBe('caf\\xe9!')
    expect(notationOf(Buffer.from([0xe4, 0xbd, 0xa0, 0xff, 0xe4, 0xbd]))).toBe('你\\xff\\xe4\\xbd')
  })

  it('is one line, and gives any key back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const notation = notationOf(bytes)
        expect(notation).not.toMatch(/[\n\ufffd]/)
        expect(bytesOfNotation(notation)).toEqual(Buffer.from(bytes))
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(bytesOfNotation(notationOf(Buffer.from(text))).toString()).toBe(text)
      }),
    )
  })

  it.each(['\\', 'a\\q', '\\x1', '\\xzz', '\\😀'])('refuses %s', (notation) => {
    expect(() => bytesOfNotation(notation)).toThrow('means nothing')
  })

  it('is text in JSON where the key is text, and base64 where it is not', () => {
    expect(keyInJson(Buffer.from('a\n'))).toBe('a\n')
    expect(keyInJson(Buffer.from([0xff]))).toEqual({ base64: '/w==' })
  })
})
