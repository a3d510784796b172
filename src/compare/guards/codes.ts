/** Texts as numbers: their UTF-16 codes, in memory that is used again. */

import { IS_LITTLE_ENDIAN } from '../../platform/bytes.ts'

/** Memory for longer texts is not kept. */
const KEPT_MAX = 1 << 20
const KEPT_MIN = 1 << 15

/** Another one in each process: nobody can choose texts whose hashes are the same. */
export const HASH_START = Math.trunc(Math.random() * 2 ** 32) | 0
export const HASH_FACTOR = 0x01000193

/** The codes of one text at a time. */
export class Codes {
  #memory = new Memory(KEPT_MIN)
  #text = ''

  /** Valid until another text is asked for. What is behind its end is none of it. */
  of(text: string): Uint16Array {
    if (text === this.#text) return this.#memory.codes
    if (text.length > KEPT_MAX) return new Memory(text.length).write(text)
    if (text.length > this.#memory.codes.length) this.#memory = new Memory(2 * text.length)
    this.#text = text
    return this.#memory.write(text)
  }
}

class Memory {
  readonly codes: Uint16Array
  readonly #bytes: Buffer

  constructor(length: number) {
    this.codes = new Uint16Array(length)
    this.#bytes = Buffer.from(this.codes.buffer)
  }

  /** Many times as fast as asking for one code after another. */
  write(text: string): Uint16Array {
    const bytes = this.#bytes.write(text, 'utf16le')
    if (!IS_LITTLE_ENDIAN) this.#bytes.subarray(0, bytes).swap16()
    return this.codes
  }
}

const read = new Codes()

/** Of the text that is read, until another one is. */
export function codesOf(text: string): Uint16Array {
  return read.of(text)
}
