/** Requests to the upstream that are under way, which others for the same wait for. */

import type { CacheKey } from './cache-key.ts'

/** What turned out not to be kept is not waited for, for so long. */
const UNKEPT_MS = 60_000
const UNKEPT_MAX = 10_000

export class Flight {
  readonly key: CacheKey
  /** The address was changed meanwhile: the answer may be older than the change, and is not kept. */
  isOutdated = false
  /** While the row is being written. */
  writing: Promise<void> | undefined
  /** Stops sending to the client, who may take nothing. */
  stop: (() => void) | undefined
  readonly ended: Promise<void>
  readonly end: () => void

  constructor(key: CacheKey, onEnd: (flight: Flight) => void) {
    this.key = key
    let resolve: () => void = () => undefined
    this.ended = new Promise<void>((done) => (resolve = done))
    this.end = () => {
      onEnd(this)
      resolve()
    }
  }
}

export class Flights {
  readonly #all = new Set<Flight>()
  readonly #first = new Map<string, Flight>()
  /** With the time until which it counts, on the clock of `performance`. */
  readonly #unkept = new Map<string, number>()

  begin(key: CacheKey): Flight {
    const flight = new Flight(key, (ended) => this.#remove(ended))
    this.#all.add(flight)
    if (!this.#first.has(key.entry)) this.#first.set(key.entry, flight)
    return flight
  }

  /** The one to wait for. */
  of({ entry }: CacheKey): Flight | undefined {
    const until = this.#unkept.get(entry)
    if (until !== undefined && until > performance.now()) return undefined
    return this.#first.get(entry)
  }

  notKept({ entry }: CacheKey): void {
    this.#unkept.delete(entry)
    this.#unkept.set(entry, performance.now() + UNKEPT_MS)
    const [oldest] = this.#unkept.keys()
    if (this.#unkept.size > UNKEPT_MAX && oldest !== undefined) this.#unkept.delete(oldest)
  }

  kept({ entry }: CacheKey): void {
    this.#unkept.delete(entry)
  }

  /** From now on nobody waits for those of the address, and their answers are not kept. */
  async outdate(address: string): Promise<void> {
    for (const flight of this.#all) {
      if (flight.key.address !== address) continue
      flight.isOutdated = true
      if (this.#first.get(flight.key.entry) === flight) this.#first.delete(flight.key.entry)
      await flight.writing?.catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    for (const flight of this.#all) flight.stop?.()
    await Promise.all([...this.#all].map(({ ended }) => ended))
  }

  #remove(flight: Flight): void {
    this.#all.delete(flight)
    if (this.#first.get(flight.key.entry) === flight) this.#first.delete(flight.key.entry)
  }
}
