/** Documents of JSONL and of plain lines. */

import { randomUUID } from 'node:crypto'

import { Batch } from './batch.ts'
import type { Document, Reject, Shard } from './document.ts'
import { JsonStrings } from './json-string.ts'
import type { LineScanner } from './line-scanner.ts'
import { DocumentMaker, type Field, type Place } from './make-document.ts'
import type { ReadingOptions } from './options.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'
import { requireNoNul, requireUtf8, tooLong, truncated, Unfit } from './unfit.ts'

type Items = readonly (Document | Reject)[]

export async function* readLines(
  shard: Shard,
  options: ReadingOptions,
  isLending: boolean,
): AsyncGenerator<Items> {
  const maker = new DocumentMaker(shard, options)
  const strings = shard.format === 'jsonl' ? new JsonStrings(isLending) : undefined
  const lines = new ShardLines(shard, options.lineBytesMax, options)
  const batch = new Batch(options)
  let position = 0
  let lineCount = 0
  let held = 0
  for await (const scanner of lines.scan()) {
    while (scanner.next()) {
      lineCount++
      const bytes = scanner.offset === 0 ? withoutMark(scanner.bytes) : scanner.bytes
      if (!scanner.isTooLong && isBlank(bytes, shard.format)) continue
      const at = position++
      if (at < options.resume) continue
      const place = placeOf(shard, scanner, at)
      if (batch.add(readPiece(maker, scanner, bytes, place, strings), bytes.length)) {
        yield batch.take()
        if (isLending) strings?.takeBack()
      }
    }
    held = scanner.heldBytes
  }
  if (lines.damage !== undefined && position >= options.resume) {
    const place = { position, line: (shard.firstLine ?? 1) + lineCount, offset: 0 }
    batch.add(maker.reject(place, truncated(lines.damage, held), ''), 0)
  }
  if (!batch.isEmpty) yield batch.take()
}

function placeOf(shard: Shard, scanner: LineScanner, position: number): Place {
  return { position, line: (shard.firstLine ?? 1) + scanner.number, offset: scanner.offset }
}

/** A line or a JSON value, as its scanner found it. */
type Piece = Pick<LineScanner, 'isTooLong' | 'length' | 'bytesMax' | 'beginning'>

/** `strings`: of JSON; without them it is plain text. */
export function readPiece(
  maker: DocumentMaker,
  scanner: Piece,
  bytes: Buffer,
  place: Place,
  strings: JsonStrings | undefined,
): Document | Reject {
  try {
    if (scanner.isTooLong) throw tooLong(scanner.length, scanner.bytesMax)
    requireUtf8(bytes)
    return strings ? ofJson(maker, bytes, place, strings) : ofLine(maker, bytes, place)
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    return maker.reject(place, error, scanner.isTooLong ? scanner.beginning : bytes)
  }
}

/** Throws `Unfit`. */
export function ofJson(
  maker: DocumentMaker,
  bytes: Buffer,
  place: Place,
  strings: JsonStrings,
): Document {
  if (bytes.length >= APART_BYTES_MIN) {
    const document = ofJsonApart(maker, bytes, place, strings)
    if (document) return document
  }
  const json = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    requireNoNul(bytes)
    const why = error instanceof Error ? error.message : String(error)
    throw new Unfit('invalid-json', `it is not JSON: ${why.slice(0, 200)}`)
  }
  return maker.ofValue(value, place, (field) => integerIn(json, field))
}

/** Below this, one call of JSON.parse costs less. */
const APART_BYTES_MIN = 512
/** In the place of a text while the rest of its line is parsed. Nobody can have written it into a line before. */
const STAND_IN = randomUUID()

/**
 * Most of a line is its text. That is read as bytes, without becoming a string, and JSON.parse reads the rest with
 * something else in its place. Whatever is not as plain as that is left to JSON.parse as a whole.
 */
function ofJsonApart(
  maker: DocumentMaker,
  bytes: Buffer,
  place: Place,
  strings: JsonStrings,
): Document | undefined {
  const start = startOfText(bytes, maker.text)
  const read = start === undefined ? undefined : strings.read(bytes, start)
  if (start === undefined || read === undefined) return undefined
  const [before, behind] = [bytes.toString('utf8', 0, start), bytes.toString('utf8', read.end)]
  let value: unknown
  try {
    value = JSON.parse(`${before}${STAND_IN}"${behind}`)
  } catch {
    return undefined
  }
  const exactId = (field: Field) => integerIn(bytes.toString('utf8'), field)
  return maker.ofValueAndText(value, STAND_IN, read.text, place, exactId)
}

const COLON = 0x3a
const QUOTE = 0x22

/** Behind the quote that opens the first value under this name, if it is a string. */
function startOfText(bytes: Buffer, { quoted }: Field): number | undefined {
  const name = quoted === undefined ? -1 : bytes.indexOf(quoted)
  if (quoted === undefined || name < 0) return undefined
  const colon = pastSpace(bytes, name + quoted.length)
  if (bytes[colon] !== COLON) return undefined
  const quote = pastSpace(bytes, colon + 1)
  return bytes[quote] === QUOTE ? quote + 1 : undefined
}

function pastSpace(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++
  return at
}

function ofLine(maker: DocumentMaker, bytes: Buffer, place: Place): Document {
  requireNoNul(bytes)
  const end = bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length
  return maker.ofText(bytes.toString('utf8', 0, end), place)
}

/** The digits of a number that JSON.parse cannot hold, if there is no doubt which they are. */
function integerIn(json: string, field: Field): string | undefined {
  const key = JSON.stringify(field.parts.at(-1)).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const found = [...json.matchAll(new RegExp(`${key}\\s*:\\s*(-?\\d+)\\s*[,}]`, 'g'))]
  return found.length === 1 ? found[0]?.[1] : undefined
}
