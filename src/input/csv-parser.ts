/**
 * Takes a record of CSV or TSV apart, line by line: a quoted field may go on in the next line (RFC 4180).
 *
 * Quotes mean something only at the beginning of a field, so that `5" disk` is text. What is wrong is noted
 * and parsing goes on to the end of the record, so that one broken record costs no other.
 */

import { Unfit } from './unfit.ts'

const QUOTE = 34

export class CsvParser {
  fields: string[] = []
  problem: Unfit | undefined
  /** Within a quoted field: the record goes on in the next line. */
  isOpen = false
  readonly #delimiter: string
  readonly #hasQuotes: boolean
  #partial = ''

  constructor(delimiter: string, hasQuotes: boolean) {
    this.#delimiter = delimiter
    this.#hasQuotes = hasQuotes
  }

  /** Forgets the record before. */
  begin(): void {
    this.fields = []
    this.problem = undefined
    this.isOpen = false
    this.#partial = ''
  }

  /** Gives a line without its newline. Whether the record is complete. */
  feed(line: string): boolean {
    const end = line.endsWith('\r') ? line.length - 1 : line.length
    let isQuoted = this.isOpen
    if (isQuoted) this.#partial += '\n'
    for (let at = 0; ; at++) {
      if (!isQuoted && this.#hasQuotes && at < end && line.charCodeAt(at) === QUOTE) {
        isQuoted = true
        this.#partial = ''
        at++
      }
      at = isQuoted ? this.#quoted(line, at, end) : this.#plain(line, at, end)
      if (this.isOpen) return false
      if (at >= end) return true
      isQuoted = false
    }
  }

  #plain(line: string, at: number, end: number): number {
    const next = line.indexOf(this.#delimiter, at)
    const stop = next < 0 ? end : next
    this.fields.push(line.slice(at, stop))
    return stop
  }

  #quoted(line: string, from: number, end: number): number {
    this.isOpen = true
    for (let at = from; ;) {
      const quote = line.indexOf('"', at)
      if (quote < 0) {
        this.#partial += line.slice(at)
        return end
      }
      this.#partial += line.slice(at, quote)
      if (line.charCodeAt(quote + 1) !== QUOTE) return this.#closed(line, quote + 1, end)
      this.#partial += '"'
      at = quote + 2
    }
  }

  #closed(line: string, at: number, end: number): number {
    this.isOpen = false
    this.fields.push(this.#partial)
    if (at >= end || line.startsWith(this.#delimiter, at)) return at
    const message = `field ${this.fields.length} goes on behind its closing quote; quotes within are doubled`
    this.problem ??= new Unfit('invalid-csv', message)
    const next = line.indexOf(this.#delimiter, at)
    return next < 0 ? end : next
  }
}
