/**
 * Where an index keeps the numbers of its vectors, by slot: in memory, or in files of which only what is asked for is
 * read.
 *
 * In files, vectors of a saved index stay where they are: that file is never written to. What comes later goes to a file
 * of this process alone, which has no name, so that nothing is left of it when the process ends, however it ends.
 */

import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'

import { temporaryName } from '../../platform/atomic-file.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { float32Rows, float64Rows, rowInPage } from '../../fingerprint/index.ts'

export interface RowNumbers {
  /** Of memory. */
  readonly bytes: number
  put(slot: number, vector: Float32Array, square: number): void
  clear(slot: number): void
  /** Good until the next call. */
  at(slot: number): Float32Array
  /** The square of the vector's length. */
  squareAt(slot: number): number
  close(): void
}

export class MemoryNumbers implements RowNumbers {
  readonly #dimensions: number
  readonly #numbers
  readonly #squares = float64Rows(1)

  constructor(dimensions: number) {
    this.#dimensions = dimensions
    this.#numbers = float32Rows(dimensions)
  }

  get bytes(): number {
    return this.#numbers.bytes + this.#squares.bytes
  }

  put(slot: number, vector: Float32Array, square: number): void {
    this.#numbers.reserve(slot + 1)
    this.#squares.reserve(slot + 1)
    this.#numbers.page(slot).set(vector, rowInPage(slot) * this.#dimensions)
    this.#squares.page(slot)[rowInPage(slot)] = square
  }

  clear(slot: number): void {
    this.at(slot).fill(0)
  }

  at(slot: number): Float32Array {
    const from = rowInPage(slot) * this.#dimensions
    return this.#numbers.page(slot).subarray(from, from + this.#dimensions)
  }

  squareAt(slot: number): number {
    return this.#squares.page(slot)[rowInPage(slot)] ?? 0
  }

  close(): void {}
}

/** The vectors of a saved index. */
export interface SavedNumbers {
  /** Open, to be closed with the rows. */
  readonly file: number
  /** Where the first vector begins. */
  readonly from: number
}

export class FileNumbers implements RowNumbers {
  readonly #path: string
  readonly #saved: SavedNumbers | undefined
  readonly #row: Float32Array
  readonly #rowBytes: Uint8Array
  #rowSlot = -1
  #isClosed = false
  #own: number | undefined
  #ownName: string | undefined
  /** A bit a slot: 1 for what is in the file of this process. */
  #isOwn = new Uint8Array(0)

  /** Beside `path` lies the file of this process. */
  constructor(dimensions: number, path: string, saved?: SavedNumbers) {
    this.#path = path
    this.#saved = saved
    this.#row = new Float32Array(dimensions)
    this.#rowBytes = new Uint8Array(this.#row.buffer)
  }

  get bytes(): number {
    return this.#isOwn.byteLength + this.#row.byteLength
  }

  put(slot: number, vector: Float32Array): void {
    this.#refuseClosed()
    this.#row.set(vector)
    this.#rowSlot = slot
    this.#own ??= this.#openOwn()
    const size = this.#rowBytes.byteLength
    for (let done = 0; done < size;) {
      done += writeSync(this.#own, this.#rowBytes, done, size - done, slot * size + done)
    }
    if (slot >> 3 >= this.#isOwn.length) {
      const grown = new Uint8Array(Math.max((slot >> 3) + 1, this.#isOwn.length * 2))
      grown.set(this.#isOwn)
      this.#isOwn = grown
    }
    this.#isOwn[slot >> 3] = (this.#isOwn[slot >> 3] ?? 0) | (1 << (slot & 7))
  }

  #openOwn(): number {
    const name = temporaryName(this.#path)
    const file = openSync(name, 'wx+', 0o600)
    try {
      rmSync(name)
    } catch {
      // Some systems do not remove what is open: it is removed when it is closed.
      this.#ownName = name
    }
    return file
  }

  clear(slot: number): void {
    if (this.#rowSlot === slot) this.#rowSlot = -1
  }

  at(slot: number): Float32Array {
    if (this.#rowSlot === slot) return this.#row
    this.#rowSlot = -1
    const isOwn = (((this.#isOwn[slot >> 3] ?? 0) >> (slot & 7)) & 1) === 1
    this.#refuseClosed()
    const file = isOwn ? this.#own : this.#saved?.file
    const size = this.#rowBytes.byteLength
    const from = (isOwn ? 0 : (this.#saved?.from ?? 0)) + slot * size
    const read = file === undefined ? 0 : readSync(file, this.#rowBytes, 0, size, from)
    if (read < size) {
      const message = `The index ${this.#path} was cut while it was in use. Open the store again: it is rebuilt.`
      throw new PrestigeError('CONTENT_CORRUPT', message)
    }
    this.#rowSlot = slot
    return this.#row
  }

  squareAt(slot: number): number {
    const row = this.at(slot)
    let square = 0
    for (let at = 0; at < row.length; at++) square += (row[at] ?? 0) * (row[at] ?? 0)
    return square
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new PrestigeError('BACKEND_CLOSED', 'This index is closed.')
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#own !== undefined) closeSync(this.#own)
    if (this.#ownName !== undefined) rmSync(this.#ownName, { force: true })
    if (this.#saved) closeSync(this.#saved.file)
    this.#rowSlot = -1
  }
}
