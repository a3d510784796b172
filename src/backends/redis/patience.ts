/**
 * Sends again, at growing random intervals, what failed because the server could not be reached or could not take
 * it yet, until twice the time that a request may take is over: then a line that is only shaky has served, and a
 * server that is gone is reported. That is one span for a request, however often its sender comes back with it.
 */

import { PrestigeError } from '../../platform/errors.ts'

const PAUSE_MS = 5
const PAUSE_MS_MAX = 250

interface Past {
  readonly since: number
  error?: PrestigeError
}

export class Patience {
  readonly #spanMs: number
  readonly #past = new WeakMap<object, Past>()

  constructor(timeoutMs: number) {
    this.#spanMs = 2 * timeoutMs
  }

  /** `request` is what makes it the same request when it comes again. */
  async untilSent<T>(request: object, send: () => Promise<T>): Promise<T> {
    const past: Past = this.#past.get(request) ?? { since: performance.now() }
    if (past.error && this.#isOver(past)) throw past.error
    for (let sends = 1; ; sends++) {
      try {
        return await send()
      } catch (error) {
        if (!(error instanceof PrestigeError) || error.code !== 'BACKEND_UNAVAILABLE') throw error
        past.error = error
        this.#past.set(request, past)
        if (this.#isOver(past)) throw error
      }
      await pause(Math.random() * Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** sends))
    }
  }

  #isOver({ since }: Past): boolean {
    return performance.now() - since > this.#spanMs
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
