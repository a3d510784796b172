/**
 * One source of chunks for any number of readers, each from the beginning, as it arrives. Chunks are kept as JSON: what a reader
 * does to its chunk changes nobody else's.
 *
 * The source is asked for a chunk when the reader that is furthest wants one. When the last reader leaves before the end, the
 * source is closed, and nothing was recorded.
 */

import { type JsonValue, jsonText, parseJson } from '../store/index.ts'

export class SharedStream<C extends JsonValue> {
  readonly #source: AsyncIterator<C>
  readonly #chunks: string[] = []
  readonly #onEnd: (chunks: JsonValue[] | undefined) => Promise<void>
  #pulling: Promise<void> | undefined
  #state: 'open' | 'ended' | 'failed' | 'left' = 'open'
  #error: unknown
  #readers = 0

  /** `onEnd`: once, with all chunks if the source ended well. */
  constructor(source: AsyncIterable<C>, onEnd: (chunks: JsonValue[] | undefined) => Promise<void>) {
    this.#source = source[Symbol.asyncIterator]()
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  async *read(): AsyncGenerator<C> {
    this.#readers++
    try {
      for (let at = 0; ; at++) {
        while (at >= this.#chunks.length && this.#state === 'open') await this.#pull()
        const chunk = this.#chunks[at]
        if (chunk === undefined) break
        yield parseJson(chunk) as C // safe: what was made of a C
      }
      if (this.#state === 'failed') throw this.#error
    } finally {
      this.#readers--
      if (this.#readers === 0) await this.#leave()
    }
  }

  #pull(): Promise<void> {
    this.#pulling ??= this.#next().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  async #next(): Promise<void> {
    try {
      const { done, value } = await this.#source.next()
      if (!done) {
        this.#chunks.push(jsonText(value))
        return
      }
      // Kept before the last reader sees the end, so that a later call finds it.
      await this.#onEnd(this.#chunks.map((chunk) => parseJson(chunk) as JsonValue)) // safe: made by jsonText
      this.#state = 'ended'
    } catch (error) {
      this.#error = error
      this.#state = 'failed'
      await this.#onEnd(undefined)
      await this.#source.return?.()
    }
  }

  async #leave(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'left'
    await this.#onEnd(undefined)
    await this.#source.return?.()
  }
}
