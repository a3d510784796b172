/**
 * Finds the documents of a JSON file, block by block: the elements of an array, or values one after another. Memory
 * is bounded: of a value that is longer than `bytesMax` only the beginning is held.
 *
 * It looks for where values end, not at what is in them; whoever parses them finds what is wrong there.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const MARK = [0xef, 0xbb, 0xbf]
const SAMPLE_BYTES = 256
const NOT_FOUND = -1

type Phase = 'begin' | 'before' | 'inside' | 'behind' | 'over'

export class ValueScanner {
  /** The value that `next` found; good until the next block is fed. Empty where it is too long. */
  bytes: Buffer = Buffer.alloc(0)
  length = 0
  isTooLong = false
  /** How a value begins that is too long. */
  beginning: Buffer = Buffer.alloc(0)
  /** `undefined` until something was found in the file. */
  isArray: boolean | undefined
  /** Why no more values can be found, although there is more. */
  problem: string | undefined
  readonly bytesMax: number
  #phase: Phase = 'begin'
  #block: Buffer = Buffer.alloc(0)
  #at = 0
  /** Bytes of the blocks before this one. */
  #passed = 0
  #isEnded = false
  #held: Buffer[] = []
  #heldBytes = 0
  #depth = 0
  #isInString = false
  /** The last block ended behind a backslash that escapes what follows. */
  #isEscaped = false

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** The block before must have been scanned to its end. */
  feed(block: Buffer): void {
    this.#passed += this.#block.length
    this.#block = block
    this.#at = 0
  }

  /** No more blocks. */
  end(): void {
    this.#isEnded = true
  }

  /** Whether there was another whole value in the block; if not, its rest is kept for the next one. */
  next(): boolean {
    while (this.problem === undefined) {
      if (this.#phase === 'inside') {
        const end = this.#endOfValue()
        if (end !== NOT_FOUND) return this.#finish(end)
        this.#hold(this.#block.subarray(this.#at))
        this.#at = this.#block.length
        return this.#isEnded && this.#last()
      }
      const byte = this.#nextByte()
      if (byte === undefined) return this.#isEnded && this.#last()
      this.#step(byte)
    }
    return false
  }

  /** The next byte that is no white space, and not a byte order mark at the beginning. */
  #nextByte(): number | undefined {
    for (; this.#at < this.#block.length; this.#at++) {
      const byte = this.#block[this.#at]
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue
      if (this.#phase === 'begin' && byte === MARK[this.#passed + this.#at]) continue
      return byte
    }
    return undefined
  }

  /** At a byte outside of all values. */
  #step(byte: number): void {
    if (this.#phase === 'begin') {
      this.isArray = byte === OPEN_ARRAY
      this.#phase = 'before'
      if (this.isArray) this.#at++
      return
    }
    const isClosing = this.isArray === true && byte === CLOSE_ARRAY
    if (this.#phase === 'over') this.#fail('something follows the end of the array')
    else if (isClosing) this.#go('over')
    else if (this.#phase === 'behind' && this.isArray) {
      if (byte === COMMA) this.#go('before')
      else this.#fail('there is no comma between two elements')
    } else if (byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      this.#fail(`there is ${String.fromCharCode(byte)} where a value should be`)
    } else this.#phase = 'inside'
  }

  #go(phase: Phase): void {
    this.#phase = phase
    this.#at++
  }

  #fail(why: string): void {
    this.problem = `${why}, at byte ${this.#passed + this.#at}`
  }

  /** Behind the last byte of the value in this block, or `NOT_FOUND`. */
  #endOfValue(): number {
    const block = this.#block
    let at = this.#at
    while (at < block.length) {
      if (this.#isInString) {
        at = this.#endOfString(at)
        if (!this.#isInString && this.#depth === 0) return at
        continue
      }
      const byte = block[at]
      if (byte === QUOTE) this.#isInString = true
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth++
      else if (this.#depth === 0) {
        // A number or a word ends where something else begins.
        if (isEndOfWord(byte)) return at
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.#depth--
        if (this.#depth === 0) return at + 1
      }
      at++
    }
    return NOT_FOUND
  }

  /** Behind the closing quote, or at the end of the block, within a string. */
  #endOfString(start: number): number {
    const block = this.#block
    let from = this.#isEscaped ? start + 1 : start
    this.#isEscaped = false
    for (;;) {
      const quote = block.indexOf(QUOTE, from)
      const end = quote < 0 ? block.length : quote
      let backslashes = 0
      while (end - backslashes > from && block[end - backslashes - 1] === BACKSLASH) backslashes++
      const isEscaped = backslashes % 2 === 1
      if (quote < 0) {
        this.#isEscaped = isEscaped
        return block.length
      }
      if (!isEscaped) {
        this.#isInString = false
        return quote + 1
      }
      from = quote + 1
    }
  }

  #hold(part: Buffer): void {
    if (part.length === 0) return
    this.#heldBytes += part.length
    if (this.#heldBytes <= this.bytesMax) {
      this.#held.push(Buffer.from(part))
      return
    }
    if (this.#held.length > 0 || this.#heldBytes === part.length) {
      this.beginning = Buffer.from((this.#held[0] ?? part).subarray(0, SAMPLE_BYTES))
    }
    this.#held = []
  }

  #finish(end: number): true {
    const rest = this.#block.subarray(this.#at, end)
    this.#at = end
    this.length = this.#heldBytes + rest.length
    this.isTooLong = this.length > this.bytesMax
    if (this.isTooLong) {
      const first = this.#heldBytes === 0 ? rest : this.#held[0]
      if (first) this.beginning = Buffer.from(first.subarray(0, SAMPLE_BYTES))
      this.bytes = Buffer.alloc(0)
    } else this.bytes = this.#held.length === 0 ? rest : Buffer.concat([...this.#held, rest])
    this.#held = []
    this.#heldBytes = 0
    this.#phase = 'behind'
    return true
  }

  /** At the end of the file. */
  #last(): boolean {
    if (this.#phase === 'inside') {
      if (this.#depth === 0 && !this.#isInString && this.#heldBytes > 0)
        return this.#finish(this.#at)
      this.#fail('the file ends within a value')
    } else if (this.isArray && this.#phase !== 'over') this.#fail('the array is not closed')
    return false
  }
}

function isEndOfWord(byte: number | undefined): boolean {
  if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return true
  return byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT
}
