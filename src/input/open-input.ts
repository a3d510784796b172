/**
 * A file of the input while it is open: the same one that was listed, and unchanged until it was read.
 *
 * Reads of local files are synchronous, into one block that is used again: this is the fastest way, and workers have nothing
 * else to do. What is given out is good until the next block is asked for.
 */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

import type { InputFile } from './document.ts'
import { isS3 } from '../platform/s3/address.ts'
import { inputChanged, inputFailure } from './failure.ts'
import { S3Input } from './s3-input.ts'

export const BLOCK_BYTES = 1024 * 1024
/** Beyond the end of a range only the rest of one line is wanted. */
const TAIL_BYTES = 64 * 1024

/** A local file is read at once; of an object on S3 there is something to await. */
export interface Input {
  readonly bytes: number
  /** Fills as much of `target` as the file has from `at` on. */
  read(target: Buffer, at: number): number | Promise<number>
  /** Blocks from `start` to the end of the file, smaller ones behind `end`. Each is good until the next. */
  blocks(
    start: number,
    end: number,
    blockBytes?: number,
  ): Generator<Buffer> | AsyncGenerator<Buffer>
  requireUnchanged(): void
  close(): void
}

export function openInput(file: InputFile): Input {
  return isS3(file.file) ? new S3Input(file) : new OpenInput(file)
}

class OpenInput implements Input {
  readonly #file: InputFile
  readonly #fd: number

  constructor(file: InputFile) {
    this.#file = file
    try {
      // A pipe that has taken the place of the file is not waited for: it is then found to have changed.
      this.#fd = openSync(file.file, constants.O_RDONLY | constants.O_NONBLOCK)
    } catch (error) {
      throw inputFailure(file.file, error)
    }
    try {
      this.requireUnchanged()
    } catch (error) {
      closeSync(this.#fd)
      throw error
    }
  }

  get bytes(): number {
    return this.#file.fileBytes
  }

  read(target: Buffer, at: number): number {
    let filled = 0
    try {
      while (filled < target.length) {
        const got = readSync(this.#fd, target, filled, target.length - filled, at + filled)
        if (got === 0) break
        filled += got
      }
    } catch (error) {
      throw inputFailure(this.#file.file, error)
    }
    return filled
  }

  *blocks(start: number, end: number, blockBytes: number = BLOCK_BYTES): Generator<Buffer> {
    const block = Buffer.allocUnsafe(Math.min(blockBytes, Math.max(TAIL_BYTES, this.bytes - start)))
    for (let at = start; at < this.bytes;) {
      const wanted = at < end ? Math.min(block.length, Math.max(1, end - at)) : TAIL_BYTES
      const got = this.read(block.subarray(0, wanted), at)
      if (got === 0) throw inputChanged(this.#file.file, 'became shorter')
      yield block.subarray(0, got)
      at += got
    }
  }

  requireUnchanged(): void {
    const { size, mtimeMs } = fstatSync(this.#fd)
    const { file, fileBytes, modifiedMs } = this.#file
    if (size !== fileBytes) {
      throw inputChanged(file, `changed its size from ${fileBytes} to ${size} bytes`)
    }
    if (mtimeMs !== modifiedMs) throw inputChanged(file, 'was written to')
  }

  close(): void {
    closeSync(this.#fd)
  }
}
