/**
 * Forgetting: a cluster goes in one transaction, and is gone for everybody from then on; the rows of its members,
 * which may be many, follow in pages. What a crash leaves of them is harmless: an answer whose representative is
 * gone is no answer.
 */

import { type Bytes, concat, endOfPrefix } from '../bytes.ts'
import { type Backend, cell, read, type Transaction } from '../backends/contract.ts'
import type { NearIndex } from '../near/index.ts'
import { forgetCluster, forgetMember, forgetMembers } from './forgotten.ts'
import { expiries, members, type Payload, type Resolved, resolutions } from './rows.ts'
import { tenantOf, type TextKind, type VectorKind } from './subject.ts'

const PAGE = 25
const ID = 16
const TIME = 6

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
    const texts = await this.input('text', tenantOf('text', group), id)
    if (!this.#vector) return texts
    return (await this.input('vector', tenantOf('vector', group), id)) || texts
  }

  async input(kind: 'text' | 'vector', tenant: Buffer, id: Buffer): Promise<boolean> {
    const resolved = await this.#backend.read(findResolved, concat(tenant, id))
    if (!resolved) return false
    if (!resolved.isRepresentative) return this.#backend.run(forgetMember, tenant, id)
    return this.#cluster(kind, tenant, resolved, () => true)
  }

  /** How many clusters have ended. */
  async expired(): Promise<number> {
    const now = this.#backend.now()
    const end = Buffer.allocUnsafe(TIME)
    end.writeUIntBE(now + 1, 0, TIME)
    let clusters = 0
    for await (const { key, value } of this.#backend.scan(expiries, { end })) {
      const shelf = key.subarray(TIME, TIME + ID)
      const row = key.subarray(TIME + ID)
      const isDue = ({ expiresAt }: Payload) => expiresAt !== undefined && expiresAt <= now
      const tenant = Buffer.from(value)
      for (const kind of ['text', 'vector'] as const) {
        if (await this.#cluster(kind, tenant, { shelf, row }, isDue)) clusters++
      }
    }
    await this.#text.index.trim(this.#backend)
    await this.#vector?.index.trim(this.#backend)
    return clusters
  }

  async #cluster(
    kind: 'text' | 'vector',
    tenant: Buffer,
    at: Pick<Resolved, 'shelf' | 'row'>,
    isDue: (payload: Payload) => boolean,
  ): Promise<boolean> {
    const gone = await (kind === 'text'
      ? this.#remove(this.#text.index, tenant, at, isDue)
      : this.#vector !== undefined && this.#remove(this.#vector.index, tenant, at, isDue))
    if (gone) await this.#members(tenant, at.row)
    return gone
  }

  async #remove<S>(
    index: NearIndex<S>,
    tenant: Buffer,
    at: Pick<Resolved, 'shelf' | 'row'>,
    isDue: (payload: Payload) => boolean,
  ): Promise<boolean> {
    try {
      return await this.#backend.run(forgetCluster<S>, index, tenant, at, isDue)
    } catch (error) {
      index.doubt()
      throw error
    }
  }

  async #members(tenant: Buffer, row: Bytes): Promise<void> {
    const prefix = concat(tenant, row)
    const range = { start: prefix, end: endOfPrefix(prefix) }
    let page: Buffer[] = []
    const take = async () => {
      await this.#backend.run(forgetMembers, tenant, Buffer.from(row), page)
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
