/**
 * Runs bodies on engines that cannot hold a transaction open (redis, dynamodb, simulated): read without
 * locks, run to the end, then commit everything at once, provided that what was relied on is unchanged.
 *
 * Invariant: nothing leaves before validation, neither a result nor an error. A body that throws because it
 * saw cells of different moments is run again; only an unchanged read set lets its error out.
 *
 * Retries: at once with the values the failed commit returned, then after full jitter, and behind other
 * transactions of this process that lost on the same cell. A commit whose reply was lost is sent again
 * under the same version, which the engine recognises, so it is never applied twice.
 */

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Attempt, attemptOnce, replay, type Seen, type Start } from './attempt.ts'
import type { BackendLimits, Body, Cell, ReadBody, Space } from '../contract.ts'
import { type Addition, cellName, Draft, ReadDraft, type Write } from './draft.ts'
import type { IdSource } from './ids.ts'
import { checkWrites } from './limits.ts'

/** A value and the version its commit gave it. Versions are unique per commit: counters repeat after a delete. */
export interface Versioned {
  readonly bytes: Bytes
  readonly version: string
}

export interface Check {
  readonly space: Space<unknown>
  readonly key: Bytes
  /** `undefined`: the cell was empty and must still be. */
  readonly version: string | undefined
}

export interface Commit {
  readonly version: string
  readonly checks: readonly Check[]
  readonly writes: readonly Write[]
  readonly additions: readonly Addition[]
}

/** What the checked cells hold, by cell name, when a commit was refused. */
export type Fresh = ReadonlyMap<string, Versioned | undefined>
export type CommitOutcome =
  | { readonly applied: true }
  | {
      readonly applied: false
      readonly fresh: Fresh
      /** All that is fresh is of one moment, and it is everything that was checked. */
      readonly isOneMoment?: boolean
    }

export interface OptimisticEngine {
  /** The cells of one fetch are from one moment: always, never, or those of this one. */
  readonly fetchIsAtomic: boolean | ((cells: readonly Cell<unknown>[]) => boolean)
  fetch(cells: readonly Cell<unknown>[]): Promise<readonly (Versioned | undefined)[]>
  /** Checks everything, then applies everything. A version seen before was applied already. */
  commit(commit: Commit): Promise<CommitOutcome>
}

/** What can be opened with something between the decisions and the engine: for tests of what may go wrong there. */
export interface Tappable {
  readonly tap?: ((engine: OptimisticEngine) => OptimisticEngine) | undefined
}

/** How contended transactions end. */
export interface Retrying {
  /** How often a transaction is run again because others changed what it relies on, before it fails with `CONTENDED`. */
  readonly retriesMax?: number | undefined
}

export interface OptimisticOptions {
  readonly engine: OptimisticEngine
  readonly limits: BackendLimits
  readonly ids: Pick<IdSource, 'next'>
  readonly now: () => number
  readonly newVersion: () => string
  readonly sleep: (ms: number) => Promise<void>
  /** From 0 up to 1. */
  readonly random: () => number
  readonly attemptsMax: number
  /** Runs every body twice and compares. For tests. */
  readonly audit: boolean
}

const BACKOFF_MS = 1
const BACKOFF_MS_MAX = 50
const SENDS_MAX = 6

export class OptimisticRunner {
  readonly #options: OptimisticOptions
  readonly #queues = new Map<string, Promise<void>>()

  constructor(options: OptimisticOptions) {
    this.#options = options
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, args: A): Promise<T> {
    const ids = new ReplayedIds(this.#options.ids)
    const now = this.#options.now()
    return this.#untilValid(() => {
      const draft = new Draft(false, ids.restarted(), now)
      return { draft, own: draft, body: body(draft, ...args) }
    })
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, args: A): Promise<T> {
    const now = this.#options.now()
    return this.#untilValid(() => {
      const draft = new ReadDraft(now)
      return { draft, own: undefined, body: body(draft, ...args) }
    })
  }

  async #untilValid<T>(start: Start<T>): Promise<T> {
    let known: ReadonlyMap<string, Versioned | undefined> = new Map()
    let knownIsOneMoment = false
    let lost = ''
    let leaveQueue: (() => void) | undefined
    try {
      for (let attempts = 1; attempts <= this.#options.attemptsMax; attempts++) {
        const attempt = await attemptOnce(start, known, (cells) => this.#fetch(cells))
        const plan: Plan<T> = this.#planOf(attempt, knownIsOneMoment)
        const outcome: CommitOutcome = await this.#validate(plan)
        if (outcome.applied) return this.#endOf(start, attempt, plan)
        lost = lostCell(attempt.seen, outcome.fresh)
        known = knownAfter(attempt.seen, outcome.fresh)
        knownIsOneMoment = outcome.isOneMoment ?? false
        if (attempts > 1) await this.#backOff(attempts)
        if (leaveQueue !== undefined) continue
        const place = this.#enqueue(lost)
        leaveQueue = place.leave
        if (place.before === undefined) continue
        await place.before
        known = new Map()
        knownIsOneMoment = false
      }
    } finally {
      leaveQueue?.()
    }
    throw contended(lost, this.#options.attemptsMax)
  }

  /** Only what was validated gets here, so an error is the body's own and not that of a torn read. */
  #endOf<T>(start: Start<T>, attempt: Attempt<T>, { end }: Plan<T>): T {
    if (this.#options.audit) replay(start, attempt)
    if ('error' in end) throw end.error
    return end.result
  }

  /** What cannot be committed ends in an error, which is validated like any other before it leaves. */
  #planOf<T>(attempt: Attempt<T>, knownIsOneMoment: boolean): Plan<T> {
    try {
      const { writes, additions, end } = attempt
      const checks = checksOf(attempt)
      if (this.#isValid(attempt, checks, knownIsOneMoment)) return { commit: undefined, end }
      if (!('error' in end)) checkWrites({ writes, additions, checks }, this.#options.limits)
      return { commit: { checks, writes, additions }, end }
    } catch (error) {
      const failed = { ...attempt, writes: [], additions: [], end: { error } }
      return this.#planOf(failed, knownIsOneMoment)
    }
  }

  /** Nothing to write, and nothing that could have changed. */
  #isValid<T>(attempt: Attempt<T>, checks: readonly Check[], knownIsOneMoment: boolean): boolean {
    const { writes, additions, seen, fetches, usedKnown } = attempt
    if (writes.length > 0 || additions.length > 0) return false
    // What relies on a single cell is right of the moment at which that was read.
    if (checks.length <= 1) return true
    if (fetches === 0) return knownIsOneMoment
    if (fetches > 1 || usedKnown) return false
    const { fetchIsAtomic } = this.#options.engine
    if (typeof fetchIsAtomic === 'boolean') return fetchIsAtomic
    return fetchIsAtomic([...seen.values()].map(({ cell }) => cell))
  }

  async #validate<T>({ commit }: Plan<T>): Promise<CommitOutcome> {
    if (commit === undefined) return { applied: true }
    const versioned = { ...commit, version: this.#options.newVersion() }
    return this.untilSent(() => this.#options.engine.commit(versioned))
  }

  #fetch(cells: readonly Cell<unknown>[]): Promise<readonly (Versioned | undefined)[]> {
    return this.untilSent(() => this.#options.engine.fetch(cells))
  }

  /** Sends again what failed in a way that may pass; a commit keeps its version. */
  async untilSent<T>(send: () => Promise<T>): Promise<T> {
    for (let sends = 1; ; sends++) {
      try {
        return await send()
      } catch (error) {
        const mayPass = error instanceof PrestigeError && error.retryable
        if (!mayPass || sends >= SENDS_MAX) throw error
      }
      await this.#backOff(sends)
    }
  }

  #backOff(attempts: number): Promise<void> {
    const ceiling = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** attempts)
    return this.#options.sleep(this.#options.random() * ceiling)
  }

  /** A place behind the other transactions of this process that lost on the same cell. */
  #enqueue(name: string): { before: Promise<void> | undefined; leave: () => void } {
    const before = this.#queues.get(name)
    let leave = () => {}
    const turn = new Promise<void>((resolve) => {
      leave = () => {
        if (this.#queues.get(name) === turn) this.#queues.delete(name)
        resolve()
      }
    })
    this.#queues.set(name, turn)
    return { before, leave }
  }
}

/** What is to be validated, and what may leave then. */
interface Plan<T> {
  readonly commit: Omit<Commit, 'version'> | undefined
  readonly end: Attempt<T>['end']
}

/** A result relies on every cell read but the immutable, and on those named; an error on all that was seen. */
function checksOf<T>({ seen, relied, end, writes }: Attempt<T>): Check[] {
  const checks = new Map<string, Check>()
  const check = ({ cell: { space, key }, found }: Seen, name: string) =>
    checks.set(name, { space, key, version: found?.version })
  for (const [name, one] of seen) {
    // A missing immutable row is the one sign that something it hung on has changed.
    const mayChange = !one.cell.space.immutable || !one.found
    if ('error' in end || (one.isRead && mayChange)) check(one, name)
  }
  if ('error' in end) return [...checks.values()]
  const own = new Set(writes.map(({ space, key }) => cellName(space, key)))
  for (const { space, key } of relied) {
    const name = cellName(space, key)
    const one = seen.get(name)
    if (one === undefined) {
      // What the body wrote before it read it is as it is, whatever was there.
      if (own.has(name)) continue
      throw new PrestigeError(
        'BODY_MISUSE',
        `The body relies on a cell of ${space.name} that it did not read.`,
      )
    }
    check(one, name)
  }
  return [...checks.values()]
}

function lostCell(seen: ReadonlyMap<string, Seen>, fresh: Fresh): string {
  const changed = [...fresh].filter(
    ([name, now]) => seen.get(name)?.found?.version !== now?.version,
  )
  return changed.map(([name]) => name).toSorted()[0] ?? [...fresh.keys()][0] ?? ''
}

/** Values to believe on the next attempt; the commit verifies them anyway. */
function knownAfter(
  seen: ReadonlyMap<string, Seen>,
  fresh: Fresh,
): ReadonlyMap<string, Versioned | undefined> {
  const known = new Map(fresh)
  for (const [name, { cell, found }] of seen) {
    if (cell.space.immutable && found && !known.has(name)) known.set(name, found)
  }
  return known
}

function contended(name: string, attempts: number): PrestigeError {
  const shown = JSON.stringify(name.slice(0, 120))
  return new PrestigeError(
    'CONTENDED',
    `Gave up after ${attempts} attempts: cell ${shown} was changed by others every time. Try again, or spread the load over more keys.`,
  )
}

/** The same ids in the same order on every attempt, so that a body run again makes the same decisions. */
class ReplayedIds {
  readonly #source: Pick<IdSource, 'next'>
  readonly #made: Buffer[] = []

  constructor(source: Pick<IdSource, 'next'>) {
    this.#source = source
  }

  restarted(): Pick<IdSource, 'next'> {
    let given = 0
    return {
      next: () => {
        const id = (this.#made[given] ??= this.#source.next())
        given++
        return Buffer.from(id)
      },
    }
  }
}
