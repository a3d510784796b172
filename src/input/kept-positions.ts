/** Goes through the positions to keep beside those of a shard, both ascending. */

import { PrestigeError } from '../platform/errors.ts'

export class KeptPositions {
  readonly #wanted: Iterator<number>
  #next: number | undefined

  constructor(positions: Iterable<number>) {
    this.#wanted = positions[Symbol.iterator]()
    this.#advance(-1)
  }

  /** To be asked for every position in turn. */
  has(position: number): boolean {
    if (position !== this.#next) return false
    this.#advance(position)
    return true
  }

  /** Nothing more is wanted, so the rest need not be read. */
  get isDone(): boolean {
    return this.#next === undefined
  }

  /** Everything that was wanted must have been there. */
  requireDone(file: string): void {
    if (this.#next === undefined) return
    throw notThere(this.#next, file)
  }

  #advance(after: number): void {
    const { value, done } = this.#wanted.next()
    this.#next = done === true ? undefined : value
    if (this.#next === undefined) return
    if (Number.isSafeInteger(this.#next) && this.#next > after) return
    const message = `Positions to keep must be whole numbers that ascend; ${this.#next} follows ${after}.`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
}

export function notThere(position: number, file: string): PrestigeError {
  const message = `There is no document at position ${position} of ${file}. Read it again with the same options.`
  return new PrestigeError('INVALID_OPTIONS', message)
}
