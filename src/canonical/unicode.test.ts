import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PrestigeError } from '../platform/errors.ts'
import { foldingRules } from './unicode-rules.ts'
import { foldingTables, hasBit } from './unicode-tables.ts'
import { unicodeForm } from './unicode.ts'
import { textBytesMax } from './utf8.ts'

const tables = foldingTables()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const form = (text: string): string =>
  decoder.decode(unicodeForm(foldingRules, new TextEncoder().encode(text)))

const isUnassigned = (char: string): boolean => hasBit(tables.unassigned, char.codePointAt(0)!)
const isSurrogate = (point: number): boolean => point >= 0xd800 && point < 0xe000
const points = Array.from({ length: 0x110000 }, (_, point) => point).filter((p) => !isSurrogate(p))

function fold(char: string): string {
  const point = char.codePointAt(0)!
  const simple = point < 0x10000 ? tables.simple[point]! : 0
  return simple !== 0 ? String.fromCharCode(simple) : (tables.special.get(point) ?? char)
}

/** The definition of version 1 in the header of `unicode-rules.ts`, word for word, with no thought for speed. */
function definition(text: string): string {
  const runs: string[] = ['']
  for (const char of text) {
    if (isUnassigned(char)) runs.push(char, '')
    else runs[runs.length - 1] += char
  }
  const folded = runs.map((run) => {
    if (run !== '' && isUnassigned(run)) return run
    return Array.from(run.normalize('NFKD'), fold).join('').normalize('NFKC')
  })
  const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g
  return folded.join('').replaceAll(spaces, ' ').replaceAll(/^ | $/g, '')
}

/** Where normalisation and folding get in each other's way, which is too rare in random text. */
const awkward = Array.from(
  'aAeEhHjJtTwWyYiIsSkK\u00c5\u212b\u212a\u017f\u00df\u1e9e\ufb05\ufb01\u01c5\u2126\u03a9\u03c9' +
    '\u0391\u03b1\u03a3\u03c3\u03c2\u0399\u03b9\u0390\u03b0\u1fd3\u01f0\u1e96\u1e97\u0130\u0131' +
    '\u0345\u037a\u1fbe\u1f80\u1fb3\u1fb4\u1fbc\u1fb7\u1ffc\u0386\u1fbb' +
    '\u0307\u0300\u0301\u0308\u0323\u0327\u0331\u0338\u030c\u031b\u0344\u0340' +
    '\uac00\uac01\u1100\u1161\u11a8\u115f\u1160\uffa1\u3131' +
    '   \t\n\u0085\u00a0\u1680\u2003\u2028\u3000\u200b\ufeff\u00ad\u034f' +
    '\uab70\u13f8\u13a0\u2177\u2467\u338f\ufdfa\uff21\uff76\uff9e\u304b\u3099\u00a8\u00b4\u309b' +
    '\u0958\u0915\u093c\u09cc\u09c7\u09be\u0cca\u0ccb\u0cd5' +
    '\u0378\u{2ebf0}\u{1e030}\u{10400}\u{1d15e}\u{1f468}\u200d\ufe0f\u{105d2}\u{1611e}\u1acf\ua7cb',
)
const awkwardText = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...awkward) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 2 }) },
    ),
  )
  .map((chars) => chars.join(''))

describe('version 1 of the unicode form', () => {
  it.each([
    ['NFC and NFD', 'Ünïcödé', 'U\u0308ni\u0308co\u0308de\u0301', 'ünïcödé'],
    ['full width and ASCII', '\uff30\uff52\uff45\uff53\uff54\u3000\uff11', 'PREST 1', 'prest 1'],
    [
      'ligatures and letters',
      'e\ufb03cient \ufb02u\ufb00 \ufb05',
      'EFFICIENT FLUFF ST',
      'efficient fluff st',
    ],
    ['sharp s in both cases and ss', 'Straße', 'STRASSE', 'strasse'],
    ['capital sharp s and ss', 'STRAẞE', 'strasse', 'strasse'],
    [
      'final sigma and sigma',
      'ΟΔΥΣΣΕΥΣ',
      'Ὀδυσσεύς'.normalize('NFD').replaceAll(/\p{M}/gu, ''),
      'οδυσσευσ',
    ],
    ['Greek with iota subscript', '\u1fbc', '\u03b1\u0345', '\u03b1\u03b9'],
    ['Cyrillic', 'МОСКВА Й', 'москва и\u0306', 'москва й'],
    ['Cherokee in both cases', '\uabb3\uab83', '\u13e3\u13b3', '\u13e3\u13b3'],
    [
      'Hangul syllables and jamo',
      '\ud55c\uad6d',
      '\u1112\u1161\u11ab\u1100\u116e\u11a8',
      '\ud55c\uad6d',
    ],
    ['half width kana and kana', '\uff76\uff9e\uff77', '\u30ab\u3099\u30ad', '\u30ac\u30ad'],
    ['marks in any order', 'a\u0323\u0307', 'a\u0307\u0323', '\u1ea1\u0307'],
    ['an ASCII letter and its accent', 'cafe\u0301', 'CAFÉ', 'café'],
    ['a capital that has no composed form', 'H\u0331', '\u1e96', '\u1e96'],
    ['marks around a subscript iota', '\u03b1\u0345\u0323', '\u1fb3\u0323', '\u03b1\u0323\u03b9'],
    ['the signs for kelvin and ohm', '\u212a\u2126', 'K\u03a9', 'k\u03c9'],
    ['letters outside the first plane', '\u{10400}', '\u{10428}', '\u{10428}'],
  ])('makes %s the same', (_name, one, other, expected) => {
    expect(form(one)).toBe(expected)
    expect(form(other)).toBe(expected)
  })

  it('collapses and trims everything that Unicode calls white space', () => {
    expect(form('\u3000a\u00a0\u2003\u2028b \u0085\u1680\u202fc\u205f\u2029')).toBe('a b c')
  })

  it('folds Turkish letters as English does: İ keeps its dot and ı stays ı', () => {
    expect(form('I')).toBe('i')
    expect(form('İ')).toBe('i\u0307')
    expect(form('i\u0307')).toBe(form('İ'))
    expect(form('ı')).toBe('ı')
  })

  it('keeps joiners, quotes, soft hyphens, variation selectors and byte order marks', () => {
    const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'
    const persian = 'می\u200cخواهم'
    for (const text of [
      family,
      persian,
      'a\u00adb',
      '\u2764\ufe0f',
      '\ufeffa',
      'a\u200bb',
      '“a” – b',
    ]) {
      expect(form(text)).toBe(text)
    }
  })

  it('keeps accents: a word with one is another word', () => {
    expect(form('résumé')).not.toBe(form('resume'))
  })

  it('gives an empty value for an empty value and for white space alone', () => {
    expect(form('')).toBe('')
    expect(form(' \u3000\n')).toBe('')
  })

  it('refuses bytes that are not UTF-8 instead of repairing them', () => {
    expect(() => unicodeForm(foldingRules, Uint8Array.from([0x61, 0xff]))).toThrow(PrestigeError)
    expect(() => unicodeForm(foldingRules, Uint8Array.from([0x61, 0xff]))).toThrow(
      /'unicode'.*at byte 1 \(0xff\)/,
    )
  })

  it('refuses an endless stretch without ASCII by name, but not a long value as such', () => {
    const endless = Buffer.alloc(textBytesMax + 2, 'é')
    expect(() => unicodeForm(foldingRules, endless)).toThrow(/without an ASCII character/)
    const long = Buffer.alloc(textBytesMax + 2, 'a')
    long.write('É', textBytesMax)
    expect(unicodeForm(foldingRules, long).subarray(-2)).toEqual(new TextEncoder().encode('é'))
  })
})

describe('version 1 of the unicode form, whatever the Unicode version of Node', () => {
  it('keeps code points that 15.0 leaves unassigned', () => {
    // The first three are capitals since Unicode 16.0.
    for (const text of ['\u1c89', '\u{10d50}', '\ua7cb', '\u0378', '\u{2ebf0}']) {
      expect(form(text)).toBe(text)
    }
  })

  it('neither composes nor reorders across code points that 15.0 leaves unassigned', () => {
    // The first two pairs compose since Unicode 16.0, and U+1ACF is a mark since 17.0.
    expect(form('\u{105d2}\u0307')).toBe('\u{105d2}\u0307')
    expect(form('\u{1611e}\u{1611e}')).toBe('\u{1611e}\u{1611e}')
    expect(form('a\u0301\u{1acf}\u0323')).toBe('á\u{1acf}\u0323')
    expect(form('a\u0378\u0301')).toBe('a\u0378\u0301')
  })

  it('folds the letters on both sides of an unassigned code point', () => {
    expect(form('É\u0378É E\u0301\u{2ebf0}')).toBe('é\u0378é é\u{2ebf0}')
  })

  it('has Node agree that every code point it calls assigned is assigned', () => {
    const wrong = points.filter(
      (p) => !hasBit(tables.unassigned, p) && /\p{Cn}/u.test(String.fromCodePoint(p)),
    )
    expect(wrong).toEqual([])
    expect(points.filter((p) => hasBit(tables.unassigned, p))).toHaveLength(825_345)
  })

  it('has Node agree that a letter and its one-letter folding differ in case only', () => {
    for (const p of points) {
      const char = String.fromCodePoint(p)
      const folded = fold(char)
      if (
        folded === char ||
        folded === ' ' ||
        folded.length !== String.fromCodePoint(folded.codePointAt(0)!).length
      )
        continue
      expect(new RegExp(`^\\u{${p.toString(16)}}$`, 'iu').test(folded), char).toBe(true)
    }
  })

  it('has Node agree that a letter and its full folding have the same upper case', () => {
    for (const [point, folded] of tables.special) {
      const char = String.fromCodePoint(point)
      const upper = (text: string): string => text.toLowerCase().toUpperCase().normalize('NFD')
      expect(upper(folded), char).toBe(upper(char))
    }
  })
})

describe('version 1 of the unicode form of every code point', () => {
  const assigned = points.map((p) => String.fromCodePoint(p)).filter((char) => !isUnassigned(char))
  const formsOf = (texts: readonly string[]): string[] => form(texts.join('|')).split('|')

  it('is a normal form: its own form, and the form of every way to write it', () => {
    const forms = formsOf(assigned)
    expect(forms).toEqual(definition(assigned.join('|')).split('|'))
    for (const name of ['NFC', 'NFD', 'NFKC', 'NFKD'] as const) {
      expect(formsOf(assigned.map((char) => char.normalize(name)))).toEqual(forms)
    }
    expect(formsOf(forms)).toEqual(forms)
  })

  it('is what its definition says with a mark behind it', () => {
    for (const mark of ['\u0301', '\u0323', '\u0345', '\u3099']) {
      const texts = assigned.map((char) => char + mark)
      expect(formsOf(texts)).toEqual(definition(texts.join('|')).split('|'))
    }
  })

  it('is the code point itself where 15.0 leaves it unassigned', () => {
    const chars = points.map((point) => String.fromCodePoint(point)).filter(isUnassigned)
    expect(form(chars.join(''))).toBe(chars.join(''))
  })

  it('never needs an ASCII character to compose with what stands before it', () => {
    const composed = points.map((point) => String.fromCodePoint(point).normalize('NFD'))
    expect(
      composed.filter((text) => text.length > 1 && text.charCodeAt(text.length - 1) < 0x80),
    ).toEqual([])
  })
})

describe('version 1 of the unicode form of any text', () => {
  it('is what its definition says, fast path or slow', () => {
    fc.assert(
      fc.property(awkwardText, (text) => {
        expect(form(text)).toBe(definition(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('is what its definition says for pure ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(form(text)).toBe(definition(text))
      }),
    )
  })

  it('is what its definition says wherever a long text is cut into spans', () => {
    const filler = fc.constantFrom(
      'Some plain ASCII words. ',
      'é',
      '漢字かな',
      '\u01c4 \ufdfa',
      'e\u0301',
      '\u0378',
    )
    const piece = fc.tuple(filler, fc.nat(400), awkwardText)
    const long = fc
      .array(piece, { maxLength: 6 })
      .map((pieces) => pieces.map(([text, times, tail]) => text.repeat(times) + tail).join(''))
    fc.assert(
      fc.property(long, (text) => {
        expect(form(text)).toBe(definition(text))
      }),
    )
  })

  it.each(['É', '\u00df', '\u{10400}', '\ufb03', '\u{1f600}', '\u0390'])(
    'is what its definition says for a long row of %s without ASCII',
    (char) => {
      for (const before of ['', '\u00df', '\u{1f600}\u00e9']) {
        const text = before + char.repeat(20_000)
        expect(form(text) === definition(text)).toBe(true)
      }
    },
  )

  it('is its own form', () => {
    fc.assert(
      fc.property(awkwardText, (text) => {
        expect(form(form(text))).toBe(form(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('is the same for all four normal forms of a text', () => {
    const assigned = awkwardText.map((text) =>
      Array.from(text)
        .filter((c) => !isUnassigned(c))
        .join(''),
    )
    fc.assert(
      fc.property(assigned, fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'), (text, name) => {
        expect(form(text.normalize(name))).toBe(form(text))
      }),
      { numRuns: 5000 },
    )
  })
})
