/**
 * Total time to wait for an answer of a server: however often a request is sent, and however often its sender
 * comes back with it. What is sent already cannot be called back.
 */

import { PrestigeError } from '../../platform/errors.ts'

const TIMEOUT_MS_MIN = 100
const TIMEOUT_MS_MAX = 600_000

/** Of an option; of a location, see there. */
export function checkedTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || isTimeout(timeoutMs)) return timeoutMs
  throw new PrestigeError('INVALID_OPTIONS', `timeoutMs is ${TIMEOUT_RULE}, not ${timeoutMs}.`)
}

export function isTimeout(timeoutMs: number): boolean {
  return Number.isInteger(timeoutMs) && timeoutMs >= TIMEOUT_MS_MIN && timeoutMs <= TIMEOUT_MS_MAX
}

export const TIMEOUT_RULE = `a whole number from ${TIMEOUT_MS_MIN} to ${TIMEOUT_MS_MAX}`

export class RequestSpan {
  readonly #what: string
  readonly #timeoutMs: number
  readonly #endOf = new WeakMap<object, number>()

  constructor(what: string, timeoutMs: number) {
    this.#what = what
    this.#timeoutMs = timeoutMs
  }

  /** `request` is what makes it the same request when it comes again. */
  async within<T>(request: object, send: () => Promise<T>): Promise<T> {
    const now = performance.now()
    const end = this.#endOf.get(request) ?? now + this.#timeoutMs
    this.#endOf.set(request, end)
    if (now >= end) throw this.#late()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(this.#late()), end - now)
    })
    try {
      return await Promise.race([send(), late])
    } finally {
      clearTimeout(timer)
    }
  }

  #late(): PrestigeError {
    return new PrestigeError(
      'BACKEND_UNAVAILABLE',
      `${this.#what} did not answer in ${this.#timeoutMs} ms. Whether a write was applied is not known. Try again later, or wait longer with ?timeoutMs=.`,
    )
  }
}
