/** Which digests were seen, in eight bytes each: what is not in it was not seen. */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'

const CAPACITY_MIN = 1024

export class LiveDigests {
  #slots = new Uint32Array(2 * CAPACITY_MIN)
  #size = 0

  add(digest: Bytes): void {
    const { high, low } = halves(digest)
    if (insert(this.#slots, high, low)) this.#size++
    if (4 * this.#size > this.#slots.length) this.#grow()
  }

  /** Two digests with the same first eight bytes count as one: a chunk stays longer than it must, and no more. */
  has(digest: Bytes): boolean {
    const { high, low } = halves(digest)
    const at = placeOf(this.#slots, high, low)
    return this.#slots[at] === high && this.#slots[at + 1] === low
  }

  #grow(): void {
    const larger = new Uint32Array(2 * this.#slots.length)
    for (let at = 0; at < this.#slots.length; at += 2) {
      const [high = 0, low = 0] = this.#slots.subarray(at, at + 2)
      if (high !== 0 || low !== 0) insert(larger, high, low)
    }
    this.#slots = larger
  }
}

/** Two zeros are an empty slot. */
function halves(digest: Bytes): { readonly high: number; readonly low: number } {
  const bytes = asBuffer(digest)
  const [high, low] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4)]
  return high === 0 && low === 0 ? { high, low: 1 } : { high, low }
}

/** Where it is, or would be. Digests are spread evenly, so their first bits are as good as a hash. */
function placeOf(slots: Uint32Array, high: number, low: number): number {
  const mask = slots.length - 1
  let at = (2 * low) & mask & ~1
  for (;;) {
    const [first, second] = [slots[at], slots[at + 1]]
    if ((first === high && second === low) || (first === 0 && second === 0)) return at
    at = (at + 2) & mask
  }
}

/** Whether it is new. */
function insert(slots: Uint32Array, high: number, low: number): boolean {
  const at = placeOf(slots, high, low)
  if (slots[at] === high && slots[at + 1] === low) return false
  slots[at] = high
  slots[at + 1] = low
  return true
}
