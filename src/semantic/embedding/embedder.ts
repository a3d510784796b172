/**
 * What turns texts into vectors, and what is asked of anything that does.
 *
 * Whoever has a model implements `Embedder` in ten lines. What comes back is never trusted: the right number of
 * vectors, of the right length, of finite numbers, none without a direction. Otherwise it is EMBEDDER_FAULTY, and
 * nothing is stored or compared.
 */

import { PrestigeError } from '../../platform/errors.ts'

export interface EmbedOptions {
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

export interface Embedder {
  /** Names all that a vector depends on. Vectors under different ids are never compared. */
  readonly id: string
  readonly dimensions: number
  /** One vector a text, in order. The same text gives the same vector, whatever its company. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly Float32Array[]>
  /**
   * All windows of every text, the first one first. For models that read only so much of a text: without this,
   * a text is one window, and what the model does not read is not compared.
   */
  embedWindows?(
    texts: readonly string[],
    options: EmbedOptions,
  ): Promise<readonly (readonly Float32Array[])[]>
}

/** Fills in nothing and repairs nothing: says what is wrong with an embedder before it is used. */
export function requireEmbedder(embedder: Embedder): Embedder {
  const { id, dimensions } = embedder
  if (typeof id !== 'string' || id === '') {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'An embedder has an id that names its model; this one has none.',
    )
  }
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > DIMENSIONS_MAX) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `Embedder ${id} has dimensions from 1 to ${DIMENSIONS_MAX}, not ${String(dimensions)}.`,
    )
  }
  return embedder
}

const DIMENSIONS_MAX = 16_384

/** The windows of every text, checked. */
export async function windowsOf(
  embedder: Embedder,
  texts: readonly string[],
  options: EmbedOptions = {},
): Promise<readonly (readonly Float32Array[])[]> {
  requireEmbedder(embedder)
  options.signal?.throwIfAborted()
  if (texts.length === 0) return []
  const whole = texts.map((text) => text.toWellFormed())
  const asked = embedder.embedWindows
    ? embedder.embedWindows(whole, options)
    : embedder
        .embed(whole, options)
        .then((vectors) => Array.from(vectors, (vector) => [vector] as const))
  const windows = await unlessAborted(asked, options.signal)
  requireCount(embedder, texts.length, windows.length)
  for (const vectors of windows) {
    if (vectors.length === 0) throw faulty(embedder, 'gave a text no vector')
    for (const vector of vectors) requireVector(embedder, vector)
  }
  return windows
}

/** An embedder that pays no attention to the signal is not waited for. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  let stop = () => {}
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    const done = await Promise.race([work, stopped])
    signal.throwIfAborted()
    return done
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function requireCount(embedder: Embedder, asked: number, given: number): void {
  if (asked === given) return
  throw faulty(embedder, `gave ${given} answers for ${asked} texts`)
}

/** A vector of this embedder: the right length, finite, not all zeros. */
export function requireVector(
  embedder: Pick<Embedder, 'id' | 'dimensions'>,
  vector: Float32Array,
): Float32Array {
  if (!(vector instanceof Float32Array)) throw faulty(embedder, 'gave something else than numbers')
  if (vector.length !== embedder.dimensions) {
    throw faulty(
      embedder,
      `gave a vector of ${vector.length} dimensions instead of ${embedder.dimensions}`,
    )
  }
  let square = 0
  for (const number of vector) square += number * number
  if (!Number.isFinite(square)) throw faulty(embedder, 'gave a vector with a number not finite')
  if (square === 0) throw faulty(embedder, 'gave a vector of zeros, which has no direction')
  return vector
}

function faulty({ id }: Pick<Embedder, 'id'>, what: string): PrestigeError {
  return new PrestigeError(
    'EMBEDDER_FAULTY',
    `Embedder ${id} ${what}. Nothing was stored; check the model and what it was given.`,
  )
}
