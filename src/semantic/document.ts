/**
 * The vectors of one document, and how alike two documents are.
 *
 * A model reads a few hundred tokens. A longer text is read in overlapping windows, and two texts are alike only
 * if they are so window for window: the same first page does not make up for another ending. The pooled vector, the
 * mean of all windows, finds candidates; it decides nothing.
 */

import { PrestigeError } from '../platform/errors.ts'
import { type Embedder, type EmbedOptions, windowsOf } from './embedding/embedder.ts'

export interface DocumentVectors {
  /** The direction of the mean of all windows; of one window, that window itself. */
  readonly pooled: Float32Array
  /** In the order of the text. */
  readonly windows: readonly Float32Array[]
}

/** Embeds whole texts, checked. To be called before a transaction: a transaction does not wait. */
export async function embedDocuments(
  embedder: Embedder,
  texts: readonly string[],
  options: EmbedOptions = {},
): Promise<DocumentVectors[]> {
  const all = await windowsOf(embedder, texts, options)
  return all.map((windows) => documentOf(windows))
}

export function documentOf(windows: readonly Float32Array[]): DocumentVectors {
  const [first] = windows
  if (first === undefined) throw new PrestigeError('INVALID_VALUE', 'A document has a window.')
  return { pooled: windows.length === 1 ? first : pooledOf(windows, first.length), windows }
}

/** Sums run in one order and in double precision, so that the same windows give the same bits. */
function pooledOf(windows: readonly Float32Array[], dimensions: number): Float32Array {
  const sums = new Float64Array(dimensions)
  for (const window of windows) {
    const length = Math.sqrt(squareOf(window))
    for (let at = 0; at < dimensions; at++) {
      sums[at] = (sums[at] ?? 0) + (window[at] ?? 0) / length
    }
  }
  const length = Math.sqrt(squareOf(sums))
  // Windows that cancel each other out have no mean direction; the first stands for them.
  if (!(length > 1e-6)) return windows[0] ?? new Float32Array(dimensions)
  return Float32Array.from(sums, (sum) => sum / length)
}

function squareOf(vector: ArrayLike<number>): number {
  let square = 0
  for (let at = 0; at < vector.length; at++) square += (vector[at] ?? 0) ** 2
  return square
}

/** Exactly 1 for equal vectors, in double precision: what every decision goes by. */
export function vectorCosine(first: Float32Array, second: Float32Array): number {
  if (first.length !== second.length) {
    throw new PrestigeError(
      'EMBEDDER_MISMATCH',
      `Vectors of ${first.length} and ${second.length} dimensions are of different embedders, and do not compare.`,
    )
  }
  let dot = 0
  let square = 0
  let otherSquare = 0
  for (let at = 0; at < first.length; at++) {
    const a = first[at] ?? 0
    const b = second[at] ?? 0
    dot += a * b
    square += a * a
    otherSquare += b * b
  }
  const cosine = dot / Math.sqrt(square * otherSquare)
  if (Number.isNaN(cosine)) {
    throw new PrestigeError('INVALID_VALUE', 'A vector without a direction does not compare.')
  }
  return Math.min(1, Math.max(-1, cosine))
}

/**
 * How alike two documents are where they are least alike: every window of each must find its like in the other,
 * about where it stands itself. Of two short texts it is their cosine.
 */
export function documentSimilarity(first: DocumentVectors, second: DocumentVectors): number {
  if (first.windows.length === 1 && second.windows.length === 1) {
    return vectorCosine(first.pooled, second.pooled)
  }
  return Math.min(
    leastMatch(first.windows, second.windows),
    leastMatch(second.windows, first.windows),
  )
}

function leastMatch(own: readonly Float32Array[], others: readonly Float32Array[]): number {
  // An insertion moves what follows it by at most as many windows as one text has more.
  const reach = Math.abs(own.length - others.length) + 1
  let least = 1
  own.forEach((window, at) => {
    let best = -1
    for (let other = Math.max(0, at - reach); other <= at + reach; other++) {
      const candidate = others[other]
      if (candidate) best = Math.max(best, vectorCosine(window, candidate))
    }
    least = Math.min(least, best)
  })
  return least
}
