/**
 * Rows of the ledger, written and read from their beginning to their end. Numbers are big endian, texts UTF-8; the high
 * half of the first byte is the format of the row.
 */

import type { Bytes } from '../platform/bytes.ts'

export const FORMAT_MASK = 0xf0
export const KEY = 16

/** Rows are written here first: how long one is, is only known when it is whole. */
let scratch: Buffer = Buffer.allocUnsafeSlow(4096)

/** Writes a row from its beginning to its end. */
export class RowWriter {
  #at = 0

  number(value: number, bytes: 1 | 2 | 4 | 6): void {
    this.#room(bytes)
    scratch.writeUIntBE(value, this.#at, bytes)
    this.#at += bytes
  }

  /** A whole number from 0 on: seven bits a byte, the lowest first; the first bit says that there are more. */
  varint(value: number): void {
    this.#room(8)
    let left = value
    for (; left > 127; left = Math.floor(left / 128)) scratch[this.#at++] = (left % 128) | 128
    scratch[this.#at++] = left
  }

  double(value: number): void {
    this.#room(8)
    scratch.writeDoubleBE(value, this.#at)
    this.#at += 8
  }

  bytes(value: Bytes): void {
    this.#room(value.byteLength)
    scratch.set(value, this.#at)
    this.#at += value.byteLength
  }

  key(hex: string): void {
    this.#room(KEY)
    if (hex.length !== 2 * KEY) throw new TypeError(`${hex} is no key`)
    scratch.write(hex, this.#at, 'hex')
    this.#at += KEY
  }

  /** With its length before it, of so many bytes, or as a varint. */
  text(value: string, lengthBytes?: 1 | 2 | 4): void {
    if (!lengthBytes) {
      this.varint(Buffer.byteLength(value))
      this.lastText(value)
      return
    }
    this.#room(lengthBytes + value.length * 3)
    const length = scratch.write(value, this.#at + lengthBytes, 'utf8')
    if (length >= 256 ** lengthBytes) throw new TypeError('a name is too long for its row')
    scratch.writeUIntBE(length, this.#at, lengthBytes)
    this.#at += lengthBytes + length
  }

  /** The last text of a row needs no length. */
  lastText(value: string): void {
    this.#room(value.length * 3)
    this.#at += scratch.write(value, this.#at, 'utf8')
  }

  /** Two bytes that are known only later. */
  patch(value: number, at: number): void {
    scratch.writeUInt16BE(value, at)
  }

  whole(): Buffer {
    const row = Buffer.allocUnsafe(this.#at)
    scratch.copy(row, 0, 0, this.#at)
    return row
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= scratch.byteLength) return
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes))
    scratch.copy(larger, 0, 0, this.#at)
    scratch = larger
  }
}

/** Reads a row from its beginning to its end. Throws what Buffer throws where it is cut short. */
export class RowReader {
  readonly #row: Buffer
  #at = 1

  constructor(row: Buffer) {
    this.#row = row
  }

  /** Format in the high half. */
  get first(): number {
    return this.#row.readUInt8(0)
  }

  number(bytes: 1 | 2 | 4 | 6): number {
    const value = this.#row.readUIntBE(this.#at, bytes)
    this.#at += bytes
    return value
  }

  varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#row.readUInt8(this.#at++)
      value += (byte & 127) * scale
      if (byte < 128) return value
      if (scale > 2 ** 42) throw new RangeError('no number')
    }
  }

  double(): number {
    const value = this.#row.readDoubleBE(this.#at)
    this.#at += 8
    return value
  }

  bytes(count: number): Buffer {
    const from = this.#at
    this.#at += count
    if (this.#at > this.#row.byteLength) throw new RangeError('cut short')
    return this.#row.subarray(from, this.#at)
  }

  key(): string {
    return this.bytes(KEY).toString('hex')
  }

  text(lengthBytes?: 1 | 2 | 4): string {
    const length = lengthBytes ? this.number(lengthBytes) : this.varint()
    const from = this.#at
    this.#at += length
    if (this.#at > this.#row.byteLength) throw new RangeError('cut short')
    return this.#row.toString('utf8', from, this.#at)
  }

  list<T>(count: number, one: () => T): T[] {
    const list: T[] = []
    for (let at = 0; at < count; at++) list.push(one())
    return list
  }

  rest(): Buffer {
    return this.#row.subarray(this.#at)
  }
}
