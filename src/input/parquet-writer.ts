/**
 * Writes the rows of a Parquet file that are kept, with all columns, and a row group for each it had.
 *
 * Values are carried over as they are stored, and not as they are understood: both sides use a schema without
 * logical types, and the true one is put into the footer at the end. So a decimal or a timestamp in nanoseconds
 * loses nothing. Pages are re-encoded, and there are no statistics.
 */

import * as zlib from 'node:zlib'

import {
  type CompressionCodec,
  type Compressors,
  type FileMetaData,
  type SchemaElement,
} from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'

import { PrestigeError } from '../platform/errors.ts'
import { type Cuts, cutRow, NO_CUTS } from './cut-text.ts'
import type { Shard } from './document.ts'
import { KeptPositions } from './kept-positions.ts'
import { type Field, fieldNamed } from './make-document.ts'
import type { KeptWriter, Written } from './open-writer.ts'
import type { WritingOptions } from './options.ts'
import type { RecordsOutput, WrittenFile } from './output-file.ts'
import { decompressors, groupStarts, openParquet, topNames } from './parquet-file.ts'
import { physical, readRows, type Row } from './parquet-rows.ts'

export class RowsWriter implements KeptWriter {
  readonly note = undefined
  readonly #shard: Shard
  readonly #output: RecordsOutput
  readonly #field: Field
  readonly #newWriter: (bytes: ByteWriter) => ParquetWriter
  #bytes = new ByteWriter()
  #writer: ParquetWriter
  /** Of the files before this one. */
  #bytesBefore = 0
  readonly #schema: SchemaElement[]
  readonly #decompressors: Compressors

  private constructor(
    shard: Shard,
    output: RecordsOutput,
    metadata: FileMetaData,
    decompressors: Compressors,
    { fields }: WritingOptions,
  ) {
    this.#field = fieldNamed(fields.text)
    this.#shard = shard
    this.#output = output
    this.#decompressors = decompressors
    this.#schema = metadata.schema.map(asWritten)
    const { codec, compressors } = codecOf(metadata)
    const kvMetadata = metadata.key_value_metadata
    this.#newWriter = (bytes) =>
      new ParquetWriter({
        writer: bytes,
        schema: physical(this.#schema),
        codec,
        compressors,
        statistics: false,
        ...(kvMetadata ? { kvMetadata } : {}),
      })
    this.#writer = this.#newWriter(this.#bytes)
  }

  static async open(
    shard: Shard,
    output: RecordsOutput,
    options: WritingOptions,
  ): Promise<RowsWriter> {
    try {
      const { input, metadata } = await openParquet(shard)
      input.close()
      return new RowsWriter(shard, output, metadata, await decompressors(), options)
    } catch (error) {
      await output.abort()
      throw asFailure(shard, error)
    }
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
      return await this.#copyRows(new KeptPositions(positions), shard, cuts)
    } catch (error) {
      await this.#output.abort()
      throw asFailure(shard, error)
    }
  }

  async close(): Promise<void> {
    try {
      await this.#finish()
    } catch (error) {
      await this.#output.abort()
      throw asFailure(this.#shard, error)
    }
    await this.#output.close()
  }

  async abort(): Promise<void> {
    await this.#output.abort()
  }

  async #copyRows(kept: KeptPositions, shard: Shard, cuts: Cuts): Promise<Written> {
    const parquet = await openParquet(shard)
    const before = this.#bytesBefore + this.#bytes.offset
    let documents = 0
    try {
      const starts = groupStarts(parquet.metadata)
      const first = starts[shard.start] ?? 0
      for (let group = shard.start; group < shard.end && !kept.isDone; group++) {
        const [start, end] = [starts[group] ?? 0, starts[group + 1] ?? 0]
        const wanted: number[] = []
        for (let row = start; row < end; row++) if (kept.has(row - first)) wanted.push(row - start)
        if (wanted.length === 0) continue
        const columns = topNames(parquet.metadata.schema)
        const rows = await readRows(parquet, columns, start, end, this.#decompressors)
        const written = wanted.map((at) => {
          const [row, spans] = [rows[at] ?? [], cuts.get(start - first + at)]
          return spans ? cutRow(row, columns, this.#field, spans) : row
        })
        await this.#writeGroup(written)
        documents += wanted.length
      }
      parquet.input.requireUnchanged()
    } finally {
      parquet.input.close()
    }
    kept.requireDone(shard.path)
    return { documents, bytes: this.#bytesBefore + this.#bytes.offset - before }
  }

  /** To one row group of each file that it goes to. */
  async #writeGroup(rows: readonly Row[]): Promise<void> {
    let from = 0
    for (const [at, row] of rows.entries()) {
      if (!this.#output.isSplit || !this.#output.add(bytesOf(row))) continue
      if (at > from) this.#writeRows(rows.slice(from, at))
      from = at
      await this.#finish()
      await this.#output.startNext()
      this.#bytesBefore += this.#bytes.offset
      this.#bytes = new ByteWriter()
      this.#writer = this.#newWriter(this.#bytes)
    }
    this.#writeRows(rows.slice(from))
    await this.#flush()
  }

  async #finish(): Promise<void> {
    this.#writer.schema = this.#schema
    await this.#writer.finish()
    await this.#flush()
  }

  #writeRows(rows: readonly Row[]): void {
    const columnData = topNames(this.#schema).map((name, at) => ({
      name,
      data: rows.map((row) => row[at]),
    }))
    void this.#writer.write({ columnData, rowGroupSize: rows.length }) // ByteWriter has nothing to await
  }

  async #flush(): Promise<void> {
    await this.#output.write(this.#bytes.getBytes())
    this.#bytes.index = 0
  }
}

/** Of values before they are encoded. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof Uint8Array) return value.length
  if (typeof value !== 'object' || value === null) return 8
  return Object.values(value).reduce<number>((sum, one) => sum + bytesOf(one), 0)
}

/** INT96 is deprecated and nobody writes it; its nanoseconds fit another timestamp. */
function asWritten(element: SchemaElement): SchemaElement {
  if (element.type !== 'INT96') return element
  const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'NANOS' } as const
  return { ...element, type: 'INT64', logical_type }
}

/** As the file was compressed, where that can be written; else Snappy, which everyone reads. */
function codecOf(metadata: FileMetaData): {
  codec: CompressionCodec
  compressors: Record<string, (bytes: Uint8Array) => Uint8Array>
} {
  const zstd: unknown = Reflect.get(zlib, 'zstdCompressSync')
  const compressors = {
    GZIP: (bytes: Uint8Array) => zlib.gzipSync(bytes),
    BROTLI: (bytes: Uint8Array) => zlib.brotliCompressSync(bytes),
    // safe: if zlib has a function of this name, it takes bytes and gives bytes.
    ...(typeof zstd === 'function' ? { ZSTD: zstd as (bytes: Uint8Array) => Uint8Array } : {}),
  }
  const codec = metadata.row_groups[0]?.columns[0]?.meta_data?.codec ?? 'SNAPPY'
  const canWrite = codec === 'UNCOMPRESSED' || codec in compressors
  return { codec: canWrite ? codec : 'SNAPPY', compressors }
}

function asFailure(shard: Shard, error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const why = error instanceof Error ? error.message : String(error)
  const message = `Rows of ${shard.path} cannot be written as Parquet (${why}). Take the run back (prestige undo), convert the file to JSONL, and run again.`
  return new PrestigeError('FORMAT_UNSUPPORTED', message, { cause: error })
}
