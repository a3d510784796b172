/** Answers given lately, so that what is asked again and again costs no read of the rows. */

import { type Bytes, latin1 } from '../platform/bytes.ts'
import type { Ended } from './resolve.ts'

interface Kept {
  readonly ended: Ended
  readonly until: number
}

/** An answer is of one group key and one input. It is dropped when this process forgets or merges, and by age. */
export class Answers {
  /** Grows whenever answers are dropped: what was asked for before is not kept then. */
  epoch = 0
  readonly #kept = new Map<string, Kept>()
  readonly #max: number
  readonly #ms: number

  constructor(max: number, ms: number) {
    this.#max = max
    this.#ms = ms
  }

  get(groupKey: Bytes, id: Bytes, now: number): Ended | undefined {
    if (this.#max === 0) return undefined
    const name = latin1(groupKey) + latin1(id)
    const kept = this.#kept.get(name)
    if (kept === undefined) return undefined
    this.#kept.delete(name)
    if (kept.until <= now) return undefined
    this.#kept.set(name, kept)
    return kept.ended
  }

  keep(groupKey: Bytes, id: Bytes, ended: Ended, now: number, epoch: number): void {
    if (this.#max === 0 || this.#ms <= 0 || epoch !== this.epoch) return
    const name = latin1(groupKey) + latin1(id)
    this.#kept.delete(name)
    this.#kept.set(name, { ended, until: now + this.#ms })
    if (this.#kept.size <= this.#max) return
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest)
      return
    }
  }

  clear(): void {
    this.epoch++
    this.#kept.clear()
  }
}
