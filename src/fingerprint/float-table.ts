/**
 * Rows of numbers that vectors are compared with, and the codes that stand for them: what an index of lists and product
 * codes is computed by. In WebAssembly with SIMD, or by its twin; sums are in single precision here and in double there,
 * so the last places of a number may differ, and of two rows that are as near either may be the nearest.
 *
 * A table has groups of as many rows each. A vector has as many parts, and each part is compared with the rows of its
 * group. The width of a part is a multiple of 4.
 */

import { type KernelsName, kernels } from './kernels.ts'
import { WasmMemory } from './wasm-memory.ts'

/** Rows of a group that codes of one byte stand for. */
export const CODED_ROWS = 256
/** Vectors whose nearest rows are found at a time, at most. */
export const NEAREST_MAX = 256
/** Rows of codes that are summed at a time, at most. */
export const SUMS_MAX = 64
/** Rows are compared four at a time. */
const LANES = 4

export interface TableShape {
  readonly groups: number
  /** Rows of a group. */
  readonly rows: number
  readonly width: number
  /** Vectors whose nearest rows are found at a time, at most. Default: `NEAREST_MAX`. */
  readonly nearestMax?: number
}

export interface FloatTable {
  readonly shape: TableShape
  readonly bytes: number
  /** All rows, group by group. */
  useRows(numbers: Float32Array): void
  numbers(): Float32Array
  /** A row of the first group. Good until the next call. */
  row(row: number): Float32Array
  /** Half the squares of the rows of the first group. Good until the next call. */
  halves(): Float32Array
  /** Of every part of a vector, its products with the rows of its group. Good until the next call. */
  products(vector: Float32Array): Float32Array
  /** The rows nearest to the first part of all vectors, then to the second, and so on. Good until the next call. */
  nearest(vectors: Float32Array, count: number): Uint32Array
}

export function floatTable(shape: TableShape, name: KernelsName = kernels().name): FloatTable {
  return name === 'wasm' ? new WasmFloatTable(shape) : new TwinFloatTable(shape)
}

class WasmFloatTable implements FloatTable {
  readonly shape: TableShape
  readonly #memory = new WasmMemory()
  /** Rows of a group with those that fill it up to whole lanes, which are never the nearest. */
  readonly #rows: number
  readonly #numbers: number
  readonly #halves: number
  readonly #out: number
  readonly #vectors: number

  constructor(shape: TableShape) {
    const { groups, rows, width, nearestMax = NEAREST_MAX } = shape
    this.shape = shape
    this.#rows = Math.ceil(rows / LANES) * LANES
    const all = groups * this.#rows
    this.#numbers = this.#memory.heap
    this.#halves = this.#numbers + all * width * 4
    this.#out = this.#halves + all * 4
    this.#vectors = this.#out + Math.max(all, nearestMax * (groups + 1)) * 4
    this.#memory.reserveExactly(this.#vectors + nearestMax * groups * width * 4)
  }

  get bytes(): number {
    return this.#memory.bytes().byteLength
  }

  useRows(numbers: Float32Array): void {
    const { groups, rows, width } = this.shape
    this.#floats(this.#numbers, groups * this.#rows * width).fill(0)
    const halves = this.#floats(this.#halves, groups * this.#rows).fill(Infinity)
    for (let group = 0; group < groups; group++) {
      const own = numbers.subarray(group * rows * width, (group + 1) * rows * width)
      this.#memory.placeArray(own, this.#numbers + group * this.#rows * width * 4)
      halves.set(halfSquares(own, width), group * this.#rows)
    }
  }

  numbers(): Float32Array {
    const { groups, rows, width } = this.shape
    const all = new Float32Array(groups * rows * width)
    for (let group = 0; group < groups; group++) {
      const from = this.#numbers + group * this.#rows * width * 4
      all.set(this.#floats(from, rows * width), group * rows * width)
    }
    return all
  }

  row(row: number): Float32Array {
    const { width } = this.shape
    return this.#floats(this.#numbers + row * width * 4, width)
  }

  halves(): Float32Array {
    return this.#floats(this.#halves, this.shape.rows)
  }

  products(vector: Float32Array): Float32Array {
    const { groups, rows, width } = this.shape
    const bytes = width * 4
    this.#memory.placeArray(vector, this.#vectors)
    for (let group = 0; group < groups; group++) {
      const part = this.#vectors + group * bytes
      const from = this.#numbers + group * this.#rows * bytes
      const out = this.#out + group * rows * 4
      this.#memory.exports.rowProducts(part, bytes, from, this.#rows, out)
    }
    return this.#floats(this.#out, groups * rows)
  }

  nearest(vectors: Float32Array, count: number): Uint32Array {
    const { groups, width } = this.shape
    const bytes = width * 4
    this.#memory.placeArray(vectors.subarray(0, count * groups * width), this.#vectors)
    for (let group = 0; group < groups; group++) {
      const part = this.#vectors + group * bytes
      const from = this.#numbers + group * this.#rows * bytes
      const halves = this.#halves + group * this.#rows * 4
      // What they scored lies where the numbers of the next group go.
      const out = this.#out + group * count * 4
      const { exports } = this.#memory
      exports.nearestRows(part, groups * bytes, count, bytes, from, halves, this.#rows, out)
    }
    return this.#memory.lentUint32s(this.#out, groups * count)
  }

  #floats(at: number, count: number): Float32Array {
    return new Float32Array(this.#memory.exports.memory.buffer, at, count)
  }
}

class TwinFloatTable implements FloatTable {
  readonly shape: TableShape
  #numbers: Float32Array
  #halves: Float32Array

  constructor(shape: TableShape) {
    this.shape = shape
    this.#numbers = new Float32Array(shape.groups * shape.rows * shape.width)
    this.#halves = new Float32Array(shape.groups * shape.rows)
  }

  get bytes(): number {
    return this.#numbers.byteLength + this.#halves.byteLength
  }

  useRows(numbers: Float32Array): void {
    this.#numbers = numbers.slice()
    this.#halves = halfSquares(numbers, this.shape.width)
  }

  numbers(): Float32Array {
    return this.#numbers.slice()
  }

  row(row: number): Float32Array {
    const { width } = this.shape
    return this.#numbers.subarray(row * width, (row + 1) * width)
  }

  halves(): Float32Array {
    return this.#halves.subarray(0, this.shape.rows)
  }

  products(vector: Float32Array): Float32Array {
    const { rows, width } = this.shape
    return this.#halves.map((_, row) => this.#product(vector, Math.floor(row / rows) * width, row))
  }

  nearest(vectors: Float32Array, count: number): Uint32Array {
    const { groups, rows, width } = this.shape
    const found = new Uint32Array(groups * count)
    for (let at = 0; at < found.length; at++) {
      const group = Math.floor(at / count)
      const from = ((at % count) * groups + group) * width
      let best = -Infinity
      for (let row = 0; row < rows; row++) {
        const inTable = group * rows + row
        const score = this.#product(vectors, from, inTable) - (this.#halves[inTable] ?? 0)
        if (score > best) [best, found[at]] = [score, row]
      }
    }
    return found
  }

  #product(vector: Float32Array, from: number, row: number): number {
    const { width } = this.shape
    let sum = 0
    for (let at = 0; at < width; at++) {
      sum += (vector[from + at] ?? 0) * (this.#numbers[row * width + at] ?? 0)
    }
    return sum
  }
}

function halfSquares(numbers: Float32Array, width: number): Float32Array {
  const halves = new Float32Array(numbers.length / width)
  for (let row = 0; row < halves.length; row++) {
    let square = 0
    for (let at = row * width; at < (row + 1) * width; at++) square += (numbers[at] ?? 0) ** 2
    halves[row] = square / 2
  }
  return halves
}

/** Codes of vectors, a row each, a byte for every group; and what they sum up to by a table of a number a code. */
export interface SummedCodes {
  readonly bytes: number
  put(row: number, codes: Uint8Array): void
  codesAt(row: number): Uint8Array
  /** `CODED_ROWS` numbers for every group. */
  useTable(table: Float32Array): void
  /** Sums of `count` rows from `from` on. Good until the next call. */
  sums(from: number, count: number): Float32Array
}

export function summedCodes(groups: number, name: KernelsName = kernels().name): SummedCodes {
  return name === 'wasm' ? new WasmSummedCodes(groups) : new TwinSummedCodes(groups)
}

class WasmSummedCodes implements SummedCodes {
  readonly #memory = new WasmMemory()
  readonly #groups: number
  readonly #out: number
  readonly #codes: number

  constructor(groups: number) {
    this.#groups = groups
    this.#out = this.#memory.heap + groups * CODED_ROWS * 4
    this.#codes = this.#out + SUMS_MAX * 4
    this.#memory.reserve(this.#codes)
  }

  get bytes(): number {
    return this.#memory.bytes().byteLength
  }

  put(row: number, codes: Uint8Array): void {
    const at = this.#codes + row * this.#groups
    this.#memory.reserve(at + this.#groups)
    this.#memory.placeArray(codes, at)
  }

  codesAt(row: number): Uint8Array {
    const at = this.#codes + row * this.#groups
    return this.#memory.bytes().slice(at, at + this.#groups)
  }

  useTable(table: Float32Array): void {
    this.#memory.placeArray(table, this.#memory.heap)
  }

  sums(from: number, count: number): Float32Array {
    const { exports, heap } = this.#memory
    const codes = this.#codes + from * this.#groups
    exports.codeSums(heap, this.#groups, codes, count, this.#out)
    return new Float32Array(exports.memory.buffer, this.#out, count)
  }
}

class TwinSummedCodes implements SummedCodes {
  readonly #groups: number
  #codes = new Uint8Array(0)
  #table = new Float32Array(0)

  constructor(groups: number) {
    this.#groups = groups
  }

  get bytes(): number {
    return this.#codes.byteLength
  }

  put(row: number, codes: Uint8Array): void {
    const end = (row + 1) * this.#groups
    if (end > this.#codes.length) {
      const grown = new Uint8Array(Math.max(end, this.#codes.length * 2))
      grown.set(this.#codes)
      this.#codes = grown
    }
    this.#codes.set(codes, row * this.#groups)
  }

  codesAt(row: number): Uint8Array {
    return this.#codes.slice(row * this.#groups, (row + 1) * this.#groups)
  }

  useTable(table: Float32Array): void {
    this.#table = table.slice()
  }

  sums(from: number, count: number): Float32Array {
    const sums = new Float32Array(count)
    for (let at = 0; at < count; at++) {
      const codes = this.codesAt(from + at)
      let sum = 0
      codes.forEach((code, group) => (sum += this.#table[group * CODED_ROWS + code] ?? 0))
      sums[at] = sum
    }
    return sums
  }
}
