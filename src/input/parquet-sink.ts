/** Documents as rows of Parquet: strings in four columns, compressed with Snappy, in row groups of some megabytes. */

import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'

import type { RecordsOutput } from './output-file.ts'
import { packedOf, type RawFields } from './raw-fields.ts'

const GROUP_CHARACTERS = 8 * 1024 * 1024
const COLUMNS = ['id', 'source', 'text', 'fields'] as const

type Row = Record<(typeof COLUMNS)[number], string>

export class ParquetSink {
  readonly #output: RecordsOutput
  #bytes = new ByteWriter()
  #writer: ParquetWriter
  #rows: Row[] = []
  #characters = 0

  constructor(output: RecordsOutput) {
    this.#output = output
    this.#writer = this.#newWriter()
  }

  #newWriter(): ParquetWriter {
    const columns = COLUMNS.map((name): SchemaElement => ({
      name,
      type: 'BYTE_ARRAY',
      converted_type: 'UTF8',
      repetition_type: 'REQUIRED',
    }))
    const schema = [{ name: 'root', num_children: columns.length }, ...columns]
    return new ParquetWriter({ writer: this.#bytes, schema, statistics: false })
  }

  async write(record: {
    readonly id: string
    readonly source: string
    readonly text: string
    readonly others: RawFields
  }): Promise<void> {
    const { id, source, text } = record
    const row = { id, source, text, fields: packedOf(record) }
    const bytes = Object.values(row).reduce((sum, value) => sum + Buffer.byteLength(value), 0)
    if (this.#output.add(bytes)) {
      await this.end()
      await this.#output.startNext()
      this.#bytes = new ByteWriter()
      this.#writer = this.#newWriter()
    }
    this.#rows.push(row)
    this.#characters += id.length + text.length + row.fields.length
    if (this.#characters >= GROUP_CHARACTERS) await this.#flush()
  }

  async end(): Promise<void> {
    await this.#flush()
    await this.#writer.finish()
    await this.#output.write(this.#bytes.getBytes())
  }

  async #flush(): Promise<void> {
    const rows = this.#rows
    if (rows.length === 0) return
    const columnData = COLUMNS.map((name) => ({ name, data: rows.map((row) => row[name]) }))
    void this.#writer.write({ columnData, rowGroupSize: rows.length }) // ByteWriter has nothing to await
    await this.#output.write(this.#bytes.getBytes())
    this.#bytes.index = 0
    this.#rows = []
    this.#characters = 0
  }
}
