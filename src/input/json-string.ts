/**
 * A JSON string, read to the bytes of its text without a string in between: in WebAssembly, block by block, so that
 * memory stays small. What cannot be read so, and where there is no WebAssembly, is left to JSON.parse.
 */

import { EMPTY } from '../bytes.ts'
import { preferredKernels, webAssembly, type WebAssemblyMemory } from '../web-assembly.ts'
import { kernelsModule } from './kernels-module.ts'

/** What `assembly/input/index.ts` exports. */
interface Exports {
  readonly memory: WebAssemblyMemory
  input(): number
  output(): number
  results(): number
  unescape(length: number, isLast: boolean): number
}

const BLOCK_BYTES = 64 * 1024
const SLAB_BYTES = 512 * 1024
/** An answer of the kernel: the quote at the end was found. */
const CLOSED = 1
const REFUSED = 2

export interface JsonString {
  readonly text: Buffer
  /** Behind the closing quote. */
  readonly end: number
}

class JsonStrings {
  readonly #exports: Exports
  readonly #input: Uint8Array
  readonly #output: Uint8Array
  readonly #results: Uint32Array
  #slab: Buffer = EMPTY
  #used = 0

  constructor(exports: Exports) {
    const { buffer } = exports.memory
    this.#exports = exports
    this.#input = new Uint8Array(buffer, exports.input(), BLOCK_BYTES)
    this.#output = new Uint8Array(buffer, exports.output(), BLOCK_BYTES)
    this.#results = new Uint32Array(buffer, exports.results(), 2)
  }

  read(bytes: Buffer, start: number): JsonString | undefined {
    const text = this.#room(bytes.length - start)
    let made = 0
    let at = start
    for (;;) {
      const block = bytes.subarray(at, at + BLOCK_BYTES)
      const isLast = at + block.length === bytes.length
      this.#input.set(block)
      const state = this.#exports.unescape(block.length, isLast)
      if (state === REFUSED) return undefined
      const [read = 0, written = 0] = this.#results
      text.set(this.#output.subarray(0, written), made)
      made += written
      at += read
      if (state === CLOSED) {
        if (text.buffer === this.#slab.buffer) this.#used += made
        return { text: text.subarray(0, made), end: at }
      }
      if (isLast) return undefined
    }
  }

  /** Texts that come together share memory: most are gone together, and one piece is cheaper than many. */
  #room(bytes: number): Buffer {
    if (bytes > SLAB_BYTES / 8) return Buffer.allocUnsafeSlow(bytes)
    if (bytes > this.#slab.length - this.#used) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    return this.#slab.subarray(this.#used, this.#used + bytes)
  }
}

let made: JsonStrings | undefined

/** The string whose opening quote is before `start`. The bytes are UTF-8. */
export function readJsonString(bytes: Buffer, start: number): JsonString | undefined {
  if (!made) {
    if (!webAssembly || preferredKernels() === 'twin') return undefined
    const module = new webAssembly.Module(Buffer.from(kernelsModule, 'base64'))
    // safe: a test compiles the sources again, whose exports the interface describes
    made = new JsonStrings(new webAssembly.Instance(module).exports as Exports)
  }
  return made.read(bytes, start)
}
