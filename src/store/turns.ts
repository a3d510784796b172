/**
 * Puts that would make each other look again go one after another, in the order they asked.
 *
 * Where most texts are near to others without being the same, every new one is a candidate of all that are under way,
 * and a lookup before one's turn would have to be repeated.
 */

/** Over how many puts it is averaged. */
const SPAN = 16

export class Turns {
  #last: Promise<void> = Promise.resolve()
  /** From 0 to 1. */
  #crowding = 0

  /** Whether most texts met others that are near and not the same. */
  get isCrowded(): boolean {
    return this.#crowding > 0.5
  }

  note(isCrowded: boolean): void {
    this.#crowding += (Number(isCrowded) - this.#crowding) / SPAN
  }

  /** Resolves when it is the caller's turn, with what ends the turn. */
  async take(): Promise<() => void> {
    const before = this.#last
    let end: () => void = () => undefined
    this.#last = new Promise((resolve) => (end = resolve))
    await before
    return end
  }
}
