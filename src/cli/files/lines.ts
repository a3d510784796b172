/**
 * Lines of files and of stdin, in bounded memory, as bytes: a line that is no text must be reported, not repaired.
 *
 * They come in batches, one for each piece that was read, so that whoever waits at a pipe is answered at once and
 * whoever sends a large file is served many lines at a time.
 */

import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'

import { fileFailure, systemCode } from '../call/failure.ts'
import { openStream } from './open-stream.ts'
import { tell } from '../print/output.ts'

export const LINE_BYTES_MAX: number = 64 * 1024 * 1024
const READ_BYTES = 256 * 1024
const NEWLINE = 0x0a
const RETURN = 0x0d

export interface Line {
  /** From 1, in its file. */
  readonly number: number
  /** Absent where it came from stdin. */
  readonly file: string | undefined
  /** Without its end; `undefined`: it was too long to be kept. */
  readonly bytes: Buffer | undefined
}

/** Cuts pieces into lines. `\r\n` is an end of line too, and the last line needs none. */
export class LineCutter {
  readonly #file: string | undefined
  readonly #bytesMax: number
  #number = 0
  #parts: Buffer[] = []
  #bytes = 0

  constructor(file: string | undefined, bytesMax: number = LINE_BYTES_MAX) {
    this.#file = file
    this.#bytesMax = bytesMax
  }

  cut(piece: Buffer): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      this.#keep(piece.subarray(from, end))
      lines.push(this.#line())
      from = end + 1
    }
    this.#keep(piece.subarray(from))
    return lines
  }

  end(): Line[] {
    return this.#bytes > 0 ? [this.#line()] : []
  }

  /** Of a line that is too long only the length is kept; a `\r` may stand behind the last byte it may have. */
  #keep(part: Buffer): void {
    this.#bytes += part.byteLength
    if (this.#bytes > this.#bytesMax + 1) this.#parts = []
    else if (part.byteLength > 0) this.#parts.push(part)
  }

  #line(): Line {
    const isKept = this.#bytes <= this.#bytesMax + 1
    const [only = Buffer.alloc(0), ...more] = this.#parts
    let bytes = more.length === 0 ? only : Buffer.concat(this.#parts)
    if (bytes.at(-1) === RETURN) bytes = bytes.subarray(0, -1)
    this.#parts = []
    this.#bytes = 0
    this.#number++
    const fits = isKept && bytes.byteLength <= this.#bytesMax
    return { number: this.#number, file: this.#file, bytes: fits ? bytes : undefined }
  }
}

/** Lines of all files, one after the other; `-`, or no file at all, is stdin. Ends early when the user stops. */
export async function* lineBatches(
  files: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Line[]> {
  for (const file of files.length > 0 ? files : ['-']) {
    const cutter = new LineCutter(file === '-' ? undefined : file)
    for await (const piece of piecesOf(file, signal)) {
      const lines = cutter.cut(piece)
      if (lines.length > 0) yield lines
    }
    if (signal.aborted) return
    const last = cutter.end()
    if (last.length > 0) yield last
  }
}

async function* piecesOf(file: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  if (file === '-' && process.stdin.isTTY) {
    tell('Lines are read from the terminal; end them with Ctrl-D.\n')
  }
  const stream: Readable = file === '-' ? process.stdin : await openStream(file, READ_BYTES)
  const stop = () => stream.destroy()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    for await (const piece of stream) yield piece
  } catch (error) {
    if (!signal.aborted) throw systemCode(error) === undefined ? error : fileFailure(file, error)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Bytes of all files, so that a mistyped name is reported before anything is done; `undefined` with stdin. */
export async function bytesOf(files: readonly string[]): Promise<number | undefined> {
  let bytes: number | undefined = files.length > 0 ? 0 : undefined
  for (const file of files) {
    if (file === '-') {
      bytes = undefined
      continue
    }
    const found = await stat(file).catch((error: unknown) => {
      throw fileFailure(file, error)
    })
    if (bytes !== undefined) bytes += found.size
  }
  return bytes
}
