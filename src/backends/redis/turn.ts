/** Calls back once a turn of the event loop, however often it was asked to: what came together goes together. */
export class Turn {
  readonly #callback: () => void
  #isTaken = false

  constructor(callback: () => void) {
    this.#callback = callback
  }

  take(): void {
    if (this.#isTaken) return
    this.#isTaken = true
    setImmediate(() => {
      this.#isTaken = false
      this.#callback()
    })
  }
}
