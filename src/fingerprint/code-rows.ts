/**
 * Vectors as codes of eight bits, a row each, and the products of one vector with many of them: the loop of an
 * exhaustive search. In WebAssembly with SIMD, or by its twin; products are whole numbers, the same from both.
 */

import { type KernelsName, kernels } from './kernels.ts'
import { WasmMemory } from './wasm-memory.ts'

/** Codes are from -127 to 127. */
export const CODE_MAX = 127
/** As many rows are multiplied at a time, at most. */
export const DOTS_MAX = 4096

const NONE = new Int32Array(0)

export interface CodeRows {
  readonly name: KernelsName
  readonly bytes: number
  /** Puts the codes of a row there, and makes room for it. */
  put(row: number, codes: Int8Array): void
  /** Products with `count` rows from `from` on. Good until the next call. */
  dots(query: Int16Array, from: number, count: number): Int32Array
  /** Products with some rows, which are counted from `from` on. Good until the next call. */
  dotsOf(query: Int16Array, from: number, rows: Int32Array): Int32Array
}

export function codeRows(dimensions: number, name: KernelsName = kernels().name): CodeRows {
  return name === 'wasm' ? new WasmCodeRows(dimensions) : new TwinCodeRows(dimensions)
}

class WasmCodeRows implements CodeRows {
  readonly name = 'wasm'
  readonly #memory = new WasmMemory()
  readonly #stride: number
  readonly #query: number
  readonly #out: number
  readonly #asked: number
  readonly #codes: number
  #rows = 0

  constructor(dimensions: number) {
    this.#stride = Math.ceil(dimensions / 16) * 16
    this.#query = this.#memory.heap
    this.#out = this.#query + this.#stride * 2
    this.#asked = this.#out + DOTS_MAX * 4
    this.#codes = this.#asked + DOTS_MAX * 4
    this.#memory.reserve(this.#codes)
  }

  get bytes(): number {
    return this.#memory.bytes().byteLength
  }

  put(row: number, codes: Int8Array): void {
    const at = this.#codes + row * this.#stride
    if (row >= this.#rows) {
      this.#memory.reserve(at + this.#stride)
      this.#rows = row + 1
    }
    this.#memory.placeArray(codes, at)
  }

  dots(query: Int16Array, from: number, count: number): Int32Array {
    this.#place(query)
    const codes = this.#codes + from * this.#stride
    const { exports } = this.#memory
    exports.codeDots(this.#query, this.#stride, codes, Math.min(count, DOTS_MAX), this.#out)
    return this.#products(count)
  }

  dotsOf(query: Int16Array, from: number, rows: Int32Array): Int32Array {
    const count = Math.min(rows.length, DOTS_MAX)
    if (count === 0) return NONE
    this.#place(query)
    this.#memory.placeArray(rows.subarray(0, count), this.#asked)
    const codes = this.#codes + from * this.#stride
    const { exports } = this.#memory
    exports.codeDotsOf(this.#query, this.#stride, codes, this.#asked, count, this.#out)
    return this.#products(count)
  }

  #place(query: Int16Array): void {
    const end = this.#query + this.#stride * 2
    this.#memory.bytes().fill(0, this.#query + query.byteLength, end)
    this.#memory.placeArray(query, this.#query)
  }

  #products(count: number): Int32Array {
    const { buffer } = this.#memory.exports.memory
    return new Int32Array(buffer, this.#out, Math.min(count, DOTS_MAX))
  }
}

class TwinCodeRows implements CodeRows {
  readonly name = 'twin'
  readonly #dimensions: number
  readonly #out = new Int32Array(DOTS_MAX)
  #codes: Int8Array = new Int8Array(0)

  constructor(dimensions: number) {
    this.#dimensions = dimensions
  }

  get bytes(): number {
    return this.#codes.byteLength
  }

  put(row: number, codes: Int8Array): void {
    const end = (row + 1) * this.#dimensions
    if (end > this.#codes.length) {
      const grown = new Int8Array(Math.max(end, this.#codes.length * 2))
      grown.set(this.#codes)
      this.#codes = grown
    }
    this.#codes.set(codes, row * this.#dimensions)
  }

  dots(query: Int16Array, from: number, count: number): Int32Array {
    const rows = Math.min(count, DOTS_MAX)
    for (let at = 0; at < rows; at++) this.#out[at] = this.#dot(query, from + at)
    return this.#out.subarray(0, rows)
  }

  dotsOf(query: Int16Array, from: number, rows: Int32Array): Int32Array {
    const some = rows.subarray(0, DOTS_MAX)
    for (let at = 0; at < some.length; at++)
      this.#out[at] = this.#dot(query, from + (some[at] ?? 0))
    return this.#out.subarray(0, some.length)
  }

  #dot(query: Int16Array, row: number): number {
    let at = row * this.#dimensions
    let sum = 0
    for (let number = 0; number < this.#dimensions; number++) {
      sum += (query[number] ?? 0) * (this.#codes[at++] ?? 0)
    }
    return sum
  }
}
