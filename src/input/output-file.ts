/**
 * A file that is written aside as `name.tmp-…` and moved into place when it is whole and on the disk. Whoever
 * looks sees the old file or the new one; after a failure nothing is left.
 */

import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Transform } from 'node:stream'
import { createGzip } from 'node:zlib'

import { PrestigeError } from '../platform/errors.ts'
import { zstdOfNode } from './decompress.ts'
import type { Compression } from './document.ts'
import { outputFailure } from './failure.ts'

const BUFFER_BYTES = 1024 * 1024

/** Whether output can be compressed so: zstd needs Node 22.15. */
export function canCompress(compression: Compression): boolean {
  return compression !== 'zstd' || zstdOfNode('createZstdCompress') !== undefined
}

export class OutputFile {
  readonly path: string
  readonly #aside: string
  readonly #handle: FileHandle
  readonly #compressor: Transform | undefined
  readonly #buffer: Buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #filled = 0
  #compressed: Buffer[] = []
  #failure: unknown

  private constructor(path: string, aside: string, handle: FileHandle, compression: Compression) {
    this.path = path
    this.#aside = aside
    this.#handle = handle
    this.#compressor = compressorOf(compression)
    this.#compressor?.on('data', (chunk: Buffer) => this.#compressed.push(chunk))
    this.#compressor?.on('error', (error) => {
      this.#failure = error
    })
  }

  /** `like`: a file whose permissions it gets, as far as the umask allows. */
  static async open(path: string, compression: Compression, like?: string): Promise<OutputFile> {
    const aside = `${path}.tmp-${randomBytes(6).toString('hex')}`
    try {
      await mkdir(dirname(path), { recursive: true })
      const mode = like === undefined ? 0o666 : await modeOf(like)
      return new OutputFile(path, aside, await open(aside, 'wx', mode | 0o200), compression)
    } catch (error) {
      throw outputFailure(path, error)
    }
  }

  /** Small pieces are collected, so that callers need not; `undefined` if nothing has to be awaited. */
  write(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#filled + bytes.length <= this.#buffer.length) {
      this.#buffer.set(bytes, this.#filled)
      this.#filled += bytes.length
      return undefined
    }
    return this.#flushAnd(bytes)
  }

  /** Everything is on the disk, under its name. */
  async close(): Promise<void> {
    try {
      await this.#flush()
      if (this.#compressor) await this.#finishCompressor(this.#compressor)
      await this.#handle.sync()
      await this.#handle.close()
      await rename(this.#aside, this.path)
      await syncDirectory(dirname(this.path))
    } catch (error) {
      await this.abort()
      throw outputFailure(this.path, error)
    }
  }

  /** Leaves nothing behind. May be called after a failure, and twice. */
  async abort(): Promise<void> {
    this.#compressor?.destroy()
    await this.#handle.close().catch(() => undefined) // closed already is what is wanted
    await rm(this.#aside, { force: true })
  }

  async #flushAnd(bytes: Uint8Array): Promise<void> {
    try {
      await this.#flush()
      if (bytes.length > this.#buffer.length) await this.#put(bytes)
      else {
        this.#buffer.set(bytes)
        this.#filled = bytes.length
      }
    } catch (error) {
      await this.abort()
      throw outputFailure(this.path, error)
    }
  }

  async #flush(): Promise<void> {
    const filled = this.#filled
    this.#filled = 0
    if (filled > 0) await this.#put(this.#buffer.subarray(0, filled))
  }

  async #put(bytes: Uint8Array): Promise<void> {
    const compressor = this.#compressor
    if (!compressor) return this.#writeAll(bytes)
    await new Promise<void>((resolve, reject) => {
      compressor.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
    await this.#writeCompressed()
  }

  async #finishCompressor(compressor: Transform): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      compressor.once('end', resolve)
      compressor.once('error', reject)
      compressor.end()
    })
    await this.#writeCompressed()
  }

  async #writeCompressed(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    for (const chunk of this.#compressed.splice(0)) await this.#writeAll(chunk)
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      at += (await this.#handle.write(bytes, at, bytes.length - at)).bytesWritten
    }
  }
}

/** Of a file that is gone, the strictest: reading it reports that it is. */
async function modeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined)
  return found ? found.mode & 0o666 : 0o600
}

function compressorOf(compression: Compression): Transform | undefined {
  if (compression === 'gzip') return createGzip({ chunkSize: 256 * 1024 })
  if (compression === 'zstd') return zstdOfNode('createZstdCompress')?.({ chunkSize: 256 * 1024 })
  return undefined
}

/** So that the new name survives a power failure too. Not every system can do this. */
async function syncDirectory(path: string): Promise<void> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, 'r')
    await handle.sync()
  } catch {
    // The file itself is synced; where a directory cannot be, its name is as safe as the system makes it.
  } finally {
    await handle?.close()
  }
}

/** An output in the place of its own input would destroy what is still to be read. */
export async function requireOther(input: string, output: string): Promise<void> {
  const [from, to] = await Promise.all(
    [input, output].map((path) => stat(path).catch(() => undefined)),
  )
  const isSame =
    from && to ? from.ino === to.ino && from.dev === to.dev : resolve(input) === resolve(output)
  if (!isSame) return
  const message = `${output} would replace its own input. Write to another directory.`
  throw new PrestigeError('INVALID_OPTIONS', message)
}
