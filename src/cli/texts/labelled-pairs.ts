/**
 * Reads labelled pairs: JSON, an object a line; or CSV or TSV, with names of columns in the first line or without.
 *
 * A line that cannot be read is an error with its number, never left out: a threshold chosen by half of the
 * pairs would look as good as one chosen by all. An empty label is allowed: nobody has decided yet. In TSV, tabs and
 * quotes have no escape; CSV is that of RFC 4180.
 */

import { isUtf8 } from 'node:buffer'

import type { LabelledPair } from '../../compare/index.ts'
import { CsvParser } from '../../input/index.ts'
import { Failure, usageFailure } from '../call/failure.ts'

interface Fields {
  readonly a: string
  readonly b: string
  readonly label: string
}

/** A pair, and the line on which it begins. */
export interface PlacedPair extends LabelledPair {
  readonly a: string
  readonly b: string
  readonly line: number
}

const TEXT_NAMES: readonly (readonly [string, string])[] = [
  ['a', 'b'],
  ['text1', 'text2'],
  ['sentence1', 'sentence2'],
  ['question1', 'question2'],
  ['first', 'second'],
  ['left', 'right'],
]
const LABEL_NAMES = ['label', 'is_duplicate', 'isduplicate', 'duplicate', 'same']

const LABELS = new Map([
  ['1', true],
  ['true', true],
  ['yes', true],
  ['duplicate', true],
  ['0', false],
  ['false', false],
  ['no', false],
  ['different', false],
])

interface Line {
  readonly text: string
  readonly number: number
  /** Where it is, for people: `pairs.jsonl, line 7`. */
  readonly place: string
}

/** Names typed as `a,b,label`. */
export function readFields(typed: string): Fields {
  const [a, b, label, ...more] = typed.split(',').map((name) => name.trim())
  if (a && b && label && more.length === 0) return { a, b, label }
  throw usageFailure(`--fields takes three names, as in a,b,label; not "${typed}".`)
}

export function* labelledPairs(
  bytes: Buffer,
  source: string,
  fields?: Fields,
): Generator<PlacedPair> {
  const lines = linesOf(bytes, source)
  for (const first of lines) {
    if (first.text.trim() === '') continue
    const start = first.text.trimStart()
    if (start.startsWith('[')) throw badLine(first.place, 'it is a list; write one object a line')
    const all = withFirst(first, lines)
    if (start.startsWith('{')) yield* jsonPairs(all, fields)
    else yield* columnPairs(all, delimiterOf(first.text), fields)
  }
}

function* withFirst(first: Line, rest: Iterable<Line>): Generator<Line> {
  yield first
  yield* rest
}

function* linesOf(bytes: Buffer, source: string): Generator<Line> {
  const hasMark = bytes.subarray(0, 3).equals(Buffer.from('\ufeff'))
  let number = 0
  for (let at = hasMark ? 3 : 0; at < bytes.length;) {
    const found = bytes.indexOf(0x0a, at)
    const end = found < 0 ? bytes.length : found
    const place = `${source}, line ${++number}`
    const line = bytes.subarray(at, end)
    if (!isUtf8(line)) throw badLine(place, 'it is not UTF-8 text')
    yield { text: line.toString().replace(/\r$/, ''), number, place }
    at = end + 1
  }
}

function badLine(place: string, problem: string): Failure {
  return new Failure('invalid', 'INVALID_VALUE', `${place}: ${problem}.`)
}

function* jsonPairs(lines: Iterable<Line>, fields: Fields | undefined): Generator<PlacedPair> {
  for (const line of lines) {
    if (line.text.trim() === '') continue
    const object = parsed(line)
    const names = fields ?? knownFields(Object.keys(object))
    if (names === undefined) throw noNames(line.place, Object.keys(object))
    const text = (name: string) => {
      const value = fieldOf(object, name)
      if (typeof value === 'string') return value
      throw badLine(
        line.place,
        value === undefined ? missing(name, Object.keys(object)) : `"${name}" is not a text`,
      )
    }
    const [a, b] = [text(names.a), text(names.b)]
    const label = fieldOf(object, names.label)
    if (label === undefined) throw badLine(line.place, missing(names.label, Object.keys(object)))
    yield { a, b, isDuplicate: labelOf(label, names.label, line.place), line: line.number }
  }
}

function parsed({ text, place }: Line): object {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badLine(place, 'it is not JSON')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw badLine(place, 'it is no object')
}

/** A name as it is, or else a way of names: `question.text`. */
function fieldOf(object: object, name: string): unknown {
  if (Object.hasOwn(object, name)) return Reflect.get(object, name)
  let value: unknown = object
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = Reflect.get(value, part)
  }
  return value
}

function delimiterOf(head: string): string {
  return head.includes('\t') ? '\t' : ','
}

interface Row {
  readonly columns: readonly string[]
  readonly number: number
  readonly place: string
}

function* rowsOf(lines: Iterable<Line>, delimiter: string): Generator<Row> {
  const parser = new CsvParser(delimiter, delimiter === ',')
  let first: Line | undefined
  for (const line of lines) {
    if (first === undefined) {
      if (line.text.trim() === '') continue
      first = line
      parser.begin()
    }
    if (!parser.feed(line.text)) continue
    if (parser.problem) throw badLine(first.place, parser.problem.message)
    yield { columns: parser.fields, number: first.number, place: first.place }
    first = undefined
  }
  if (first) throw badLine(first.place, 'a quoted field begins here and does not end')
}

function* columnPairs(
  lines: Iterable<Line>,
  delimiter: string,
  fields: Fields | undefined,
): Generator<PlacedPair> {
  let names: Fields | undefined
  let at: Readonly<Record<keyof Fields, number>> | undefined
  for (const row of rowsOf(lines, delimiter)) {
    if (at === undefined) {
      names = fields ?? knownFields(row.columns)
      at = names ? columnsAt(row, names) : plainColumns(row)
      if (names) continue
    }
    const { columns, number, place } = row
    const [a, b, label] = [columns[at.a], columns[at.b], columns[at.label]]
    if (a === undefined || b === undefined || label === undefined) {
      throw badLine(place, `it has only ${columns.length} columns`)
    }
    const isDuplicate = labelOf(label, names?.label ?? 'label', place)
    yield { a, b, isDuplicate, line: number }
  }
}

function columnsAt({ columns, place }: Row, names: Fields): Record<keyof Fields, number> {
  const at = (name: string) => {
    const found = columns.findIndex((column) => column.trim() === name)
    if (found < 0) throw badLine(place, missing(name, columns))
    return found
  }
  return { a: at(names.a), b: at(names.b), label: at(names.label) }
}

/** Three columns without names: two texts and a label. */
function plainColumns({ columns, place }: Row): Record<keyof Fields, number> {
  if (columns.length === 3 && LABELS.has(plainLabel(columns[2]))) return { a: 0, b: 1, label: 2 }
  throw noNames(place, columns)
}

/** Names that need not be given, in any case of letters. */
function knownFields(names: readonly string[]): Fields | undefined {
  const named = (wanted: string) => names.find((name) => name.trim().toLowerCase() === wanted)
  const label = LABEL_NAMES.map(named).find((name) => name !== undefined)
  for (const [first, second] of TEXT_NAMES) {
    const [a, b] = [named(first), named(second)]
    if (a !== undefined && b !== undefined && label !== undefined)
      return { a: a.trim(), b: b.trim(), label: label.trim() }
  }
  return undefined
}

const plainLabel = (value: unknown) => String(value).trim().toLowerCase()

/** `undefined`: nobody has decided. */
function labelOf(value: unknown, name: string, place: string): boolean | undefined {
  if (value === null || value === '') return undefined
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
  const isDuplicate = isPlain ? LABELS.get(plainLabel(value)) : undefined
  if (isDuplicate !== undefined) return isDuplicate
  const rule = 'is 1 or 0, yes or no, true or false, duplicate or different, or empty'
  throw badLine(place, `"${name}" ${rule}; not ${JSON.stringify(value)}`)
}

function missing(name: string, names: readonly string[]): string {
  return `there is no "${name}"; there are ${listOf(names)}`
}

function listOf(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name.slice(0, 40))).join(', ')
}

function noNames(place: string, names: readonly string[]): Failure {
  const problem =
    `there are no fields a, b and label, but ${listOf(names)}. Name the two texts and the label: ` +
    `--fields A,B,LABEL`
  return badLine(place, problem)
}
