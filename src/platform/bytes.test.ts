import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  asBuffer,
  concat,
  copyOf,
  EMPTY,
  endOfPrefix,
  equalBytes,
  latin1,
  startsWith,
  utf8,
} from './bytes.ts'

const bytes = () => fc.uint8Array({ maxLength: 12 })
/** Few values, so that prefixes, carries and equal bytes come up often. */
const edgy = () => fc.array(fc.constantFrom(0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff), { maxLength: 5 })

describe('bytes', () => {
  it('are seen as a Buffer without being copied', () => {
    const view = new Uint8Array([1, 2, 3, 4]).subarray(1, 3)
    const buffer = asBuffer(view)
    expect(buffer).toEqual(Buffer.of(2, 3))
    view[0] = 9
    expect(buffer[0]).toBe(9)
    expect(asBuffer(buffer)).toBe(buffer)
  })

  it('are copied where the name says so', () => {
    const original = Buffer.of(1, 2, 3)
    const copy = copyOf(original)
    original.fill(0)
    expect(copy).toEqual(Buffer.of(1, 2, 3))
  })

  it('sort as their latin1 strings do', () => {
    fc.assert(
      fc.property(bytes(), bytes(), (one, other) => {
        const [first, second] = [latin1(one), latin1(other)]
        const order = first < second ? -1 : first > second ? 1 : 0
        expect(order).toBe(Buffer.compare(one, other))
        expect(Buffer.from(first, 'latin1')).toEqual(asBuffer(one))
      }),
    )
  })

  it('are joined in order, into memory of their own', () => {
    fc.assert(
      fc.property(bytes(), bytes(), (one, other) => {
        const both = concat(one, other)
        expect(both).toEqual(Buffer.concat([one, other]))
        const before = Buffer.from(both)
        one.fill(0)
        other.fill(0)
        expect(both).toEqual(before)
      }),
    )
    expect(concat(EMPTY, EMPTY)).toEqual(EMPTY)
  })

  it('are equal when every byte is, whatever view they come in', () => {
    fc.assert(
      fc.property(bytes(), bytes(), (one, other) => {
        expect(equalBytes(one, Buffer.from(one))).toBe(true)
        expect(equalBytes(one, other)).toBe(Buffer.from(one).equals(other))
      }),
    )
    expect(equalBytes(Buffer.of(1), Buffer.of(1, 0))).toBe(false)
  })

  it('start with every part of themselves from the start, and with nothing else', () => {
    fc.assert(
      fc.property(edgy(), edgy(), (one, other) => {
        const whole = Buffer.from(one)
        for (let end = 0; end <= whole.length; end++) {
          expect(startsWith(whole, whole.subarray(0, end))).toBe(true)
        }
        const isPrefix = latin1(whole).startsWith(latin1(Buffer.from(other)))
        expect(startsWith(whole, Buffer.from(other))).toBe(isPrefix)
      }),
    )
  })
})

describe('the end of a prefix', () => {
  it('is greater than everything that starts with it, and nothing lies between', () => {
    fc.assert(
      fc.property(edgy(), edgy(), (start, other) => {
        const prefix = Buffer.from(start)
        const end = endOfPrefix(prefix)
        const candidate = Buffer.from(other)
        const isInside =
          candidate.compare(prefix) >= 0 && (end === undefined || candidate.compare(end) < 0)
        expect(isInside).toBe(startsWith(candidate, prefix))
      }),
      { numRuns: 1000 },
    )
  })

  it('carries over, and is missing where there is none', () => {
    expect(endOfPrefix(Buffer.of(1, 2))).toEqual(Buffer.of(1, 3))
    expect(endOfPrefix(Buffer.of(1, 0xff, 0xff))).toEqual(Buffer.of(2))
    expect(endOfPrefix(Buffer.of(0xff, 0xff))).toBeUndefined()
    expect(endOfPrefix(EMPTY)).toBeUndefined()
  })

  it('leaves the prefix as it was', () => {
    const prefix = Buffer.of(1, 2)
    endOfPrefix(prefix)
    expect(prefix).toEqual(Buffer.of(1, 2))
  })
})

describe('utf8', () => {
  it('is what any text comes back from', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(utf8(text, 'INVALID_KEY', 'The key').toString('utf8')).toBe(text)
      }),
    )
  })

  it('is refused where two texts would become the same bytes', () => {
    for (const text of ['\ud800', 'a\udfff', '\udc00\ud800']) {
      expect(() => utf8(text, 'INVALID_VALUE', 'The value')).toThrow(
        expect.objectContaining({ code: 'INVALID_VALUE' }),
      )
    }
    expect(() => utf8('\ud800', 'INVALID_KEY', 'The key')).toThrow(/The key holds a lone surrogate/)
    expect(utf8('😀', 'INVALID_KEY', 'The key')).toHaveLength(4)
  })
})
