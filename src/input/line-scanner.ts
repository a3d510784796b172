/**
 * Cuts blocks of bytes into lines, without copying those that lie within one block.
 *
 * Invariant: no more than `lineBytesMax` bytes are ever held; a longer line is passed over while scanning, and
 * reported by its length. What `bytes` shows is good until the next block is given.
 *
 * Not here: what a line means. An empty line is a line, and a carriage return belongs to it.
 */

const NEWLINE = 10

/** A line begins at `start` if the byte before it is a newline, so that byte is read too. */
export function firstByteOf(start: number): number {
  return Math.max(0, start - 1)
}

export class LineScanner {
  /** The line without its newline; empty if it is too long. */
  bytes: Buffer = Buffer.alloc(0)
  /** Where the line begins, in bytes from the beginning of the stream. */
  offset = 0
  /** Which line it is, from 0. */
  number = -1
  /** Its bytes, given also for a line that is too long. */
  length = 0
  isTooLong = false
  /** The first bytes of a line that is too long. */
  beginning: Buffer = Buffer.alloc(0)

  /** No more lines of the range will come. */
  isDone = false

  readonly bytesMax: number
  readonly #end: number
  #block: Buffer = Buffer.alloc(0)
  #at = 0
  #next: number
  #held: Buffer[] = []
  #heldBytes = 0
  #isSkipping: boolean
  #isEnded = false

  /** Lines that begin from byte `start` on and before `end`. The first block begins at `firstByteOf(start)`. */
  constructor(bytesMax: number, start: number, end: number) {
    this.bytesMax = bytesMax
    this.#next = firstByteOf(start)
    this.#end = end
    this.#isSkipping = start > 0
  }

  /** The block before must have been scanned to its end. */
  feed(block: Buffer): void {
    this.#block = block
    this.#at = 0
  }

  /** No more blocks: what is left without a newline is the last line. */
  end(): void {
    this.#isEnded = true
  }

  /** Whether there was another whole line in the block; if not, its rest is kept for the next one. */
  next(): boolean {
    for (;;) {
      if (!this.#isSkipping && this.#next >= this.#end) {
        this.isDone = true
        return false
      }
      if (this.#at >= this.#block.length) return this.#isEnded && this.#last()
      const end = this.#block.indexOf(NEWLINE, this.#at)
      if (end < 0) {
        this.#hold(this.#block.subarray(this.#at))
        this.#at = this.#block.length
        return false
      }
      const rest = this.#block.subarray(this.#at, end)
      this.#at = end + 1
      if (this.#isSkipping) {
        this.#isSkipping = false
        this.#next += this.#heldBytes + rest.length + 1
        this.#heldBytes = 0
      } else {
        this.#finish(rest, 1)
        return true
      }
    }
  }

  #last(): boolean {
    if (this.#isSkipping || this.#heldBytes === 0) return false
    this.#finish(Buffer.alloc(0), 0)
    return true
  }

  /** Bytes of a line whose end has not come yet. */
  get heldBytes(): number {
    return this.#isSkipping ? 0 : this.#heldBytes
  }

  #hold(part: Buffer): void {
    this.#heldBytes += part.length
    if (this.#isSkipping) return
    if (this.#heldBytes <= this.bytesMax) {
      this.#held.push(Buffer.from(part))
      return
    }
    if (this.#held.length > 0 || this.#heldBytes === part.length) {
      const first = this.#held[0] ?? part
      this.beginning = Buffer.from(first.subarray(0, 256))
      this.#held = []
    }
  }

  #finish(rest: Buffer, newlineBytes: number): void {
    this.length = this.#heldBytes + rest.length
    this.offset = this.#next
    this.number++
    this.#next += this.length + newlineBytes
    this.isTooLong = this.length > this.bytesMax
    if (this.isTooLong) {
      if (this.#heldBytes === 0) this.beginning = Buffer.from(rest.subarray(0, 256))
      else if (this.#held[0]) this.beginning = Buffer.from(this.#held[0].subarray(0, 256))
      this.bytes = Buffer.alloc(0)
    } else {
      this.bytes = this.#held.length === 0 ? rest : Buffer.concat([...this.#held, rest])
    }
    this.#held = []
    this.#heldBytes = 0
  }
}
