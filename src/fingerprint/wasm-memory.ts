/**
 * One instance of the compiled module and its memory.
 *
 * The module is compiled at first use, at once: it is a few kilobytes. Memory grows with the largest input
 * and cannot shrink, so an instance that became very large is dropped after the call and recreated.
 */

import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { entropySteps } from './adaptive-width.ts'
import { gearTable } from './gear.ts'
import { kernelsModule } from './kernels-module.ts'
import { textClasses } from './text-classes.ts'
import {
  webAssembly,
  type WebAssemblyMemory,
  type WebAssemblyModule,
} from '../platform/web-assembly.ts'

/** What `assembly/index.ts` exports. Places and sizes are in bytes. */
export interface KernelExports {
  readonly memory: WebAssemblyMemory
  heap(): number
  reserve(end: number): void
  results(): number
  folded(): number
  separators(): number
  unspaced(): number
  steps(): number
  inspect(text: number, length: number): number
  sample(text: number, length: number): number
  sketch(text: number, length: number, kind: number, width: number, slots: number): number
  sketchAndSet(text: number, length: number, kind: number, width: number, slots: number): number
  shingleSet(text: number, length: number, kind: number, width: number): number
  simhash(text: number, length: number, kind: number, width: number): number
  minhash64(text: number, length: number, width: number, slots: number, at: number): number
  xxhash64(at: number, length: number): void
  denseBits(vector: number, stride: number, planes: number, count: number, out: number): void
  hadamardBits(vector: number, size: number, flips: number, out: number): void
  codeDots(query: number, stride: number, codes: number, count: number, out: number): void
  codeDotsOf(
    query: number,
    stride: number,
    codes: number,
    rows: number,
    count: number,
    out: number,
  ): void
  rowProducts(vector: number, bytes: number, rows: number, count: number, out: number): void
  nearestRows(
    vectors: number,
    stride: number,
    count: number,
    bytes: number,
    rows: number,
    halves: number,
    rowCount: number,
    out: number,
  ): void
  codeSums(table: number, groups: number, codes: number, count: number, out: number): void
  gear(): number
  cut(
    bytes: number,
    length: number,
    minimum: number,
    average: number,
    maximum: number,
    early: number,
    late: number,
    isLast: boolean,
    out: number,
  ): number
}

const PAGE_BYTES = 65_536
/** Loads of vectors may reach this far over an end. */
const SLACK_BYTES = 64
const KEPT_BYTES_MAX = 64 * 1024 * 1024
/** A UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3

const encoder = new TextEncoder()
let compiled: WebAssemblyModule | undefined

function instantiate(): KernelExports {
  if (webAssembly === undefined) {
    throw new PrestigeError('INVALID_USAGE', 'This engine has no WebAssembly. Use the twin.')
  }
  compiled ??= new webAssembly.Module(Buffer.from(kernelsModule, 'base64'))
  // safe: a test compiles the sources again, whose exports this interface describes.
  return new webAssembly.Instance(compiled).exports as KernelExports
}

export class WasmMemory {
  readonly exports: KernelExports = instantiate()
  /** Where input goes. */
  readonly heap: number = this.exports.heap()
  readonly #results = this.exports.results()
  #bytes = new Uint8Array(this.exports.memory.buffer)
  #view = new DataView(this.exports.memory.buffer)

  constructor() {
    const { separators, unspaced } = textClasses()
    this.bytes().set(separators, this.exports.separators())
    this.bytes().set(unspaced, this.exports.unspaced())
    this.placeArray(gearTable(), this.exports.gear())
    this.placeArray(entropySteps(), this.exports.steps())
  }

  /** All of memory. Growing it detaches the view before, so it is requested again after every call. */
  bytes(): Uint8Array {
    if (this.#bytes.byteLength === 0) this.#refresh()
    return this.#bytes
  }

  #refresh(): void {
    this.#bytes = new Uint8Array(this.exports.memory.buffer)
    this.#view = new DataView(this.exports.memory.buffer)
  }

  reserve(end: number): void {
    try {
      this.exports.reserve(end)
    } catch (cause) {
      throw new PrestigeError('INVALID_VALUE', `No memory for ${end} bytes of input.`, { cause })
    }
  }

  /** For what does not grow: without the megabyte that `reserve` adds. */
  reserveExactly(end: number): void {
    const missing = end + SLACK_BYTES - this.bytes().byteLength
    if (missing > 0) this.exports.memory.grow(Math.ceil(missing / PAGE_BYTES))
  }

  /** Puts text or bytes at `at` and gives their length there. Text is encoded straight into memory. */
  place(input: string | Bytes, at: number = this.heap): number {
    if (typeof input === 'string') return this.#encode(input, at)
    this.reserve(at + input.byteLength)
    this.bytes().set(input, at)
    return input.byteLength
  }

  #encode(text: string, at: number): number {
    this.reserve(at + text.length)
    const { read, written } = encoder.encodeInto(text, this.bytes().subarray(at))
    if (read === text.length) {
      this.reserve(at + written)
      return written
    }
    const rest = text.slice(read)
    this.reserve(at + written + rest.length * BYTES_PER_UNIT_MAX)
    return written + encoder.encodeInto(rest, this.bytes().subarray(at + written)).written
  }

  uint32Result(at: number): number {
    this.bytes()
    return this.#view.getUint32(this.#results + at, true)
  }

  float64Result(at: number): number {
    this.bytes()
    return this.#view.getFloat64(this.#results + at, true)
  }

  uint64Result(at: number): bigint {
    this.bytes()
    return this.#view.getBigUint64(this.#results + at, true)
  }

  /** Memory itself: the next call may write over it. */
  lentUint16s(at: number, count: number): Uint16Array {
    return new Uint16Array(this.exports.memory.buffer, at, count)
  }

  uint32s(at: number, count: number): Uint32Array {
    return this.lentUint32s(at, count).slice()
  }

  /** Memory itself: the next call may write over it. */
  lentUint32s(at: number, count: number): Uint32Array {
    return new Uint32Array(this.exports.memory.buffer, at, count)
  }

  /** Puts the memory of any typed array at `at`. */
  placeArray(array: ArrayBufferView, at: number): void {
    this.bytes().set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at)
  }

  get isOversized(): boolean {
    return this.bytes().byteLength > KEPT_BYTES_MAX
  }
}
