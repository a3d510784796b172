/**
 * Cuts bytes into chunks where their content says so (FastCDC): an insertion changes the chunks near it and
 * no others. The ends depend on the bytes and the sizes alone, not on how the bytes arrived.
 *
 * Not here: text in chunks of fixed length (`fixed-chunks.ts`), and hashing of chunks.
 */

import { type Bytes, copyOf, EMPTY } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { kernels, type KernelsName } from './kernels.ts'
import { TwinCutter } from './twin-cutter.ts'
import { WasmCutter } from './wasm-cutter.ts'

export interface ChunkOptions {
  /** A power of two from 256 to 1 MiB. Chunks have a quarter of it at least and eight times it at most. */
  readonly averageBytes?: number | undefined
  /** For tests: which kernels to use. */
  readonly kernels?: KernelsName | undefined
}

export interface ChunkSizes {
  readonly minBytes: number
  readonly averageBytes: number
  readonly maxBytes: number
  /** Bits of the rolling hash that are 0 at an end, up to the average size and behind it. */
  readonly earlyMask: number
  readonly lateMask: number
}

export interface Cutter {
  /**
   * Ends of all chunks that more bytes cannot change, and of the rest if there are no more. Input is at most
   * a window long.
   */
  cut(bytes: Bytes, sizes: ChunkSizes, isLast: boolean): Uint32Array
}

const DEFAULT_AVERAGE_BYTES = 8192
const AVERAGE_BYTES_MIN = 256
const AVERAGE_BYTES_MAX = 1024 * 1024
const WINDOW_BYTES_MIN = 1024 * 1024

export function chunkSizes(averageBytes: number = DEFAULT_AVERAGE_BYTES): ChunkSizes {
  const bits = Math.round(Math.log2(averageBytes))
  const isGood = averageBytes >= AVERAGE_BYTES_MIN && averageBytes <= AVERAGE_BYTES_MAX
  if (!isGood || 2 ** bits !== averageBytes) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `averageBytes is a power of two from ${AVERAGE_BYTES_MIN} to ${AVERAGE_BYTES_MAX}, not ${averageBytes}.`,
    )
  }
  return {
    minBytes: averageBytes / 4,
    averageBytes,
    maxBytes: averageBytes * 8,
    earlyMask: topBits(bits + 2),
    lateMask: topBits(bits - 2),
  }
}

function topBits(count: number): number {
  return (0xffffffff << (32 - count)) >>> 0
}

const cutters: { wasm?: Cutter; twin?: Cutter } = {}

function cutterNamed(name: KernelsName): Cutter {
  const known = cutters[name] ?? (name === 'wasm' ? new WasmCutter() : new TwinCutter())
  cutters[name] = known
  return known
}

/** The end of every chunk; the last is the length. No bytes, no chunks. */
export function chunkEnds(bytes: Bytes, options: ChunkOptions = {}): number[] {
  const sizes = chunkSizes(options.averageBytes)
  return endsOf(bytes, sizes, true, cutterNamed(options.kernels ?? kernels().name))
}

/** In windows, so that large inputs need no large memory. */
function endsOf(bytes: Bytes, sizes: ChunkSizes, isLast: boolean, cutter: Cutter): number[] {
  const windowBytes = Math.max(WINDOW_BYTES_MIN, sizes.maxBytes * 2)
  const ends: number[] = []
  let start = 0
  while (start < bytes.byteLength) {
    const window = bytes.subarray(start, start + windowBytes)
    const reachesEnd = start + window.byteLength === bytes.byteLength
    const found = cutter.cut(window, sizes, isLast && reachesEnd)
    for (const end of found) ends.push(start + end)
    const last = found.at(-1)
    if (reachesEnd || last === undefined) break
    start += last
  }
  return ends
}

/**
 * Cuts a stream: give it pieces of any length, take the chunks that are complete. Small pieces are gathered
 * until they could hold a chunk of the greatest size, so that no byte is looked at more than twice.
 */
export class ContentChunker {
  readonly #sizes: ChunkSizes
  readonly #cutter: Cutter
  #held: Buffer[] = []
  #heldBytes = 0

  constructor(options: ChunkOptions = {}) {
    this.#sizes = chunkSizes(options.averageBytes)
    this.#cutter = cutterNamed(options.kernels ?? kernels().name)
  }

  /** The chunks that are now complete. They may share the memory of `bytes`. */
  push(bytes: Bytes): Bytes[] {
    if (this.#heldBytes + bytes.byteLength >= this.#sizes.maxBytes) return this.#cut(bytes, false)
    this.#hold(bytes)
    return []
  }

  /** The chunks that are left. The chunker is as new then. */
  finish(): Bytes[] {
    return this.#cut(EMPTY, true)
  }

  /** The caller may use his memory again. */
  #hold(bytes: Bytes): void {
    if (bytes.byteLength > 0) this.#held.push(copyOf(bytes))
    this.#heldBytes += bytes.byteLength
  }

  #cut(bytes: Bytes, isLast: boolean): Bytes[] {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([...this.#held, bytes])
    this.#held = []
    this.#heldBytes = 0
    const chunks: Bytes[] = []
    let start = 0
    for (const end of endsOf(all, this.#sizes, isLast, this.#cutter)) {
      chunks.push(all.subarray(start, end))
      start = end
    }
    this.#hold(all.subarray(start))
    return chunks
  }
}
