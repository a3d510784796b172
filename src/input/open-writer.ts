/**
 * Writes the documents that are kept, in the format of their input and under the same name: the original bytes,
 * read again from the input, and never re-created from what was understood of them. Only a text that is cut changes.
 *
 * One writer writes one output file. A file that was cut into several shards is given to it shard by shard, in
 * their order. A shard of many files is many outputs, each whole by itself.
 */

import { join } from '../platform/paths.ts'

import { readOptions } from '../platform/options.ts'
import type { ColumnsWriter } from './columns-writer.ts'
import { type Cuts, NO_CUTS } from './cut-text.ts'
import type { Shard } from './document.ts'
import { FilesWriter } from './files-writer.ts'
import { withoutCompression } from './formats.ts'
import { KeptPositions } from './kept-positions.ts'
import { linesCopier } from './lines-writer.ts'
import { writingOptions, type WritingInput, type WritingOptions } from './options.ts'
import {
  canCompress,
  RecordsOutput,
  requireOther,
  type Splitting,
  type WrittenFile,
} from './output-file.ts'
import { recordsCopier } from './records-writer.ts'
import { valuesCopier } from './values-writer.ts'

export interface Written {
  readonly documents: number
  /** Before compression. */
  readonly bytes: number
}

export interface KeptWriter {
  /** The file that will be there after `close`; of a shard of many files, the directory. */
  readonly path: string
  /** Those that were written, where records are counted: see `Splitting`. */
  readonly files: readonly WrittenFile[]
  /** What the caller should report: where the output is not quite like the input. */
  readonly note: string | undefined
  /**
   * Ascending positions. `shard` is the next one of the same file; without it, the one the writer was opened for.
   * `cuts`: what is left out of the texts of some.
   */
  writeKept(positions: Iterable<number>, shard?: Shard, cuts?: Cuts): Promise<Written>
  /** Everything is on the disk, under its name. */
  close(): Promise<void>
  /** Leaves nothing behind. After `close` it does nothing. */
  abort(): Promise<void>
}

/** `splitting`: several files are written instead of the one that has the name of the input. */
export async function openWriter(
  shard: Shard,
  options: WritingInput,
  splitting?: Splitting,
): Promise<KeptWriter> {
  const read = readOptions(writingOptions, options, 'writing')
  if (shard.format === 'files') return new FilesWriter(shard, read)
  const isSame = canCompress(shard.compression)
  const name = outputName(shard)
  const path = join(read.directory, name)
  await requireOther(shard.file, path)
  const note = isSame
    ? undefined
    : `${name} is written uncompressed: this Node cannot write zstd, which 22.15 and later can.`
  return openFormat(shard, path, note, read, splitting)
}

/** A Parquet file of columns that are made here. Loaded with the first: most programs write none. */
export async function openColumns(
  ...opening: Parameters<typeof ColumnsWriter.open>
): Promise<ColumnsWriter> {
  const writer = await import('./columns-writer.ts')
  return writer.ColumnsWriter.open(...opening)
}

/** Of the file that is written for an input, below the directory of outputs. */
export function outputName({
  path,
  format,
  compression,
  output,
}: Pick<Shard, 'path' | 'format' | 'compression' | 'output'>): string {
  if (output !== undefined) return output
  return format === 'files' || canCompress(compression) ? path : withoutCompression(path)
}

async function openFormat(
  shard: Shard,
  path: string,
  note: string | undefined,
  options: WritingOptions,
  splitting: Splitting | undefined,
): Promise<KeptWriter> {
  const compression = note === undefined ? shard.compression : 'none'
  const output = await RecordsOutput.open(path, compression, shard.file, splitting)
  if (shard.format === 'parquet') {
    const { RowsWriter } = await import('./parquet-writer.ts')
    return RowsWriter.open(shard, output, options)
  }
  return new CopyWriter(shard, output, note, copierOf(shard, options))
}

function copierOf({ format }: Shard, options: WritingOptions): CopyKept {
  if (format === 'json') return valuesCopier(options)
  return format === 'csv' || format === 'tsv' ? recordsCopier(options) : linesCopier(options)
}

/** Copies the kept documents of one shard of a file to its output. */
export type CopyKept = (
  output: RecordsOutput,
  kept: KeptPositions,
  shard: Shard,
  cuts: Cuts,
) => Promise<Written>

class CopyWriter implements KeptWriter {
  readonly note: string | undefined
  readonly #shard: Shard
  readonly #output: RecordsOutput
  readonly #copy: CopyKept

  constructor(shard: Shard, output: RecordsOutput, note: string | undefined, copy: CopyKept) {
    this.#shard = shard
    this.#output = output
    this.note = note
    this.#copy = copy
  }

  get path(): string {
    return this.#output.path
  }

  get files(): readonly WrittenFile[] {
    return this.#output.files
  }

  async writeKept(
    positions: Iterable<number>,
    shard: Shard = this.#shard,
    cuts: Cuts = NO_CUTS,
  ): Promise<Written> {
    try {
      const kept = new KeptPositions(positions)
      const written = await this.#copy(this.#output, kept, shard, cuts)
      kept.requireDone(shard.path)
      return written
    } catch (error) {
      await this.#output.abort()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#output.close()
  }

  abort(): Promise<void> {
    return this.#output.abort()
  }
}
