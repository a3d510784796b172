/** Evidence that was read and cut lately, so that a busy cluster is not cut again for every member. */

import { type Bytes, latin1 } from '../platform/bytes.ts'
import type { Measured } from './evidence.ts'

const BYTES_MAX = 64 * 1024 * 1024

interface Kept {
  readonly measured: Measured
  readonly weight: number
  isUsed: boolean
}

/** By id: a representative's evidence never changes, so what is here is never stale. */
export class MeasuredCache {
  readonly #byId = new Map<string, Kept>()
  #weight = 0

  get(id: Bytes): Measured | undefined {
    const known = this.#byId.get(latin1(id))
    if (known === undefined) return undefined
    known.isUsed = true
    return known.measured
  }

  /** To be called when it has been used: only then is it known what it weighs. */
  keep(id: Bytes, measured: Measured): void {
    const name = latin1(id)
    if (this.#byId.has(name)) return
    const { weight } = measured
    if (weight > BYTES_MAX / 4) return
    this.#byId.set(name, { measured, weight, isUsed: false })
    this.#weight += weight
    for (const [oldest, kept] of this.#byId) {
      if (this.#weight <= BYTES_MAX) return
      this.#byId.delete(oldest)
      // What was asked for since it was the oldest goes to the end once more, which is cheaper than at every use.
      if (kept.isUsed) this.#byId.set(oldest, { ...kept, isUsed: false })
      else this.#weight -= kept.weight
    }
  }
}
