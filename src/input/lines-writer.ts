/** Copies the lines that are kept, byte for byte. The last line gets a newline if it had none. */

import type { AtomicFile } from '../platform/atomic-file.ts'
import type { Shard } from './document.ts'
import { KeptPositions, notThere } from './kept-positions.ts'
import type { LineScanner } from './line-scanner.ts'
import type { KeptWriter, Written } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'

const NEWLINE = Buffer.from('\n')

export class LinesWriter implements KeptWriter {
  readonly note: string | undefined
  readonly #shard: Shard
  readonly #output: AtomicFile
  readonly #options: WritingOptions

  constructor(shard: Shard, output: AtomicFile, note: string | undefined, options: WritingOptions) {
    this.#shard = shard
    this.#output = output
    this.note = note
    this.#options = options
  }

  get path(): string {
    return this.#output.path
  }

  async writeKept(positions: Iterable<number>, shard: Shard = this.#shard): Promise<Written> {
    try {
      return await this.#copyLines(positions, shard)
    } catch (error) {
      await this.#output.abort()
      throw error
    }
  }

  async #copyLines(positions: Iterable<number>, shard: Shard): Promise<Written> {
    const kept = new KeptPositions(positions)
    const lines = new ShardLines(shard, this.#options.lineBytesMax)
    const written = { documents: 0, bytes: 0 }
    let position = 0
    if (!kept.isDone) {
      for await (const scanner of lines.scan()) {
        while (scanner.next()) {
          if (isNoPosition(scanner, shard)) continue
          if (!kept.has(position++)) continue
          if (scanner.isTooLong) throw notThere(position - 1, shard.path)
          const full = this.#output.write(scanner.bytes)
          if (full) await full
          const rest = this.#output.write(NEWLINE)
          if (rest) await rest
          written.documents++
          written.bytes += scanner.bytes.length + 1
        }
        if (kept.isDone) break
      }
    }
    kept.requireDone(shard.path)
    return written
  }

  async close(): Promise<void> {
    await this.#output.close()
  }

  async abort(): Promise<void> {
    await this.#output.abort()
  }
}

function isNoPosition(scanner: LineScanner, shard: Shard): boolean {
  if (scanner.isTooLong) return false
  const bytes = scanner.offset === 0 ? withoutMark(scanner.bytes) : scanner.bytes
  return isBlank(bytes, shard.format)
}
