/** Copies the files that are kept, byte for byte as they are on the disk, compressed ones too. */

import { join } from 'node:path'

import type { InputFile, Shard } from './document.ts'
import { KeptPositions } from './kept-positions.ts'
import { OpenInput } from './open-input.ts'
import type { KeptWriter, Written } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { openOutput, requireOther } from './output-file.ts'

/** Each file is synced by itself, and most of that time is waiting. */
const AT_ONCE = 16

export class FilesWriter implements KeptWriter {
  readonly path: string
  readonly note = undefined
  readonly #shard: Shard

  constructor(shard: Shard, options: WritingOptions) {
    this.path = options.directory
    this.#shard = shard
  }

  async writeKept(positions: Iterable<number>, shard: Shard = this.#shard): Promise<Written> {
    const kept = new KeptPositions(positions)
    const files = (shard.files ?? []).filter((_, position) => kept.has(position))
    kept.requireDone(shard.path)
    for (let at = 0; at < files.length; at += AT_ONCE) {
      await Promise.all(files.slice(at, at + AT_ONCE).map((file) => this.#copy(file)))
    }
    return { documents: files.length, bytes: files.reduce((sum, file) => sum + file.fileBytes, 0) }
  }

  /** Each file was finished by itself. */
  async close(): Promise<void> {}

  async abort(): Promise<void> {}

  async #copy(file: InputFile): Promise<void> {
    const path = join(this.path, file.path)
    await requireOther(file.file, path)
    const input = new OpenInput(file)
    try {
      const output = await openOutput(path, 'none', file.file)
      try {
        for (const block of input.blocks(0, input.bytes)) await output.write(block)
        input.requireUnchanged()
      } catch (error) {
        await output.abort()
        throw error
      }
      await output.close()
    } finally {
      input.close()
    }
  }
}
