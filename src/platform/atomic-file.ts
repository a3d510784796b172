/**
 * Files that are there whole or not at all. They are written to a temporary file beside their target, `NAME.tmp-…`,
 * synced, renamed, and the directory is synced: whoever looks, also after a power failure, sees the old file or the
 * new one. On S3 (`s3://…`) an object is seen when its upload is complete. A failure is a PrestigeError that names the
 * target, and leaves nothing behind.
 */

import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  copyFile,
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  rename,
  rm,
  rmdir,
  stat,
} from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Transform } from 'node:stream'

import { removeAbandoned } from './abandoned.ts'
import { codeOf, PrestigeError } from './errors.ts'
import { isS3 } from './s3/address.ts'

const BUFFER_BYTES = 1024 * 1024
/** Identifies the machine: others that share the directory have processes of the same numbers. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 4)
const TEMPORARY = /^(.+)\.tmp-([0-9a-f]{1,16})$/s

export interface AtomicFileOptions {
  /** Permissions, as far as the umask allows. */
  readonly mode?: number | undefined
  /** Makes the directory of the file where there is none. */
  readonly makesDirectory?: boolean | undefined
  /** Everything written passes through it, as through a compressor. */
  readonly through?: Transform | undefined
}

/** Where the bytes go. `close` makes them visible, under their name; `abort` may be called after a failure, and twice. */
interface Sink {
  write(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
  abort(): Promise<void>
}

class LocalSink implements Sink {
  readonly #path: string
  /** A pipe or a device cannot be replaced: it is written to itself. */
  readonly #temporary: string
  readonly #handle: FileHandle

  constructor(path: string, temporary: string, handle: FileHandle) {
    this.#path = path
    this.#temporary = temporary
    this.#handle = handle
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      at += (await this.#handle.write(bytes, at, bytes.length - at)).bytesWritten
    }
  }

  async close(): Promise<void> {
    const isAside = this.#temporary !== this.#path
    if (isAside) await this.#handle.sync()
    await this.#handle.close()
    if (isAside) await moveIntoPlace(this.#temporary, this.#path)
  }

  async abort(): Promise<void> {
    await this.#handle.close().catch(() => undefined) // closed already is what is wanted
    if (this.#temporary !== this.#path) await rm(this.#temporary, { force: true })
  }
}

async function s3Sink(path: string): Promise<Sink> {
  const { S3Upload } = await import('./s3/upload.ts')
  return new S3Upload(path)
}

export class AtomicFile {
  readonly path: string
  readonly #sink: Sink
  readonly #through: Transform | undefined
  readonly #passed: Buffer[] = []
  #buffer: Buffer | undefined
  #filled = 0
  #failure: unknown

  private constructor(path: string, sink: Sink, through?: Transform) {
    this.path = path
    this.#sink = sink
    this.#through = through
    through?.on('data', (chunk: Buffer) => this.#passed.push(chunk))
    through?.on('error', (error) => {
      this.#failure = error
    })
  }

  static async open(path: string, options: AtomicFileOptions = {}): Promise<AtomicFile> {
    if (isS3(path)) return new AtomicFile(path, await s3Sink(path), options.through)
    try {
      if (options.makesDirectory) await makeDirectory(dirname(path))
      const temporary = temporaryName(path)
      // Its owner may write to it, whatever the file may be that it is like.
      const handle = await open(temporary, 'wx', (options.mode ?? 0o666) | 0o200)
      return new AtomicFile(path, new LocalSink(path, temporary, handle), options.through)
    } catch (error) {
      throw outputFailure(path, error)
    }
  }

  /** For a path that the caller has named, which may be a pipe or a device, such as /dev/stdout. */
  static async openNamed(path: string): Promise<AtomicFile> {
    if (isS3(path)) return AtomicFile.open(path)
    try {
      if (!(await isSpecial(path))) {
        await requireDirectoryOf(path)
        await removeAbandonedBeside(path)
        return await AtomicFile.open(path)
      }
      return new AtomicFile(path, new LocalSink(path, path, await open(path, 'w')))
    } catch (error) {
      throw outputFailure(path, error)
    }
  }

  /** Small pieces are collected, so that callers need not; `undefined` if nothing has to be awaited. */
  write(piece: Uint8Array | string): Promise<void> | undefined {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (this.#filled + bytes.length > BUFFER_BYTES) return this.#flushAnd(bytes)
    this.#buffer ??= Buffer.allocUnsafe(BUFFER_BYTES)
    this.#buffer.set(bytes, this.#filled)
    this.#filled += bytes.length
    return undefined
  }

  /** When it returns, everything is on the disk, under its name. */
  async close(): Promise<void> {
    try {
      await this.#flush()
      if (this.#through) await this.#finish(this.#through)
      await this.#sink.close()
    } catch (error) {
      await this.abort()
      throw outputFailure(this.path, error)
    }
  }

  /** Leaves nothing behind. May be called after a failure, and twice. */
  async abort(): Promise<void> {
    this.#through?.destroy()
    await this.#sink.abort()
  }

  async #flushAnd(bytes: Uint8Array): Promise<void> {
    try {
      await this.#flush()
      if (bytes.length > BUFFER_BYTES) await this.#put(bytes)
      else void this.write(bytes)
    } catch (error) {
      await this.abort()
      throw outputFailure(this.path, error)
    }
  }

  async #flush(): Promise<void> {
    const filled = this.#filled
    this.#filled = 0
    if (this.#buffer && filled > 0) await this.#put(this.#buffer.subarray(0, filled))
  }

  async #put(bytes: Uint8Array): Promise<void> {
    const through = this.#through
    if (!through) return this.#sink.write(bytes)
    await new Promise<void>((resolve, reject) => {
      through.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
    await this.#writePassed()
  }

  async #finish(through: Transform): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      through.once('end', resolve)
      through.once('error', reject)
      through.end()
    })
    await this.#writePassed()
  }

  async #writePassed(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    for (const chunk of this.#passed.splice(0)) await this.#sink.write(chunk)
  }
}

export type Pieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>

/** Writes a file of ours, and its directory where there is none. */
export async function writeWhole(path: string, pieces: Pieces): Promise<void> {
  await writeAll(await AtomicFile.open(path, { makesDirectory: true }), pieces)
}

/** Writes to a path that the caller has named. */
export async function writeNamed(path: string, pieces: Pieces): Promise<void> {
  await writeAll(await AtomicFile.openNamed(path), pieces)
}

async function writeAll(file: AtomicFile, pieces: Pieces): Promise<void> {
  try {
    for await (const piece of pieces) await file.write(piece)
  } catch (error) {
    await file.abort()
    throw error
  }
  await file.close()
}

export async function copyWhole(from: string, to: string): Promise<void> {
  if (isS3(from) && isS3(to)) return copyOnS3(from, to)
  const temporary = temporaryName(to)
  try {
    await removeAbandonedBeside(to)
    await copyFile(from, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    await sync(temporary, 'r+')
    await moveIntoPlace(temporary, to)
  } catch (error) {
    await rm(temporary, { force: true })
    throw outputFailure(to, error)
  }
}

async function copyOnS3(from: string, to: string): Promise<void> {
  const { copyObject, readObject } = await import('./s3/objects.ts')
  if (!(await copyObject(from, to))) await writeWhole(to, readObject(from))
}

/** A new one at every call: several processes, or calls of one, may write the same file at once. */
export function temporaryName(path: string): string {
  const pid = (process.pid & 0xffffff).toString(16).padStart(6, '0')
  return `${path}.tmp-${HOST}${pid}${randomBytes(3).toString('hex')}`
}

/** The file for which this is the name of a temporary one. */
export function targetOf(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1]
}

/**
 * Removes what processes that were killed left beside a file: at once where the process was of this machine and is no
 * more, and otherwise after a day.
 */
export async function removeAbandonedBeside(path: string): Promise<void> {
  await removeTemporary(dirname(path), (name) => targetOf(name) === basename(path))
}

/** The same for all files of a directory that is ours. */
export async function removeAbandonedIn(directory: string): Promise<void> {
  await removeTemporary(directory, (name) => targetOf(name) !== undefined)
}

async function removeTemporary(
  directory: string,
  isOurs: (name: string) => boolean,
): Promise<void> {
  await removeAbandoned(directory, isOurs, (name) => {
    const owner = TEMPORARY.exec(name)?.[2] ?? ''
    return owner.startsWith(HOST) && !isAlive(Number.parseInt(owner.slice(4, 10), 16))
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process of another user is alive too.
    return codeOf(error) === 'EPERM'
  }
}

async function isSpecial(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found || found.isDirectory()) return false
  // /dev/stdout may be a regular file, and is a link that must stay.
  return (
    !found.isFile() || /^\/(?:proc|dev\/(?:fd|stdin|stdout|stderr))(?:\/|$)/.test(resolve(path))
  )
}

async function moveIntoPlace(temporary: string, path: string): Promise<void> {
  await rename(temporary, path)
  await syncDirectory(dirname(path))
}

/** Names in it are on the disk. Not every system can do that: there, they are as safe as the system makes them. */
export async function syncDirectory(directory: string): Promise<void> {
  await sync(directory, 'r').catch(() => undefined)
}

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function requireDirectoryOf(path: string): Promise<void> {
  if (await isThere(resolve(dirname(path)))) return
  const message = `${path} cannot be written: there is no directory ${dirname(path)}. Make it first.`
  throw new PrestigeError('FILE_NOT_FOUND', message)
}

/** With all above it. Does not hang where nothing can be made, as in /proc. */
export async function makeDirectory(directory: string, mode = 0o777): Promise<void> {
  await requireMakeable(directory)
  await mkdir(directory, { recursive: true, mode })
}

/**
 * Throws what the operating system says where a directory cannot be made. `mkdir` with `recursive` never returns where
 * the file system refuses new names with ENOENT, as /proc does, so a directory is made, and removed, in the nearest
 * one above that is there.
 */
export async function requireMakeable(directory: string): Promise<void> {
  let path = resolve(directory)
  if (await isThere(path)) return
  while (!(await isThere(dirname(path)))) path = dirname(path)
  const probe = await mkdtemp(join(dirname(path), '.prestige-probe-')).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
    const message = `${directory} cannot be made: nothing can be created in ${dirname(path)}. Name another directory.`
    throw new PrestigeError('OUTPUT_FAILED', message, { cause: error })
  })
  await rmdir(probe)
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (dirname(path) !== path && codeOf(error) === 'ENOENT') return false
    throw error
  }
}

export function outputFailure(file: string, error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const code = codeOf(error)
  // A file that may grow no more (`ulimit -f`) is as full as its disk.
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    const message = `The disk of ${file} is full. Nothing of it was kept: make room, and write again.`
    return new PrestigeError('BACKEND_FULL', message, { cause: error })
  }
  const message = `${file} cannot be written (${code || String(error)}). Nothing of it was kept.`
  return new PrestigeError('OUTPUT_FAILED', message, { cause: error })
}
