/**
 * Which parts of documents are in a vector store, and since when: the record manager of LangChain's `index()`.
 *
 * A record is two keys with one value, written in one transaction: by its own key, and by its group, so that the parts of a
 * source are found without reading all others. Records of one run and one source share their content.
 *
 * Invariant: times are those of runs, and ascend. `getTime` begins a run and gives a time later than that of every record
 * written before, also when the clock stands still or steps back; what is updated gets the time of the latest run. So
 * records before a run are exactly those that it has not seen.
 */

import { createHash } from 'node:crypto'

import { PrestigeError } from '../platform/errors.ts'
import type { Store, TransactionOperation } from '../store/index.ts'

interface StoredRecord {
  readonly at: number
  readonly group: string | null
}

export interface RecordUpdate {
  /** The source of each key. Default: as it was. */
  groupIds?: (string | null)[]
  /** Fails if the time is earlier. */
  timeAtLeast?: number
}

export interface RecordFilter {
  /** Only records updated before. */
  before?: number
  /** Only records updated after. */
  after?: number
  /** Only records of these sources. */
  groupIds?: (string | null)[]
  /** At most so many. */
  limit?: number
}

/** Keys of one transaction: few enough for every engine. */
const BATCH = 20
const ATTEMPTS_MAX = 100

export class Records {
  readonly #store: Store
  readonly #prefix: string

  constructor(store: Store, namespace: string) {
    this.#store = store
    this.#prefix = `${namespace}\0`
  }

  /** Begins a run. */
  async begin(): Promise<number> {
    let time = 0
    await this.#store.update(this.#clock, (value) => {
      time = Math.max(Date.now(), value === undefined ? 0 : Number(value.toString()) + 1)
      return String(time)
    })
    return time
  }

  async update(keys: readonly string[], options: RecordUpdate = {}): Promise<void> {
    const { groupIds, timeAtLeast = 0 } = options
    if (groupIds && groupIds.length !== keys.length) {
      const message = `There are ${keys.length} keys and ${groupIds.length} groupIds. Give one for each key.`
      throw new PrestigeError('INVALID_OPTIONS', message)
    }
    const clock = await this.#store.getText(this.#clock)
    const at = clock === undefined ? await this.begin() : Number(clock)
    if (at < timeAtLeast) {
      const message = `timeAtLeast is ${timeAtLeast}, and the latest run began at ${at}. Give what getTime() said.`
      throw new PrestigeError('INVALID_OPTIONS', message)
    }
    // The last one counts where a key is given twice: a transaction takes each key once.
    const wanted = new Map(keys.map((key, index) => [key, groupIds?.[index]]))
    for (const batch of batchesOf([...wanted])) {
      await this.#commit(async () => {
        const each = batch.map(([key, group]) => this.#write(key, at, group))
        return (await Promise.all(each)).flat()
      })
    }
  }

  exists(keys: readonly string[]): Promise<boolean[]> {
    return Promise.all(keys.map((key) => this.#store.has(this.#key(key))))
  }

  async list({ before, after, groupIds, limit }: RecordFilter = {}): Promise<string[]> {
    const found: string[] = []
    const prefixes = groupIds
      ? [...new Set(groupIds.map((group) => this.#group(group)))]
      : [this.#key('')]
    for (const prefix of prefixes) {
      for await (const [key, value] of this.#store.entries({ prefix })) {
        if (limit !== undefined && found.length >= limit) return found
        const { at } = recordOf(value)
        if (before !== undefined && at >= before) continue
        if (after !== undefined && at <= after) continue
        found.push(key.subarray(Buffer.byteLength(prefix)).toString())
      }
    }
    return found
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const batch of batchesOf([...new Set(keys)])) {
      await this.#commit(async () => {
        const each = batch.map(async (key) => {
          const bytes = await this.#store.get(this.#key(key))
          if (bytes === undefined) return []
          const { group } = recordOf(bytes)
          return [this.#unchanged(key, bytes), { delete: this.#group(group) + key }]
        })
        return (await Promise.all(each)).flat()
      })
    }
  }

  /** Both keys, and the one under another group goes. */
  async #write(
    key: string,
    at: number,
    group: string | null | undefined,
  ): Promise<TransactionOperation[]> {
    const put = this.#key(key)
    const old = await this.#store.get(put)
    const before = old && recordOf(old).group
    const now = group === undefined ? (before ?? null) : group
    const value = JSON.stringify({ at, group: now })
    const condition = old ? { ifMatch: digestOf(old) } : { ifAbsent: true as const }
    const operations: TransactionOperation[] = [
      { put, value, ...condition },
      { put: this.#group(now) + key, value },
    ]
    if (before !== undefined && before !== now)
      operations.push({ delete: this.#group(before) + key })
    return operations
  }

  #unchanged(key: string, bytes: Buffer): TransactionOperation {
    return { delete: this.#key(key), ifMatch: digestOf(bytes) }
  }

  /** Somebody else may have changed a record since it was read: then it is read again. */
  async #commit(operationsOf: () => Promise<readonly TransactionOperation[]>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.transaction(await operationsOf())
        return
      } catch (error) {
        const isChanged = error instanceof PrestigeError && error.code === 'PRECONDITION_FAILED'
        if (!isChanged || attempt >= ATTEMPTS_MAX) throw error
      }
    }
  }

  get #clock(): string {
    return `${this.#prefix}clock`
  }

  #key(key: string): string {
    return `${this.#prefix}record\0${key}`
  }

  /** By its digest: a source may be longer than a key, and hold any character. */
  #group(group: string | null): string {
    const digest = group === null ? 'none' : digestOf(Buffer.from(group))
    return `${this.#prefix}group\0${digest}\0`
  }
}

function recordOf(bytes: Buffer): StoredRecord {
  return JSON.parse(bytes.toString()) as StoredRecord // safe: written above, and checked by the store
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function batchesOf<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / BATCH)
  return Array.from({ length: count }, (_, at) => items.slice(at * BATCH, (at + 1) * BATCH))
}
