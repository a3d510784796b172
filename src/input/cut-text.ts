/**
 * Writes a record without some passages of its text: only the text changes, and what is around it stays as it was.
 *
 * Places are bytes of the text as it was read, in UTF-8.
 */

import type { Field } from './make-document.ts'
import type { Row } from './parquet-rows.ts'

/** What is taken out of a text: ascending, and apart. */
export type CutSpans = readonly (readonly [start: number, end: number, ...others: unknown[]])[]

/** By the position of the document in its shard. */
export type Cuts = ReadonlyMap<number, CutSpans>

export const NO_CUTS: Cuts = new Map()

export function cutText(text: Uint8Array, spans: CutSpans): Buffer {
  const parts: Uint8Array[] = []
  let from = 0
  for (const [start, end] of spans) {
    parts.push(text.subarray(from, start))
    from = end
  }
  return Buffer.concat([...parts, text.subarray(from)])
}

/** A line of JSON. Its other values are not parsed, so they lose nothing. */
export function cutJson(line: Buffer, field: Field, spans: CutSpans): Buffer {
  const json = line.toString('utf8')
  const start = textIn(json, field)
  if (json[start] !== '"') throw new TypeError('the text of a kept document is not in its line')
  const end = endOfString(json, start)
  const text = Buffer.from(String(JSON.parse(json.slice(start, end))))
  const left = JSON.stringify(cutText(text, spans).toString('utf8'))
  return Buffer.from(`${json.slice(0, start)}${left}${json.slice(end)}`)
}

/** A record of CSV or TSV, from its fields. */
export function cutRecord(
  fields: readonly string[],
  column: number,
  spans: CutSpans,
  { delimiter, hasQuotes }: { readonly delimiter: string; readonly hasQuotes: boolean },
): string {
  const written = fields.map((field, at) => {
    const value = at === column ? cutText(Buffer.from(field), spans).toString('utf8') : field
    const isPlain = !hasQuotes || !(value.includes(delimiter) || /["\r\n]/.test(value))
    return isPlain ? value : `"${value.replaceAll('"', '""')}"`
  })
  return written.join(delimiter)
}

/** A row of Parquet, whose texts are bytes. */
export function cutRow(row: Row, columns: readonly string[], field: Field, spans: CutSpans): Row {
  const isColumn = columns.includes(field.name)
  const [first = '', ...rest] = isColumn ? [field.name] : field.parts
  const at = columns.indexOf(first)
  return row.with(at, cutValue(row[at], rest, spans))
}

function cutValue(value: unknown, path: readonly string[], spans: CutSpans): unknown {
  const [name, ...rest] = path
  if (name === undefined && value instanceof Uint8Array) return cutText(value, spans)
  if (name === undefined || typeof value !== 'object' || value === null) {
    throw new TypeError('the text of a kept document is not in its row')
  }
  return { ...value, [name]: cutValue(Reflect.get(value, name), rest, spans) }
}

/** Where the value of the text begins; -1 if it is not there. */
function textIn(json: string, { name, parts }: Field): number {
  const start = pastSpace(json, 0)
  if (json[start] !== '{') return start
  const named = memberIn(json, start, name)
  if (named >= 0) return named
  return parts.reduce((at, part) => memberIn(json, at, part), start)
}

/** Where the value of this name in the object at `start` begins: of several, the last, as JSON.parse has it. */
function memberIn(json: string, start: number, name: string): number {
  let found = -1
  if (json[start] !== '{') return found
  let at = pastSpace(json, start + 1)
  while (json[at] === '"') {
    const end = endOfString(json, at)
    const value = pastSpace(json, pastSpace(json, end) + 1)
    if (JSON.parse(json.slice(at, end)) === name) found = value
    at = pastSpace(json, endOfValue(json, value))
    if (json[at] === ',') at = pastSpace(json, at + 1)
  }
  return found
}

function endOfValue(json: string, start: number): number {
  const brackets = /["[\]{}]/g
  const scalarEnds = /[,\]}\s]|$/g
  if (json[start] === '"') return endOfString(json, start)
  if (json[start] !== '{' && json[start] !== '[') {
    scalarEnds.lastIndex = start
    return scalarEnds.exec(json)?.index ?? json.length
  }
  let depth = 0
  brackets.lastIndex = start
  for (let found = brackets.exec(json); found; found = brackets.exec(json)) {
    const [bracket] = found
    if (bracket === '"') brackets.lastIndex = endOfString(json, found.index)
    else depth += bracket === '{' || bracket === '[' ? 1 : -1
    if (depth === 0) return found.index + 1
  }
  return json.length
}

/** Behind the quote that closes the string at `start`. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; ;) {
    const quote = json.indexOf('"', at)
    if (quote < 0) return json.length
    let slash = quote
    while (json[slash - 1] === '\\') slash--
    if ((quote - slash) % 2 === 0) return quote + 1
    at = quote + 1
  }
}

/** A byte order mark may begin the first line of a file. */
function pastSpace(json: string, from: number): number {
  let at = from
  while (' \t\r\n\uFEFF'.includes(json[at] ?? '-')) at++
  return at
}
