/**
 * The unique value store: keys to values, each distinct value kept once, and every key's own bytes back.
 * What must be atomic is a transaction (transactions/); this class prepares them, runs them, and reports.
 */

import { asBuffer } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { AtOnce, ItemOutcome, Items, ManyOptions } from '../platform/many.ts'
import { many } from '../platform/many.ts'
import type { BackupOptions, BackupReport } from './backup/write-backup.ts'
import { collectAll, type Collected } from './collect.ts'
import { StoreCore } from './core.ts'
import { explain, type ExplainOptions, type Explanation } from './explain.ts'
import { limitOf, type ListOptions, rangeOf } from './list.ts'
import { adoptOrphans } from './near/adopt.ts'
import { loadNear } from './near/store-near.ts'
import type { Notes } from './observe.ts'
import { put } from './operations/put.ts'
import { remove } from './operations/remove.ts'
import {
  type StoreKey,
  keyBytes,
  type PutItem,
  type PutOptions,
  type StoreValue,
} from './prepare.ts'
import { readParts, readValue } from './read-value.ts'
import type { Receipt } from './receipt.ts'
import { entries, Entry } from './rows.ts'
import { type ShownSettings, shownSettings } from './settings.ts'
import { type Similar, type SimilarOptions, similarTo } from './similar.ts'
import { readStats, type StoreStats } from './stats.ts'
import { findEntry, findValue } from './transactions/get.ts'
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
    await loadNear(core.backend, core.preparation.keeping.near)
    return new Store(core)
  }

  /** Keeps the value under the key, sharing content that is there already, and says which. */
  async put(key: StoreKey, value: StoreValue, options?: PutOptions): Promise<Receipt> {
    return put(this.#core, key, value, options)
  }

  /** The very bytes put under the key, or `undefined`. */
  async get(key: StoreKey): Promise<Buffer | undefined> {
    const { backend, gate, observer, reading } = this.#core
    gate.enter()
    try {
      if (observer) return await observer.observe('get', (notes) => this.#get(key, notes))
      // Not by readValue: one promise fewer on the hottest path of all.
      const bytes = keyBytes(key)
      const found = await backend.read(findValue, bytes, reading)
      if (!(found instanceof Entry)) return found && asBuffer(found)
      return await readParts(backend, bytes, found, reading)
    } finally {
      gate.leave()
    }
  }

  /** The value as text. A value that is not UTF-8 is an error, never replacement characters. */
  async getText(key: StoreKey): Promise<string | undefined> {
    const bytes = await this.get(key)
    if (bytes === undefined) return undefined
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch (error) {
      throw new PrestigeError(
        'UNREADABLE_VALUE',
        'The value is not valid UTF-8. Use get for its bytes.',
        { cause: error },
      )
    }
  }

  async has(key: StoreKey): Promise<boolean> {
    const { backend, gate } = this.#core
    const bytes = keyBytes(key)
    return gate.pass(async () => (await backend.read(findEntry, bytes)) !== undefined)
  }

  /** Whether the key was there. */
  async delete(key: StoreKey): Promise<boolean> {
    return remove(this.#core, key)
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
  async *keys(options: ListOptions = {}): AsyncGenerator<Buffer> {
    let left = limitOf(options)
    if (left <= 0) return
    for await (const { key, value } of this.#core.backend.scan(entries, rangeOf(options))) {
      if (!value.isLive(this.#core.backend.now())) continue
      yield key
      if (--left <= 0) return
    }
  }

  /** Keys in byte order, each with its value. */
  async *entries(options: ListOptions = {}): AsyncGenerator<[key: Buffer, value: Buffer]> {
    let left = limitOf(options)
    if (left <= 0) return
    for await (const key of this.keys({ ...options, limit: undefined })) {
      const value = await this.get(key)
      // Deleted since its key was listed.
      if (value === undefined) continue
      yield [key, value]
      if (--left <= 0) return
    }
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

  /** Exact at all times, and read without a scan. */
  async stats(): Promise<StoreStats> {
    const { keeping } = this.#core.preparation
    const stats = await this.#core.gate.pass(() => this.#core.backend.read(readStats, keeping))
    this.#core.observer?.gauge('prestige.store.total_bytes', stats.contentBytes)
    return stats
  }

  /** Reclaims expired keys, contents nobody refers to, and what puts that never ended left behind. */
  async collect(): Promise<Collected> {
    const { keeping } = this.#core.preparation
    const collected = await this.#core.gate.pass(async () => {
      if (this.#core.isOld) await this.#core.raise()
      const all = await collectAll(this.#core.backend, keeping)
      await adoptOrphans(this.#core.backend, keeping)
      await keeping.near?.trim(this.#core.backend)
      await keeping.semantic?.view.trim()
      await this.#core.saveIndex()
      return all
    })
    this.#core.observer?.count('prestige.sweep.deleted_total', collected.contents)
    return collected
  }

  /** Reads everything, recomputes digests, references and tallies, and says what is wrong. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { keeping, ...rest } = this.#core.preparation
    const how = { ...rest, ...keeping }
    // Loaded when asked for: it is as long as all the rest, and most programs never verify.
    const { verify } = await import('./verify/verify.ts')
    return this.#core.gate.pass(async () => {
      if (this.#core.isOld && options.repair) await this.#core.raise()
      return verify(this.#core.backend, how, options)
    })
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
    return this.#core.gate.close(async () => {
      const { semantic } = this.#core.preparation.keeping
      try {
        await this.#core.saveIndex()
        await semantic?.embedder.close()
      } finally {
        await this.#core.backend.close()
      }
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #get(key: StoreKey, notes: Notes): Promise<Buffer | undefined> {
    const bytes = keyBytes(key)
    notes.attribute('key_bytes', bytes.byteLength)
    const value = await readValue(this.#core.backend, bytes, this.#core.reading, notes)
    if (value === undefined) notes.count('not_found_total')
    else notes.measure('value_bytes', value.byteLength)
    if (value) notes.attribute('value_bytes', value.byteLength)
    return value
  }
}
