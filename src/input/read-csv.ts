/**
 * Documents of CSV and TSV. The first record names the columns; one that cannot be used is the file's only
 * reject, since every row would say the same.
 */

import { Batch } from './batch.ts'
import type { Document, Reject, Shard } from './document.ts'
import { DocumentMaker } from './make-document.ts'
import type { ReadingOptions } from './options.ts'
import { type Damage, truncated, Unfit } from './unfit.ts'
import { type RecordScanner, ShardRecords } from './shard-records.ts'

type Items = readonly (Document | Reject)[]

export async function* readCsv(shard: Shard, options: ReadingOptions): AsyncGenerator<Items> {
  const records = new ShardRecords(shard, options, options)
  const rows = new Rows(new DocumentMaker(shard, options), options.resume)
  const batch = new Batch(options)
  let last: RecordScanner | undefined
  for await (const scanner of records.scan()) {
    last = scanner
    while (scanner.next()) {
      const item = rows.read(scanner)
      if (item && batch.add(item, scanner.bytes.length)) yield batch.take()
    }
    if (rows.isOver) break
  }
  const end = !rows.isOver && last ? rows.readEnd(last, records.damage) : undefined
  if (end) batch.add(end, 0)
  if (!batch.isEmpty) yield batch.take()
}

/** Turns records into items; the first is the header. */
class Rows {
  /** The header cannot be used. */
  isOver = false
  readonly #maker: DocumentMaker
  readonly #resume: number
  #columns: ReadonlyMap<string, number> | undefined
  #width = 0
  #position = 0

  constructor(maker: DocumentMaker, resume: number) {
    this.#maker = maker
    this.#resume = resume
  }

  read(scanner: RecordScanner): Document | Reject | undefined {
    if (this.isOver) return undefined
    const isHeader = this.#columns === undefined
    const position = isHeader ? 0 : this.#position++
    const isPassed = position < this.#resume
    if (isPassed && !isHeader) return undefined
    const place = { position, line: scanner.line + 1, offset: 0 }
    try {
      if (scanner.parser.problem) throw scanner.parser.problem
      if (!isHeader) return this.#maker.ofValue(this.#row(scanner.parser.fields), place, never)
      this.#readHeader(scanner.parser.fields)
      return undefined
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      this.isOver = isHeader
      return isPassed ? undefined : this.#maker.reject(place, error, scanner.bytes)
    }
  }

  /** A quote that never closed, or a compressed file that ended early; the latter explains the former. */
  readEnd(scanner: RecordScanner, damage: Damage | undefined): Document | Reject | undefined {
    if (damage === undefined) return scanner.unclosed() ? this.read(scanner) : undefined
    if (this.#position < this.#resume) return undefined
    const place = { position: this.#position, line: scanner.line + 1, offset: 0 }
    return this.#maker.reject(place, truncated(damage, 0), '')
  }

  #readHeader(names: readonly string[]): void {
    const { text, id, extras } = this.#maker
    const columns = new Map<string, number>()
    for (const { name } of [text, id, ...extras.values()]) {
      const at = names.indexOf(name)
      if (at >= 0 && names.indexOf(name, at + 1) >= 0) {
        throw new Unfit(
          'invalid-csv',
          `its header has the column ${name} twice; rename one of them`,
        )
      }
      if (at >= 0) columns.set(name, at)
    }
    if (!columns.has(text.name)) {
      const has = names.slice(0, 20).join(', ')
      throw new Unfit('missing-field', `its header has no column ${text.name}; it has: ${has}`)
    }
    this.#columns = columns
    this.#width = names.length
  }

  #row(fields: readonly string[]): object {
    if (fields.length !== this.#width) {
      const message = `it has ${fields.length} fields, and the header has ${this.#width}`
      throw new Unfit('invalid-csv', message)
    }
    const row = new Map<string, string>()
    for (const [name, at] of this.#columns ?? []) row.set(name, fields[at] ?? '')
    return Object.fromEntries(row)
  }
}

/** Ids in CSV are strings, so there is nothing to be inexact about. */
const never = (): undefined => undefined
