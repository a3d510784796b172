/**
 * The unique value store: keys to values, each distinct value kept once, and every key's own bytes back.
 * What must be atomic is a transaction (transactions/); this class prepares them, runs them, and reports.
 */

import type { ReadableStream } from 'node:stream/web'

import { deadlineOf, timedOutError } from '../platform/deadline.ts'
import type { AtOnce, ItemOutcome, Items, ManyOptions } from '../platform/many.ts'
import { many } from '../platform/many.ts'
import { jsonText, type JsonValue, parseJson, textOf } from '../platform/value-text.ts'
import type { BackupOptions, BackupReport } from './backup/write-backup.ts'
import type { CallOptions } from './call-options.ts'
import { changesOf, type ChangesOptions, lastCursor, type StoreChange } from './changes/read.ts'
import type { Collected } from './collecting-steps.ts'
import { compact, type Compacted } from './compact.ts'
import { StoreCore } from './core.ts'
import { explain, type ExplainOptions, type Explanation } from './explain.ts'
import { healthOf, type StoreHealth } from './health.ts'
import type { Evicted } from './lifecycle/evict.ts'
import {
  evict,
  type EvictOptions,
  expire,
  type ExpireOptions,
  persist,
  pin,
  prune,
  touch,
} from './lifecycle/operations.ts'
import type { PruneOptions } from './lifecycle/prune.ts'
import type { ListOptions } from './list.ts'
import { loadNear } from './near/store-near.ts'
import { collect } from './operations/collect.ts'
import { get, has, head, type Head } from './operations/get.ts'
import { listEntries, listKeys, listValues } from './operations/list.ts'
import {
  getStream,
  type GetStreamOptions,
  getWithHead,
  type ValueWithHead,
} from './operations/get-stream.ts'
import { put } from './operations/put.ts'
import {
  clear,
  type ClearOptions,
  type DeletedRange,
  deleteRange,
  type DeleteRangeOptions,
} from './operations/range.ts'
import { type DeleteOptions, remove } from './operations/remove.ts'
import {
  transaction,
  type TransactionOperation,
  type TransactionResults,
} from './operations/transaction.ts'
import { type Change, update, type UpdateOptions } from './operations/update.ts'
import {
  type StoreKey,
  keyBytes,
  type PutItem,
  type PutOptions,
  type StoreStream,
  type StoreValue,
} from './prepare.ts'
import type { Receipt } from './receipt.ts'
import { type ShownSettings, shownSettings } from './settings.ts'
import { type Similar, type SimilarOptions, similarTo } from './similar.ts'
import { statsOf, type StoreStats } from './stats.ts'
import type { VerifyOptions, VerifyReport } from './verify/verify.ts'

export class Store {
  /** What the store was created with. */
  readonly settings: ShownSettings
  readonly #core: StoreCore

  /** @internal */
  constructor(core: StoreCore) {
    this.settings = shownSettings(core.settings)
    this.#core = core
  }

  /** With the tables of what is there already. @internal */
  static async open(...opened: ConstructorParameters<typeof StoreCore>): Promise<Store> {
    const core = new StoreCore(...opened)
    await core.lifecycle.open()
    await loadNear(core.backend, core.preparation.keeping.near)
    core.background?.start()
    return new Store(core)
  }

  /**
   * Keeps the value under the key, sharing content that is there already, and says which. With `ifAbsent` or `ifMatch`,
   * only if the key is as it says; otherwise nothing is written: `PRECONDITION_FAILED`.
   */
  put(key: StoreKey, value: StoreValue | StoreStream, options?: PutOptions): Promise<Receipt> {
    return put(this.#core, key, value, options)
  }

  /** Keeps a value as JSON, in one way: equal values have equal bytes. What JSON cannot say is refused. */
  async putJson(key: StoreKey, value: JsonValue, options?: PutOptions): Promise<Receipt> {
    return put(this.#core, key, jsonText(value), options)
  }

  /** The very bytes put under the key, or `undefined`. */
  get(key: StoreKey, options?: CallOptions): Promise<Buffer | undefined> {
    return get(this.#core, key, options)
  }

  /** The value and what `head` says of it, of one moment; a long value as a stream. `undefined` for a missing key. */
  async getWithHead(key: StoreKey, options: CallOptions = {}): Promise<ValueWithHead | undefined> {
    return getWithHead(this.#core, key, options)
  }

  /**
   * The bytes put under the key, or those of a range, as they are read: memory stays small, however long the value is.
   * Each chunk is checked against its own SHA-256 before it is given.
   */
  async getStream(
    key: StoreKey,
    options: GetStreamOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const { backend, gate, reading, lifecycle } = this.#core
    const bytes = keyBytes(key)
    return gate.pass(async () => {
      const found = await getStream(backend, bytes, reading, options)
      if (found && lifecycle.tracksReads) await lifecycle.used(bytes)
      return found
    })
  }

  /** The value as text. A value that is not UTF-8 is an error, never replacement characters. */
  async getText(key: StoreKey, options?: CallOptions): Promise<string | undefined> {
    const bytes = await get(this.#core, key, options)
    return bytes && textOf(bytes)
  }

  /** The value as what its JSON says. A value that is not JSON is an error. `T` is believed, not checked. */
  async getJson<T = JsonValue>(key: StoreKey, options?: CallOptions): Promise<T | undefined> {
    const bytes = await get(this.#core, key, options)
    return bytes && (parseJson(textOf(bytes)) as T) // safe: as far as the caller knows what was put
  }

  has(key: StoreKey, options?: CallOptions): Promise<boolean> {
    return has(this.#core, key, options)
  }

  /** Length, SHA-256 and times of the key's value, without reading it; `undefined` for a missing key. */
  head(key: StoreKey, options?: CallOptions): Promise<Head | undefined> {
    return head(this.#core, key, options)
  }

  /** Whether the key was there. With `ifMatch`, only if it has that value; otherwise: `PRECONDITION_FAILED`. */
  async delete(key: StoreKey, options?: DeleteOptions): Promise<boolean> {
    return (await remove(this.#core, key, options)).existed
  }

  /** Deletes all keys of a range, one after another, and says how many: what is put meanwhile may stay. */
  async deleteRange(options: DeleteRangeOptions): Promise<DeletedRange> {
    return deleteRange(this.#core, options)
  }

  /** Deletes all keys. Contents go with them, or with `gc: 'manual'` at the next `collect`. */
  async clear(options: ClearOptions = {}): Promise<DeletedRange> {
    return clear(this.#core, options)
  }

  /**
   * Puts, deletes and checks several keys: all of it is done, or, if one condition is not met, nothing
   * (`PRECONDITION_FAILED`). Nobody sees a part of it.
   */
  async transaction<const O extends readonly TransactionOperation[]>(
    operations: O,
    options?: CallOptions,
  ): Promise<TransactionResults<O>> {
    const results: unknown = await transaction(this.#core, operations, options)
    return results as TransactionResults<O> // safe: one result an operation, by its kind
  }

  /**
   * Puts what `change` makes of the key's value, provided that nobody changed it meanwhile; otherwise `change` is called
   * again with what is there now. `undefined` leaves the key as it is.
   */
  async update(
    key: StoreKey,
    change: Change,
    options?: UpdateOptions,
  ): Promise<Receipt | undefined> {
    return update(this.#core, key, change, options)
  }

  /**
   * Puts many. What is there at once (an array, a Set) gives a promise of all outcomes; what comes bit by bit
   * (an async iterable) gives outcomes bit by bit, and goes on only as they are taken.
   */
  putMany(
    items: AsyncIterable<PutItem>,
    options?: ManyOptions,
  ): AsyncGenerator<ItemOutcome<Receipt>>
  putMany(items: AtOnce<PutItem>, options?: ManyOptions): Promise<ItemOutcome<Receipt>[]>
  putMany(items: Items<PutItem>, options?: ManyOptions) {
    // What is no value at all is refused by its own put, and weighs nothing.
    const weigh = ({ value }: PutItem) => value?.length ?? 0
    const perform = ({ key, value, ...rest }: PutItem) => this.put(key, value, rest)
    const work = { keyOf: ({ key }: PutItem) => key, weigh, perform, weighResult: () => 0 }
    return many(items, work, options)
  }

  getMany(
    keys: AsyncIterable<StoreKey>,
    options?: ManyOptions,
  ): AsyncGenerator<ItemOutcome<Buffer | undefined>>
  getMany(keys: AtOnce<StoreKey>, options?: ManyOptions): Promise<ItemOutcome<Buffer | undefined>[]>
  getMany(keys: Items<StoreKey>, options?: ManyOptions) {
    const perform = (key: StoreKey) => this.get(key)
    const weighResult = (value: Buffer | undefined) => value?.byteLength ?? 0
    return many(keys, { keyOf: (key) => key, weigh: () => 0, perform, weighResult }, options)
  }

  deleteMany(
    keys: AsyncIterable<StoreKey>,
    options?: ManyOptions,
  ): AsyncGenerator<ItemOutcome<boolean>>
  deleteMany(keys: AtOnce<StoreKey>, options?: ManyOptions): Promise<ItemOutcome<boolean>[]>
  deleteMany(keys: Items<StoreKey>, options?: ManyOptions) {
    const perform = (key: StoreKey) => this.delete(key)
    const work = { keyOf: (key: StoreKey) => key, weigh: () => 0, perform, weighResult: () => 0 }
    return many(keys, work, options)
  }

  /** Keys in byte order. */
  keys(options: ListOptions = {}): AsyncGenerator<Buffer> {
    return listKeys(this.#core, options)
  }

  /** Values, in the byte order of their keys. */
  values(options: ListOptions = {}): AsyncGenerator<Buffer> {
    return listValues(this.#core, options)
  }

  /** Keys in byte order, each with its value. */
  entries(options: ListOptions = {}): AsyncGenerator<[key: Buffer, value: Buffer]> {
    return listEntries(this.#core, options)
  }

  /** All keys with their values: `for await (const [key, value] of store)`. */
  [Symbol.asyncIterator](): AsyncGenerator<[key: Buffer, value: Buffer]> {
    return this.entries()
  }

  /**
   * Changes of keys in the order in which they were committed, from the oldest that is kept or behind a cursor. Of a store
   * with `changes` (`CHANGES_OFF`). A cursor older than what is kept is refused (`CURSOR_EXPIRED`): no change is ever left out.
   */
  changes(options: ChangesOptions = {}): AsyncGenerator<StoreChange> {
    return changesOf(this.#core, options)
  }

  /** The cursor of the last change: what is changed from now on comes after it. */
  changesCursor(): Promise<string> {
    return lastCursor(this.#core)
  }

  /** What the receipt said, and which other keys share the content; `undefined` for a missing key. */
  async explain(key: StoreKey, options: ExplainOptions = {}): Promise<Explanation | undefined> {
    const bytes = keyBytes(key)
    const { sharesForms, keeping } = this.#core.preparation
    const how = { sharesForms, ...keeping }
    return this.#core.gate.pass(() => explain(this.#core.backend, bytes, how, options))
  }

  /** What in the store is like this value, the most similar first. Nothing is kept. */
  async similar(value: StoreValue, options: SimilarOptions = {}): Promise<Similar[]> {
    const { keeping } = this.#core.preparation
    return this.#core.gate.pass(() => similarTo(this.#core.backend, keeping, value, options))
  }

  /** Exact at all times, and read without a scan of anything but notes for the collector. */
  async stats(): Promise<StoreStats> {
    const { backend, gate, preparation, observer } = this.#core
    const stats = await gate.pass(() => statsOf(backend, preparation.keeping))
    observer?.stats(stats)
    return stats
  }

  /** What a monitor asks: what `stats` says, what waits for `collect`, and how old contents are. Read without a scan. */
  async health(): Promise<StoreHealth> {
    const stats = await this.stats()
    return this.#core.gate.pass(() => healthOf(this.#core.backend, stats))
  }

  /** Reclaims expired keys, contents nobody refers to, and what puts that never ended left behind. */
  async collect(options?: CallOptions): Promise<Collected> {
    return collect(this.#core, options)
  }

  /**
   * Keys go that were put, or last used, too long ago, unless they are pinned. Says how many, and how many bytes that
   * frees; with `dryRun`, how many would go.
   */
  async prune(options: PruneOptions): Promise<Evicted> {
    return prune(this.#core, options)
  }

  /** The least recently used keys go until the store is small enough, unless they are pinned. */
  async evict(options: EvictOptions): Promise<Evicted> {
    return evict(this.#core, options)
  }

  /** Exempts the key from eviction and pruning until it is deleted or expires. Whether it is there. */
  async pin(key: StoreKey): Promise<boolean> {
    return pin(this.#core, key, true)
  }

  /** Whether the key was pinned. */
  async unpin(key: StoreKey): Promise<boolean> {
    return pin(this.#core, key, false)
  }

  /** A use of the key without reading it, which extends a sliding expiry; `ttlMs` sets another. Whether it is there. */
  async touch(key: StoreKey, ttlMs?: number): Promise<boolean> {
    return touch(this.#core, key, ttlMs)
  }

  /** Lets the key expire so many milliseconds from now. Whether it is there. */
  async expire(key: StoreKey, ttlMs: number, options?: ExpireOptions): Promise<boolean> {
    return expire(this.#core, key, ttlMs, options)
  }

  /** Takes the key's expiry away. Whether it is there. */
  async persist(key: StoreKey): Promise<boolean> {
    return persist(this.#core, key)
  }

  /**
   * Gives space that is free in the store's file back to the file system. Writes wait until it has ended; reads go on. A
   * directory that another process or thread has open is refused (CONTENDED). Other engines have no file to compact.
   */
  async compact(): Promise<Compacted> {
    return this.#core.gate.pass(() => compact(this.#core.backend))
  }

  /** Reads everything, recomputes digests, references and tallies, and says what is wrong. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { keeping, ...rest } = this.#core.preparation
    const how = { ...rest, ...keeping }
    const late = (ms: number) =>
      timedOutError('The verification', options.repair ? 'partial' : 'not-done', ms)
    const deadline = deadlineOf(options.signal, options.timeoutMs, late)
    return this.#core.gate
      .pass(async () => {
        // Loaded when asked for: it is as long as all the rest, and most programs never verify.
        const { verify } = await import('./verify/verify.ts')
        if (this.#core.isOld && options.repair) await this.#core.raise()
        return verify(this.#core.backend, how, { ...options, signal: deadline.signal })
      })
      .finally(deadline.clear)
  }

  /**
   * Writes a backup to a directory or `s3://BUCKET/PREFIX` while others go on writing. What earlier backups there have
   * is not written again. In a directory or memory it is the state of one moment.
   */
  async backup(target: string, options: BackupOptions = {}): Promise<BackupReport> {
    const { writeBackup } = await import('./backup/write-backup.ts')
    return this.#core.gate.pass(() => writeBackup(this.#core, target, options))
  }

  /** Waits for everything under way; every later call is refused. */
  close(): Promise<void> {
    this.#core.preparation.keeping.changes?.end()
    return this.#core.gate.close(async () => {
      const { semantic } = this.#core.preparation.keeping
      try {
        await this.#core.background?.stop()
        await this.#core.lifecycle.close()
        await this.#core.saveIndex('close')
        await semantic?.embedder.close()
      } finally {
        await this.#core.closeBackend()
      }
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
