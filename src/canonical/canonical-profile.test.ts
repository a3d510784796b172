import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PrestigeError, type ErrorCode } from '../platform/errors.ts'
import { canonicalNames, canonicalProfile, type CanonicalInput } from './index.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
const form = (input: CanonicalInput, text: string): string =>
  decode(canonicalProfile(input).canonicalise(encode(text)))

function failure(action: () => unknown): PrestigeError {
  try {
    action()
  } catch (error) {
    if (error instanceof PrestigeError) return error
    throw error
  }
  throw new Error('did not fail')
}

const codeOf = (action: () => unknown): ErrorCode => failure(action).code

/** What JavaScript and config files may pass, whatever the types say. */
const anything = (value: unknown): CanonicalInput => value as CanonicalInput // the test

const mixed = fc
  .array(
    fc.oneof(
      fc.constantFrom(' ', '\n', '\t', 'A', 'b', 'É', 'e\u0301', '\u3000', 'ß', '{', '"', '1'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
  )
  .map((parts) => parts.join(''))

describe('the built-in profiles', () => {
  it.each([
    ['none', ' A\tÉ\u3000\ufb01 ', ' A\tÉ\u3000\ufb01 '],
    ['whitespace', ' A\t\nÉ \u3000\ufb01 ', 'A É \u3000\ufb01'],
    ['ascii-case', ' A\t\nÉ \u3000\ufb01 ', 'a É \u3000\ufb01'],
    ['unicode', ' A\t\nÉ \u3000\ufb01 ', 'a é fi', 2],
    ['unaccented', ' A\t\nÉ \u3000\ufb01 ', 'a e fi'],
    ['json', ' {"b": 1.0, "a": "É"} ', '{"a":"É","b":1}'],
  ] as const)('%s does what its name says', (name, text, expected, version: number = 1) => {
    expect(form(name, text)).toBe(expected)
    expect(canonicalProfile(name)).toMatchObject({ name, version })
  })

  it('refuse what is not UTF-8, except none', () => {
    const binary = Uint8Array.from([0x20, 0xff, 0x20])
    for (const name of canonicalNames) {
      const { canonicalise } = canonicalProfile(name)
      if (name === 'none') expect(canonicalise(binary)).toBe(binary)
      else expect(codeOf(() => canonicalise(binary))).toBe('UNREADABLE_VALUE')
    }
  })

  it('hand back the very array that is canonical already, and an equal array otherwise', () => {
    fc.assert(
      fc.property(mixed, fc.constantFrom(...canonicalNames), (text, name) => {
        const { canonicalise } = canonicalProfile(name)
        const bytes = encode(name === 'json' ? JSON.stringify(text) : text)
        const canonical = canonicalise(bytes)
        expect(canonicalise(canonical)).toBe(canonical)
        expect(canonical === bytes).toBe(Buffer.compare(canonical, bytes) === 0)
      }),
    )
  })

  it('never change the bytes they are given, nor depend on where these lie in memory', () => {
    fc.assert(
      fc.property(mixed, fc.constantFrom(...canonicalNames), (text, name) => {
        const padded = Buffer.concat([encode('é"'), encode(text), encode('\u0301"')])
        const bytes = padded.subarray(3, padded.length - 3)
        const copy = Uint8Array.from(bytes)
        const { canonicalise } = canonicalProfile(name)
        expect(outcome(() => canonicalise(bytes))).toBe(outcome(() => canonicalise(copy)))
        expect(Buffer.compare(bytes, encode(text))).toBe(0)
      }),
    )
  })

  function outcome(action: () => Uint8Array): string {
    try {
      return Buffer.from(action()).toString('hex')
    } catch (error) {
      return String(error)
    }
  }

  it('give an array of its own, whose memory nobody else uses', () => {
    for (const name of canonicalNames.slice(1)) {
      const canonical = canonicalProfile(name).canonicalise(
        encode(name === 'json' ? ' "É" ' : ' É '),
      )
      expect(canonical.byteOffset).toBe(0)
      expect(canonical.buffer.byteLength).toBeLessThan(20)
    }
  })

  it('refuse a name that does not exist, and list those that do', () => {
    const error = failure(() => canonicalProfile(anything('unicorn')))
    expect(error.code).toBe('INVALID_OPTIONS')
    expect(error.message).toMatch(
      /none, whitespace, ascii-case, unicode, unaccented, json.*found 'unicorn'/,
    )
    for (const wrong of [undefined, null, 7, {}, { version: '1' }, 'toString', () => 1]) {
      expect(codeOf(() => canonicalProfile(anything(wrong)))).toBe('INVALID_OPTIONS')
    }
  })
})

describe("a user's own function", () => {
  const upper = (bytes: Uint8Array): Uint8Array => encode(decode(bytes).toUpperCase())

  it('is a profile under its version', () => {
    const own = canonicalProfile({ version: 'my-rules-2', canonicalise: upper })
    expect(own).toMatchObject({ name: 'function:my-rules-2', version: 'my-rules-2' })
    expect(decode(own.canonicalise(encode('abc')))).toBe('ABC')
  })

  it('may be a method that uses its own object', () => {
    class Rules {
      readonly version = '1'
      readonly suffix = '!'
      canonicalise(bytes: Uint8Array): Uint8Array {
        return encode(decode(bytes) + this.suffix)
      }
    }
    expect(form(new Rules(), 'a')).toBe('a!')
  })

  it('cannot change the value it is given, even when it works in place', () => {
    const bytes = encode('abc')
    const inPlace = canonicalProfile({ version: '1', canonicalise: (own) => own.fill(0x78) })
    expect(decode(inPlace.canonicalise(bytes))).toBe('xxx')
    expect(decode(bytes)).toBe('abc')
  })

  it('counts as unable to read what it throws at, and the reason is kept', () => {
    const cause = new TypeError('no subject line')
    const strict = canonicalProfile({
      version: 'mail-1',
      canonicalise: () => {
        throw cause
      },
    })
    const error = failure(() => strict.canonicalise(encode('x')))
    expect(error.code).toBe('UNREADABLE_VALUE')
    expect(error.message).toMatch(/'function:mail-1'.*no subject line/)
    expect(error.cause).toBe(cause)
  })

  it.each([
    ['a string', 'text'],
    ['nothing', undefined],
    ['null', null],
    ['a promise', Promise.resolve(new Uint8Array())],
    ['an array of numbers', [1, 2]],
    ['an ArrayBuffer', new ArrayBuffer(1)],
  ])('is refused as an option when it returns %s', (_name, result) => {
    const wrong = { version: '1', canonicalise: () => result }
    const { canonicalise } = canonicalProfile(anything(wrong))
    expect(codeOf(() => canonicalise(encode('x')))).toBe('INVALID_OPTIONS')
  })

  it.each([
    ['is empty', ''],
    ['is longer than 64 characters', 'v'.repeat(65)],
    ['is not ASCII', 'régles'],
    ['has a line break', 'a\n'],
    ['is a number', 2],
    ['is missing', undefined],
  ])('is refused when its version %s', (_name, version) => {
    const wrong = { version, canonicalise: upper }
    expect(codeOf(() => canonicalProfile(anything(wrong)))).toBe('INVALID_OPTIONS')
  })

  it('may have a version of 1 or 64 characters', () => {
    for (const version of ['1', ' '.repeat(2), '~'.repeat(64)]) {
      expect(canonicalProfile({ version, canonicalise: upper }).version).toBe(version)
    }
  })
})
