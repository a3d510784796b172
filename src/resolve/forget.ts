/**
 * Forgetting: a cluster goes in one transaction, and is gone for everybody from then on; the rows of its members,
 * which may be many, and what was merged into it follow. What a crash leaves of them is harmless, because an
 * answer whose representative is gone is no answer; a note of it lets the next `collect` end it.
 */

import { type Bytes, concat, endOfPrefix, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../backends/index.ts'
import type { Probe } from '../match/index.ts'
import { endLeftover, forgetCluster, forgetMember, forgetMembers, type Place } from './forgotten.ts'
import {
  aliases,
  expiries,
  leftovers,
  members,
  oldRowOf,
  type Payload,
  resolutions,
  type Resolved,
} from './rows.ts'
import { groupKeyOf, type Kind, type TextKind, type VectorKind } from './subject.ts'

const PAGE = 25
const ID = 16
const TIME = 6
const ATTEMPTS_MAX = 10

export class Forgetting {
  readonly #backend: Backend
  readonly #text: TextKind
  readonly #vector: VectorKind | undefined

  constructor(backend: Backend, text: TextKind, vector: VectorKind | undefined) {
    this.#backend = backend
    this.#text = text
    this.#vector = vector
  }

  async id(group: string, id: Buffer): Promise<boolean> {
    const texts = await this.input('text', groupKeyOf('text', group), id)
    if (!this.#vector) return texts
    return (await this.input('vector', groupKeyOf('vector', group), id)) || texts
  }

  /** What was found may be another thing by the time it is to go; then it is looked for again. */
  async input(kind: 'text' | 'vector', groupKey: Buffer, id: Buffer): Promise<boolean> {
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const resolved = await this.#backend.read(findResolved, concat(groupKey, id))
      if (!resolved) return false
      const { partition, row } = resolved
      const isGone = resolved.isRepresentative
        ? await this.#cluster({ kind, groupKey, partition, row }, () => true)
        : await this.#backend.run(forgetMember, groupKey, id)
      if (isGone) return true
    }
    return false
  }

  /** How many clusters have ended. */
  async expired(): Promise<number> {
    const now = this.#backend.now()
    const end = Buffer.allocUnsafe(TIME)
    end.writeUIntBE(now + 1, 0, TIME)
    const isDue = ({ expiresAt }: Payload) => expiresAt !== undefined && expiresAt <= now
    let clusters = 0
    for await (const { key, value } of this.#backend.scan(expiries, { end })) {
      const partition = key.subarray(TIME, TIME + ID)
      const row = key.subarray(TIME + ID)
      const groupKey = Buffer.from(value)
      for (const kind of ['text', 'vector'] as const) {
        if (await this.#cluster({ kind, groupKey, partition, row }, isDue)) clusters++
      }
    }
    await this.#unfinished()
    const indexes = [...this.#text.indexes, ...(this.#vector?.indexes ?? [])]
    for (const index of indexes) await index.trim(this.#backend)
    return clusters
  }

  /** What others have begun to forget, and did not live to end. */
  async #unfinished(): Promise<void> {
    for await (const { key, value } of this.#backend.scan(leftovers)) {
      const { kind, groupKey, id } = value
      if (kind === 'vector' && !this.#vector) continue
      await this.#rest(
        { kind, groupKey, partition: key.subarray(0, ID), row: key.subarray(ID) },
        id,
      )
    }
  }

  async #cluster(place: Place, isDue: (payload: Payload) => boolean): Promise<boolean> {
    const id = await (place.kind === 'text'
      ? this.#remove(this.#text, place, isDue)
      : this.#vector && this.#remove(this.#vector, place, isDue))
    if (id) await this.#rest(place, id)
    return id !== undefined
  }

  async #remove<P extends Probe<unknown, unknown>>(
    kind: Kind<P>,
    place: Place,
    isDue: (payload: Payload) => boolean,
  ): Promise<Buffer | undefined> {
    try {
      return await this.#backend.run(forgetCluster<P>, kind, place, isDue)
    } catch (error) {
      for (const index of kind.indexes) index.invalidate()
      throw error
    }
  }

  /** The members of a cluster that is gone, and the clusters that were merged into it with theirs. */
  async #rest(place: Place, id: Buffer): Promise<void> {
    const { kind, groupKey, row } = place
    await this.#members(groupKey, row)
    const prefix = concat(groupKey, id)
    const range = { start: prefix, end: endOfPrefix(prefix) }
    for await (const { key, value } of this.#backend.scan(aliases, range)) {
      if (!equalBytes(value.into, row)) continue
      const merged = { kind, groupKey, partition: value.partition, row: oldRowOf(key) }
      await this.#cluster(merged, ({ mergedInto }) => mergedInto !== undefined)
    }
    await this.#backend.run(endLeftover, place)
  }

  async #members(groupKey: Buffer, row: Bytes): Promise<void> {
    const prefix = concat(groupKey, row)
    const range = { start: prefix, end: endOfPrefix(prefix) }
    let page: Buffer[] = []
    const take = async () => {
      await this.#backend.run(forgetMembers, groupKey, Buffer.from(row), page)
      page = []
    }
    for await (const { key } of this.#backend.scan(members, range)) {
      page.push(key.subarray(prefix.byteLength))
      if (page.length === PAGE) await take()
    }
    if (page.length > 0) await take()
  }
}

function* findResolved(_scope: unknown, key: Bytes): Transaction<Resolved | undefined> {
  return (yield* read(cell(resolutions, key)))[0]
}
