/**
 * Reads labelled pairs: JSON, an object a line, or columns separated by tabs with their names in the first line.
 *
 * A line that cannot be read is an error with its number, never left out: a threshold chosen by half of the
 * pairs would look as good as one chosen by all. Tabs and quotes have no escape: a column is what is between tabs.
 */

import { isUtf8 } from 'node:buffer'

import { Failure, usageFailure } from '../call/failure.ts'

/** A pair with what somebody says of it. */
export interface LabelledTexts {
  readonly a: string
  readonly b: string
  readonly isDuplicate: boolean
}

interface Fields {
  readonly a: string
  readonly b: string
  readonly label: string
}

const TEXT_NAMES: readonly (readonly [string, string])[] = [
  ['a', 'b'],
  ['text1', 'text2'],
  ['sentence1', 'sentence2'],
  ['first', 'second'],
]
const LABEL_NAMES = ['label', 'is_duplicate', 'isDuplicate', 'duplicate']
const KNOWN: readonly Fields[] = TEXT_NAMES.flatMap(([a, b]) =>
  LABEL_NAMES.map((label) => ({ a, b, label })),
)

const LABELS = new Map([
  ['1', true],
  ['true', true],
  ['duplicate', true],
  ['0', false],
  ['false', false],
  ['different', false],
])

interface Line {
  readonly text: string
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
): Generator<LabelledTexts> {
  let read: ((line: Line) => LabelledTexts | undefined) | undefined
  for (const line of linesOf(bytes, source)) {
    if (line.text.trim() === '') continue
    read ??= readerFor(line, fields)
    const pair = read(line)
    if (pair) yield pair
  }
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
    yield { text: line.toString().replace(/\r$/, ''), place }
    at = end + 1
  }
}

function badLine(place: string, problem: string): Failure {
  return new Failure('invalid', 'INVALID_VALUE', `${place}: ${problem}.`)
}

/** The first line determines the format of the file. */
function readerFor(
  first: Line,
  fields: Fields | undefined,
): (line: Line) => LabelledTexts | undefined {
  if (first.text.trimStart().startsWith('{')) return (line) => jsonPair(line, fields)
  if (/^\s*\[/.test(first.text)) throw badLine(first.place, 'it is a list; write one object a line')
  return columnReader(first, fields)
}

function jsonPair(line: Line, fields: Fields | undefined): LabelledTexts {
  const object = parsed(line)
  const names = fields ?? KNOWN.find((known) => hasAll(known, (name) => fieldOf(object, name)))
  if (names === undefined) throw noNames(line)
  const text = (name: string) => {
    const value = fieldOf(object, name)
    if (typeof value === 'string') return value
    throw badLine(line.place, value === undefined ? missing(name) : `"${name}" is not a text`)
  }
  const [a, b] = [text(names.a), text(names.b)]
  return { a, b, isDuplicate: labelOf(fieldOf(object, names.label), names.label, line) }
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

function columnReader(
  first: Line,
  fields: Fields | undefined,
): (line: Line) => LabelledTexts | undefined {
  const heads = first.text.split('\t')
  const named = (name: string) => (heads.includes(name) ? name : undefined)
  const found = fields ?? KNOWN.find((known) => hasAll(known, named))
  if (found === undefined) {
    if (heads.length !== 3 || !isLabel(heads[2])) throw noNames(first)
    return (line) => columnPair(line, { a: 0, b: 1, label: 2 }, 'label')
  }
  for (const name of Object.values(found)) {
    if (!named(name)) throw badLine(first.place, missing(name))
  }
  const at = {
    a: heads.indexOf(found.a),
    b: heads.indexOf(found.b),
    label: heads.indexOf(found.label),
  }
  return (line) => (line.place === first.place ? undefined : columnPair(line, at, found.label))
}

function columnPair(
  line: Line,
  at: Readonly<Record<keyof Fields, number>>,
  labelName: string,
): LabelledTexts {
  const columns = line.text.split('\t')
  const [a, b, label] = [columns[at.a], columns[at.b], columns[at.label]]
  if (a === undefined || b === undefined || label === undefined) {
    throw badLine(line.place, `it has only ${columns.length} columns`)
  }
  return { a, b, isDuplicate: labelOf(label, labelName, line) }
}

function hasAll(fields: Fields, find: (name: string) => unknown): boolean {
  return Object.values(fields).every((name) => find(name) !== undefined)
}

function isLabel(value: unknown): boolean {
  return LABELS.has(String(value).trim().toLowerCase())
}

function labelOf(value: unknown, name: string, { place }: Line): boolean {
  const isDuplicate = isPlain(value) ? LABELS.get(String(value).trim().toLowerCase()) : undefined
  if (isDuplicate !== undefined) return isDuplicate
  const problem = `"${name}" is 1 or 0, true or false, "duplicate" or "different"`
  throw badLine(
    place,
    value === undefined ? missing(name) : `${problem}; not ${JSON.stringify(value)}`,
  )
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function missing(name: string): string {
  return `there is no "${name}"`
}

function noNames({ place }: Line): Failure {
  const problem = 'there are no fields a, b and label. Say which ones are meant with --fields'
  return badLine(place, problem)
}
