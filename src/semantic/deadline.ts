/**
 * Ends the wait for a function of the user's that does not answer: an embedder, a reranker, a judge.
 *
 * Calls may queue inside that function, so the time of a call restarts whenever the oldest call before it is
 * answered: a slow embedder with a thousand calls is not late, one that has stopped answering is. Timers hold the
 * process on purpose: a script must not end in the middle of a put.
 */

import { PrestigeError } from '../platform/errors.ts'

export const CALLBACK_TIMEOUT_MS = 60_000

interface Call {
  readonly startedAt: number
}

export class Deadline {
  readonly #what: string
  readonly #timeoutMs: number
  /** The oldest first. */
  readonly #pending = new Set<Call>()
  #answeredAt = 0

  /** `what`: the beginning of a sentence, as in `Embedder x`. */
  constructor(what: string, timeoutMs: number) {
    this.#what = what
    this.#timeoutMs = timeoutMs
  }

  async run<T>(call: (signal: AbortSignal) => Promise<T> | T, outer?: AbortSignal): Promise<T> {
    const stop = new AbortController()
    const own: Call = { startedAt: performance.now() }
    this.#pending.add(own)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      const look = () => {
        const since = Math.max(own.startedAt, this.#answeredAt)
        const leftMs = since + this.#timeoutMs - performance.now()
        if (leftMs > 0) {
          timer = setTimeout(look, leftMs)
          return
        }
        const error = this.#late()
        reject(error)
        stop.abort(error)
      }
      timer = setTimeout(look, this.#timeoutMs)
    })
    try {
      const signal = outer ? AbortSignal.any([outer, stop.signal]) : stop.signal
      return await Promise.race([call(signal), late])
    } finally {
      clearTimeout(timer)
      const [oldest] = this.#pending
      if (oldest === own && !stop.signal.aborted) this.#answeredAt = performance.now()
      this.#pending.delete(own)
    }
  }

  #late(): PrestigeError {
    return new PrestigeError(
      'CALLBACK_TIMEOUT',
      `${this.#what} has not answered for ${this.#timeoutMs} ms, and nothing was stored. Try again, or raise semantic.callbackTimeoutMs.`,
    )
  }
}
