/** Reads tensors of half precision out of a safetensors file, as numbers of single precision. */

import { PrestigeError } from '../../platform/errors.ts'

export interface Tensor {
  readonly shape: readonly number[]
  readonly numbers: Float32Array
}

interface Entry {
  readonly dtype: string
  readonly shape: readonly number[]
  readonly data_offsets: readonly [number, number]
}

const HEADER_BYTES_MAX = 16 * 1024 * 1024

export class Safetensors {
  readonly #bytes: Buffer
  readonly #from: number
  readonly #entries: Readonly<Record<string, Entry>>

  constructor(bytes: Buffer) {
    const length = bytes.byteLength < 8 ? 0n : bytes.readBigUInt64LE(0)
    if (length === 0n || length > HEADER_BYTES_MAX || 8 + Number(length) > bytes.byteLength) {
      throw unreadable('its header')
    }
    this.#bytes = bytes
    this.#from = 8 + Number(length)
    try {
      // safe: whatever is wrong with an entry shows when it is read.
      this.#entries = JSON.parse(bytes.toString('utf8', 8, this.#from)) as Record<string, Entry>
    } catch (cause) {
      throw unreadable('its header', cause)
    }
  }

  read(name: string): Tensor {
    const entry = this.#entries[name]
    if (entry?.dtype !== 'F16' || !Array.isArray(entry.data_offsets)) throw unreadable(name)
    const count = entry.shape.reduce((product, size) => product * size, 1)
    const [from, to] = entry.data_offsets
    if (to - from !== count * 2 || this.#from + to > this.#bytes.byteLength) throw unreadable(name)
    const table = singles()
    const numbers = new Float32Array(count)
    let at = this.#from + from
    for (let number = 0; number < count; number++, at += 2) {
      numbers[number] = table[(this.#bytes[at] ?? 0) | ((this.#bytes[at + 1] ?? 0) << 8)] ?? 0
    }
    return { shape: entry.shape, numbers }
  }

  /** A matrix with rows and columns changed over. */
  readTransposed(name: string): Tensor {
    const { shape, numbers } = this.read(name)
    const [rows, columns] = shape
    if (shape.length !== 2 || rows === undefined || columns === undefined) throw unreadable(name)
    const turned = new Float32Array(numbers.length)
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        turned[column * rows + row] = numbers[row * columns + column] ?? 0
      }
    }
    return { shape: [columns, rows], numbers: turned }
  }
}

let made: Float32Array | undefined

/** Every half as a single: exact, since each half is one. */
function singles(): Float32Array {
  made ??= Float32Array.from({ length: 65_536 }, (_, half) => {
    const sign = half & 0x8000 ? -1 : 1
    const exponent = (half >> 10) & 0x1f
    const fraction = half & 0x3ff
    if (exponent === 0) return sign * fraction * 2 ** -24
    if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  })
  return made
}

function unreadable(what: string, cause?: unknown): PrestigeError {
  return new PrestigeError('MODEL_CORRUPT', `The safetensors file cannot be read: ${what}.`, {
    cause,
  })
}
