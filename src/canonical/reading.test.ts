/** Version 2 of `unicode`, and `unaccented`, which see what people see. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { foldingRules, readingRules, unaccentedRules, type UnicodeRules } from './unicode-rules.ts'
import { hasBit, readingTables } from './unicode-tables.ts'
import { unicodeForm } from './unicode.ts'

const tables = readingTables()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const formOf = (rules: UnicodeRules, text: string): string =>
  decoder.decode(unicodeForm(rules, new TextEncoder().encode(text)))
const form = (text: string): string => formOf(readingRules, text)
const plain = (text: string): string => formOf(unaccentedRules, text)

const points = Array.from({ length: 0x110000 }, (_, point) => point).filter(
  (point) => point < 0xd800 || point > 0xdfff,
)
const chars = points.map((point) => String.fromCodePoint(point))
const has = (bits: Uint32Array, char: string): boolean => hasBit(bits, char.codePointAt(0) ?? 0)
const isUnassigned = (char: string): boolean => has(tables.unassigned, char)
const isIgnorable = (char: string): boolean => has(tables.ignorable, char)
const ignorable = chars.filter(isIgnorable)
const assigned = chars.filter((char) => !isUnassigned(char) && !isIgnorable(char))

const ACCENTS = new RegExp(
  '[\\u0300-\\u0333\\u0339-\\u036f\\u0483-\\u0487\\u0591-\\u05bd\\u05bf\\u05c1' +
    '\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u0652\\u0656-\\u065f' +
    '\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8\\u06ea-\\u06ed' +
    '\\u08ca-\\u08e1\\u08e3-\\u08ff\\u1ab0-\\u1ace\\u1dc0-\\u1dff\\ufe20-\\ufe2f]',
)
const CJK = '\\u3005-\\u3007\\u3040-\\u312f\\u3400-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}'
const besideMarks = new RegExp(`([${CJK}]?)([ !-/:-@\\[-\`{-~]{2,})(?=([${CJK}])?)`, 'gu')
const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g

function fold(char: string): string {
  const point = char.codePointAt(0) ?? 0
  const simple = point < 0x10000 ? (tables.simple[point] ?? 0) : 0
  return simple !== 0 ? String.fromCharCode(simple) : (tables.special.get(point) ?? char)
}

function unaccented(text: string): string {
  let kept = ''
  let base = ''
  for (const char of text) {
    const isAccent = ACCENTS.test(char)
    if (!isAccent) base = char
    const isLetter = char === '\u0306' && /[иуИУ]$/.test(base) && !kept.endsWith('\u0306')
    if (!isAccent || isLetter) kept += char
  }
  return kept
}

/** The definition in the header of `unicode-rules.ts`, word for word, with no thought for speed. */
function definition(text: string, accents = (apart: string): string => apart): string {
  const shown = Array.from(text).filter((char) => !isIgnorable(char))
  const runs: string[] = ['']
  for (const char of shown) {
    if (isUnassigned(char)) runs.push(char, '')
    else runs[runs.length - 1] += char
  }
  const folded = runs.map((run) => {
    if (run !== '' && isUnassigned(run)) return run
    return Array.from(accents(run.normalize('NFKD')), fold)
      .join('')
      .normalize('NFKC')
  })
  const collapsed = folded.join('').replaceAll(spaces, ' ').replaceAll(/^ | $/g, '')
  return collapsed.replaceAll(
    besideMarks,
    (_all, before: string, run: string, behind: string | undefined) =>
      before + (before !== '' || behind !== undefined ? run.replaceAll(' ', '') : run),
  )
}

const awkward = Array.from(
  'aAeEiIsSкиИуЁё\u0306\u0301\u0300\u0308\u0323\u0345\u0338\u03b1\u1fb3\u1fbc\u0130\u00df\ufb01\u212a' +
    '\u200b\u200c\u200d\u00ad\ufeff\u034f\ufe0f\u180e\u3164\u1160\u{e0101}\u{e0041}\u2065\u{e0fff}' +
    `'"‘’“”«»‹›„「」『』《》〈〉-‐‑–—−~〜～,、，،;；؛.。．।۔?？؟!！:：…[【】()（）` +
    '漢字かなカ\uff76\uff9e\u304b\u3099\u{20000}  \t\u3000\u00a0' +
    '\uac00\u1100\u1161\u11a8नि\u0915\u093c\u0958\u0e01\u0e34\u05d0\u05b8\u0627\u0653\u0654\u064e\u0640' +
    '\u0378\u{2ebf0}\u{1f468}\u{1f3fd}\u{11047}\u{10400}1',
)
const awkwardText = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...awkward) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 2 }) },
    ),
  )
  .map((parts) => parts.join(''))

const texts = [
  'The quick brown fox, "jumps" - over it.',
  'Straße e\u0301\u0323 ﬁn',
  'नमस्ते दुनिया। क्या हाल है?',
  '你好，世界。「再见」',
  'กำลังใจ',
  'السلام عليكم، كيف الحال؟',
  '한국어 \u1112\u1161\u11ab',
  '\u03b1\u0345\u0323',
]

describe('version 2 of the unicode form', () => {
  it.each([
    ['zero-width spaces', 'ze\u200bro', 'zero', 'zero'],
    ['soft hyphens, joiners and byte order marks', '\ufeffhy\u00adphen\u200d', 'hyphen', 'hyphen'],
    ['an accent behind a zero-width space', 'e\u200b\u0301', 'é', 'é'],
    ['emoji with and without a variation selector', '\u2764\ufe0f', '\u2764', '\u2764'],
    ['Persian with and without a non-joiner', 'می\u200cخواهم', 'میخواهم', 'میخواهم'],
    ['curly and straight quotes', '“It’s”', '"It\'s"', '"it\'s"'],
    ['guillemets, low quotes and corner brackets', '«a» „b“', '「a」 『b』', '"a" "b"'],
    ['dashes, hyphens and the minus sign', 'a‑b – c — −1', 'a-b - c - -1', 'a-b - c - -1'],
    ['wave dash and wide tilde', '1〜2', '1～2', '1~2'],
    ['Chinese and ASCII marks', '你好，世界。', '你好, 世界.', '你好,世界.'],
    ['Chinese marks beside Latin', '版本 2（新）。', '版本 2 (新).', '版本 2(新).'],
    ['Arabic marks', 'نعم، لا؛ ماذا؟', 'نعم, لا; ماذا?', 'نعم, لا; ماذا?'],
    ['a danda', 'नमस्ते।', 'नमस्ते.', 'नमस्ते.'],
    ['Armenian marks', 'այո՝ ոչ։', 'այո, ոչ.', 'այո, ոչ.'],
    ['Ethiopic marks', 'ሰላም፣ ደህና፧', 'ሰላም, ደህና?', 'ሰላም, ደህና?'],
    ['the ellipsis beside Chinese', '好… 好', '好...好', '好...好'],
  ])('makes %s the same', (_name, one, other, expected) => {
    expect(form(one)).toBe(expected)
    expect(form(other)).toBe(expected)
    expect(formOf(foldingRules, one)).not.toBe(expected)
  })

  it('keeps accents, ASCII marks, bullets and what opens a sentence', () => {
    expect(form('résumé')).not.toBe(form('resume'))
    for (const text of ["'a' -- `b`", '• a', '¿a?', 'a ≠ b', '東京 大阪', '한국 (서울)', 'a · b']) {
      expect(form(text)).toBe(text)
    }
  })

  it('leaves nothing of a text that shows nothing', () => {
    for (const text of ['', '\u200b', '\ufeff \u00ad\u3000', '\u{e0001}', ignorable.join('')]) {
      expect(form(text)).toBe('')
      expect(plain(text)).toBe('')
    }
  })

  it('is version 1 for ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(form(text)).toBe(formOf(foldingRules, text))
        expect(plain(text)).toBe(form(text))
      }),
    )
  })

  it('has Node agree about what is not shown, about quotes and about dashes', () => {
    expect(ignorable).toHaveLength(4174)
    expect(ignorable.filter((char) => !/\p{Default_Ignorable_Code_Point}/u.test(char))).toEqual([])
    for (const char of assigned.filter((one) => /[\p{Quotation_Mark}\p{Dash}]/u.test(one))) {
      expect(form(char)).toMatch(/\p{Dash}/u.test(char) ? /^[-~]$/ : /^['"]$/)
    }
  })
})

describe.each([
  ['unicode', form, definition],
  ['unaccented', plain, (text: string) => definition(text, unaccented)],
])('the form %s', (_name, of, defined) => {
  it('does not change by a character that is not shown, wherever it is', () => {
    for (const text of texts) {
      const expected = of(text)
      const withIn = (char: string, at: number) => of(text.slice(0, at) + char + text.slice(at))
      for (let at = 0; at <= text.length; at++) expect(withIn('\u200b', at)).toBe(expected)
      const wrong = ignorable.filter((char, at) => withIn(char, at % text.length) !== expected)
      expect(wrong).toEqual([])
    }
  })

  it('does not change by zero-width spaces anywhere', () => {
    fc.assert(
      fc.property(
        awkwardText,
        fc.array(fc.nat(100)),
        fc.constantFrom(...ignorable),
        (text, places, c) => {
          const parts = Array.from(text)
          for (const place of places) parts.splice(place, 0, c)
          expect(of(parts.join(''))).toBe(of(text))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('is what its definition says, and its own form', () => {
    fc.assert(
      fc.property(awkwardText, (text) => {
        const canonical = of(text)
        expect(canonical).toBe(defined(text))
        expect(of(canonical)).toBe(canonical)
      }),
      { numRuns: 5000 },
    )
  })

  it('is the same for all four normal forms of a text', () => {
    const text = awkwardText.map((all) =>
      Array.from(all)
        .filter((char) => !isUnassigned(char))
        .join(''),
    )
    fc.assert(
      fc.property(text, fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'), (any, name) => {
        expect(of(any.normalize(name))).toBe(of(any))
      }),
      { numRuns: 5000 },
    )
  })

  it('is what its definition says wherever a long text is cut', () => {
    const filler = fc.constantFrom(
      'It’s “plain” – mostly. ',
      'é',
      '漢字、かな。',
      '\u200b',
      'e\u0301',
      '\u0378',
      '\u2764\ufe0f',
    )
    const piece = fc.tuple(filler, fc.nat(4000), awkwardText)
    const long = fc
      .array(piece, { maxLength: 6 })
      .map((pieces) => pieces.map(([text, times, tail]) => text.repeat(times) + tail).join(''))
    fc.assert(
      fc.property(long, (text) => {
        expect(of(text) === defined(text)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  it.each([0, 1, 2, 3, 5])('composes across the end of a block, %i bytes on', (shift) => {
    for (const [base, gap] of [
      ['e', '\u200b'],
      ['\u4e00', ''],
      ['\uac00', '\u200b'],
      ['“', ''],
    ] as const) {
      const row = (base + gap).repeat(1 + Math.floor(65_536 / Buffer.byteLength(base + gap)))
      const text = `é${'a'.repeat(shift)}${row}\u0301\u11a8${gap}\u0323 tail É`
      expect(of(text) === defined(text)).toBe(true)
    }
    const hidden = `é${'a'.repeat(shift)}${'\u200b'.repeat(100_000)}\u0301`
    expect(of(hidden) === defined(hidden)).toBe(true)
  })

  it('is a normal form of every code point', () => {
    const formsOf = (all: readonly string[]): string[] => of(all.join('|')).split('|')
    const forms = formsOf(assigned)
    expect(forms).toEqual(defined(assigned.join('|')).split('|'))
    for (const name of ['NFC', 'NFD', 'NFKC', 'NFKD'] as const) {
      expect(formsOf(assigned.map((char) => char.normalize(name)))).toEqual(forms)
    }
    expect(formsOf(forms)).toEqual(forms)
    const unassigned = chars.filter((char) => isUnassigned(char) && !isIgnorable(char)).join('')
    expect(of(unassigned) === unassigned).toBe(true)
  })
})

describe('the unaccented form', () => {
  it.each([
    ['Latin', 'Crème Brûlée, Ångström, ñandú, İ, Tiếng', 'creme brulee, angstrom, nandu, i, tieng'],
    ['Greek', 'Ὀδυσσεύς ᾳ', 'οδυσσευσ α'],
    ['Cyrillic stress and diaeresis, but not й and ў', 'Ёлка за\u0301мок й ў', 'елка замок й ў'],
    ['Arabic harakat and tatweel', 'مُحَمَّد كـــتاب', 'محمد كتاب'],
    ['Hebrew points', 'שָׁלוֹם', 'שלום'],
  ])('removes accents: %s', (_name, text, expected) => {
    expect(plain(text)).toBe(expected)
    expect(plain(text.normalize('NFD'))).toBe(expected)
  })

  it('keeps what makes another word: vowel signs, tones, dakuten, hamza, strokes', () => {
    for (const text of ['हिन्दी', 'தமிழ்', 'น้ำ', 'がぎ', 'آ أ إ', 'ø ł đ', 'a ≠ b', 'ကို']) {
      expect(plain(text)).toBe(form(text))
    }
  })
})
