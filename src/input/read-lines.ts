/** Documents of JSONL and of plain lines. */

import { isUtf8 } from 'node:buffer'

import { invalidUtf8At } from '../bytes.ts'
import { Batch } from './batch.ts'
import type { Document, Reject, Shard } from './document.ts'
import type { LineScanner } from './line-scanner.ts'
import { DocumentMaker, type Field, type Place, Unfit } from './make-document.ts'
import type { ReadingOptions } from './options.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'

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

export function truncated(damage: string, heldBytes: number): Unfit {
  const lost = heldBytes > 0 ? `; ${heldBytes} bytes of an unfinished line were dropped` : ''
  const message = `the compressed file is damaged or ends too early (${damage})${lost}`
  return new Unfit('truncated', `${message}. What was read before is good; fetch the file again`)
}

export function tooLong(bytes: number, bytesMax: number): Unfit {
  const message = `it has ${bytes} bytes, more than the limit of ${bytesMax} (lineBytesMax)`
  return new Unfit('too-long', message)
}

/** Throws `Unfit` with the place of the first byte that does not fit. */
export function requireUtf8(bytes: Buffer): void {
  if (isUtf8(bytes)) return
  const at = invalidUtf8At(bytes)
  const found = `0x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
  const isWide = at === 0 && (bytes[0] === 0xff || bytes[0] === 0xfe)
  const hint = isWide ? '; it looks like UTF-16, so convert it to UTF-8 first' : ''
  throw new Unfit('invalid-utf8', `it is not UTF-8 at byte ${at} (${found})${hint}`)
}

/** Text as people keep it has no NUL; what has one is mostly no text at all. Throws `Unfit`. */
export function requireNoNul(bytes: Buffer): void {
  const at = bytes.indexOf(0)
  if (at < 0) return
  throw new Unfit('nul-byte', `it has a NUL at byte ${at}; it may be binary, or UTF-16`)
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
