/**
 * A set of digests of which only sums are kept: enough to determine in which range two sets differ, in the same
 * few kilobytes for any number of digests.
 *
 * Digests are evenly spread, so that sets which differ agree in both sums once in 2^64 times.
 */

import type { Range } from '../../backends/index.ts'

const BUCKET_BITS = 12
const BUCKETS = 2 ** BUCKET_BITS

export class DigestSums {
  readonly #sums = new Uint32Array(2 * BUCKETS)

  add(digest: Buffer): void {
    const bucket = digest.readUInt16BE(0) >> (16 - BUCKET_BITS)
    this.#addTo(2 * bucket, digest.readUInt32BE(4))
    this.#addTo(2 * bucket + 1, digest.readUInt32BE(8))
  }

  /** Where the two differ, in byte order. */
  *differences(other: DigestSums): Generator<Range> {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const at = 2 * bucket
      const isSame =
        this.#sums[at] === other.#sums[at] && this.#sums[at + 1] === other.#sums[at + 1]
      if (!isSame) yield { start: startOf(bucket), end: startOf(bucket + 1) }
    }
  }

  /** Sums wrap around, as an array of 32 bit numbers does by itself. */
  #addTo(at: number, value: number): void {
    this.#sums[at] = (this.#sums[at] ?? 0) + value
  }
}

function startOf(bucket: number): Buffer | undefined {
  if (bucket === BUCKETS) return undefined
  const start = Buffer.allocUnsafe(2)
  start.writeUInt16BE(bucket << (16 - BUCKET_BITS))
  return start
}
