/** Copies the records of CSV and TSV that are kept, byte for byte, behind the header of their file. */

import type { AtomicFile } from '../platform/atomic-file.ts'
import type { Shard } from './document.ts'
import { KeptPositions, notThere } from './kept-positions.ts'
import type { KeptWriter, Written } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { ShardRecords } from './shard-records.ts'

const NEWLINE = Buffer.from('\n')

export class RecordsWriter implements KeptWriter {
  readonly note: string | undefined
  readonly #shard: Shard
  readonly #output: AtomicFile
  readonly #options: WritingOptions
  #hasHeader = false

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
      return await this.#copyRecords(positions, shard)
    } catch (error) {
      await this.#output.abort()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#output.close()
  }

  async abort(): Promise<void> {
    await this.#output.abort()
  }

  async #copyRecords(positions: Iterable<number>, shard: Shard): Promise<Written> {
    const kept = new KeptPositions(positions)
    const written = { documents: 0, bytes: 0 }
    let position = -1
    for await (const scanner of new ShardRecords(shard, this.#options).scan()) {
      while (scanner.next()) {
        const at = position++
        if (at < 0 ? this.#hasHeader : !kept.has(at)) continue
        if (scanner.parser.problem?.reason === 'too-long') throw notThere(at, shard.path)
        await this.#output.write(scanner.bytes)
        await this.#output.write(NEWLINE)
        if (at >= 0) written.documents++
        else this.#hasHeader = true
        written.bytes += scanner.bytes.length + 1
      }
      if (kept.isDone && this.#hasHeader) break
    }
    kept.requireDone(shard.path)
    return written
  }
}
