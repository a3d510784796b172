/** The records of a CSV or TSV shard, as reader and writer both see them. The first is the header. */

import { isUtf8 } from 'node:buffer'

import { CsvParser } from './csv-parser.ts'
import type { ExpansionLimits } from './decompress.ts'
import type { Shard } from './document.ts'
import type { LineScanner } from './line-scanner.ts'
import { type Damage, requireNoNul, requireUtf8, tooLong, Unfit } from './unfit.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'

const NEWLINE = Buffer.from('\n')

/** What an unclosed quote swallows is bounded: after `lineBytesMax` bytes the next line begins a record. */
export class RecordScanner {
  /** The original bytes, without the last newline; good until the next record. */
  bytes: Buffer = Buffer.alloc(0)
  /** From 0: the line in which it begins. */
  line = 0
  readonly parser: CsvParser
  readonly #bytesMax: number
  #scanner: LineScanner | undefined
  #parts: Buffer[] = []
  #length = 0

  constructor(delimiter: string, hasQuotes: boolean, bytesMax: number) {
    this.parser = new CsvParser(delimiter, hasQuotes)
    this.#bytesMax = bytesMax
  }

  feed(scanner: LineScanner): void {
    this.#scanner = scanner
  }

  next(): boolean {
    const scanner = this.#scanner
    while (scanner?.next()) {
      const isFirst = !this.parser.isOpen
      if (isFirst && !scanner.isTooLong && isBlank(scanner.bytes, 'csv')) continue
      if (isFirst) this.#begin(scanner.number)
      if (this.#take(scanner)) return true
    }
    return false
  }

  /** At the end of the file: a record whose quote never closed. */
  unclosed(): boolean {
    if (!this.parser.isOpen) return false
    this.parser.problem ??= new Unfit(
      'invalid-csv',
      `its last quote, in the record that begins in line ${this.line + 1}, never closes`,
    )
    this.#finish()
    return true
  }

  #begin(line: number): void {
    this.parser.begin()
    this.line = line
    this.#parts = []
    this.#length = 0
  }

  #take(scanner: LineScanner): boolean {
    const { parser } = this
    this.#length += scanner.length + 1
    if (scanner.isTooLong || this.#length - 1 > this.#bytesMax) {
      parser.problem = tooLong(this.#length - 1, this.#bytesMax)
      this.#parts = [this.#parts[0]?.subarray(0, 256) ?? scanner.beginning]
      this.#finish()
      return true
    }
    const line = scanner.offset === 0 ? withoutMark(scanner.bytes) : scanner.bytes
    this.#check(line)
    // What is not UTF-8 has its quotes and delimiters at the same places in Latin-1.
    const isComplete = parser.feed(line.toString(isUtf8(line) ? 'utf8' : 'latin1'))
    if (isComplete && this.#parts.length === 0) {
      this.bytes = scanner.bytes
      return true
    }
    if (this.#parts.length > 0) this.#parts.push(NEWLINE)
    this.#parts.push(Buffer.from(scanner.bytes))
    if (isComplete) this.#finish()
    return isComplete
  }

  #check(line: Buffer): void {
    if (this.parser.problem) return
    try {
      requireUtf8(line)
      requireNoNul(line)
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      this.parser.problem = error
    }
  }

  #finish(): void {
    this.bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.parser.isOpen = false
  }
}

export function delimiterOf({ format }: Shard): string {
  return format === 'tsv' ? '\t' : ','
}

export class ShardRecords {
  readonly #lines: ShardLines
  readonly #scanner: RecordScanner

  constructor(
    shard: Shard,
    options: { lineBytesMax: number; hasQuotes: boolean },
    limits?: ExpansionLimits,
  ) {
    const delimiter = delimiterOf(shard)
    this.#lines = new ShardLines(shard, options.lineBytesMax, limits)
    this.#scanner = new RecordScanner(delimiter, options.hasQuotes, options.lineBytesMax)
  }

  get damage(): Damage | undefined {
    return this.#lines.damage
  }

  /** The scanner once a block: ask it for `next()` until there is none. At the end, ask for `unclosed()`. */
  async *scan(): AsyncGenerator<RecordScanner> {
    for await (const lines of this.#lines.scan()) {
      this.#scanner.feed(lines)
      yield this.#scanner
    }
  }
}
