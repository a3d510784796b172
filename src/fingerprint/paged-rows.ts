/**
 * Rows of numbers of one width that grow without being copied: in pages of 4,096 rows. Only the first page
 * is ever moved, while it doubles from two rows to its full size, so that a table of a few rows is tiny.
 *
 * Row r is in `page(r)`, from `rowInPage(r) * width` on. Numbers that were never written are 0.
 */

import { PrestigeError } from '../platform/errors.ts'

const PAGE_BITS = 12
const PAGE_ROWS = 1 << PAGE_BITS
const FIRST_ROWS = 2

type Numbers =
  | Float64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>

/** Rows are numbered in 31 bits, so that engines keep their numbers in registers. */
export const ROWS_MAX = 2 ** 31 - 2

export function rowInPage(row: number): number {
  return row & (PAGE_ROWS - 1)
}

export class PagedRows<A extends Numbers> {
  readonly width: number
  readonly #make: (length: number) => A
  readonly #none: A
  readonly #pages: A[] = []
  #rows = 0

  constructor(width: number, make: (length: number) => A) {
    this.width = width
    this.#make = make
    this.#none = make(0)
  }

  get bytes(): number {
    return this.#rows * this.width * this.#none.BYTES_PER_ELEMENT
  }

  page(row: number): A {
    return this.#pages[row >>> PAGE_BITS] ?? this.#none
  }

  /** Makes room for as many rows. Pages taken before may be stale afterwards. */
  reserve(rows: number): void {
    if (rows <= this.#rows) return
    if (rows > ROWS_MAX) {
      throw new PrestigeError('INVALID_VALUE', `One table holds at most ${ROWS_MAX} rows.`)
    }
    if (this.#rows < PAGE_ROWS) this.#growFirst(rows)
    while (this.#rows < rows) {
      this.#pages.push(this.#make(PAGE_ROWS * this.width))
      this.#rows += PAGE_ROWS
    }
  }

  /** The memory of the first rows, page by page: to be kept, or to be filled. */
  *memory(rows: number): Generator<Uint8Array> {
    this.reserve(rows)
    for (let from = 0; from < rows; from += PAGE_ROWS) {
      const { buffer, byteOffset, BYTES_PER_ELEMENT } = this.page(from)
      const numbers = Math.min(PAGE_ROWS, rows - from) * this.width
      yield new Uint8Array(buffer, byteOffset, numbers * BYTES_PER_ELEMENT)
    }
  }

  #growFirst(rows: number): void {
    let size = Math.max(FIRST_ROWS, this.#rows)
    while (size < rows && size < PAGE_ROWS) size *= 2
    const page = this.#make(size * this.width)
    page.set(this.#pages[0] ?? this.#none)
    this.#pages[0] = page
    this.#rows = size
  }
}

export function int32Rows(width: number): PagedRows<Int32Array<ArrayBuffer>> {
  return new PagedRows(width, (length) => new Int32Array(length))
}

export function uint32Rows(width: number): PagedRows<Uint32Array<ArrayBuffer>> {
  return new PagedRows(width, (length) => new Uint32Array(length))
}

export function float32Rows(width: number): PagedRows<Float32Array<ArrayBuffer>> {
  return new PagedRows(width, (length) => new Float32Array(length))
}

export function float64Rows(width: number): PagedRows<Float64Array<ArrayBuffer>> {
  return new PagedRows(width, (length) => new Float64Array(length))
}
