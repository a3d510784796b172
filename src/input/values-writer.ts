/** Copies the values of a JSON file that are kept, byte for byte but for texts that are cut: to an array if it was one. */

import { cutJson } from './cut-text.ts'
import { notThere } from './kept-positions.ts'
import { fieldNamed } from './make-document.ts'
import type { CopyKept } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { ShardValues } from './shard-values.ts'

export function valuesCopier({ lineBytesMax, fields }: WritingOptions): CopyKept {
  const field = fieldNamed(fields.text)
  return async (output, kept, shard, cuts) => {
    const written = { documents: 0, bytes: 0 }
    let position = 0
    let isArray: boolean | undefined
    const write = async (piece: Buffer | string) => {
      await output.write(piece)
      written.bytes += piece.length
    }
    for await (const scanner of new ShardValues(shard, lineBytesMax).scan()) {
      while (scanner.next()) {
        if (!kept.has(position++)) continue
        if (scanner.isTooLong) throw notThere(position - 1, shard.path)
        const spans = cuts.get(position - 1)
        const before = written.documents > 0 ? ',\n' : '[\n'
        if (scanner.isArray) await write(before)
        await write(spans ? cutJson(scanner.bytes, field, spans) : scanner.bytes)
        if (!scanner.isArray) await write('\n')
        written.documents++
      }
      isArray = scanner.isArray
      // Whether it is an array must be known, even if nothing of it is kept.
      if (kept.isDone && isArray !== undefined) break
    }
    if (isArray) await write(written.documents > 0 ? '\n]\n' : '[]\n')
    return written
  }
}
