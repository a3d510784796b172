/** Collects documents and rejects until there are enough to hand over at once. */

import type { Document, Reject } from './document.ts'
import type { ReadingOptions } from './options.ts'

export class Batch {
  readonly #documentsMax: number
  readonly #bytesMax: number
  #items: (Document | Reject)[] = []
  #bytes = 0

  constructor(options: ReadingOptions) {
    this.#documentsMax = options.batchDocuments
    this.#bytesMax = options.batchBytes
  }

  /** Whether it is full now. */
  add(item: Document | Reject, bytes: number): boolean {
    this.#items.push(item)
    this.#bytes += bytes
    return this.#items.length >= this.#documentsMax || this.#bytes >= this.#bytesMax
  }

  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  take(): readonly (Document | Reject)[] {
    const items = this.#items
    this.#items = []
    this.#bytes = 0
    return items
  }
}
