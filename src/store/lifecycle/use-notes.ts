/**
 * Which keys were read, noted in memory and written in batches: a read never waits for a write of its own.
 *
 * A key is noted only if its recorded use is older than `recencyMs`, which is how coarse recency is. Notes are written
 * before an eviction, when there are many of them, a second after the first, and when the store is closed. A process
 * that is killed loses those of its last second, and nothing else.
 */

import { type Bytes, latin1 } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { entries } from '../rows.ts'
import { pins, uses } from './rows.ts'
import { moveUse } from './tracking.ts'

const WRITE_AFTER_MS = 1000
const NOTES_MANY = 256
/** Beyond this, reads are not noted until those before them have been written. */
const NOTES_MAX = 8192
/** Keys whose recorded use is remembered, so that it need not be read again. */
const RECORDED_MAX = 16_384
/** Every key takes up to six cells, and DynamoDB's transactions have a hundred. */
const KEYS_AT_ONCE = 16

interface Note {
  readonly key: Bytes
  readonly at: number
}

export class UseNotes {
  readonly #backend: Backend
  readonly #recencyMs: number
  readonly #onWritten: (count: number) => void
  readonly #notes = new Map<string, Note>()
  readonly #recorded = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(backend: Backend, recencyMs: number, onWritten: (count: number) => void) {
    this.#backend = backend
    this.#recencyMs = recencyMs
    this.#onWritten = onWritten
  }

  /** A use of this key was recorded lately, as far as this process knows: another need not be. */
  isRecent(key: Bytes, now: number): boolean {
    const usedAt = this.#recorded.get(latin1(key))
    return usedAt !== undefined && now - usedAt < this.#recencyMs
  }

  /** `usedAt`: the use that is recorded. Whether another one is to be. */
  add(key: Bytes, usedAt: number | undefined, now: number): boolean {
    const name = latin1(key)
    if (usedAt !== undefined && now - usedAt < this.#recencyMs) {
      this.#recorded.set(name, usedAt)
      if (this.#recorded.size > RECORDED_MAX) this.#recorded.clear()
      return false
    }
    if (this.#notes.size >= NOTES_MAX && !this.#notes.has(name)) return false
    this.#notes.set(name, { key, at: now })
    if (this.#notes.size === NOTES_MANY) this.#writeLater(0)
    else if (this.#timer === undefined) this.#writeLater(WRITE_AFTER_MS)
    return true
  }

  /** A program must be able to end: what is noted then is written when the store is closed. */
  #writeLater(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.write().catch(() => {
        // Recency is only a hint, and whoever has work for the engine next gets the error.
      })
    }, ms)
    this.#timer.unref()
  }

  /** Writes what is noted, one batch after another. */
  async write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#writing) await this.#writing
    if (this.#notes.size === 0) return
    this.#writing = this.#writeAll()
    try {
      await this.#writing
    } finally {
      this.#writing = undefined
    }
  }

  async #writeAll(): Promise<void> {
    const notes = [...this.#notes.values()]
    this.#notes.clear()
    for (let from = 0; from < notes.length; from += KEYS_AT_ONCE) {
      const batch = notes.slice(from, from + KEYS_AT_ONCE)
      this.#onWritten(await this.#backend.run(recordUses, batch, this.#recencyMs))
    }
  }
}

/** A key that is gone stays gone: nothing of it is written again. */
function* recordUses(scope: Scope, notes: readonly Note[], recencyMs: number): Transaction<number> {
  const there = yield* read(...notes.map(({ key }) => cell(entries, key)))
  const used = yield* read(...notes.map(({ key }) => cell(uses, key)))
  const pinned = yield* read(...notes.map(({ key }) => cell(pins, key)))
  let count = 0
  for (const [which, { key, at }] of notes.entries()) {
    const usedAt = used[which]
    if (!there[which] || (usedAt !== undefined && at - usedAt < recencyMs)) continue
    moveUse(scope, key, usedAt, at, pinned[which] !== undefined)
    count++
  }
  return count
}

/** Records that keys without a use were used when they were put. */
export function* recordPuts(scope: Scope, keys: readonly Bytes[]): Transaction<number> {
  const there = yield* read(...keys.map((key) => cell(entries, key)))
  const used = yield* read(...keys.map((key) => cell(uses, key)))
  const pinned = yield* read(...keys.map((key) => cell(pins, key)))
  let count = 0
  for (const [which, key] of keys.entries()) {
    const entry = there[which]
    if (!entry || used[which] !== undefined) continue
    moveUse(scope, key, undefined, entry.putAt, pinned[which] !== undefined)
    count++
  }
  return count
}

/** Gives all keys of a store a use that have none. */
export async function recordAllPuts(backend: Backend): Promise<void> {
  let keys: Buffer[] = []
  for await (const { key } of backend.scan(entries)) {
    keys.push(key)
    if (keys.length < KEYS_AT_ONCE * 8) continue
    await recordBatches(backend, keys)
    keys = []
  }
  await recordBatches(backend, keys)
}

async function recordBatches(backend: Backend, keys: readonly Buffer[]): Promise<void> {
  const work: Promise<number>[] = []
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    work.push(backend.run(recordPuts, keys.slice(from, from + KEYS_AT_ONCE)))
  }
  await Promise.all(work)
}
