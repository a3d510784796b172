/** How much a key may ask for in a second: a bucket that fills at that rate and holds ten seconds' worth at most. */

import { HttpProblem } from '../http/problem.ts'

const BURST_SECONDS = 10
/** When to ask again where the rate is 0, as a file of keys may have it: never before an administrator has changed it. */
const DAY_SECONDS = 86_400

export class Rate {
  readonly #perSecond: number
  readonly #clock: () => number
  #level: number
  #at: number

  constructor(perSecond: number, clock: () => number) {
    this.#perSecond = perSecond
    this.#clock = clock
    this.#level = perSecond * BURST_SECONDS
    this.#at = clock()
  }

  /** Takes so much, which may leave the bucket in debt; refuses while it is empty. */
  take(amount: number, what: string): void {
    this.#fill()
    if (this.#level <= 0) {
      const seconds =
        this.#perSecond > 0 ? Math.max(1, Math.ceil(-this.#level / this.#perSecond)) : DAY_SECONDS
      throw new HttpProblem(
        'RATE_LIMITED',
        `This key may use ${this.#perSecond} ${what} a second.`,
        { 'retry-after': String(seconds) },
      )
    }
    this.#level -= amount
  }

  /** What was not known before: bytes of a body that came without a length. */
  spend(amount: number): void {
    this.#fill()
    this.#level -= amount
  }

  #fill(): void {
    const now = this.#clock()
    const seconds = Math.max(0, now - this.#at) / 1000
    this.#level = Math.min(this.#perSecond * BURST_SECONDS, this.#level + seconds * this.#perSecond)
    this.#at = now
  }
}
