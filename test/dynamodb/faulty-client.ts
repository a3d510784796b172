/**
 * A client whose network and server are as bad as the real ones can be, from a seed. The emulators never throttle,
 * never refuse a transaction because of another, and never leave keys unprocessed; here all of that happens.
 */

import type { DynamoClient } from '../../src/backends/dynamodb/index.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'

/** How likely each is, of every request it can happen to. */
export interface DynamoFaults {
  readonly throttle: number
  /** Some keys of a read are left unprocessed. */
  readonly unprocessed: number
  /** A transaction is cancelled because another has one of its items. */
  readonly conflict: number
  /** The request is performed, and its reply is lost. */
  readonly lostReply: number
  /** The connection is cut before the request is performed. */
  readonly cut: number
  /** The connection is cut, and the request is performed later. */
  readonly late: number
  /** The server says that it is still busy with this token, or that it failed. */
  readonly busy: number
}

export const NO_FAULTS: DynamoFaults = {
  throttle: 0,
  unprocessed: 0,
  conflict: 0,
  lostReply: 0,
  cut: 0,
  late: 0,
  busy: 0,
}

export const ALL_FAULTS: DynamoFaults = {
  throttle: 0.3,
  unprocessed: 0.3,
  conflict: 0.2,
  lostReply: 0.15,
  cut: 0.05,
  late: 0.05,
  busy: 0.05,
}

interface Sent {
  readonly constructor: { readonly name: string }
  readonly input: {
    RequestItems?: Record<string, { Keys: unknown[] }>
    TransactItems?: unknown[]
    ClientRequestToken?: string
  }
}

export class FaultyClient implements DynamoClient {
  /** How often what happened. */
  readonly happened = new Map<string, number>()
  /** Commands by name. */
  readonly sent = new Map<string, number>()
  /** The server knows no request again. */
  forgetsTokens = false
  faults: DynamoFaults = NO_FAULTS
  readonly #client: DynamoClient
  readonly #random: () => number
  readonly #late: Promise<unknown>[] = []

  constructor(client: DynamoClient, seed: number) {
    this.#client = client
    this.#random = seededRandom(seed)
  }

  async send(command: unknown): Promise<unknown> {
    const sent = command as Sent
    const { name } = sent.constructor
    this.sent.set(name, (this.sent.get(name) ?? 0) + 1)
    if (this.forgetsTokens && sent.input.ClientRequestToken) {
      sent.input.ClientRequestToken = String(this.#random()).slice(0, 36)
    }
    this.#failBefore(command, sent)
    const left = name === 'BatchGetItemCommand' ? this.#leave(sent) : undefined
    try {
      const answer = (await this.#client.send(command)) as object
      if (this.#happens('lostReply')) throw connectionReset()
      return left ? { ...answer, UnprocessedKeys: left.keys } : answer
    } finally {
      left?.giveBack()
    }
  }

  destroy(): void {
    this.#client.destroy()
  }

  /** What was cut off and is performed later has been performed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#late)
  }

  #failBefore(command: unknown, { constructor: { name }, input }: Sent): void {
    if (this.#happens('throttle')) {
      throw named(
        this.#random() < 0.5 ? 'ProvisionedThroughputExceededException' : 'ThrottlingException',
      )
    }
    if (this.#happens('cut')) throw connectionReset()
    if (this.#happens('busy')) {
      const isWrite = name === 'TransactWriteItemsCommand'
      throw named(isWrite ? 'TransactionInProgressException' : 'InternalServerError')
    }
    if (this.#happens('late')) {
      this.#late.push(this.#performLater(command))
      throw connectionReset()
    }
    if (input.TransactItems && this.#happens('conflict')) throw this.#conflict(input.TransactItems)
  }

  async #performLater(command: unknown): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, this.#random() * 30)
    })
    await this.#client.send(command).catch(() => {}) // whoever sent it hears nothing of it
  }

  #conflict(items: readonly unknown[]): Error {
    const at = Math.floor(this.#random() * items.length)
    const CancellationReasons = items.map((_, index) => ({
      Code: index === at ? 'TransactionConflict' : 'None',
    }))
    return Object.assign(named('TransactionCanceledException'), { CancellationReasons })
  }

  /** Takes keys out of a read until it is answered, and returns them as the server would. */
  #leave({ input }: Sent): { readonly keys: unknown; giveBack(): void } | undefined {
    const [[table, asked]] = Object.entries(input.RequestItems!) as [[string, { Keys: unknown[] }]]
    const { Keys: all } = asked
    if (all.length < 2 || !this.#happens('unprocessed')) return undefined
    const from = 1 + Math.floor(this.#random() * (all.length - 1))
    asked.Keys = all.slice(0, from)
    // Whoever sends it again because the reply was lost asks for all of them.
    const giveBack = () => (asked.Keys = all)
    return { keys: { [table]: { Keys: all.slice(from), ConsistentRead: true } }, giveBack }
  }

  #happens(fault: keyof DynamoFaults): boolean {
    if (this.#random() >= this.faults[fault]) return false
    this.happened.set(fault, (this.happened.get(fault) ?? 0) + 1)
    return true
  }
}

function named(name: string): Error {
  return Object.assign(new Error(`Made up: ${name}.`), { name })
}

function connectionReset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}
