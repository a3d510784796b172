/** Documents of JSONL and of plain lines. */

import { Batch } from './batch.ts'
import type { Document, Reject, Shard } from './document.ts'
import type { LineScanner } from './line-scanner.ts'
import { DocumentMaker, type Field, type Place } from './make-document.ts'
import type { ReadingOptions } from './options.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'
import { requireNoNul, requireUtf8, tooLong, truncated, Unfit } from './unfit.ts'

type Items = readonly (Document | Reject)[]

export async function* readLines(shard: Shard, options: ReadingOptions): AsyncGenerator<Items> {
  const maker = new DocumentMaker(shard, options)
  const lines = new ShardLines(shard, options.lineBytesMax)
  const batch = new Batch(options)
  const isJson = shard.format === 'jsonl'
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
      if (batch.add(readLine(maker, scanner, bytes, place, isJson), bytes.length))
        yield batch.take()
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

function readLine(
  maker: DocumentMaker,
  scanner: LineScanner,
  bytes: Buffer,
  place: Place,
  isJson: boolean,
): Document | Reject {
  try {
    if (scanner.isTooLong) throw tooLong(scanner.length, scanner.bytesMax)
    requireUtf8(bytes)
    return isJson ? ofJson(maker, bytes, place) : ofLine(maker, bytes, place)
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    return maker.reject(place, error, scanner.isTooLong ? scanner.beginning : bytes)
  }
}

function ofJson(maker: DocumentMaker, bytes: Buffer, place: Place): Document {
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
