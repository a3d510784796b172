/** Operations that are asked for at the same time, as one request of `_batch`: each gets the answer of its own line. */

import { type ErrorCode, errorCodes, PrestigeError } from '../platform/errors.ts'
import type { Transport } from './transport.ts'
import { withKeys } from './wire.ts'

/** A line of the answer. */
interface Answered {
  readonly ok: boolean
  readonly code?: string
  readonly message?: string
}

interface Waiting {
  readonly line: string
  readonly resolve: (answered: unknown) => void
  readonly reject: (error: unknown) => void
}

export class Batch {
  readonly #transport: Transport
  readonly #isRead: boolean
  #waiting: Waiting[] = []

  /** `isRead`: none of its operations changes anything, so that a request may be sent again. */
  constructor(transport: Transport, isRead: boolean) {
    this.#transport = transport
    this.#isRead = isRead
  }

  /** Fails as the operation alone would. */
  async perform<T>(operation: object): Promise<T> {
    const answered = await new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setTimeout(() => void this.#send(), 0)
      this.#waiting.push({ line: JSON.stringify(operation), resolve, reject })
    })
    return answered as T // safe: what the route answers to such an operation
  }

  async #send(): Promise<void> {
    const all = this.#waiting
    this.#waiting = []
    let count = 0
    try {
      for await (const line of this.#answers(all)) {
        settle(all[count], line)
        count++
      }
      throw new PrestigeError('BACKEND_UNAVAILABLE', 'The answer of the server ended early.')
    } catch (error) {
      for (const { reject } of all.slice(count)) reject(error)
    }
  }

  async *#answers(all: readonly Waiting[]): AsyncGenerator<string> {
    const { body } = await this.#transport.send({
      method: 'POST',
      path: 'kv/_batch',
      headers: { 'content-type': 'application/x-ndjson' },
      body: all.map(({ line }) => line).join('\n'),
      what: 'The batch',
      isRead: this.#isRead,
    })
    const decoder = new TextDecoder()
    let rest = ''
    for await (const piece of body ?? []) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  }
}

function settle(one: Waiting | undefined, line: string): void {
  const answered = JSON.parse(line, withKeys('firstKey')) as Answered // safe: what the route answers
  if (answered.ok) one?.resolve(answered)
  else one?.reject(new PrestigeError(codeIn(answered), answered.message ?? 'The server failed.'))
}

function codeIn({ code }: Answered): ErrorCode {
  return errorCodes.find((one) => one === code) ?? 'UNEXPECTED'
}
