/**
 * Sends commits, in groups: what came while others were under way goes out together (group.ts). At most eight
 * requests at a time; nobody waits who is alone.
 *
 * A commit that shares a cell with one under way, where one of them writes it, waits for that one: DynamoDB would
 * refuse it. If the cell was written then, it is refused here, with what was written.
 */

import type { CommitOutcome, Commit, Versioned } from '../kit/optimistic.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { jitter, type Requests } from './client.ts'
import { explained, isOpen, isPassingReason, mayPass, type Reason, reasonsOf } from './errors.ts'
import { Group } from './group.ts'
import { type Layout, versionedOf } from './layout.ts'
import { after, type Member, memberOf } from './member.ts'

const GROUPS_MAX = 8
/** DynamoDB knows a token for ten minutes; nothing is sent again after half of that. */
const RESEND_MS_MAX = 5 * 60_000

export interface CommitterOptions {
  readonly requests: Requests
  readonly layout: Layout
  readonly newToken: () => string
}

export class Committer {
  readonly #requests: Requests
  readonly #layout: Layout
  readonly #newToken: () => string
  readonly #groups = new Map<number, Group>()
  /** Commits that were sent, and of which DynamoDB has not said what became of them. */
  readonly #open = new WeakMap<Commit, { member: Member; group: Group }>()
  /** Commits that were applied after the outcome had been reported to the caller as unknown. */
  readonly #late = new WeakSet<Commit>()
  #pending: Member[] = []
  #isPumping = false
  #firstShard: number

  constructor({ requests, layout, newToken }: CommitterOptions) {
    this.#requests = requests
    this.#layout = layout
    this.#newToken = newToken
    this.#firstShard = this.#anyShard()
  }

  /** Called again with the very commit that failed, it finds out what became of it, and sends it only if it must. */
  commit(commit: Commit): Promise<CommitOutcome> {
    if (this.#late.has(commit)) return Promise.resolve({ applied: true })
    return new Promise((resolve, reject) => {
      const known = this.#open.get(commit)
      const member = known?.member ?? memberOf(this.#layout, commit)
      member.settle = { resolve, reject }
      if (known) this.#settle(known.group)
      else {
        this.#pending.push(member)
        this.#pump()
      }
    })
  }

  #pump(): void {
    if (this.#isPumping || this.#pending.length === 0) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      while (this.#pending.length > 0 && this.#sendNext()) continue
    })
  }

  /** Whether a group was sent. */
  #sendNext(): boolean {
    const slot = this.#freeSlot()
    if (slot === undefined) return false
    const shard = (this.#firstShard + slot) % this.#layout.shards
    const group = new Group(this.#layout, this.#newToken(), shard)
    const left: Member[] = []
    for (const member of this.#pending) {
      if (this.#isFree(member) && group.add(member)) continue
      left.push(member)
    }
    if (group.members.length === 0) return false
    this.#pending = left
    this.#groups.set(slot, group)
    this.#settle(group, slot)
    return true
  }

  #freeSlot(): number | undefined {
    for (let slot = 0; slot < Math.min(GROUPS_MAX, this.#layout.shards); slot++) {
      if (!this.#groups.has(slot)) return slot
    }
    return undefined
  }

  #isFree({ deeds }: Member): boolean {
    for (const group of this.#groups.values()) {
      for (const [name, { write }] of deeds) {
        const other = group.deeds.get(name)
        if (other && (write || other.write)) return false
      }
    }
    return true
  }

  /** Finds out what becomes of a group, unless that is under way. */
  #settle(group: Group, slot?: number): void {
    group.running ??= this.#run(group, slot)
  }

  async #run(group: Group, slot: number | undefined): Promise<void> {
    try {
      await this.#untilKnown(group)
    } catch (error) {
      this.#giveUp(group, error)
    }
    group.running = undefined
    if (slot !== undefined) this.#groups.delete(slot)
    this.#pump()
  }

  async #untilKnown(group: Group): Promise<void> {
    const TransactItems = group.items(this.#requests.location.table)
    if (TransactItems.length === 0) return this.#applied(group)
    const { sendsMax } = this.#requests.patience
    for (let sends = 1; ; sends++) {
      try {
        this.#noteSending(group)
        await this.#requests.transactWrite({ TransactItems, ClientRequestToken: group.token })
        return this.#applied(group)
      } catch (error) {
        const reasons = reasonsOf(error)
        const byName = reasons && group.reasonsByName(reasons)
        const isInTheWay = byName && [...byName.values()].every(isPassingReason)
        // A send that was cut off may yet be performed: only if a condition has failed it never can be.
        const isKnown = byName && !(isInTheWay && group.isOpen)
        if (isKnown && !askAgain(group, byName)) return this.#cancelled(group, byName, error)
        if (isOpen(error)) group.isOpen = true
        if (!isKnown && (!(isInTheWay || mayPass(error)) || sends >= sendsMax)) throw error
      }
      await jitter(sends, this.#requests.patience)
    }
  }

  #noteSending({ members }: Group): void {
    const now = performance.now()
    for (const member of members) {
      member.firstSentAt ??= now
      if (now - member.firstSentAt <= RESEND_MS_MAX) continue
      throw new PrestigeError(
        'BACKEND_UNAVAILABLE',
        'DynamoDB could not be asked what became of a commit for five minutes: it may have been applied, or not. Look before you do it again.',
      )
    }
  }

  #applied(group: Group): void {
    for (const { commit, settle } of group.members) {
      this.#open.delete(commit)
      if (settle) settle.resolve({ applied: true })
      else this.#late.add(commit)
    }
    this.#refuseOutdated(group)
  }

  /** Nothing of the group was applied, unless it was by a send whose reply was lost. */
  #cancelled(group: Group, reasons: ReadonlyMap<string, Reason>, error: unknown): void {
    if (group.isOpen && group.hasBeenApplied(reasons)) return this.#applied(group)
    // Another process may be using the same shard of a tally.
    this.#firstShard = this.#anyShard()
    const isOfAll = [...reasons.keys()].some((name) => !group.deeds.has(name))
    for (const member of group.members) {
      this.#open.delete(member.commit)
      const own = [...member.deeds.keys()].flatMap((name) => reasons.get(name) ?? [])
      if (own.some(({ Code }) => Code === 'ConditionalCheckFailed')) this.#refuse(member, reasons)
      else if (own.length > 0 || isOfAll) this.#laterAgain(member, own, error)
      else this.#again(member)
    }
  }

  #refuse({ deeds, settle }: Member, reasons: ReadonlyMap<string, Reason>): void {
    const fresh = new Map<string, Versioned | undefined>()
    for (const [name, { cell }] of deeds) {
      const reason = reasons.get(name)
      if (reason?.Code !== 'ConditionalCheckFailed') continue
      fresh.set(cell, reason.Item && versionedOf(reason.Item))
    }
    settle?.resolve({ applied: false, fresh })
  }

  /** Another transaction, or too much traffic, was in its way; or DynamoDB minds something about it. */
  #laterAgain(member: Member, own: readonly Reason[], error: unknown): void {
    const mayPass = own.every(isPassingReason)
    if (!mayPass || member.setbacks >= this.#requests.patience.sendsMax) {
      member.settle?.reject(explained(error, this.#requests.location))
      return
    }
    member.setbacks++
    void jitter(member.setbacks, this.#requests.patience).then(() => this.#again(member))
  }

  #again(member: Member): void {
    if (!member.settle) return
    this.#pending.push(member)
    this.#pump()
  }

  /** Those of whom it is not known keep their group, and whoever asks again asks for all of them. */
  #giveUp(group: Group, error: unknown): void {
    const failure = explained(error, this.#requests.location)
    const isGuiltUnknown = !group.isOpen && !failure.retryable && group.members.length > 1
    for (const member of group.members) {
      if (group.isOpen) this.#open.set(member.commit, { member, group })
      if (isGuiltUnknown) {
        member.isAlone = true
        this.#again(member)
        continue
      }
      const { settle } = member
      member.settle = undefined
      settle?.reject(failure)
    }
  }

  /** What waits for a cell that has just been written cannot be applied any more; it need not be sent to know. */
  #refuseOutdated({ deeds }: Group): void {
    this.#pending = this.#pending.filter((member) => {
      const fresh = new Map<string, Versioned | undefined>()
      for (const [name, { check, cell }] of member.deeds) {
        const written = check && deeds.get(name)
        if (written?.write) fresh.set(cell, after(written))
      }
      if (fresh.size > 0) member.settle?.resolve({ applied: false, fresh })
      return fresh.size === 0
    })
  }

  #anyShard(): number {
    return Math.floor(this.#requests.patience.random() * this.#layout.shards)
  }
}

/**
 * A send of its own that was cut off may be performed while the next one is judged, which then finds what it removes
 * gone. DynamoDB knows the token of what was performed: sending once more shows which it was.
 */
function askAgain(group: Group, reasons: ReadonlyMap<string, Reason>): boolean {
  if (!group.isOpen || group.isAskedAgain) return false
  group.isAskedAgain = group.mayHaveRemoved(reasons)
  return group.isAskedAgain
}
