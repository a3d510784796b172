/**
 * A JSON string, read to the bytes of its text without a string in between: in WebAssembly, block by block, so that
 * memory stays small. What cannot be read so, and where there is no WebAssembly, is left to JSON.parse.
 */

import { EMPTY } from '../platform/bytes.ts'
import { preferredKernels, webAssembly, type WebAssemblyMemory } from '../platform/web-assembly.ts'
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

interface Kernel {
  readonly exports: Exports
  readonly input: Uint8Array
  readonly output: Uint8Array
  readonly results: Uint32Array
}

/**
 * Reads strings one after another. Texts that come together share memory: most are gone together, and one piece is
 * cheaper than many. Where texts are only lent, that memory is used again for those of the next batch.
 */
export class JsonStrings {
  readonly #isLending: boolean
  readonly #slabs: Buffer[] = []
  #slab: Buffer = EMPTY
  #used = 0
  #taken = 0

  constructor(isLending = false) {
    this.#isLending = isLending
  }

  /** Nobody uses the texts that were lent until now any more. */
  takeBack(): void {
    this.#slab = EMPTY
    this.#used = 0
    this.#taken = 0
  }

  /** The string whose opening quote is before `start`. The bytes are UTF-8. */
  read(bytes: Buffer, start: number): JsonString | undefined {
    kernel ??= openKernel()
    if (!kernel) return undefined
    const { exports, input, output, results } = kernel
    const text = this.#room(bytes.length - start)
    let made = 0
    let at = start
    for (;;) {
      const block = bytes.subarray(at, at + BLOCK_BYTES)
      const isLast = at + block.length === bytes.length
      input.set(block)
      const state = exports.unescape(block.length, isLast)
      if (state === REFUSED) return undefined
      const [read = 0, written = 0] = results
      text.set(output.subarray(0, written), made)
      made += written
      at += read
      if (state === CLOSED) {
        if (text.buffer === this.#slab.buffer) this.#used += made
        return { text: text.subarray(0, made), end: at }
      }
      if (isLast) return undefined
    }
  }

  #room(bytes: number): Buffer {
    if (bytes > SLAB_BYTES / 8) return Buffer.allocUnsafeSlow(bytes)
    if (bytes > this.#slab.length - this.#used) {
      this.#slab = this.#nextSlab()
      this.#used = 0
    }
    return this.#slab.subarray(this.#used, this.#used + bytes)
  }

  #nextSlab(): Buffer {
    if (!this.#isLending) return Buffer.allocUnsafeSlow(SLAB_BYTES)
    const slab = this.#slabs[this.#taken] ?? Buffer.allocUnsafeSlow(SLAB_BYTES)
    this.#slabs[this.#taken++] = slab
    return slab
  }
}

let kernel: Kernel | undefined

function openKernel(): Kernel | undefined {
  if (!webAssembly || preferredKernels() === 'twin') return undefined
  const module = new webAssembly.Module(Buffer.from(kernelsModule, 'base64'))
  // safe: a test compiles the sources again, whose exports the interface describes
  const exports = new webAssembly.Instance(module).exports as Exports
  const { buffer } = exports.memory
  return {
    exports,
    input: new Uint8Array(buffer, exports.input(), BLOCK_BYTES),
    output: new Uint8Array(buffer, exports.output(), BLOCK_BYTES),
    results: new Uint32Array(buffer, exports.results(), 2),
  }
}
