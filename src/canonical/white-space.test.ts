import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collapseSpace, collapseSpaceAndLower } from './white-space.ts'

const latin1 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'))
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Bytes that are rich in white space and letters, which random bytes are not. */
const spacy = fc
  .array(fc.oneof(fc.constantFrom(0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20), fc.nat(255)))
  .map((bytes) => Uint8Array.from(bytes))

describe('collapsing ASCII white space', () => {
  it('makes every run one space and leaves none at either end', () => {
    expect(text(collapseSpace(latin1(' \t\na \r\n b\v\fc  ')))).toBe('a b c')
  })

  it('leaves nothing of a value that is only white space', () => {
    expect(collapseSpace(latin1(' \t\r\n\v\f '))).toHaveLength(0)
    expect(collapseSpace(latin1(''))).toHaveLength(0)
  })

  it('keeps the ASCII separators U+001C to U+001F, which Unicode does not call white space', () => {
    expect(text(collapseSpace(latin1('a\x1c\x1d\x1e\x1fb')))).toBe('a\x1c\x1d\x1e\x1fb')
  })

  it('says the same as a regular expression, for any bytes', () => {
    fc.assert(
      fc.property(spacy, (bytes) => {
        const expected = text(bytes).replaceAll(/[\t-\r ]+/g, ' ')
        expect(text(collapseSpace(bytes))).toBe(expected.replaceAll(/^ | $/g, ''))
      }),
    )
  })
})

describe('lowering ASCII letters', () => {
  it('lowers A to Z and nothing else', () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const expected = text(collapseSpace(all)).replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    expect(text(collapseSpaceAndLower(all))).toBe(expected)
  })

  it('collapses white space just as the other does', () => {
    fc.assert(
      fc.property(spacy, (bytes) => {
        const lowered = text(collapseSpace(bytes)).replaceAll(/[A-Z]/g, (a) => a.toLowerCase())
        expect(text(collapseSpaceAndLower(bytes))).toBe(lowered)
      }),
    )
  })
})
