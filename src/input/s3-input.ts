/**
 * An object of the input while it is open: every request asks for the version that was listed, so what is read is of
 * one version, and unchanged since.
 */

import { OtherVersion, readRange, readSteps } from '../platform/s3/objects.ts'
import type { InputFile } from './document.ts'
import { inputChanged } from './failure.ts'
import type { Input } from './open-input.ts'

/** Beyond the end of a range only the rest of one line is wanted. */
const TAIL_BYTES = 64 * 1024

export class S3Input implements Input {
  readonly bytes: number
  readonly #path: string
  readonly #etag: string | undefined

  constructor({ file, fileBytes, etag }: InputFile) {
    this.#path = file
    this.bytes = fileBytes
    this.#etag = etag
  }

  async read(target: Buffer, at: number): Promise<number> {
    const length = Math.max(0, Math.min(target.length, this.bytes - at))
    try {
      await readRange(this.#wanted, target.subarray(0, length), at)
    } catch (error) {
      throw this.#failure(error)
    }
    return length
  }

  async *blocks(start: number, end: number): AsyncGenerator<Buffer> {
    const bounded = Math.max(start, Math.min(end, this.bytes))
    try {
      yield* readSteps(this.#wanted, start, bounded)
      for (let at = bounded; at < this.bytes; at += TAIL_BYTES) {
        const block = Buffer.allocUnsafe(Math.min(TAIL_BYTES, this.bytes - at))
        await readRange(this.#wanted, block, at)
        yield block
      }
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** Nothing was read but what was listed. */
  requireUnchanged(): void {}

  close(): void {}

  get #wanted(): { readonly path: string; readonly etag: string | undefined } {
    return { path: this.#path, etag: this.#etag }
  }

  #failure(error: unknown): unknown {
    return error instanceof OtherVersion ? inputChanged(this.#path, 'was replaced') : error
  }
}
