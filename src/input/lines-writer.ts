/** Copies the lines that are kept, byte for byte but for texts that are cut. The last line gets a newline if it had none. */

import { cutJson, type CutSpans, cutText } from './cut-text.ts'
import { notThere } from './kept-positions.ts'
import type { LineScanner } from './line-scanner.ts'
import type { Shard } from './document.ts'
import { type Field, fieldNamed } from './make-document.ts'
import type { CopyKept } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'

const NEWLINE = Buffer.from('\n')

export function linesCopier({ lineBytesMax, fields }: WritingOptions): CopyKept {
  const field = fieldNamed(fields.text)
  return async (output, kept, shard, cuts) => {
    const written = { documents: 0, bytes: 0 }
    let position = 0
    if (kept.isDone) return written
    for await (const scanner of new ShardLines(shard, lineBytesMax).scan()) {
      while (scanner.next()) {
        if (isNoPosition(scanner, shard)) continue
        if (!kept.has(position++)) continue
        if (scanner.isTooLong) throw notThere(position - 1, shard.path)
        const spans = cuts.get(position - 1)
        const bytes = spans ? cutLine(scanner, shard, field, spans) : scanner.bytes
        if (output.add(bytes.length + 1)) await output.startNext()
        const full = output.write(bytes)
        if (full) await full
        const rest = output.write(NEWLINE)
        if (rest) await rest
        written.documents++
        written.bytes += bytes.length + 1
      }
      if (kept.isDone) break
    }
    return written
  }
}

function cutLine(
  { bytes, offset }: LineScanner,
  { format }: Shard,
  field: Field,
  spans: CutSpans,
): Buffer {
  if (format === 'jsonl') return cutJson(bytes, field, spans)
  const text = offset === 0 ? withoutMark(bytes) : bytes
  return Buffer.concat([bytes.subarray(0, bytes.length - text.length), cutText(text, spans)])
}

function isNoPosition(scanner: LineScanner, shard: Shard): boolean {
  if (scanner.isTooLong) return false
  const bytes = scanner.offset === 0 ? withoutMark(scanner.bytes) : scanner.bytes
  return isBlank(bytes, shard.format)
}
