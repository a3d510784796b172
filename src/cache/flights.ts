/**
 * Calls on their way, so that prompts that ask the same at the same time are asked once.
 *
 * Whoever has found nothing begins a call without waiting in between, so of several with one prompt only the first does. One that
 * asks the same in other words waits for the first, and then looks again: what it is served is decided as for anybody else.
 */

import {
  documentSimilarity,
  type DocumentVectors,
  embedDocuments,
  type Embedder,
} from '../semantic/index.ts'
import { type CacheGuards, promptVetoes } from './find.ts'
import type { Address } from './scope.ts'

export interface Flight<T> {
  readonly prompt: string
  readonly at: Address
  readonly vectors: DocumentVectors | undefined
  readonly result: T
  /** Its answer has been kept, or it failed. Never rejects. */
  readonly ended: Promise<void>
}

export interface FlightOptions {
  readonly embedder: Embedder | undefined
  readonly threshold: number | undefined
  readonly guards: CacheGuards
}

/** Of those that ended: a look that began before more of them has to be repeated anyway. */
const ENDED_MAX = 256

export class Flights<T> {
  readonly #options: FlightOptions
  readonly #current = new Map<string, Flight<T>>()
  #ended: Flight<T>[] = []
  /** How many have ended. */
  #count = 0

  constructor(options: FlightOptions) {
    this.#options = options
  }

  /** A moment, for `equivalent`. */
  get moment(): number {
    return this.#count
  }

  get(at: Address): Flight<T> | undefined {
    return this.#current.get(at.id)
  }

  async vectorsOf({ text }: Address): Promise<DocumentVectors | undefined> {
    const { embedder } = this.#options
    if (!embedder || this.#options.threshold === undefined) return undefined
    return (await embedDocuments(embedder, [text]))[0]
  }

  /** One on its way, or ended since a moment, that may well answer this prompt too. */
  equivalent(
    prompt: string,
    at: Address,
    vectors: DocumentVectors | undefined,
    since: number,
  ): Flight<T> | undefined {
    const missed = this.#count - since
    const ended = missed > 0 ? this.#ended.slice(-missed) : []
    const all = [...this.#current.values(), ...ended]
    return all.find((flight) => this.#isLike(flight, prompt, at, vectors))
  }

  #isLike(
    flight: Flight<T>,
    prompt: string,
    at: Address,
    vectors: DocumentVectors | undefined,
  ): boolean {
    if (flight.at.id === at.id) return true
    if (flight.at.scope !== at.scope) return false
    const { guards, threshold = 1 } = this.#options
    const isNear =
      flight.at.form === at.form ||
      (vectors && flight.vectors && documentSimilarity(vectors, flight.vectors) >= threshold)
    return Boolean(isNear) && promptVetoes(prompt, flight.prompt, guards).length === 0
  }

  /** To be called in the same turn as `equivalent`. */
  begin(flight: Flight<T>): void {
    this.#current.set(flight.at.id, flight)
  }

  end(flight: Flight<T>): void {
    if (this.#current.get(flight.at.id) === flight) this.#current.delete(flight.at.id)
    this.#count++
    this.#ended.push(flight)
    if (this.#ended.length > ENDED_MAX * 2) this.#ended = this.#ended.slice(-ENDED_MAX)
  }
}
