/** One at a time, in the order in which they ask; only so many may wait. */

import { HttpProblem } from '../http/problem.ts'

export class Turns {
  readonly #waitingMax: number
  #places = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax
  }

  /** Whether somebody has a place. */
  get isBusy(): boolean {
    return this.#places > 0
  }

  /** Whether there is one place, as for whoever has it and asks. */
  get isFirst(): boolean {
    return this.#places === 1
  }

  /** A place, which is given back by calling the result; refused before anything is read for it. */
  reserve(): () => void {
    if (this.#places > this.#waitingMax)
      throw new HttpProblem(
        'OVERLOADED',
        `One run goes on and ${this.#waitingMax} wait, which is the most that is allowed. Try again later.`,
        { 'retry-after': '10' },
      )
    this.#places++
    let isTaken = true
    return () => {
      if (isTaken) this.#places--
      isTaken = false
    }
  }

  /** Calls it when all before it have ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}
