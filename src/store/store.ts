/**
 * The unique value store: keys to values, each distinct value kept once, and every key's own bytes back.
 * What must be atomic is a transaction (transactions/); this class prepares them, runs them, and reports.
 */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import { type Backend, Gate } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { adoptOrphans } from './near/adopt.ts'
import { collectAll, collectContent, type Collected } from './collect.ts'
import { ContentCheck } from './content-check.ts'
import { explain, type ExplainOptions, type Explanation } from './explain.ts'
import { findEntry, findValue, type Reading } from './transactions/get.ts'
import { cleanUp, runWithPrerequisites, sketchIfNew } from './transactions/prerequisites.ts'
import { limitOf, type ListOptions, rangeOf } from './list.ts'
import type { AtOnce, ItemOutcome, Items, ManyOptions } from '../platform/many.ts'
import { many } from '../platform/many.ts'
import { loadNear, nearOf } from './near/store-near.ts'
import { type Notes, Observer } from './observe.ts'
import type { CheckedStoreOptions } from './options.ts'
import {
  type StoreKey,
  keyBytes,
  type Preparation,
  prepare,
  type PutItem,
  type PutOptions,
  type StoreValue,
} from './prepare.ts'
import { isEnd, type Prepared, type PutEnd } from './transactions/put.ts'
import { type PutPrerequisite, putValue } from './transactions/put.ts'
import { notePut, noteSwept } from './put-notes.ts'
import { readParts, readValue } from './read-value.ts'
import type { Receipt } from './receipt.ts'
import { removeKey } from './transactions/remove.ts'
import { entries, Entry } from './rows.ts'
import {
  isOldFormat,
  type OpenedSettings,
  raiseFormat,
  sharesFormsOf,
  type ShownSettings,
  shownSettings,
} from './settings.ts'
import { type Similar, type SimilarOptions, similarTo } from './similar.ts'
import { readStats, type StoreStats } from './stats.ts'
import type { VerifyOptions, VerifyReport } from './verify/verify.ts'

export class Store {
  /** What the store was created with. */
  readonly settings: ShownSettings
  readonly #backend: Backend
  readonly #gate = new Gate('store')
  readonly #preparation: Preparation
  readonly #reading: Reading
  readonly #observer: Observer | undefined
  /** Rows of an older format are there, and settings that promise nothing else. */
  #isOld: boolean

  /** `indexPath`: where an index of meanings is saved. @internal */
  constructor(
    backend: Backend,
    opened: OpenedSettings,
    options: CheckedStoreOptions,
    indexPath?: string,
  ) {
    const { settings, profile } = opened
    const { metrics, tracer, onUnreadable, gc, verifyReads } = options
    const near = nearOf(backend, opened, options.near ?? {})
    const { partBytes } = settings
    const semantic =
      settings.semantic && opened.semantic?.make(backend, settings.semantic, partBytes, indexPath)
    this.settings = shownSettings(settings)
    this.#isOld = isOldFormat(settings)
    this.#backend = backend
    this.#observer = metrics || tracer ? new Observer(metrics, tracer) : undefined
    const sharesForms = sharesFormsOf(settings)
    const check = verifyReads ? new ContentCheck({ profile, sharesForms }) : undefined
    this.#reading = { partBytes, check }
    this.#preparation = {
      profile,
      onUnreadable,
      gc,
      sharesForms,
      check,
      partBytes,
      keeping: { partBytes, near, semantic },
      sharesNear: (near ?? semantic) !== undefined && settings.fidelity === 'representative',
    }
  }

  /** With the tables of what is there already. @internal */
  static async open(...opened: ConstructorParameters<typeof Store>): Promise<Store> {
    const store = new Store(...opened)
    await loadNear(store.#backend, store.#preparation.keeping.near)
    return store
  }

  /** Keeps the value under the key, sharing content that is there already, and says which. */
  async put(key: StoreKey, value: StoreValue, options?: PutOptions): Promise<Receipt> {
    this.#gate.enter()
    try {
      if (this.#isOld) await this.#raise()
      if (this.#observer) {
        const put = (notes: Notes) => this.#observedPut(key, value, options, notes)
        return await this.#observer.observe('put', put)
      }
      const made = prepare(this.#preparation, key, value, options)
      const prepared = made instanceof Promise ? await made : made
      if (prepared.near?.isLong && this.#backend.serial) await sketchIfNew(this.#backend, prepared)
      const end = await this.#backend.run(putValue, prepared)
      if (isEnd(end) && end.released === undefined && !end.swept) return end.receipt
      return (await this.#finishPut(prepared, end)).receipt
    } catch (error) {
      this.#invalidate(error)
      throw error
    } finally {
      this.#gate.leave()
    }
  }

  /** The very bytes put under the key, or `undefined`. */
  async get(key: StoreKey): Promise<Buffer | undefined> {
    this.#gate.enter()
    try {
      if (this.#observer) return await this.#observer.observe('get', (n) => this.#get(key, n))
      // Not by readValue: one promise fewer on the hottest path of all.
      const bytes = keyBytes(key)
      const found = await this.#backend.read(findValue, bytes, this.#reading)
      if (!(found instanceof Entry)) return found && asBuffer(found)
      return await readParts(this.#backend, bytes, found, this.#reading)
    } finally {
      this.#gate.leave()
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
    const bytes = keyBytes(key)
    return this.#gate.pass(async () => (await this.#backend.read(findEntry, bytes)) !== undefined)
  }

  /** Whether the key was there. */
  async delete(key: StoreKey): Promise<boolean> {
    return this.#gate.pass(async () => {
      if (this.#isOld) await this.#raise()
      if (!this.#observer) return this.#delete(key)
      return this.#observer.observe('delete', (notes) => this.#delete(key, notes))
    })
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
    for await (const { key, value } of this.#backend.scan(entries, rangeOf(options))) {
      if (!value.isLive(this.#backend.now())) continue
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
    const { sharesForms, keeping } = this.#preparation
    const how = { sharesForms, ...keeping }
    return this.#gate.pass(() => explain(this.#backend, bytes, how, options))
  }

  /** What in the store is like this value, the most similar first. Nothing is kept. */
  async similar(value: StoreValue, options: SimilarOptions = {}): Promise<Similar[]> {
    const { keeping } = this.#preparation
    return this.#gate.pass(() => similarTo(this.#backend, keeping, value, options))
  }

  /** Exact at all times, and read without a scan. */
  async stats(): Promise<StoreStats> {
    const { keeping } = this.#preparation
    const stats = await this.#gate.pass(() => this.#backend.read(readStats, keeping))
    this.#observer?.gauge('prestige.store.total_bytes', stats.contentBytes)
    return stats
  }

  /** Reclaims expired keys, contents nobody refers to, and what puts that never ended left behind. */
  async collect(): Promise<Collected> {
    const { keeping } = this.#preparation
    const collected = await this.#gate.pass(async () => {
      if (this.#isOld) await this.#raise()
      const all = await collectAll(this.#backend, keeping)
      await adoptOrphans(this.#backend, keeping)
      await keeping.near?.trim(this.#backend)
      await keeping.semantic?.view.trim()
      await this.#saveIndex()
      return all
    })
    this.#observer?.count('prestige.sweep.deleted_total', collected.contents)
    return collected
  }

  /** Reads everything, recomputes digests, references and tallies, and says what is wrong. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { keeping, ...rest } = this.#preparation
    const how = { ...rest, ...keeping }
    // Loaded when asked for: it is as long as all the rest, and most programs never verify.
    const { verify } = await import('./verify/verify.ts')
    return this.#gate.pass(async () => {
      if (this.#isOld && options.repair) await this.#raise()
      return verify(this.#backend, how, options)
    })
  }

  /** Waits for everything under way; every later call is refused. */
  close(): Promise<void> {
    return this.#gate.close(async () => {
      const { semantic } = this.#preparation.keeping
      try {
        await this.#saveIndex()
        await semantic?.embedder.close()
      } finally {
        await this.#backend.close()
      }
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Before the first write: versions that cannot read what is written then refuse the store by name. */
  async #raise(): Promise<void> {
    await raiseFormat(this.#backend)
    this.#isOld = false
  }

  /** An index that cannot be saved is rebuilt when it is needed, so nothing is lost. */
  async #saveIndex(): Promise<void> {
    const { semantic } = this.#preparation.keeping
    try {
      if (await semantic?.view.save())
        this.#observer?.count('prestige.semantic.index_save_ok_total', 1)
    } catch (error) {
      this.#observer?.count('prestige.semantic.index_save_error_total', 1)
      process.emitWarning(`The index of meanings could not be saved: ${String(error)}`)
    }
  }

  async #observedPut(
    key: StoreKey,
    value: StoreValue,
    options: PutOptions | undefined,
    notes: Notes,
  ): Promise<Receipt> {
    const prepared = await prepare(this.#preparation, key, value, options, notes)
    if (this.#backend.serial) await sketchIfNew(this.#backend, prepared)
    const body = notes.counting(putValue)
    const started = performance.now()
    const end = await this.#finishPut(
      prepared,
      await this.#backend.run(body, prepared),
      body,
      notes,
    )
    notePut(notes, prepared, end, performance.now() - started)
    return end.receipt
  }

  /** What is left to do after the transaction: parts to write first, parts not needed, contents to collect. */
  async #finishPut(
    prepared: Prepared,
    first: PutEnd | PutPrerequisite,
    body: typeof putValue = putValue,
    notes?: Notes,
  ): Promise<PutEnd> {
    const end = await runWithPrerequisites(this.#backend, prepared, first, body, notes)
    if (end.released && prepared.gc === 'immediate') await this.#collect(end.released)
    if (end.swept) await this.#adopt()
    return end
  }

  async #get(key: StoreKey, notes: Notes): Promise<Buffer | undefined> {
    const bytes = keyBytes(key)
    notes.attribute('key_bytes', bytes.byteLength)
    const value = await readValue(this.#backend, bytes, this.#reading, notes)
    if (value === undefined) notes.count('not_found_total')
    else notes.measure('value_bytes', value.byteLength)
    if (value) notes.attribute('value_bytes', value.byteLength)
    return value
  }

  async #delete(key: StoreKey, notes?: Notes): Promise<boolean> {
    const { gc, keeping } = this.#preparation
    const body = notes ? notes.counting(removeKey) : removeKey
    const bytes = keyBytes(key)
    notes?.attribute('key_bytes', bytes.byteLength)
    const started = notes && performance.now()
    const end = await this.#backend.run(body, { key: bytes, gc, keeping }).catch((error) => {
      this.#invalidate(error)
      throw error
    })
    if (notes && started !== undefined) {
      notes.measure('commit_us', (performance.now() - started) * 1000)
      if (!end.existed) notes.count('not_found_total')
      if (end.swept) noteSwept(notes)
    }
    if (end.released && gc === 'immediate') await this.#collect(end.released)
    if (end.swept) await this.#adopt()
    return end.existed
  }

  /** Rebuilding the tables is expensive, and what was refused before it was run leaves nothing in doubt. */
  #invalidate(error: unknown): void {
    if (error instanceof PrestigeError && error.kind === 'invalid') return
    this.#preparation.keeping.near?.invalidate()
  }

  async #collect(digest: Bytes): Promise<void> {
    const { keeping } = this.#preparation
    const swept = await cleanUp(() => collectContent(this.#backend, digest, keeping))
    if (!swept) return
    this.#observer?.count('prestige.gc.deleted_objects_total', 1)
    await this.#adopt()
  }

  async #adopt(): Promise<void> {
    const { keeping } = this.#preparation
    if (keeping.near ?? keeping.semantic) {
      await cleanUp(() => adoptOrphans(this.#backend, keeping))
    }
  }
}
