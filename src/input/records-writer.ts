/** Copies the records of CSV and TSV that are kept, byte for byte, behind the header of their file. */

import { notThere } from './kept-positions.ts'
import type { CopyKept } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { ShardRecords } from './shard-records.ts'

const NEWLINE = Buffer.from('\n')

export function recordsCopier(options: WritingOptions): CopyKept {
  let hasHeader = false
  return async (output, kept, shard) => {
    const written = { documents: 0, bytes: 0 }
    let position = -1
    for await (const scanner of new ShardRecords(shard, options).scan()) {
      while (scanner.next()) {
        const at = position++
        if (at < 0 ? hasHeader : !kept.has(at)) continue
        if (scanner.parser.problem?.reason === 'too-long') throw notThere(at, shard.path)
        await output.write(scanner.bytes)
        await output.write(NEWLINE)
        if (at >= 0) written.documents++
        else hasHeader = true
        written.bytes += scanner.bytes.length + 1
      }
      if (kept.isDone && hasHeader) break
    }
    return written
  }
}
