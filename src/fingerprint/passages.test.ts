import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { passageSpans } from './passage-spans.ts'
import { type PassageKind, passageUnits } from './passage-units.ts'
import { passageWindows, sharedRuns } from './passage-windows.ts'

const WORDS = 6

function hashesOf(text: string, kind: PassageKind = 'words', wordsMin = WORDS): Set<number> {
  return new Set(passageWindows(passageUnits(Buffer.from(text), kind), wordsMin).hashes)
}

/** Spans of what is in all of the texts. */
function spansOf(texts: readonly string[], kind: PassageKind = 'words', wordsMin = WORDS) {
  const counts = new Map<number, number>()
  for (const text of texts) {
    for (const hash of hashesOf(text, kind, wordsMin)) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  }
  const isShared = (hash: number) => {
    const count = counts.get(hash) ?? 0
    return count >= texts.length ? count : undefined
  }
  return texts.map((text) => {
    const bytes = Buffer.from(text)
    const units = passageUnits(bytes, kind)
    return passageSpans(
      bytes,
      units,
      sharedRuns(passageWindows(units, wordsMin), isShared),
      wordsMin,
    )
  })
}

function leftOf(texts: readonly string[], kind: PassageKind = 'words', wordsMin = WORDS): string[] {
  return spansOf(texts, kind, wordsMin).map((spans, at) => {
    let bytes = Buffer.from(texts[at] ?? '')
    for (const { start, end } of spans.toReversed()) {
      bytes = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])
    }
    return bytes.toString()
  })
}

const NOTICE = 'We use cookies to improve your visit (really).'

describe('passages of words', () => {
  it.each([
    ['at the start', `${NOTICE}\n\nAlpha beta.`, 'Alpha beta.'],
    ['in the middle of a line', `Alpha. ${NOTICE} Beta.`, 'Alpha. Beta.'],
    ['as a paragraph', `Alpha.\n\n${NOTICE}\n\nBeta.`, 'Alpha.\n\nBeta.'],
    ['before a blank line', `Alpha.\n${NOTICE}\n\n  Beta.`, 'Alpha.\n\n  Beta.'],
    ['at the end', `Alpha.\n\n${NOTICE}\n`, 'Alpha.\n'],
    ['behind a mark of its line', `Alpha.\n> ${NOTICE}\nBeta.`, 'Alpha.\nBeta.'],
    ['in brackets', `Alpha (${NOTICE}) beta`, 'Alpha beta'],
    ['between words without a space', `Alpha「${NOTICE}」Beta`, 'Alpha「).」Beta'],
    [
      'in capitals and other white space',
      `Alpha ${NOTICE.toUpperCase().replaceAll(' ', '\n\t')} b`,
      'Alpha b',
    ],
  ])('are cut %s', (_where, text, left) => {
    expect(leftOf([text, `Gamma delta. ${NOTICE} Epsilon zeta.`])).toEqual([
      left,
      'Gamma delta. Epsilon zeta.',
    ])
  })

  it('are whole words, however much of the next word is the same', () => {
    expect(
      leftOf(['one two three four five six sevenfold', 'one two three four five six sevens']),
    ).toEqual(['sevenfold', 'sevens'])
  })

  it('are whole characters where several code points are one', () => {
    const [family, couple] = ['👩‍👩‍👧', '👩‍👩‍👦']
    expect(leftOf([`a b c d e f ${family} x`, `a b c d e f ${couple} y`])).toEqual([
      `${family} x`,
      `${couple} y`,
    ])
  })

  it('never join the words on both sides', () => {
    const shared = '本網站使用曲奇以改善體驗和服務'
    expect(leftOf([`alpha${shared}beta`, `gamma${shared}delta`])).toEqual([
      'alpha務beta',
      'gamma務delta',
    ])
  })

  it('of scripts without spaces have two characters for a word', () => {
    const [eleven, twelve] = ['本網站使用曲奇以改善體', '本網站使用曲奇以改善體驗']
    expect(leftOf([`甲${eleven}乙`, `丙${eleven}丁`])).toEqual([`甲${eleven}乙`, `丙${eleven}丁`])
    expect(leftOf([`甲。${twelve}。乙`, `丙。${twelve}。丁`])).toEqual(['甲。乙', '丙。丁'])
  })

  it('are found in Hindi and Arabic', () => {
    const hindi = 'यह वेबसाइट कुकीज़ का उपयोग करती है।'
    const arabic = 'يستخدم هذا الموقع ملفات تعريف الارتباط.'
    expect(leftOf([`एक ${hindi} ${arabic} दो`, `तीन ${hindi} ${arabic} चार`])).toEqual([
      'एक दो',
      'तीन चार',
    ])
  })

  it('that follow one another are one passage, and apart if a word is between them', () => {
    const [one, other] = ['a b c d e f', 'g h i j k l']
    const texts = [`x ${one} ${other} y`, `${one} z ${other}`, `${other} q ${one}`]
    expect(spansOf(texts).map((spans) => spans.length)).toEqual([1, 2, 2])
    expect(leftOf(texts)).toEqual(['x y', 'z', 'q'])
  })

  it('shorter than the minimum are no passages', () => {
    expect(leftOf(['a b c d e x', 'a b c d e y'])).toEqual(['a b c d e x', 'a b c d e y'])
  })
})

describe('passages of lines', () => {
  const LICENCE = '/*\n * Copyright of all the authors\n * All rights reserved\n */\n'

  it('are cut with their line breaks, whatever their white space and case', () => {
    const texts = [
      `${LICENCE}\nfoo(1)\n  bar()\n`,
      `x()\r\n${LICENCE.toUpperCase().replaceAll('\n', '  \r\n')}y()`,
    ]
    expect(leftOf(texts, 'lines', 8)).toEqual(['foo(1)\n  bar()\n', 'x()\r\ny()'])
  })

  it('are whole lines: a line that differs in a mark is another', () => {
    const make = (mark: string) => `let a = b ${mark} c in here now\nlet d = e f g h i j\n`
    expect(leftOf([make('+'), make('-')], 'lines', 7)).toEqual([
      'let a = b + c in here now\n',
      'let a = b - c in here now\n',
    ])
  })

  it('reach to the last line, also where that alone is too short', () => {
    const shared = 'one two three four\nfive six seven eight\nnine\n}\n'
    expect(leftOf([`a\n${shared}b\n`, `c\n${shared}d\n`], 'lines', 6)).toEqual(['a\nb\n', 'c\nd\n'])
  })

  it('that are common one by one but not together are left', () => {
    const [one, other] = ['return the first value\n', 'else return null now\n']
    expect(leftOf([`${one}a\n${other}`, `${one}${other}`], 'lines', 8)).toEqual([
      `${one}a\n${other}`,
      `${one}${other}`,
    ])
  })
})

describe('windows', () => {
  const alphabet = fc.constantFrom(
    'a',
    'B',
    'ß',
    'é',
    'e\u0301',
    '中',
    '😀',
    '👩‍👩‍👧',
    'ไทย',
    ' ',
    '\n',
    '.',
    '(',
    '\u200d',
  )
  const texts = fc.array(alphabet, { maxLength: 60 }).map((parts) => parts.join(''))

  it('are cut in order, between characters, and leave all other words as they were', () => {
    fc.assert(
      fc.property(
        texts,
        texts,
        texts,
        fc.constantFrom('words', 'lines'),
        (head, shared, tail, kind) => {
          const all = [`${head}\n${shared}\n${tail}`, `${shared}\n${head}`, `${tail}\n${shared}`]
          for (const [at, spans] of spansOf(all, kind, 2).entries()) {
            const bytes = Buffer.from(all[at] ?? '')
            let from = 0
            for (const { start, end, words, documents } of spans) {
              expect(start).toBeGreaterThanOrEqual(from)
              expect(end).toBeGreaterThan(start)
              expect([words >= 2, documents]).toEqual([true, 3])
              expect(bytes.subarray(start, end).toString()).not.toContain('\uFFFD')
              from = end
            }
            expect(from).toBeLessThanOrEqual(bytes.length)
            const units = passageUnits(bytes, kind)
            const isLeft = (_hash: number, unit: number) =>
              !spans.some(
                ({ start, end }) =>
                  start <= (units.starts[unit] ?? 0) && (units.ends[unit] ?? 0) <= end,
              )
            const left = Buffer.from(leftOf(all, kind, 2)[at] ?? '')
            expect(passageUnits(left, kind).low).toEqual(units.low.filter(isLeft))
          }
        },
      ),
      { seed: 7, numRuns: 300 },
    )
  })

  it('differ where a word does, and do not where only case and white space do', () => {
    const one = hashesOf('Un Été à Ünter', 'words', 4)
    expect(one.size).toBe(1)
    expect(hashesOf('un  été\nÀ ünter', 'words', 4)).toEqual(one)
    expect(hashesOf('un été à unten', 'words', 4)).not.toEqual(one)
  })
})
