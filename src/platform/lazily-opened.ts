/** Something that is opened with the first call that needs it, once for all, and closed if it was opened. */

interface Closable {
  close(): Promise<void>
}

export class LazilyOpened<T extends Closable> {
  readonly #open: () => Promise<T>
  #opening: Promise<T> | undefined

  constructor(open: () => Promise<T>) {
    this.#open = open
  }

  get(): Promise<T> {
    // What cannot be opened now may be there at the next call.
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.close()
  }
}
