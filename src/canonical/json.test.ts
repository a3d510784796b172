import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PrestigeError } from '../platform/errors.ts'
import { jsonDepthMax, jsonForm } from './json.ts'
import { textBytesMax } from './utf8.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const form = (text: string): string => Buffer.from(jsonForm(encode(text))).toString('utf8')

function refusal(text: string | Uint8Array): string {
  try {
    jsonForm(typeof text === 'string' ? encode(text) : text)
  } catch (error) {
    expect(error).toBeInstanceOf(PrestigeError)
    expect(error).toHaveProperty('code', 'UNREADABLE_VALUE')
    return error instanceof Error ? error.message : ''
  }
  throw new Error('was read')
}

describe('RFC 8785', () => {
  it('writes the sample of section 3.2.2 as section 3.2.4 does', () => {
    const sample = `{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`
    const expected =
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b' +
      '3333333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c' +
      '22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d'
    expect(Buffer.from(jsonForm(encode(sample))).toString('hex')).toBe(expected)
  })

  it('sorts the names of section 3.2.3 by UTF-16 units', () => {
    const sample = `{
      "\\u20ac": "Euro Sign", "\\r": "Carriage Return",
      "\\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One", "\\ud83d\\ude00": "Emoji: Grinning Face", "\\u0080": "Control",
      "\\u00f6": "Latin Small Letter O With Diaeresis"
    }`
    expect(form(sample).match(/:"([^"]+)"/g)).toEqual(
      [
        'Carriage Return',
        'One',
        'Control',
        'Latin Small Letter O With Diaeresis',
        'Euro Sign',
        'Emoji: Grinning Face',
        'Hebrew Letter Dalet With Dagesh',
      ].map((value) => `:"${value}"`),
    )
  })

  it('sorts the French words by units and not as a dictionary would', () => {
    const sample =
      '{"peach":"This sorting order","péché":"is wrong according to French",' +
      '"pêche":"but canonicalization MUST","sin":"ignore locale"}'
    expect(
      form(`{ "sin": "ignore locale", "pêche": "but canonicalization MUST",
      "péché": "is wrong according to French", "peach": "This sorting order" }`),
    ).toBe(sample)
  })

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s of appendix B as %s', (bits, expected) => {
    const double = Buffer.from(bits, 'hex').readDoubleBE()
    expect(form(double.toExponential(20))).toBe(expected)
    expect(form(expected)).toBe(expected)
  })
})

describe('the json form', () => {
  it.each([
    ['white space', ' \t\r\n{ "a" : [ 1 , 2 ] } \n', '{"a":[1,2]}'],
    ['empty containers', '[ { } , [ ] , "" ]', '[{},[],""]'],
    ['every kind at the top', 'true', 'true'],
    ['minus zero', '[-0, -0.0, -0e5, 0e-99999]', '[0,0,0,0]'],
    ['spellings of one number', '[1, 1.0, 10e-1, 0.1E1, 1e+0]', '[1,1,1,1,1]'],
    [
      'fractions, rounded',
      '[3.14159265358979323846, 0.10000000000000000001]',
      '[3.141592653589793,0.1]',
    ],
    [
      'floats beyond 2^53, rounded',
      '[9007199254740993.0, 9.9999999999999992e22]',
      '[9007199254740992,1e+23]',
    ],
    [
      'large integers that survive',
      '[9007199254740992, 100000000000000000000000, -1500000000000000000000]',
      '[9007199254740992,1e+23,-1.5e+21]',
    ],
    ['needless escapes', '"\\u0041\\/\\u00e9\\ud83d\\ude00"', '"A/é😀"'],
    [
      'needed escapes',
      '"\\u0000\\u001F\\b\\f\\n\\r\\t\\"\\\\\\u007f\\u2028"',
      '"\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\\u007f\u2028"',
    ],
    [
      'names that trouble objects',
      '{"b":1,"__proto__":2,"10":3,"9":4}',
      '{"10":3,"9":4,"__proto__":2,"b":1}',
    ],
    ['names sorted by meaning, not spelling', '{"b":1,"\\u0061":2}', '{"a":2,"b":1}'],
    [
      'the same name on different levels',
      '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
      '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
    ],
  ])('writes %s canonically', (_name, text, expected) => {
    expect(form(text)).toBe(expected)
  })

  it('does not normalise text inside strings, as RFC 8785 demands', () => {
    expect(form('["e\\u0301","é"]')).toBe('["e\u0301","é"]')
  })

  it.each([
    ['nothing', '', 'expected a value and found the value ends, at byte 0'],
    ['white space alone', '  ', 'found the value ends, at byte 2'],
    ['a byte order mark', '\ufeff{}', 'a byte order mark is not JSON, at byte 0'],
    ['two values', '1 2', 'expected the end and found "2", at byte 2'],
    ['a trailing comma in an array', '[1,]', 'at byte 3'],
    [
      'a trailing comma in an object',
      '{"a":1,}',
      'a member name in double quotes and found "}", at byte 7',
    ],
    ['a missing colon', '{"a" 1}', `expected ':' and found "1", at byte 5`],
    ['a missing comma', '[1 2]', `expected ',' or ']' and found "2", at byte 3`],
    ['an array that does not end', '[1', `expected ',' or ']' and found the value ends, at byte 2`],
    ['an object that does not end', '{"a":1', `expected ',' or '}'`],
    ['brackets that do not match', '[1}', 'at byte 2'],
    ['a comment', '/* */ 1', 'at byte 0'],
    ['single quotes', "{'a':1}", 'at byte 1'],
    ['a cut word', 'tru', 'expected a value and found "t", at byte 0'],
    ['undefined', 'undefined', 'expected a value'],
    ['NaN', '[NaN]', 'at byte 1'],
    ['Infinity', '-Infinity', 'at byte 1'],
    ['a leading zero', '[-012]', 'needless zero, at byte 1'],
    ['a leading plus', '+1', 'at byte 0'],
    ['a lone minus', '-', 'at byte 1'],
    ['a point without digits', '1.', 'at byte 2'],
    ['a point without an integer', '.5', 'at byte 0'],
    ['an exponent without digits', '1e+', 'at byte 3'],
    ['hexadecimal', '0x1', 'at byte 1'],
    ['a string that does not end', '["é", "abc', 'a string does not end, at byte 7'],
    ['a string that ends in a backslash', '"\\', 'a string does not end'],
    ['a raw line break in a string', '"a\nb"', 'control character, at byte 2'],
    ['an unknown escape', '"\\x41"', 'unknown escape, at byte 0'],
    ['half a unicode escape', '"\\u12"', 'unknown escape'],
    ['no-break space between values', '[1,\u00a02]', 'at byte 3'],
  ])('refuses %s and says where', (_name, text, expected) => {
    expect(refusal(text)).toContain(expected)
    expect(refusal(text)).toMatch(/^The 'json' profile .*onUnreadable: 'bytes'/)
    if (!text.startsWith('\ufeff')) expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError)
  })

  it('refuses a name that is used twice, also when it is spelled differently', () => {
    expect(refusal('{"é":0,"a":1,"b":2,"a":1}')).toContain(
      'the member name "a" is used twice, at byte 20',
    )
    expect(refusal('{"a":1,"\\u0061":2}')).toContain('the member name "a" is used twice, at byte 7')
    expect(refusal('[{"__proto__":1,"__proto__":2}]')).toContain('used twice, at byte 16')
    expect(refusal('{"":1,"":1}')).toContain('used twice')
  })

  it('refuses half a surrogate pair in a value and in a name', () => {
    for (const text of ['"\\ud83d"', '"\\ude00\\ud83d"', '{"\\udead":1}', '["\\ud83dx"]']) {
      expect(refusal(text)).toContain('half a surrogate pair')
    }
  })

  it('refuses integers that a double cannot hold, so that ids never meet', () => {
    expect(refusal('{"id":9007199254740993}')).toContain('would become 9007199254740992')
    expect(refusal('-9007199254740993')).toContain('-9007199254740993 does not fit')
    expect(refusal('12345678901234567890')).toContain('write it as a string')
    expect(refusal('99999999999999991611392')).toContain('would become 1e+23')
    expect(refusal('1'.repeat(300))).toContain('does not fit')
  })

  it('refuses numbers that would become infinite or nothing', () => {
    for (const text of ['1e400', '-1e400', '9'.repeat(400)])
      expect(refusal(text)).toContain('too large')
    for (const text of ['1e-400', '-0.1e-999', `0.${'0'.repeat(400)}1`]) {
      expect(refusal(text)).toContain('too small')
    }
  })

  it('refuses bytes that are not UTF-8', () => {
    expect(refusal(Uint8Array.from([0x22, 0xc3, 0x22]))).toContain(
      'not valid UTF-8 at byte 1 (0xc3)',
    )
  })

  it('reads the deepest nesting it promises, and refuses one level more by name', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(form(nested(jsonDepthMax))).toBe(nested(jsonDepthMax))
    expect(refusal(nested(jsonDepthMax + 1))).toContain('nested deeper than 1000 levels')
    expect(refusal('{"a":'.repeat(100_000))).toContain('nested deeper than 1000 levels')
  })

  it('refuses what is longer than it can hold as a string, by name', () => {
    expect(refusal(new Uint8Array(textBytesMax + 1).fill(0x20))).toContain('it is longer than')
  })

  it('takes time in proportion to the length, however deep and however odd the numbers', () => {
    const deep = '['.repeat(999) + `"${'x'.repeat(1_000_000)}"` + ']'.repeat(999)
    const digits = `0.${'0'.repeat(500_000)}${'10'.repeat(250_000)}e500001`
    const started = performance.now()
    expect(form(deep)).toBe(deep)
    expect(form(digits)).toBe('1.0101010101010102')
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('the json form of any document', () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })
  const space = fc.constantFrom('', ' ', '\n', '\t\r\n ')

  /** The same document, with names shuffled, white space added and characters escaped. */
  function respell(json: unknown, pick: (max: number) => number, gap: string): string {
    const next = (item: unknown): string => gap + respell(item, pick, gap) + gap
    if (Array.isArray(json)) return `[${json.map(next).join(',')}${gap}]`
    if (typeof json === 'string') return escapeSome(json, pick)
    if (typeof json !== 'object' || json === null) return JSON.stringify(json)
    const members = Object.entries(json).map(
      ([k, v]) => `${gap}${escapeSome(k, pick)}${gap}:${next(v)}`,
    )
    for (let last = members.length - 1; last > 0; last--) {
      const other = pick(last)
      ;[members[last], members[other]] = [members[other]!, members[last]!]
    }
    return `{${members.join(',')}${gap}}`
  }

  function escapeSome(text: string, pick: (max: number) => number): string {
    const unit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
    const escaped = Array.from(text, (char) =>
      pick(3) === 0 ? char.split('').map(unit).join('') : JSON.stringify(char).slice(1, -1),
    )
    return `"${escaped.join('')}"`
  }

  it('does not depend on layout, order of names or escapes', () => {
    fc.assert(
      fc.property(value, space, fc.infiniteStream(fc.nat(1000)), (json, gap, stream) => {
        const pick = (max: number): number => (stream.next().value ?? 0) % (max + 1)
        expect(form(respell(json, pick, gap))).toBe(form(JSON.stringify(json)))
      }),
      { numRuns: 1000 },
    )
  })

  it('means the same as the document', () => {
    fc.assert(
      fc.property(value, (json) => {
        const text = JSON.stringify(json)
        expect(JSON.parse(form(text))).toEqual(JSON.parse(text))
      }),
      { numRuns: 1000 },
    )
  })

  it('is its own form', () => {
    fc.assert(
      fc.property(value, (json) => {
        const canonical = form(JSON.stringify(json))
        expect(form(canonical)).toBe(canonical)
      }),
      { numRuns: 1000 },
    )
  })

  it('keeps every double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(form(String(number))).toBe(String(number === 0 ? 0 : number))
        expect(Number(form(number.toExponential(16)))).toBe(number === 0 ? 0 : number)
      }),
    )
  })

  it('keeps the value of every integer it accepts, and accepts all up to 2^53', () => {
    const integer = fc
      .tuple(fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }), fc.nat(30), fc.nat(60))
      .map(([number, zeros, bits]) => (number >> BigInt(bits)) * 10n ** BigInt(zeros))
    fc.assert(
      fc.property(integer, (number) => {
        const canonical = formOrRefusal(String(number))
        if (canonical === undefined)
          expect(Math.abs(Number(number))).toBeGreaterThanOrEqual(2 ** 53)
        else expect(wholeNumber(canonical)).toBe(number)
      }),
      { numRuns: 2000 },
    )
  })

  function formOrRefusal(text: string): string | undefined {
    try {
      return form(text)
    } catch (error) {
      expect(error).toHaveProperty('code', 'UNREADABLE_VALUE')
      return undefined
    }
  }

  function wholeNumber(text: string): bigint {
    const [mantissa = '', exponent = '0'] = text.split('e+')
    const [whole = '', fraction = ''] = mantissa.split('.')
    return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length)
  }

  it('accepts exactly what JSON.parse accepts, apart from what is refused on purpose', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '1',
      '-',
      '0',
      '.5',
      'e1',
      'true',
      'null',
      ' ',
      '\\n',
      '\\u0061',
      '\n',
      'x',
    ]
    const onPurpose = /used twice|surrogate|does not fit|too large|too small|nested deeper/
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (parts) => {
        const text = parts.join('')
        let parsed = true
        try {
          JSON.parse(text)
        } catch {
          parsed = false
        }
        const accepted = formOrRefusal(text) !== undefined
        if (!parsed) expect(accepted, text).toBe(false)
        else expect(accepted || onPurpose.test(refusal(text)), text).toBe(true)
      }),
      { numRuns: 20_000 },
    )
  })
})
