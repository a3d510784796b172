/**
 * Commits that go out as one TransactWriteItems: all of them are applied, or none.
 *
 * Members share no cell that one of them writes, so each could as well have gone alone. What they merely rely on, and
 * all tallies, they share: a digest that everybody links to is checked once a group, and a tally is one item a group.
 *
 * Invariant: once sent, a group stays as it is, with one token, until DynamoDB has said what became of it. A lost
 * reply is followed by the very same request, which DynamoDB applies once. Only a group that was certainly not
 * applied is taken apart.
 */

import type { TransactWriteItem } from '@aws-sdk/client-dynamodb'

import { latin1 } from '../../platform/bytes.ts'
import { type Address, ITEMS_MAX, type Layout, TRANSACTION_BYTES_MAX } from './layout.ts'
import type { Reason } from './errors.ts'
import { type Deed, itemOfDeed, itemOfTally, type Member, type TallyDeed } from './member.ts'

export class Group {
  readonly token: string
  readonly members: Member[] = []
  /** Some send of it may have been performed. */
  isOpen = false
  /** It was refused as if it had been performed, and sent once more to know. */
  isAskedAgain = false
  /** Its sending, while that is under way. */
  running: Promise<void> | undefined
  readonly deeds = new Map<string, Deed>()
  readonly #layout: Layout
  readonly #shard: number
  readonly #tallies = new Map<string, TallyDeed>()
  #bytes = 0
  #items: TransactWriteItem[] | undefined

  constructor(layout: Layout, token: string, shard: number) {
    this.#layout = layout
    this.token = token
    this.#shard = shard
  }

  /** Takes the member in, if there is room for it and nobody in the group minds. */
  add(member: Member): boolean {
    if (this.members.length > 0 && !this.#fits(member)) return false
    for (const [name, deed] of member.deeds) this.deeds.set(name, deed)
    for (const [name, { space, key, sums }] of member.tallies) {
      const own = this.#tallies.get(name) ?? { space, key, sums: new Map<string, number>() }
      this.#tallies.set(name, own)
      for (const [attribute, sum] of sums) {
        own.sums.set(attribute, (own.sums.get(attribute) ?? 0) + sum)
      }
    }
    this.#bytes += member.bytes
    this.members.push(member)
    return true
  }

  /** The same at every call, so that it can be sent again under its token. */
  items(table: string): TransactWriteItem[] {
    this.#items ??= [
      ...[...this.deeds.values()].map((deed) => itemOfDeed(table, deed)),
      ...this.#sums().map(({ address, sums }) => itemOfTally(table, address, sums)),
    ]
    return this.#items
  }

  /** The reason of each cell that was refused or in the way; those of tallies are under their own names. */
  reasonsByName(reasons: readonly Reason[]): Map<string, Reason> {
    const names = [...this.deeds.keys(), ...this.#sums().map(({ address }) => address.name)]
    const all = new Map<string, Reason>()
    reasons.forEach((reason, at) => {
      const name = names[at]
      if (name !== undefined && reason.Code !== undefined && reason.Code !== 'None') {
        all.set(name, reason)
      }
    })
    return all
  }

  /** A cell that refuses holds what one of us has written: it was applied, and its reply was lost. */
  hasBeenApplied(reasons: ReadonlyMap<string, Reason>): boolean {
    return this.members.some(({ commit, deeds }) =>
      [...deeds.keys()].some((name) => {
        const version = reasons.get(name)?.Item?.['n']?.B
        return version !== undefined && latin1(version) === commit.version
      }),
    )
  }

  /** A row that it removes is gone: removed by another, or by a send of its own. Nothing is left to show which. */
  mayHaveRemoved(reasons: ReadonlyMap<string, Reason>): boolean {
    return [...this.deeds].some(([name, { check, write }]) => {
      const reason = reasons.get(name)
      const isRemoval = write !== undefined && write.bytes === undefined
      return isRemoval && check?.version !== undefined && isRefusedAsMissing(reason)
    })
  }

  #fits(member: Member): boolean {
    if (member.isAlone || this.members[0]?.isAlone) return false
    if (this.#bytes + member.bytes > TRANSACTION_BYTES_MAX) return false
    let items = this.deeds.size + this.#tallies.size
    for (const [name, deed] of member.deeds) {
      const own = this.deeds.get(name)
      if (!own) items++
      else if (own.write || deed.write || own.check?.version !== deed.check?.version) return false
    }
    for (const name of member.tallies.keys()) if (!this.#tallies.has(name)) items++
    return items <= ITEMS_MAX
  }

  /** What adds up to nothing is not sent. */
  #sums(): { address: Address; sums: Map<string, number> }[] {
    const all = [...this.#tallies.values()].map(({ space, key, sums }) => ({
      address: this.#layout.tally(space, key, this.#shard),
      sums: new Map([...sums].filter(([, sum]) => sum !== 0)),
    }))
    return all.filter(({ sums }) => sums.size > 0)
  }
}

function isRefusedAsMissing(reason: Reason | undefined): boolean {
  return reason?.Code === 'ConditionalCheckFailed' && reason.Item === undefined
}
