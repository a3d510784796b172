import { describe, expect, it } from 'vitest'

import { Failure } from '../call/failure.ts'
import { labelledPairs, readFields } from './labelled-pairs.ts'

const placed = (text: string | Buffer, fields?: string) => [
  ...labelledPairs(
    Buffer.from(text),
    'pairs',
    fields === undefined ? undefined : readFields(fields),
  ),
]
const read = (text: string | Buffer, fields?: string) =>
  placed(text, fields).map(({ a, b, isDuplicate }) => ({ a, b, isDuplicate }))

describe('labelled pairs', () => {
  it('are JSON, an object a line', () => {
    expect(
      read('\ufeff{"a":"x","b":"y","label":1}\r\n\n{"b":"w","a":"v","label":"different"}'),
    ).toEqual([
      { a: 'x', b: 'y', isDuplicate: true },
      { a: 'v', b: 'w', isDuplicate: false },
    ])
  })

  it.each([
    '"a":"x","b":"y"',
    '"text1":"x","text2":"y"',
    '"sentence1":"x","sentence2":"y"',
    '"first":"x","second":"y"',
    '"Question1":"x","Question2":"y"',
  ])('may be called %s', (names) => {
    expect(read(`{${names},"label":true}`)).toEqual([{ a: 'x', b: 'y', isDuplicate: true }])
  })

  it('may be called anything else, and lie deeper', () => {
    const line = '{"q":{"text":"x"},"o.text":"y","same":0}'
    expect(read(line, 'q.text, o.text, same')).toEqual([{ a: 'x', b: 'y', isDuplicate: false }])
  })

  it.each([
    ['1', true],
    ['0', false],
    ['true', true],
    ['false', false],
    ['"1"', true],
    ['"False"', false],
    ['"duplicate"', true],
    ['"Different"', false],
    ['"YES"', true],
    ['"no"', false],
    ['""', undefined],
    ['null', undefined],
  ])('have the label %s', (label, isDuplicate) => {
    expect(read(`{"a":"x","b":"y","label":${label}}`)[0]).toEqual({ a: 'x', b: 'y', isDuplicate })
  })

  it('are columns, with names or without', () => {
    const expected = [{ a: 'नमस्ते', b: '你好 "quoted', isDuplicate: true }]
    expect(read('label\tb\tid\ta\r\n1\t你好 "quoted\t7\tनमस्ते\r\n')).toEqual(expected)
    expect(read('नमस्ते\t你好 "quoted\tduplicate\n')).toEqual(expected)
    expect(read('one\ttwo\tsame\nx\ty\t0', 'one,two,same')).toEqual([
      { a: 'x', b: 'y', isDuplicate: false },
    ])
  })

  it('are CSV, with quotes and line feeds in fields, and know their lines', () => {
    const text = 'Text1,id,Text2,Label\r\n"a, ""b""\nc",7,5" disk,Yes\r\n\r\nx,8,y,\r\n'
    expect(placed(text)).toEqual([
      { a: 'a, "b"\nc', b: '5" disk', isDuplicate: true, line: 2 },
      { a: 'x', b: 'y', isDuplicate: undefined, line: 5 },
    ])
    expect(read('नमस्ते,你好,different\n')).toEqual([{ a: 'नमस्ते', b: '你好', isDuplicate: false }])
    expect(placed('\n{"a":"x","b":"y","label":1}')[0]!.line).toBe(2)
  })

  it.each([
    ['a,b,label\n"x,y,1', undefined, 'line 2: a quoted field begins here and does not end'],
    ['a,b,label\n"x"z,y,1', undefined, 'line 2: field 1 goes on behind its closing quote'],
    ['left_text,right_text,y\nx,y,1', undefined, 'but "left_text", "right_text", "y"'],
    ['{"a":"x","b":"y","label":1}\n{"a":"x"', undefined, 'pairs, line 2: it is not JSON'],
    ['{"a":"x","b":"y","label":1}\n\n7', undefined, 'line 3: it is no object'],
    ['{"a":"x","b":"y"}', undefined, 'line 1: there are no fields'],
    ['{"a":"x","b":5,"label":1}', undefined, 'line 1: "b" is not a text'],
    ['{"a":"x","b":"y","label":"maybe"}', undefined, 'not "maybe"'],
    ['{"a":"x","b":"y","label":2}', undefined, 'not 2'],
    ['{"a":"x","b":"y","label":[1]}', undefined, 'not [1]'],
    ['{"a":"x","b":"y","label":1}', 'a,c,label', 'there is no "c"'],
    ['{"a":"x","b":"y","label":1}', 'a,b,same', 'there is no "same"'],
    ['{"a":"x","b":"y","toString":1}', 'a,b,valueOf', 'there is no "valueOf"'],
    ['[{"a":"x"}]', undefined, 'it is a list'],
    ['a\tb\tlabel\nx\ty', undefined, 'line 2: it has only 2 columns'],
    ['a\tb\tlabel\nx\ty\tperhaps', undefined, 'line 2: "label" is 1 or 0'],
    ['one\ttwo\tsame\nx\ty\t0', undefined, 'line 1: there are no fields'],
    ['one\ttwo\tsame\nx\ty\t0', 'one,two,three', 'there is no "three"'],
  ])('are refused by line: %j', (text, fields, message) => {
    expect(() => read(text, fields)).toThrow(Failure)
    expect(() => read(text, fields)).toThrow(message)
  })

  it('are refused when they are not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('a\tb\tlabel\nx\t'), Buffer.from([0xff, 0x0a])])
    expect(() => read(bytes)).toThrow('pairs, line 2: it is not UTF-8 text')
  })

  it('have three names', () => {
    for (const typed of ['', 'a,b', 'a,b,c,d', 'a,,c']) {
      expect(() => readFields(typed)).toThrow('three names')
    }
  })
})
