/**
 * Items as they were at one moment: TransactGetItems, which plain reads are not. While a transaction is being
 * applied, plain reads may see some of its items new and others old, and may see so twice.
 *
 * What several ask for at once goes out together. DynamoDB refuses it while one of the items is being written; then
 * each is asked for by itself.
 */

import type { Requests } from './client.ts'
import { type Address, type Item, ITEMS_MAX } from './layout.ts'

const REQUESTS_MAX = 2

interface Wanted {
  readonly addresses: readonly Address[]
  readonly resolve: (items: (Item | undefined)[]) => void
  readonly reject: (error: unknown) => void
}

export class Snapshots {
  readonly #requests: Requests
  readonly #wanted: Wanted[] = []
  #underWay = 0
  #isPumping = false

  constructor(requests: Requests) {
    this.#requests = requests
  }

  /** Of one moment if there are at most 100; otherwise every hundred is. */
  async take(addresses: readonly Address[]): Promise<(Item | undefined)[]> {
    const items: (Item | undefined)[] = []
    for (let at = 0; at < addresses.length; at += ITEMS_MAX) {
      items.push(...(await this.#want(addresses.slice(at, at + ITEMS_MAX))))
    }
    return items
  }

  #want(addresses: readonly Address[]): Promise<(Item | undefined)[]> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ addresses, resolve, reject })
      this.#pump()
    })
  }

  #pump(): void {
    if (this.#isPumping || this.#underWay >= REQUESTS_MAX || this.#wanted.length === 0) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      while (this.#underWay < REQUESTS_MAX && this.#wanted.length > 0) void this.#send()
    })
  }

  async #send(): Promise<void> {
    this.#underWay++
    const group = this.#takeGroup()
    try {
      await this.#answer(group)
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error)
      else for (const one of group) await this.#answer([one]).catch(one.reject)
    } finally {
      this.#underWay--
      this.#pump()
    }
  }

  #takeGroup(): Wanted[] {
    const names = new Set<string>()
    const group: Wanted[] = []
    for (let next = this.#wanted[0]; next; next = this.#wanted[0]) {
      for (const { name } of next.addresses) names.add(name)
      if (group.length > 0 && names.size > ITEMS_MAX) break
      group.push(next)
      this.#wanted.shift()
    }
    return group
  }

  async #answer(group: readonly Wanted[]): Promise<void> {
    const all = new Map<string, Address>()
    for (const { addresses } of group) for (const one of addresses) all.set(one.name, one)
    const TableName = this.#requests.location.table
    const TransactItems = [...all.values()].map(({ key }) => ({ Get: { TableName, Key: key } }))
    const { Responses = [] } = await this.#requests.transactGet({ TransactItems })
    const found = new Map([...all.keys()].map((name, at) => [name, Responses[at]?.Item]))
    for (const { addresses, resolve } of group)
      resolve(addresses.map(({ name }) => found.get(name)))
  }
}
