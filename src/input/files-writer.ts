/** Copies the files that are kept, byte for byte as they are on the disk, compressed ones too. A text that is cut is compressed again. */

import { join } from '../platform/paths.ts'

import { cutJson, type Cuts, type CutSpans, cutText, NO_CUTS } from './cut-text.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { Compression, InputFile, Shard } from './document.ts'
import { KeptPositions } from './kept-positions.ts'
import { type Field, fieldNamed } from './make-document.ts'
import { openInput } from './open-input.ts'
import type { KeptWriter, Written } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import { canCompress, openOutput, requireOther } from './output-file.ts'
import { wholeFile } from './read-files.ts'
import { withoutMark } from './shard-lines.ts'

/** Each file is synced by itself, and most of that time is waiting. */
const AT_ONCE = 16

export class FilesWriter implements KeptWriter {
  readonly path: string
  readonly files = []
  readonly note = undefined
  readonly #shard: Shard
  readonly #bytesMax: number
  readonly #text: Field

  constructor(shard: Shard, options: WritingOptions) {
    this.path = options.directory
    this.#bytesMax = options.lineBytesMax
    this.#text = fieldNamed(options.fields.text)
    this.#shard = shard
  }

  async writeKept(
    positions: Iterable<number>,
    shard: Shard = this.#shard,
    cuts: Cuts = NO_CUTS,
  ): Promise<Written> {
    const kept = new KeptPositions(positions)
    const files = [...(shard.files ?? []).entries()].filter(([position]) => kept.has(position))
    kept.requireDone(shard.path)
    let bytes = 0
    const write = async ([position, file]: [number, InputFile]) => {
      const spans = cuts.get(position)
      const length = spans ? await this.#cut(file, shard, spans) : await this.#copy(file)
      bytes += length
    }
    for (let at = 0; at < files.length; at += AT_ONCE) {
      await Promise.all(files.slice(at, at + AT_ONCE).map(write))
    }
    return { documents: files.length, bytes }
  }

  /** Each file was finished by itself. */
  async close(): Promise<void> {}

  async abort(): Promise<void> {}

  async #cut(file: InputFile, shard: Shard, spans: CutSpans): Promise<number> {
    const { compression, isJson } = shard
    const path = join(this.path, file.path)
    await requireOther(file.file, path)
    requireCompressor(file, compression)
    const bytes = await wholeFile(file, compression, this.#bytesMax)
    const text = withoutMark(bytes)
    const left = isJson ? cutJson(text, this.#text, spans) : cutText(text, spans)
    const output = await openOutput(path, compression, file.file)
    try {
      await output.write(bytes.subarray(0, bytes.length - text.length))
      await output.write(left)
    } catch (error) {
      await output.abort()
      throw error
    }
    await output.close()
    return left.length
  }

  async #copy(file: InputFile): Promise<number> {
    const path = join(this.path, file.path)
    await requireOther(file.file, path)
    const input = openInput(file)
    try {
      const output = await openOutput(path, 'none', file.file)
      try {
        for await (const block of input.blocks(0, input.bytes)) await output.write(block)
        input.requireUnchanged()
      } catch (error) {
        await output.abort()
        throw error
      }
      await output.close()
      return file.fileBytes
    } finally {
      input.close()
    }
  }
}

function requireCompressor({ path }: InputFile, compression: Compression): void {
  if (canCompress(compression)) return
  const message = `${path} cannot be written without a passage of it: this Node cannot write zstd, which 22.15 and later can. Resume the run with a newer Node, or undo it and decompress the file.`
  throw new PrestigeError('FORMAT_UNSUPPORTED', message)
}
