/**
 * Rows as bytes: a first byte whose high half is the row's format and whose low half holds flags, then fields one after
 * another. Numbers are big endian, times milliseconds since 1970 in six bytes, texts UTF-8 behind their length.
 *
 * A row that is of another format or cut short is CONTENT_CORRUPT, never a guess.
 */

import { asBuffer, type Bytes, copyOf } from './bytes.ts'
import { PrestigeError } from './errors.ts'

export const FORMAT = 0x10
const FORMAT_MASK = 0xf0
const KEY = 16

/** `what`: which rows, such as "the resolver (members)". `hint`: what to do. */
export function unreadable(what: string, hint = '', cause?: unknown): PrestigeError {
  const message = `A row of ${what} cannot be read.${hint && ` ${hint}`}`
  return new PrestigeError('CONTENT_CORRUPT', message, { cause })
}

/** The row, if it is of the format and has at least so many bytes. */
export function checkedRow(what: string, bytes: Bytes, bytesMin: number): Buffer {
  const row = asBuffer(bytes)
  if (row.byteLength >= bytesMin && ((row[0] ?? 0) & FORMAT_MASK) === FORMAT) return row
  throw unreadable(what)
}

/** Reads a row from its beginning to its end. */
export class RowReader {
  /** The low half of the first byte. */
  readonly flags: number
  readonly #row: Buffer
  readonly #what: string
  readonly #hint: string
  #at = 1

  constructor(what: string, bytes: Bytes, hint = '', format = FORMAT) {
    this.#what = what
    this.#hint = hint
    this.#row = asBuffer(bytes)
    if (((this.#row[0] ?? 0) & FORMAT_MASK) !== format) throw this.#unreadable()
    this.flags = this.#row.readUInt8(0) & ~FORMAT_MASK
  }

  has(flag: number): boolean {
    return (this.flags & flag) !== 0
  }

  number(bytes: 1 | 2 | 4 | 6): number {
    return this.#row.readUIntBE(this.#pass(bytes), bytes)
  }

  time(): number {
    return this.number(6)
  }

  double(): number {
    return this.#row.readDoubleBE(this.#pass(8))
  }

  /** A view of the row. */
  bytes(count: number): Buffer {
    const from = this.#pass(count)
    return this.#row.subarray(from, this.#at)
  }

  /** Sixteen bytes in hex. */
  key(): string {
    const from = this.#pass(KEY)
    return this.#row.toString('hex', from, this.#at)
  }

  text(lengthBytes: 1 | 2 | 4): string {
    const from = this.#pass(this.number(lengthBytes))
    return this.#row.toString('utf8', from, this.#at)
  }

  /** What the flags number. */
  oneOf<T>(values: readonly T[]): T {
    const value = values[this.flags]
    if (value === undefined) throw this.#unreadable()
    return value
  }

  /** Everything that is left. */
  rest(): Buffer {
    return this.#row.subarray(this.#at)
  }

  list<T>(count: number, one: () => T): T[] {
    const list: T[] = []
    for (let at = 0; at < count; at++) list.push(one())
    return list
  }

  #pass(bytes: number): number {
    const from = this.#at
    this.#at += bytes
    if (this.#at > this.#row.byteLength) throw this.#unreadable()
    return from
  }

  #unreadable(): PrestigeError {
    return unreadable(this.#what, this.#hint)
  }
}

/** Writes a row from its beginning to its end. Fastest where `bytes`, the length of all fields, is exact. */
export class RowWriter {
  #row: Buffer
  #at = 1

  constructor(flags: number, bytes = 255, format = FORMAT) {
    this.#row = Buffer.allocUnsafe(1 + bytes)
    this.#row[0] = format | flags
  }

  number(value: number, bytes: 1 | 2 | 4 | 6): this {
    const from = this.#room(bytes)
    this.#row.writeUIntBE(value, from, bytes)
    return this
  }

  time(value: number): this {
    const from = this.#room(6)
    this.#row.writeUIntBE(value, from, 6)
    return this
  }

  double(value: number): this {
    const from = this.#room(8)
    this.#row.writeDoubleBE(value, from)
    return this
  }

  bytes(value: Bytes): this {
    const from = this.#room(value.byteLength)
    this.#row.set(value, from)
    return this
  }

  /** Sixteen bytes from hex. */
  key(hex: string): this {
    if (hex.length !== 2 * KEY) throw new TypeError(`${hex} is no key`)
    const from = this.#room(KEY)
    this.#row.write(hex, from, 'hex')
    return this
  }

  text(value: string, lengthBytes: 1 | 2 | 4): this {
    const from = this.#room(lengthBytes + Buffer.byteLength(value))
    const length = this.#row.write(value, from + lengthBytes, 'utf8')
    if (length >= 256 ** lengthBytes) throw new TypeError('a text is too long for its row')
    this.#row.writeUIntBE(length, from, lengthBytes)
    return this
  }

  /** Two bytes that were written before their value was known. */
  patch(value: number, at: number): this {
    this.#row.writeUInt16BE(value, at)
    return this
  }

  whole(): Buffer {
    return this.#at === this.#row.byteLength ? this.#row : copyOf(this.#row.subarray(0, this.#at))
  }

  #room(bytes: number): number {
    const from = this.#at
    this.#at += bytes
    if (this.#at > this.#row.byteLength) this.#grow(from)
    return from
  }

  #grow(used: number): void {
    const larger = Buffer.allocUnsafe(2 * this.#at)
    larger.set(this.#row.subarray(0, used))
    this.#row = larger
  }
}
