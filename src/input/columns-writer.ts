/**
 * A Parquet file that is made here, column by column: numbers, strings, bytes and lists, none of them missing. A row
 * group is written when it is given, so memory holds one.
 */

import type { SchemaElement } from 'hyparquet'
import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer'

import { AtomicFile } from '../platform/atomic-file.ts'

/** Lists end with `[]`. Values of `int64` are BigInts. */
export type ColumnType = 'string' | 'bytes' | 'boolean' | 'int32' | 'int64' | 'int32[]' | 'int64[]'

export type Columns = Readonly<Record<string, ColumnType>>

const PHYSICAL = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  bytes: { type: 'BYTE_ARRAY' },
  boolean: { type: 'BOOLEAN' },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
} as const

export class ColumnsWriter {
  readonly #columns: Columns
  readonly #output: AtomicFile
  readonly #bytes = new ByteWriter()
  readonly #writer: ParquetWriter

  private constructor(columns: Columns, output: AtomicFile, metadata: Record<string, string>) {
    this.#columns = columns
    this.#output = output
    const kvMetadata = Object.entries(metadata).map(([key, value]) => ({ key, value }))
    const schema = schemaOf(columns)
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema, kvMetadata, statistics: true })
  }

  /** `path`: as the caller has named it; it may be on S3. `metadata` goes into the footer. */
  static async open(
    path: string,
    columns: Columns,
    metadata: Record<string, string>,
  ): Promise<ColumnsWriter> {
    return new ColumnsWriter(columns, await AtomicFile.openNamed(path), metadata)
  }

  /** All values of every column, for as many rows. */
  async write(values: Readonly<Record<string, readonly unknown[]>>): Promise<void> {
    const names = Object.keys(this.#columns)
    const columnData = names.map((name) => this.#source(name, [...(values[name] ?? [])]))
    const rowGroupSize = Math.max(1, columnData[0]?.data.length ?? 0)
    try {
      void this.#writer.write({ columnData, rowGroupSize }) // ByteWriter has nothing to await
      await this.#flush()
    } catch (error) {
      await this.#output.abort()
      throw error
    }
  }

  async close(): Promise<void> {
    try {
      await this.#writer.finish()
      await this.#flush()
    } catch (error) {
      await this.#output.abort()
      throw error
    }
    await this.#output.close()
  }

  abort(): Promise<void> {
    return this.#output.abort()
  }

  /** Values of lists are hashes, for which a dictionary never pays. */
  #source(name: string, data: unknown[]): ColumnSource {
    const isList = this.#columns[name]?.endsWith('[]') === true
    return isList ? { name, data, encoding: 'PLAIN' } : { name, data }
  }

  async #flush(): Promise<void> {
    await this.#output.write(this.#bytes.getBytes())
    this.#bytes.index = 0
  }
}

function schemaOf(columns: Columns): SchemaElement[] {
  const entries = Object.entries(columns)
  return [
    { name: 'root', num_children: entries.length },
    ...entries.flatMap(([name, type]) => elementsOf(name, type)),
  ]
}

function elementsOf(name: string, type: ColumnType): SchemaElement[] {
  const repetition_type = 'REQUIRED'
  if (type !== 'int32[]' && type !== 'int64[]') {
    return [{ name, repetition_type, ...PHYSICAL[type] }]
  }
  const element = PHYSICAL[type === 'int32[]' ? 'int32' : 'int64']
  return [
    { name, repetition_type, converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type, ...element },
  ]
}
