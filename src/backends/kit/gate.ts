/**
 * Open until closed: counts what is under way, so that `close` can wait for all that was accepted and
 * refuse all that comes later. Nothing is ever torn away under a running operation.
 */

import { PrestigeError } from '../../platform/errors.ts'

export class Gate {
  readonly #name: string
  #underWay = 0
  #closing: Promise<void> | undefined
  #whenIdle: (() => void) | undefined

  constructor(name: string) {
    this.#name = name
  }

  /** Something is under way. */
  get isBusy(): boolean {
    return this.#underWay > 0
  }

  assertOpen(): void {
    if (this.#closing === undefined) return
    throw new PrestigeError(
      'BACKEND_CLOSED',
      `The ${this.#name} is closed. Open it again to go on.`,
    )
  }

  enter(): void {
    this.assertOpen()
    this.#underWay++
  }

  leave(): void {
    this.#underWay--
    if (this.#underWay === 0) this.#whenIdle?.()
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    this.enter()
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  /** Runs `release` once, after everything under way has ended. */
  close(release: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#idle().then(release)
    return this.#closing
  }

  #idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#whenIdle = resolve
    })
  }
}
