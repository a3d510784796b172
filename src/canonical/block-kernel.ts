/**
 * The loops of canonical text in WebAssembly, block by block: memory stays small however long a text is. Where
 * WebAssembly is missing there is none, and callers have a twin in TypeScript with the same answers.
 */

import { preferredKernels, webAssembly, type WebAssemblyMemory } from '../platform/web-assembly.ts'
import { kernelsModule } from './kernels-module.ts'

/** What `assembly/canonical/index.ts` exports. */
interface Exports {
  readonly memory: WebAssemblyMemory
  open(): void
  input(): number
  output(): number
  kinds(): number
  collapse(length: number, lowers: boolean, wasSpace: boolean): number
  inertUntil(length: number): number
}

const BLOCK_BYTES = 64 * 1024
const SPACE = 0x20

/** What is known of a code point: it stands for itself wherever it stands, or it does not. */
export const INERT = 1
export const NOT_INERT = 2
/** Of code points below this one kinds are known; those above are never inert. */
export const KINDS_END = 0x20000

export class BlockKernel {
  readonly #exports: Exports
  readonly #input: Uint8Array
  readonly #output: Uint8Array
  readonly #kinds: Uint8Array

  constructor(exports: Exports) {
    this.#exports = exports
    const { buffer } = exports.memory
    exports.open()
    this.#input = new Uint8Array(buffer, exports.input(), BLOCK_BYTES)
    this.#output = new Uint8Array(buffer, exports.output(), BLOCK_BYTES)
    this.#kinds = new Uint8Array(buffer, exports.kinds(), KINDS_END)
  }

  /** Runs of ASCII white space become one space, with none at either end. Gives the length in `to`. */
  collapse(bytes: Uint8Array, to: Uint8Array, lowers: boolean): number {
    let length = 0
    let isSpace = true
    for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
      const block = bytes.subarray(from, from + BLOCK_BYTES)
      this.#input.set(block)
      const made = this.#exports.collapse(block.length, lowers, isSpace)
      if (made === 0) continue
      to.set(this.#output.subarray(0, made), length)
      length += made
      isSpace = this.#output[made - 1] === SPACE
    }
    return length > 0 && isSpace ? length - 1 : length
  }

  /** Where, from `from` on, the first code point is that is not known to be inert. The bytes are UTF-8. */
  inertUntil(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length;) {
      const end = blockEnd(bytes, at)
      this.#input.set(bytes.subarray(at, end))
      const until = at + this.#exports.inertUntil(end - at)
      if (until < end) return until
      at = end
    }
    return bytes.length
  }

  kindOf(point: number): number {
    return point < KINDS_END ? (this.#kinds[point] ?? NOT_INERT) : NOT_INERT
  }

  learn(point: number, kind: number): void {
    this.#kinds[point] = kind
  }
}

/** No code point is cut in two. */
function blockEnd(bytes: Uint8Array, from: number): number {
  let end = from + BLOCK_BYTES
  if (end >= bytes.length) return bytes.length
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return end
}

let made: BlockKernel | undefined

/** The kernel of this thread. */
export function blockKernel(): BlockKernel | undefined {
  if (made || !webAssembly || preferredKernels() === 'twin') return made
  const module = new webAssembly.Module(Buffer.from(kernelsModule, 'base64'))
  // safe: a test compiles the sources again, whose exports the interface describes
  made = new BlockKernel(new webAssembly.Instance(module).exports as Exports)
  return made
}
