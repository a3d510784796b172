import { describe, expect, it } from 'vitest'

import { randomTexts } from '../../../test/texts/random-texts.ts'
import { alignTexts } from '../../compare/index.ts'
import { displayWidth } from '../../platform/display-width.ts'
import { type Layout, sideBySide } from './side-by-side.ts'

const show = (a: string, b: string, layout: Partial<Layout> = {}) =>
  sideBySide(alignTexts(a, b).spans, ['A', 'B'], { columns: 43, ...layout })

/** The border stands in one column, and nothing sticks out. */
function expectStraight(lines: readonly string[], columns: number): void {
  for (const line of lines) {
    const at = line.indexOf('│') < 0 ? line.indexOf('┼') : line.indexOf('│')
    expect(displayWidth(line.slice(0, at)), line).toBe(Math.floor((columns - 3) / 2) + 1)
    expect(displayWidth(line), line).toBeLessThanOrEqual(columns)
  }
}

describe('two texts side by side', () => {
  it('show what only one has between signs, the rest on the same lines', () => {
    const lines = show('the quick brown fox jumps away', 'the slow brown fox jumps far away')
    expect(lines).toEqual([
      'A                    │ B',
      '─────────────────────┼─────────────────────',
      'the [-quick -]brown  │ the {+slow +}brown',
      'fox jumps            │ fox jumps {+far+}',
      'away                 │ away',
    ])
  })

  it('go on together after a long change', () => {
    const long = `start ${'long '.repeat(12)}end`
    for (const [a, b] of [
      [long, 'start end'],
      ['start end', long],
    ] as const) {
      const lines = show(a, b)
      expect(lines.at(-1)).toMatch(/end +│ (\{\+long \+\})?end$/)
      expectStraight(lines, 43)
    }
  })

  it('use colours instead of signs where they are seen', () => {
    const colour: Layout['colour'] = (shade, text) =>
      shade === 'same' ? text : `<${shade}:${text}>`
    const text = show('one two', 'one three', { colour }).join('\n')
    expect(text).toContain('one <only-a:two>')
    expect(text).toContain('one <only-b:three>')
    expect(text).not.toMatch(/\[-|\{\+/)
  })

  it.each([
    [
      'Hindi',
      'सभी मनुष्यों को गौरव और अधिकारों के मामले में',
      'सभी मनुष्यों को गौरव तथा अधिकारों के विषय में जन्मजात',
    ],
    [
      'Chinese',
      '人人生而自由，在尊严和权利上一律平等。'.repeat(4),
      '人人生而自由，在尊严与权利上一律平等。'.repeat(4),
    ],
    [
      'Arabic',
      'يولد جميع الناس أحرارًا متساوين في الكرامة',
      'يولد جميع الناس أحرارا متساوين في الحقوق',
    ],
    ['emoji', '👩‍👩‍👧‍👦🎁🇩🇪👍🏽❤️'.repeat(9), '👩‍👩‍👧‍👦🎁🇩🇰👍❤️'.repeat(9)],
    ['decomposed', 'cafe\u0301 au lait '.repeat(9), 'cafe\u0301 olé '.repeat(9)],
  ])('keep their columns in %s', (_, a, b) => {
    for (const columns of [40, 41, 80]) {
      const lines = show(a, b, { columns })
      expectStraight(lines, columns)
      expect(lines.length).toBeGreaterThan(2)
    }
  })

  it('keep their columns, whatever the texts are', () => {
    const texts = randomTexts(99)
    for (let round = 0; round < 200; round++) {
      const a = texts.next().replaceAll(/[│┼]/g, '')
      const b = a.slice(0, texts.below(a.length)) + texts.next().replaceAll(/[│┼]/g, '')
      expectStraight(show(a, b, { columns: 60 }), 60)
    }
  })

  it('leave out the middle of what is the same, and say how much', () => {
    const same = Array.from({ length: 1000 }, (_, at) => `w${at}`).join(' ')
    const lines = show(`a ${same} b`, `x ${same} y`)
    const text = lines.join('\n')
    expect(text).toContain('⋯ 952 words the same')
    expect(text).toContain('w23')
    expect(text).not.toContain('w24 ')
    expect(text).toContain('w999')
    expectStraight(lines, 43)
    const alike = show(same, same, { columns: 60 })
    expect(alike).toHaveLength(3)
    expect(alike[2]).toContain('⋯ 1,000 words the same ⋯')
  })

  it('end somewhere, however long the texts are', () => {
    const long = (word: string) => Array.from({ length: 100_000 }, (_, at) => word + at).join(' ')
    const lines = show(long('a'), long('b'))
    expect(lines.length).toBeLessThan(500)
    expect(lines.join('\n')).toContain('99,600 more')
    const many = Array.from({ length: 5000 }, (_, at) => `s${at} t${at}`)
    const other = many.map((words, at) => `${words} x${at}`)
    const cut = show(many.join(' '), other.join(' '))
    expect(cut.length).toBeLessThan(500)
    expect(cut.at(-1)).toContain('there is more')
  })

  it('cannot be broken by what stands in them', () => {
    const text = show('\u001b[2Ja\u202e', 'b\rc', { columns: 60 }).join('\n')
    for (const control of ['\u001b', '\r', '\u202e']) expect(text).not.toContain(control)
    expect(show('', '')).toHaveLength(2)
    expect(show('', 'x').at(-1)).toMatch(/│ \{\+x\+\}$/)
  })
})
