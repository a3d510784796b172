import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PrestigeError } from '../platform/errors.ts'
import { decodeUtf8, encodeUtf8, requireUtf8 } from './utf8.ts'

const hex = (digits: string): Uint8Array => Uint8Array.from(Buffer.from(digits, 'hex'))

function refusal(bytes: Uint8Array): string | undefined {
  try {
    requireUtf8(bytes, 'whitespace')
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(PrestigeError)
    expect(error).toHaveProperty('code', 'UNREADABLE_VALUE')
    return error instanceof Error ? error.message : ''
  }
}

/** Where Node puts the first U+FFFD: the slow way to find the first broken sequence. */
function brokenAt(bytes: Uint8Array): number {
  const repaired = Buffer.from(Buffer.from(bytes).toString('utf8'))
  let at = 0
  while (at < bytes.length && bytes[at] === repaired[at]) at++
  while (at > 0 && ((repaired[at] ?? 0) & 0xc0) === 0x80) at--
  return at
}

describe('strict UTF-8', () => {
  it.each([
    ['a lone continuation byte', '6180', 1],
    ['an overlong slash', 'c0af', 0],
    ['an overlong three-byte form', '61e08080', 1],
    ['an overlong four-byte form', 'f0808080', 0],
    ['a surrogate', 'eda080', 0],
    ['a point above U+10FFFF', 'f4908080', 0],
    ['a byte that no sequence has', '6162ff', 2],
    ['a sequence cut short by the end', '61e282', 1],
    ['a sequence cut short by a letter', 'e28241', 0],
    ['a broken beginning of U+FFFD itself', 'efbf41', 0],
  ])('refuses %s and says where it is', (_name, digits, at) => {
    expect(refusal(hex(digits))).toContain(`at byte ${at} (0x`)
  })

  it('names the profile and the way out', () => {
    expect(refusal(hex('ff'))).toMatch(/'whitespace'.*onUnreadable: 'bytes'/)
  })

  it('accepts the first and last code point of every length', () => {
    const edges = '\0\u007f\u0080\u07ff\u0800\ud7ff\ue000\ufffd\uffff\u{10000}\u{10ffff}'
    expect(refusal(encodeUtf8(edges))).toBeUndefined()
  })

  it('finds the first broken sequence where Node finds it, for any bytes', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => encodeUtf8(text)),
      fc.constantFrom(...['ed', 'e0', 'f0', 'f4', '8f', '90', '9f', 'a0', 'bf', 'ef'].map(hex)),
    )
    const bytes = fc.array(piece).map((pieces) => Uint8Array.from(Buffer.concat(pieces)))
    fc.assert(
      fc.property(bytes, (value) => {
        const message = refusal(value)
        if (message !== undefined) expect(message).toContain(`at byte ${brokenAt(value)} (`)
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps a byte order mark', () => {
    expect(decodeUtf8(hex('efbbbf61'))).toBe('\ufeffa')
  })
})
