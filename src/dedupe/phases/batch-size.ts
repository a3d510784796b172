/**
 * How much is decided about in one transaction: the more documents, the fewer transactions; but engines have limits,
 * and what waits for its turn stays within bounds.
 */

import type { Backend } from '../../backends/index.ts'
import type { Engine } from '../decision/engine.ts'
import type { PreparedDocument } from '../decision/prepare.ts'

const DOCUMENTS_MAX = 512
/** Some thirty thousand passages, each of which is a row. */
const BYTES_MAX = 4 * 1024 * 1024

export class BatchSize {
  #documents = 0
  #bytes = 0

  /** Whether the batch is full with this one. */
  add(bytes: number): boolean {
    this.#documents++
    this.#bytes += bytes
    return this.#documents >= DOCUMENTS_MAX || this.#bytes >= BYTES_MAX
  }

  clear(): void {
    this.#documents = 0
    this.#bytes = 0
  }
}

/** Rows of a document besides those of its bands and passages, and of the clusters it may join. */
const OTHER_CELLS = 24
/** What others change meanwhile is decided about again, with all that is in the same transaction. */
const CELLS_MAX = 2048

/**
 * Where what a transaction relies on and writes has a small limit: how many cells a document takes at most, a few more
 * rather than less. A document that takes more than there is room for is alone.
 */
export class SmallTransactions {
  readonly cellsMax: number
  readonly #bands: number
  #cells = 0

  constructor({ backend, engine }: { readonly backend: Backend; readonly engine: Engine }) {
    this.cellsMax = Math.min(CELLS_MAX, backend.limits.cellsMax) - OTHER_CELLS
    this.#bands = engine.settings.bands
  }

  readonly cellsOf = ({ looks, chunks, simhash, meaning }: PreparedDocument): number => {
    const bands = looks.length * this.#bands + (simhash ? SIMHASH_BANDS : 0)
    return OTHER_CELLS + bands + 2 * chunks.length + (meaning ? Infinity : 0)
  }

  /** Whatever it takes, where there is nothing else. */
  hasRoomFor(document: PreparedDocument): boolean {
    return this.#cells === 0 || this.#cells + this.cellsOf(document) <= this.cellsMax
  }

  add(document: PreparedDocument): void {
    this.#cells += this.cellsOf(document)
  }

  clear(): void {
    this.#cells = 0
  }
}

const SIMHASH_BANDS = 4
