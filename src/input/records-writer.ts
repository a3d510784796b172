/** Copies the records of CSV and TSV that are kept, byte for byte but for texts that are cut, behind the header of their file, which every output file has. */

import { cutRecord } from './cut-text.ts'
import { notThere } from './kept-positions.ts'
import type { CopyKept } from './open-writer.ts'
import { readingOptions, type WritingOptions } from './options.ts'
import { readOptions } from '../platform/options.ts'
import { delimiterOf, ShardRecords } from './shard-records.ts'

const NEWLINE = Buffer.from('\n')

export function recordsCopier(options: WritingOptions): CopyKept {
  const { hasQuotes, fields } = options
  let header: Buffer | undefined
  return async (output, kept, shard, cuts) => {
    const delimiter = delimiterOf(shard)
    let column = -1
    const written = { documents: 0, bytes: 0 }
    let position = -1
    // Where only the header is wanted, it is not looked for in all that a file may expand to.
    const limits = kept.isDone ? readOptions(readingOptions, {}, 'reading') : undefined
    for await (const scanner of new ShardRecords(shard, options, limits).scan()) {
      while (scanner.next()) {
        const at = position++
        if (at < 0) column = scanner.parser.fields.indexOf(fields.text)
        if (at < 0 ? header : !kept.has(at)) continue
        const isTooLong = scanner.parser.problem?.reason === 'too-long'
        // Without a header, no record was read.
        if (isTooLong && at < 0) return written
        if (isTooLong) throw notThere(at, shard.path)
        const spans = cuts.get(at)
        const bytes = spans
          ? withReturn(
              cutRecord(scanner.parser.fields, column, spans, { delimiter, hasQuotes }),
              scanner.bytes,
            )
          : scanner.bytes
        if (at >= 0 && header && output.add(bytes.length + 1)) {
          await output.startNext()
          await output.write(header)
          await output.write(NEWLINE)
        }
        await output.write(bytes)
        await output.write(NEWLINE)
        if (at >= 0) written.documents++
        else header = Buffer.from(bytes)
        written.bytes += bytes.length + 1
      }
      if (kept.isDone && header) break
    }
    return written
  }
}

/** With the carriage return that the original ended with. */
function withReturn(record: string, original: Buffer): Buffer {
  return Buffer.from(original.at(-1) === 13 ? `${record}\r` : record)
}
