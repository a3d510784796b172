import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { CsvParser } from './csv-parser.ts'
import { cutJson, cutRecord, cutRow, cutText } from './cut-text.ts'
import { fieldNamed } from './make-document.ts'

const TEXT = 'a "quoted" \\ 東京 😀\n end'
const SPANS = [
  [2, 10],
  [13, 19],
] as const
const LEFT = cutText(Buffer.from(TEXT), SPANS).toString()

describe('cutting a text', () => {
  it('removes the bytes of the spans', () => {
    expect(LEFT).toBe('a  \\  😀\n end')
  })

  it('changes no other value of a line of JSON, however it is written', () => {
    const spaces = fc.constantFrom('', ' ', '\t')
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), spaces, fc.nat(3), (one, other, space, at) => {
        const members: [string, unknown][] = [
          ['text', 'not the last of its name'],
          ['\\"text', one],
          ['b', { text: other, b: [one, '}'] }],
        ]
        const json = ([name, value]: [string, unknown]) =>
          `${space}${JSON.stringify(name)}${space}:${space}${JSON.stringify(value)}${space}`
        const own: [string, unknown] = ['text', TEXT]
        const lineOf = (text: [string, unknown]) =>
          `{${[...members.slice(0, 1), ...members.toSpliced(Math.max(1, at), 0, text).slice(1)].map(json).join(',')}}`
        const cut = cutJson(Buffer.from(lineOf(own)), fieldNamed('text'), SPANS).toString()
        expect(cut).toBe(lineOf(['text', LEFT]))
        expect(JSON.parse(cut)).toHaveProperty('text', LEFT)
      }),
    )
  })

  it.each([',', '\t'])('gives a record that is read as it was, separated by %j', (delimiter) => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (others) => {
        const fields = [...others.map((field) => field.replaceAll(/[\r\n]+$/g, '')), TEXT]
        const record = cutRecord(fields, others.length, SPANS, { delimiter, hasQuotes: true })
        const parser = new CsvParser(delimiter, true)
        parser.begin()
        for (const line of record.split('\n')) parser.feed(line)
        expect(parser.fields).toEqual([...fields.slice(0, -1), LEFT])
        expect(parser.problem).toBeUndefined()
      }),
    )
  })

  it('changes a value of a row, in a column or within it', () => {
    const bytes = Buffer.from(TEXT)
    const cut = cutText(bytes, SPANS)
    expect(cutRow([1n, bytes], ['id', 'text'], fieldNamed('text'), SPANS)).toEqual([1n, cut])
    const nested = [{ text: bytes, n: 1 }, bytes]
    expect(cutRow(nested, ['a', 'text'], fieldNamed('a.text'), SPANS)).toEqual([
      { text: cut, n: 1 },
      bytes,
    ])
    expect(cutRow([bytes, 1], ['a.text', 'a'], fieldNamed('a.text'), SPANS)).toEqual([cut, 1])
  })
})
