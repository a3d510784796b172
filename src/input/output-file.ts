/** Files of the output: what was kept, compressed as its input was, and as private. */

import { stat } from 'node:fs/promises'
import type { Transform } from 'node:stream'
import { createGzip } from 'node:zlib'

import { AtomicFile } from '../platform/atomic-file.ts'
import { PrestigeError } from '../platform/errors.ts'
import { rm } from '../platform/files.ts'
import { resolve } from '../platform/paths.ts'
import { isS3 } from '../platform/s3/address.ts'
import { zstdOfNode } from './decompress.ts'
import type { Compression } from './document.ts'

/** Where the files of an output go that has several. */
export interface Splitting {
  /** Of records before compression. A longer record has a file of its own. */
  readonly bytesMax: number
  /** Records, counted over all that are written, that begin another file whatever its size. */
  readonly breaks: ReadonlySet<number>
  /** Of the file of this number, from 0. */
  readonly pathOf: (number: number) => string
}

/** A file that was written, and how many records it holds. */
export interface WrittenFile {
  readonly path: string
  records: number
  /** Of the records, before compression. */
  recordBytes: number
}

/** What records are written to: one file, or several of a bounded size. A record is never split. */
export class RecordsOutput {
  readonly files: WrittenFile[] = []
  readonly #splitting: Splitting | undefined
  readonly #open: (path: string) => Promise<AtomicFile>
  #file: AtomicFile
  #records = 0

  private constructor(
    file: AtomicFile,
    open: (path: string) => Promise<AtomicFile>,
    splitting: Splitting | undefined,
  ) {
    this.#file = file
    this.#open = open
    this.#splitting = splitting
    this.files.push({ path: file.path, records: 0, recordBytes: 0 })
  }

  static async open(
    path: string,
    compression: Compression,
    like: string,
    splitting?: Splitting,
  ): Promise<RecordsOutput> {
    const open = (next: string) => openOutput(next, compression, like)
    return new RecordsOutput(await open(splitting?.pathOf(0) ?? path), open, splitting)
  }

  get path(): string {
    return this.#file.path
  }

  get isSplit(): boolean {
    return this.#splitting !== undefined
  }

  /** To be called before each record, with its length. `true`: `startNext` must be called before it is written. */
  add(bytes: number): boolean {
    if (!this.#splitting) return false
    const { bytesMax, breaks, pathOf } = this.#splitting
    const isBreak = breaks.has(this.#records++)
    const file = this.files.at(-1)
    const isFull = (file?.recordBytes ?? 0) + bytes > bytesMax
    if (file && (file.records === 0 || !(isFull || isBreak))) {
      file.records++
      file.recordBytes += bytes
      return false
    }
    this.files.push({ path: pathOf(this.files.length), records: 1, recordBytes: bytes })
    return true
  }

  async startNext(): Promise<void> {
    await this.#file.close()
    this.#file = await this.#open(this.files.at(-1)?.path ?? '')
  }

  /** `undefined` if nothing has to be awaited. */
  write(piece: Uint8Array | string): Promise<void> | undefined {
    return this.#file.write(piece)
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /** Files that are complete are removed too, where there are several. */
  async abort(): Promise<void> {
    await this.#file.abort()
    for (const { path } of this.files.slice(0, -1)) await rm(path, { force: true })
  }
}

/** Whether output can be compressed so: zstd needs Node 22.15. */
export function canCompress(compression: Compression): boolean {
  return compression !== 'zstd' || zstdOfNode('createZstdCompress') !== undefined
}

/** `like`: a file whose permissions it gets, as far as the umask allows. */
export async function openOutput(
  path: string,
  compression: Compression,
  like: string,
): Promise<AtomicFile> {
  const mode = await modeOf(like)
  return AtomicFile.open(path, { mode, makesDirectory: true, through: compressorOf(compression) })
}

/** Of a file that is gone, the strictest: reading it reports that it is. */
async function modeOf(file: string): Promise<number> {
  // An object has none: the umask decides.
  if (isS3(file)) return 0o666
  const found = await stat(file).catch(() => undefined)
  return found ? found.mode & 0o666 : 0o600
}

function compressorOf(compression: Compression): Transform | undefined {
  if (compression === 'gzip') return createGzip({ chunkSize: 256 * 1024 })
  if (compression === 'zstd') return zstdOfNode('createZstdCompress')?.({ chunkSize: 256 * 1024 })
  return undefined
}

/** An output in the place of its own input would destroy what is still to be read. */
export async function requireOther(input: string, output: string): Promise<void> {
  const [from, to] = await Promise.all(
    [input, output].map(async (path) =>
      isS3(path) ? undefined : stat(path).catch(() => undefined),
    ),
  )
  const isSame =
    from && to ? from.ino === to.ino && from.dev === to.dev : resolve(input) === resolve(output)
  if (!isSame) return
  const message = `${output} would replace its own input. Write to another directory.`
  throw new PrestigeError('INVALID_OPTIONS', message)
}
