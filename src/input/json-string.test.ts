import { readFileSync } from 'node:fs'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { moduleText } from '../../scripts/make-kernels.ts'
import { readOne } from '../../test/input-kit.ts'
import { utf8Of } from './document.ts'
import { JsonStrings } from './json-string.ts'

const strings = new JsonStrings()

/** One text has many forms in JSON. */
const form = (text: string, ways: readonly number[]) =>
  Array.from(text, (point, at) => {
    const way = ways[at % Math.max(1, ways.length)] ?? 0
    if (way === 3 && point === '/') return '\\/'
    if (way !== 1 && way !== 2) return JSON.stringify(point).slice(1, -1)
    const units = Array.from({ length: point.length }, (_, unit) => {
      const hex = point.charCodeAt(unit).toString(16).padStart(4, '0')
      return `\\u${way === 1 ? hex : hex.toUpperCase()}`
    })
    return units.join('')
  }).join('')

const read = (literal: string, behind = '') => {
  const bytes = Buffer.from(`"${literal}"${behind}`)
  const found = strings.read(bytes, 1)
  return found && { text: found.text.toString(), rest: bytes.toString('utf8', found.end) }
}

describe.skipIf(process.env['PRESTIGE_KERNELS'] === 'twin')('a JSON string read as bytes', () => {
  it('is read by a kernel that is compiled from the sources beside it', async () => {
    const committed = readFileSync(new URL('./kernels-module.ts', import.meta.url), 'utf8')
    expect(await moduleText('input'), 'run: npm run kernels').toBe(committed)
  })

  it('is what JSON.parse says, in whatever form', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 })
    const ways = fc.array(fc.nat(3), { maxLength: 7 })
    fc.assert(
      fc.property(text, ways, fc.nat(40), (value, how, ahead) => {
        const padded = 'x'.repeat(ahead) + value
        expect(read(form(padded, how), ' , "rest"')).toEqual({ text: padded, rest: ' , "rest"' })
      }),
      { numRuns: 2000 },
    )
  })

  it('is the same wherever it crosses the end of a block', () => {
    const awkward = '\u{1f468}\u{1f469}é\n"\\/\u0001ض中\u{10ffff}'
    const literal = form(awkward, [1, 0, 2, 3])
    for (let ahead = 65_536 - literal.length - 2; ahead <= 65_536 + 2; ahead++) {
      const padded = 'a'.repeat(ahead)
      expect(read(padded + literal)?.text === padded + awkward).toBe(true)
    }
    const long = awkward.repeat(20_000)
    expect(read(form(long, [0, 1, 3]))?.text === long).toBe(true)
  })

  it.each([
    ['half of a pair', '\\ud83d'],
    ['half of a pair before another escape', '\\ud83d\\n aaaaaaaaaaaaaaaaa'],
    ['two first halves', '\\ud83d\\ud83d'],
    ['a second half', '\\ude00'],
    ['an unknown escape', '\\x41'],
    ['digits that are none', '\\u00g1'],
    ['a first digit that is none', '\\ug001'],
    ['too few digits', '\\u12'],
    ['a control', 'a\u0001b'],
    ['a line end', 'a\nb'],
    ['a tab', 'a\tb'],
  ])('refuses %s', (_name, literal) => {
    expect(read(literal)).toBeUndefined()
    expect(read('x'.repeat(70_000) + literal)).toBeUndefined()
  })

  it('leaves the texts before it as they were', () => {
    const texts = Array.from({ length: 3000 }, (_, at) => `${at}`.repeat(1 + (at % 300)))
    const found = texts.map((text) => strings.read(Buffer.from(`"${text}"`), 1)?.text)
    expect(found.map((text) => text?.toString())).toEqual(texts)
  })

  it('uses the memory of texts again that were only lent', () => {
    const lending = new JsonStrings(true)
    const lend = (text: string) => lending.read(Buffer.from(`"${text}"`), 1)?.text
    const [one, other] = [lend('one'), lend('other')]
    expect([one?.toString(), other?.toString()]).toEqual(['one', 'other'])
    lending.takeBack()
    expect(lend('two')?.toString()).toBe('two')
    expect([one?.toString(), other?.toString()]).toEqual(['two', 'other'])
  })

  it('refuses what has no end', () => {
    for (const literal of ['', 'abc', 'abc\\', 'abc\\u', 'abc\\"', 'x'.repeat(65_536)]) {
      expect(strings.read(Buffer.from(`"${literal}`), 1)).toBeUndefined()
    }
  })
})

describe('long lines of JSON', () => {
  const long = 'word "quoted" \\ and\nनमस्ते 中文 \u{1f600} '.repeat(40)
  const written = JSON.stringify(long)

  it.each([
    ['first', `{"text":${written},"id":"a"}`, long],
    ['last, with space around', ` { "id" : "a" ,\t"text"\t: ${written} } `, long],
    ['inside another object, too', `{"meta":{"text":${written}},"id":"a","text":"short"}`, 'short'],
    ['twice', `{"text":${written},"id":"a","text":"short"}`, 'short'],
    ['twice, the second in other letters', `{"text":${written},"id":"a","te\\u0078t":""}`, ''],
    ['a value before it is a name', `{"a":"text","id":"a","text":${written}}`, long],
    ['in a text', `{"id":"a","b":${JSON.stringify(`"text":${written}`)},"text":${written}}`, long],
    ['empty in a long line', `{"id":"a","b":${written},"text":""}`, ''],
  ])('have the text that JSON.parse finds: %s', async (_name, line, expected) => {
    const { documents, rejects } = await readOne('a.jsonl', `${line}\n`)
    expect(rejects).toEqual([])
    expect(documents).toEqual([{ id: 'a', source: 'a', text: expected, position: 0, line: 1 }])
    expect({ ...documents[0] }).toMatchObject({ text: expected })
    const utf8 = utf8Of(documents[0]!)
    if (utf8) expect(utf8.toString()).toBe(expected)
  })

  it('are read as bytes where that is possible', async () => {
    const { documents } = await readOne('a.jsonl', `{"id":"a","text":${written}}\n`)
    const isThere = process.env['PRESTIGE_KERNELS'] !== 'twin'
    expect(utf8Of(documents[0]!) !== undefined).toBe(isThere)
  })

  it.each([
    ['invalid-json', `{"text":${written},"id":}`],
    ['invalid-json', `{"text":${written}`],
    ['invalid-json', `{"text":${written}} {}`],
    ['wrong-type', `{"text":[${written}]}`],
    ['wrong-type', `["text",{"text":${written}}]`],
    ['missing-field', `{"meta":{"text":${written}}}`],
    ['invalid-utf8', `{"text":"\\ud800${written.slice(1)}}`],
    ['wrong-type', `{"id":{},"text":${written}}`],
  ])('are rejected as %s', async (reason, line) => {
    const { documents, rejects } = await readOne('a.jsonl', `${line}\n`)
    expect(documents).toEqual([])
    expect(rejects).toMatchObject([{ reason }])
  })

  it('that are their own id are too long for one, and are rejected as such', async () => {
    const fields = { id: 'text' }
    const given = ['a.jsonl', `{"text":${written}}\n`, {}, { fields }] as const
    const { documents, rejects } = await readOne(...given)
    expect(documents).toEqual([])
    expect(rejects).toHaveLength(1)
  })
})
