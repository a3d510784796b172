/**
 * Keys that may go, one slice after another, and the transaction that takes one away: it looks again at everything that
 * made the key a candidate, so that what was put, read or pinned meanwhile stays.
 */

import { type Bytes, endOfPrefix } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { entries, type Entry, expiryKey, refs } from '../rows.ts'
import { type Removal, removeEntry, type RemoveEnd } from '../transactions/remove.ts'
import { pins, recency, uses } from './rows.ts'
import { moveUse } from './tracking.ts'

export const TIME_BYTES = 6

/** A key that may go. */
export interface Candidate {
  readonly key: Buffer
  readonly entry: Entry
  readonly usedAt: number | undefined
}

/** What went. */
export interface Gone {
  readonly bytes: number
  readonly end: RemoveEnd
}

export interface Victim extends Removal {
  /** It stays if it was put later. */
  readonly putUntil?: number | undefined
  /** It stays if it was used later. */
  readonly usedUntil?: number | undefined
}

/** Takes the key away, if it still is what it was when it was chosen. */
export function* takeAway(scope: Scope, victim: Victim): Transaction<Gone | undefined> {
  const { key, putUntil = Infinity, usedUntil = Infinity } = victim
  const [entry, usedAt, pin] = yield* read(cell(entries, key), cell(uses, key), cell(pins, key))
  if (!entry?.isLive(scope.now()) || pin || entry.putAt > putUntil) return undefined
  // A process that records no uses may have put it since.
  if (Math.max(entry.putAt, usedAt ?? 0) > usedUntil) return undefined
  return { bytes: entry.bytes, end: yield* removeEntry(scope, entry, victim) }
}

/** The same for the key of a row of `recency`, which is put right where it is not as the key's entry says. */
export function* takeLeastUsed(
  scope: Scope,
  victim: Victim & { readonly usedUntil: number },
): Transaction<Gone | undefined> {
  const { key, usedUntil } = victim
  const [entry, usedAt, pin] = yield* read(cell(entries, key), cell(uses, key), cell(pins, key))
  const isStale = usedAt !== usedUntil
  if (!entry || isStale || pin) {
    scope.remove(cell(recency, expiryKey(usedUntil, key)))
    if (!entry && !isStale) scope.remove(cell(uses, key))
    return undefined
  }
  if (entry.putAt > usedUntil) {
    moveUse(scope, key, usedAt, entry.putAt, false)
    return undefined
  }
  return { bytes: entry.bytes, end: yield* removeEntry(scope, entry, victim) }
}

/** Those of the keys that are there and not pinned. */
export function* findCandidates(
  scope: ReadScope,
  keys: readonly Buffer[],
): Transaction<readonly Candidate[]> {
  const there = yield* read(...keys.map((key) => cell(entries, key)))
  const used = yield* read(...keys.map((key) => cell(uses, key)))
  const pinned = yield* read(...keys.map((key) => cell(pins, key)))
  const now = scope.now()
  return keys.flatMap((key, at) => {
    const entry = there[at]
    return entry?.isLive(now) && !pinned[at] ? [{ key, entry, usedAt: used[at] }] : []
  })
}

/** So many are held at a time. */
const HELD_KEYS = 10_000

/**
 * What rows of `recency` would be called, in their order, of a store that has none, or not of all keys. All keys are
 * looked at for every ten thousand that are wanted.
 */
export async function* leastUsed(backend: Backend, hasUses: boolean): AsyncGenerator<Buffer> {
  for (let last: Buffer | undefined; ;) {
    let found: Buffer[] = []
    for await (const { key, value: entry } of backend.scan(entries)) {
      const usedAt = hasUses ? await backend.read(findUsedAt, key) : undefined
      const row = expiryKey(Math.max(entry.putAt, usedAt ?? 0), key)
      if (last && row.compare(last) <= 0) continue
      found.push(row)
      if (found.length === 2 * HELD_KEYS) found = leastOf(found)
    }
    if (found.length === 0) return
    found = leastOf(found)
    yield* found
    last = found.at(-1)
  }
}

function leastOf(rows: readonly Buffer[]): Buffer[] {
  return rows.toSorted((one, other) => one.compare(other)).slice(0, HELD_KEYS)
}

function* findUsedAt(_scope: ReadScope, key: Bytes): Transaction<number | undefined> {
  const [usedAt] = yield* read(cell(uses, key))
  return usedAt
}

export function keyOfUse(row: Buffer): Buffer {
  return row.subarray(TIME_BYTES)
}

/** How many keys would still share each content if some were gone. */
export class References {
  readonly #backend: Backend
  readonly #left = new Map<string, number>()

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** The bytes that are free once this key is gone as well; nothing, as long as another key shares its content. */
  async drop({ id, bytes }: Entry): Promise<number | undefined> {
    const name = id.toString('latin1')
    const left = (this.#left.get(name) ?? (await this.#count(id))) - 1
    this.#left.set(name, left)
    return left === 0 ? bytes : undefined
  }

  async #count(id: Bytes): Promise<number> {
    let count = 0
    for await (const _row of this.#backend.scan(refs, { start: id, end: endOfPrefix(id) })) count++
    return count
  }
}
