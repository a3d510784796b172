/**
 * The loops of canonical text in WebAssembly, block by block: memory stays small however long a text is. Where
 * WebAssembly is missing there is none, and callers have a twin in TypeScript with the same answers.
 */

import { preferredKernels, webAssembly, type WebAssemblyMemory } from '../platform/web-assembly.ts'
import { kernelsModule } from './kernels-module.ts'
import { decodeUtf8 } from './utf8.ts'

/** What `assembly/canonical/index.ts` exports. */
interface Exports {
  readonly memory: WebAssemblyMemory
  open(): void
  input(): number
  output(): number
  kinds(): number
  state(): number
  collapse(length: number, lowers: boolean, wasSpace: boolean): number
  begin(from: number): void
  settle(length: number, form: number): void
}

const BLOCK_BYTES = 64 * 1024
const SPACE = 0x20

/** What is known of a code point: the form leaves it as it is wherever it is, or it does not. */
export const INERT = 1
export const NOT_INERT = 2
/** Inert, and of a script that is written without spaces between words. */
export const UNSPACED = 3
/** The form leaves nothing of it. From 32 on, a kind is the ASCII character that a code point becomes. */
export const REMOVED = 4
/** Of code points below this one kinds are known; those above are never inert. */
const KINDS_END = 0x20000
/** Tables of kinds that the kernel has room for. */
const FORMS = 3

/** How far a block is settled: places in it, and the lengths of the output up to them. */
export interface Settled {
  readonly at: number
  readonly made: number
  /** Where the last code point begins that was not removed. */
  readonly keptAt: number
  readonly keptMade: number
  readonly hasUnspaced: boolean
}

export class BlockKernel {
  readonly #exports: Exports
  readonly #input: Uint8Array
  readonly #output: Uint8Array
  readonly #kinds: Uint8Array
  readonly #state: Uint32Array

  constructor(exports: Exports) {
    this.#exports = exports
    const { buffer } = exports.memory
    exports.open()
    this.#input = new Uint8Array(buffer, exports.input(), BLOCK_BYTES)
    this.#output = new Uint8Array(buffer, exports.output(), BLOCK_BYTES)
    this.#kinds = new Uint8Array(buffer, exports.kinds(), KINDS_END * FORMS)
    this.#state = new Uint32Array(buffer, exports.state(), 5)
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

  /** Takes a block of UTF-8 that begins at `from`; gives its end. */
  load(bytes: Uint8Array, from: number): number {
    const end = blockEnd(bytes, from)
    this.#input.set(bytes.subarray(from, end))
    return end
  }

  /** Goes through `length` bytes of the block, up to the first code point that is not settled by itself. */
  settle(
    from: number,
    length: number,
    form: number,
    kindOf: (codePoint: number) => number,
  ): Settled {
    this.#exports.begin(from)
    for (;;) {
      this.#exports.settle(length, form)
      const state = this.#state
      const at = state[0] ?? 0
      if (at < length && this.#learns(at, form, kindOf)) continue
      return {
        at,
        made: state[1] ?? 0,
        keptAt: state[2] ?? 0,
        keptMade: state[3] ?? 0,
        hasUnspaced: ((state[4] ?? 0) & UNSPACED) === UNSPACED,
      }
    }
  }

  /** The first `length` bytes of what was settled. They are good until the next call, which may be given them. */
  settled(length: number): Uint8Array {
    return this.#output.subarray(0, length)
  }

  /** What is met for the first time is learnt. */
  #learns(at: number, form: number, kindOf: (codePoint: number) => number): boolean {
    const point = decodeUtf8(this.#input.subarray(at, at + 4)).codePointAt(0) ?? 0
    const place = form * KINDS_END + point
    if (point >= KINDS_END || this.#kinds[place] !== 0) return false
    this.#kinds[place] = kindOf(point)
    return true
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
