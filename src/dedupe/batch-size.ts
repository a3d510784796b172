/** How much is decided about in one transaction: a few documents, and of long ones fewer, since engines have limits. */

const DOCUMENTS_MAX = 32
/** Some sixteen thousand passages of the shortest kind, each of which is a row. */
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
