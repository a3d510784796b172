/**
 * Blocks of what a compressed file holds. Damage is reported after the last good byte, never thrown: what was read
 * before it stays good.
 *
 * Zstandard is decoded by Node where it can be trusted, else by `fzstd`, which is slower: Node has it from 22.15
 * on, but 24 still drops every frame but the first, without a word, and parallel compressors write many.
 */

import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'

import { PrestigeError } from '../platform/errors.ts'
import type { Input } from './open-input.ts'
import type { ReadingOptions } from './options.ts'
import type { Damage } from './unfit.ts'
import { TooLarge, windowTooLarge, ZSTD_WINDOW_LOG_MAX, ZstdBlocks } from './zstd-blocks.ts'

const CHUNK_BYTES = 256 * 1024
const ZSTD_STEP_BYTES = 64 * 1024

/** See the options of reading. */
export type ExpansionLimits = Pick<ReadingOptions, 'expansionMax' | 'expandedBytesFree'>

const UNLIMITED: ExpansionLimits = { expansionMax: Infinity, expandedBytesFree: 0 }

interface FeedState {
  isOver: boolean
  failure: unknown
  wake: () => void
}

type MakeStream = (options: { chunkSize: number; params?: Record<number, number> }) => Transform

/** What Node 20 does not have. */
export function zstdOfNode(
  name: 'createZstdDecompress' | 'createZstdCompress',
): MakeStream | undefined {
  const found: unknown = Reflect.get(zlib, name)
  // safe: if zlib has a function of this name, it takes the options of all its streams.
  return typeof found === 'function' ? (found as MakeStream) : undefined
}

/** Node's decoder refuses larger windows by itself; said here so that no version of it allows more. */
function windowMax(): Record<number, number> {
  const name: unknown = Reflect.get(zlib.constants, 'ZSTD_d_windowLogMax')
  return typeof name === 'number' ? { [name]: ZSTD_WINDOW_LOG_MAX } : {}
}

/** The letter a, twice, in two frames. */
const TWO_FRAMES = Buffer.from('KLUv/QBYCQAAYSi1L/0AWAkAAGE=', 'base64')

function isZstdTrusted(): boolean {
  const decompress: unknown = Reflect.get(zlib, 'zstdDecompressSync')
  return typeof decompress === 'function' && String(decompress(TWO_FRAMES)) === 'aa'
}

function damageOf(error: unknown): Damage {
  const code: unknown = Reflect.get(Object(error), 'code')
  if (code === 'ZSTD_error_frameParameter_windowTooLarge') {
    return { why: windowTooLarge().message, isTooLarge: true }
  }
  const why = error instanceof Error ? error.message : String(error)
  return { why, isTooLarge: error instanceof TooLarge }
}

function expandsTooMuch(bytes: number, expansionMax: number): Damage {
  const why = `the compressed file of ${bytes} bytes expands to more than ${expansionMax} times its size (input.expansionMax), and was not read further. What was read before is good; if the file is sound, raise the limit`
  return { why, isBeyondLimit: true }
}

export class Decompressed {
  /** Why it ended early; only known at the end. */
  damage: Damage | undefined
  readonly #input: Input
  readonly #compression: 'gzip' | 'zstd'
  readonly #limits: ExpansionLimits

  constructor(input: Input, compression: 'gzip' | 'zstd', limits = UNLIMITED) {
    this.#input = input
    this.#compression = compression
    this.#limits = limits
  }

  /** Ends early, as if it were damaged, where the file expands to more than anybody would keep in it. */
  async *blocks(): AsyncGenerator<Buffer> {
    const { expansionMax, expandedBytesFree } = this.#limits
    const bytesMax = Math.max(expandedBytesFree, this.#input.bytes * expansionMax)
    let bytes = 0
    for await (const block of this.#allBlocks()) {
      bytes += block.length
      if (bytes > bytesMax) {
        this.damage = expandsTooMuch(this.#input.bytes, expansionMax)
        return
      }
      yield block
    }
  }

  #allBlocks(): AsyncGenerator<Buffer> {
    if (this.#input.bytes === 0) return this.#nothing()
    if (this.#compression === 'gzip') {
      return this.#through(zlib.createGunzip({ chunkSize: CHUNK_BYTES }))
    }
    const make = isZstdTrusted() ? zstdOfNode('createZstdDecompress') : undefined
    return make
      ? this.#through(make({ chunkSize: CHUNK_BYTES, params: windowMax() }))
      : this.#throughFzstd()
  }

  async *#nothing(): AsyncGenerator<Buffer> {
    this.damage = { why: 'the file is empty' }
  }

  /** What a stream gave before it failed counts, so it is collected here: its own iterator would drop it. */
  async *#through(stream: Transform): AsyncGenerator<Buffer> {
    const given: Buffer[] = []
    const state: FeedState = { isOver: false, failure: undefined, wake: () => undefined }
    const stop = (): void => {
      state.isOver = true
      state.wake()
    }
    stream.on('data', (chunk: Buffer) => {
      given.push(chunk)
      stream.pause()
      state.wake()
    })
    stream.on('error', (error: Error) => {
      this.damage = damageOf(error)
      stop()
    })
    stream.on('end', stop)
    this.#feed(stream, state, stop)
    try {
      for (;;) {
        for (let chunk = given.shift(); chunk; chunk = given.shift()) yield chunk
        if (state.failure !== undefined) throw state.failure
        if (state.isOver) return
        const woken = new Promise<void>((resolve) => {
          state.wake = resolve
        })
        stream.resume()
        await woken
      }
    } finally {
      state.isOver = true
      stream.destroy()
    }
  }

  #feed(stream: Transform, state: FeedState, stop: () => void): void {
    const source = this.#input.blocks(0, this.#input.bytes)
    const feed = async (): Promise<void> => {
      if (state.isOver) return
      try {
        const given = source.next()
        const next = given instanceof Promise ? await given : given
        // A copy, since the block is used again while the stream may still be busy with it.
        if (next.done === true) stream.end()
        else stream.write(Buffer.from(next.value), (error) => (error ? undefined : void feed()))
      } catch (error) {
        state.failure = error
        stop()
      }
    }
    void feed()
  }

  async *#throughFzstd(): AsyncGenerator<Buffer> {
    const { Decompress } = await import('fzstd')
    const given: Buffer[] = []
    const stream = new Decompress((data) => {
      given.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    })
    const cutter = new ZstdBlocks()
    try {
      for await (const block of this.#input.blocks(0, this.#input.bytes, ZSTD_STEP_BYTES)) {
        // A copy, since the block is used again while the decoder holds parts of it.
        for (const piece of cutter.feed(Buffer.from(block))) {
          stream.push(piece)
          yield* given.splice(0)
        }
      }
      stream.push(cutter.rest, true)
    } catch (error) {
      if (error instanceof PrestigeError) throw error
      this.damage = damageOf(error)
    }
    yield* given.splice(0)
  }
}
