/** Evidence that was read and compared lately, so that a busy cluster is not read again for every member. */

import { type Bytes, latin1 } from '../platform/bytes.ts'

const BYTES_MAX = 64 * 1024 * 1024

interface Kept<Evidence> {
  readonly evidence: Evidence
  readonly weight: number
  isUsed: boolean
}

/** By id: a representative's evidence never changes, so what is here is never stale. */
export class EvidenceCache<Evidence> {
  readonly #byId = new Map<string, Kept<Evidence>>()
  #weight = 0

  get(id: Bytes): Evidence | undefined {
    const known = this.#byId.get(latin1(id))
    if (known === undefined) return undefined
    known.isUsed = true
    return known.evidence
  }

  keep(id: Bytes, evidence: Evidence, weight: number): void {
    const name = latin1(id)
    if (weight > BYTES_MAX / 4 || this.#byId.has(name)) return
    this.#byId.set(name, { evidence, weight, isUsed: false })
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
