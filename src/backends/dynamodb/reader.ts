/**
 * Reads items. Those that all transactions in flight ask for go out together, at most 100 a request and at most two
 * requests at a time: while two are under way the rest queues, and the more there is to do, the fuller requests are.
 * An item that several ask for is asked for once. No timer: whoever is alone does not wait.
 *
 * Invariant: every answer was read after it was asked for, and consistently.
 */

import { PrestigeError } from '../../platform/errors.ts'
import type { Requests } from './client.ts'
import { jitter } from './client.ts'
import { type Address, type Item, ITEMS_MAX, nameOfItem } from './layout.ts'

const REQUESTS_MAX = 2

interface Wanted {
  readonly address: Address
  readonly found: Promise<Item | undefined>
  readonly resolve: (item: Item | undefined) => void
  readonly reject: (error: unknown) => void
}

export class Reader {
  readonly #requests: Requests
  readonly #table: string
  #wanted = new Map<string, Wanted>()
  #underWay = 0
  #isPumping = false

  constructor(requests: Requests) {
    this.#requests = requests
    this.#table = requests.location.table
  }

  /** In the order asked for; from one moment each, not together. */
  read(addresses: readonly Address[]): Promise<(Item | undefined)[]> {
    const all = addresses.map((address) => this.#want(address).found)
    this.#pump()
    return Promise.all(all)
  }

  #want(address: Address): Wanted {
    const known = this.#wanted.get(address.name)
    if (known) return known
    let resolve: Wanted['resolve'] = () => {}
    let reject: Wanted['reject'] = () => {}
    const found = new Promise<Item | undefined>((yes, no) => {
      resolve = yes
      reject = no
    })
    const wanted = { address, found, resolve, reject }
    this.#wanted.set(address.name, wanted)
    return wanted
  }

  /** After all that is ready to run has had its turn and asked for what it wants. */
  #pump(): void {
    if (this.#isPumping || this.#underWay >= REQUESTS_MAX || this.#wanted.size === 0) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      while (this.#underWay < REQUESTS_MAX && this.#wanted.size > 0) void this.#send(this.#take())
    })
  }

  #take(): Map<string, Wanted> {
    if (this.#wanted.size <= ITEMS_MAX) {
      const all = this.#wanted
      this.#wanted = new Map()
      return all
    }
    const some = new Map([...this.#wanted].slice(0, ITEMS_MAX))
    for (const name of some.keys()) this.#wanted.delete(name)
    return some
  }

  async #send(batch: Map<string, Wanted>): Promise<void> {
    this.#underWay++
    try {
      for (let rounds = 0; batch.size > 0; rounds++) {
        if (rounds > 0) await jitter(rounds, this.#requests.patience)
        const before = batch.size
        await this.#round(batch)
        if (batch.size === before && rounds >= this.#requests.patience.sendsMax) throw slow()
      }
    } catch (error) {
      for (const { reject } of batch.values()) reject(error)
    } finally {
      this.#underWay--
      this.#pump()
    }
  }

  /** Answers what came, and leaves in the batch what was not processed. */
  async #round(batch: Map<string, Wanted>): Promise<void> {
    const Keys = [...batch.values()].map(({ address }) => address.key)
    const RequestItems = { [this.#table]: { Keys, ConsistentRead: true } }
    const { Responses, UnprocessedKeys } = await this.#requests.batchGet({ RequestItems })
    const left = new Set(UnprocessedKeys?.[this.#table]?.Keys?.map(nameOfItem))
    for (const item of Responses?.[this.#table] ?? []) {
      const name = nameOfItem(item)
      batch.get(name)?.resolve(item)
      batch.delete(name)
    }
    for (const [name, { resolve }] of batch) {
      if (left.has(name)) continue
      resolve(undefined)
      batch.delete(name)
    }
  }
}

function slow(): PrestigeError {
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    'DynamoDB leaves keys of a read unprocessed, time and again: the table is asked for more than it gives. Try again later.',
  )
}
