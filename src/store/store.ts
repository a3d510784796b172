/**
 * The unique value store: keys to values, each distinct value kept once, and every key's own bytes back.
 *
 * What must be atomic is a transaction (put.ts, remove.ts, get.ts, collect.ts); this class prepares what
 * can be computed without looking, runs them, and tells what happened.
 */

import { asBuffer, type Bytes } from '../bytes.ts'
import type { Backend, ReadScope } from '../backends/contract.ts'
import { PrestigeError } from '../errors.ts'
import { Gate } from '../backends/gate.ts'
import { adoptOrphans } from './adopt.ts'
import { type Collected, collectAll, collectContent, removeParts } from './collect.ts'
import { explain, type Explanation, type ExplainOptions } from './explain.ts'
import { findEntry, findValue } from './get.ts'
import { limitOf, type ListOptions, rangeOf } from './list.ts'
import { type AtOnce, type Items, many, type ManyOptions, type Outcome, type Work } from './many.ts'
import { nearOf, type StoreNear } from './near.ts'
import { type Notes, Observer } from './observe.ts'
import type { StoreOptions } from './options.ts'
import {
  type Key,
  keyBytes,
  type Preparation,
  prepare,
  type PutOptions,
  type Value,
} from './prepare.ts'
import { type Prepared, type PutEnd, putValue } from './put.ts'
import { notePut, noteSwept } from './put-notes.ts'
import { readParts, readValue } from './read-value.ts'
import type { Receipt } from './receipt.ts'
import { removeKey } from './remove.ts'
import { entries, Entry } from './rows.ts'
import type { OpenedSettings, StoreSettings } from './settings.ts'
import { type Similar, type SimilarOptions, similarTo } from './similar.ts'
import { stage } from './staging.ts'
import { type Counts, readCounts } from './tallies.ts'
import type { VerifyOptions, VerifyReport } from './verify/verify.ts'

export interface PutItem extends PutOptions {
  readonly key: Key
  readonly value: Value
}

export interface Stats extends Counts {
  readonly bytesSaved: number
  /** Bytes of all values divided by bytes stored; 1 for an empty store. */
  readonly dedupRatio: number
  /** Where near duplicates are linked: contents that are, and values that full buckets may have hidden one from. */
  readonly near?: { readonly links: number; readonly possibleMisses: number }
}

export class Store {
  readonly settings: StoreSettings
  readonly #backend: Backend
  readonly #gate = new Gate('store')
  readonly #preparation: Preparation
  readonly #observer: Observer | undefined

  constructor(backend: Backend, opened: OpenedSettings, options: StoreOptions) {
    const { settings, profile } = opened
    const { metrics, tracer, onUnreadable, gc } = options
    const near = nearOf(backend, opened, options.near ?? {})
    this.settings = settings
    this.#backend = backend
    this.#observer = metrics || tracer ? new Observer(metrics, tracer) : undefined
    this.#preparation = {
      profile,
      onUnreadable,
      gc,
      sharesForms: settings.fidelity === 'representative' && settings.canonical.name !== 'none',
      partBytes: settings.partBytes,
      keeping: { partBytes: settings.partBytes, near },
      sharesNear: near !== undefined && settings.fidelity === 'representative',
    }
  }

  /** Makes the tables of what is there. To be called once, before anything else. */
  async load(): Promise<void> {
    const index = this.#preparation.keeping.near?.index
    await index?.load(this.#backend).catch((error: unknown) => {
      // A store whose index is damaged must open, or nobody could verify it. Every search will fail by name.
      if (!(error instanceof PrestigeError) || error.code !== 'CONTENT_CORRUPT') throw error
      index.doubt()
    })
  }

  /** Keeps the value under the key, sharing content that is there already, and says which. */
  async put(key: Key, value: Value, options?: PutOptions): Promise<Receipt> {
    this.#gate.enter()
    try {
      if (this.#observer) {
        const put = (notes: Notes) => this.#observedPut(key, value, options, notes)
        return await this.#observer.observe('put', put)
      }
      const made = prepare(this.#preparation, key, value, options)
      const prepared = made instanceof Promise ? await made : made
      const end = await this.#backend.run(putValue, prepared)
      if (end !== 'stage' && end.released === undefined && !end.swept) return end.receipt
      return (await this.#finishPut(prepared, end)).receipt
    } catch (error) {
      this.#doubt(error)
      throw error
    } finally {
      this.#gate.leave()
    }
  }

  /** The very bytes put under the key, or `undefined`. */
  async get(key: Key): Promise<Buffer | undefined> {
    this.#gate.enter()
    try {
      if (this.#observer) return await this.#observer.observe('get', (n) => this.#get(key, n))
      // Not by readValue: one promise fewer on the hottest path of all.
      const { partBytes } = this.#preparation
      const bytes = keyBytes(key)
      const found = await this.#backend.read(findValue, bytes, partBytes)
      if (!(found instanceof Entry)) return found && asBuffer(found)
      return await readParts(this.#backend, bytes, found, partBytes)
    } finally {
      this.#gate.leave()
    }
  }

  /** The value as text. A value that is not UTF-8 is an error, never replacement characters. */
  async getText(key: Key): Promise<string | undefined> {
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

  async has(key: Key): Promise<boolean> {
    const bytes = keyBytes(key)
    return this.#gate.pass(async () => (await this.#backend.read(findEntry, bytes)) !== undefined)
  }

  /** Whether the key was there. */
  async delete(key: Key): Promise<boolean> {
    return this.#gate.pass(() =>
      this.#observer
        ? this.#observer.observe('delete', (notes) => this.#delete(key, notes))
        : this.#delete(key),
    )
  }

  /**
   * Puts many. What is there at once (an array, a Set) gives a promise of all outcomes; what comes bit by bit
   * (an async iterable) gives outcomes bit by bit, and goes on only as they are taken.
   */
  putMany(items: AsyncIterable<PutItem>, options?: ManyOptions): AsyncGenerator<Outcome<Receipt>>
  putMany(items: AtOnce<PutItem>, options?: ManyOptions): Promise<Outcome<Receipt>[]>
  putMany(items: Items<PutItem>, options?: ManyOptions) {
    return many(items, putWork(this), options)
  }

  getMany(
    keys: AsyncIterable<Key>,
    options?: ManyOptions,
  ): AsyncGenerator<Outcome<Buffer | undefined>>
  getMany(keys: AtOnce<Key>, options?: ManyOptions): Promise<Outcome<Buffer | undefined>[]>
  getMany(keys: Items<Key>, options?: ManyOptions) {
    const perform = (key: Key) => this.get(key)
    const weighResult = (value: Buffer | undefined) => value?.byteLength ?? 0
    return many(keys, { keyOf: (key) => key, weigh: () => 0, perform, weighResult }, options)
  }

  deleteMany(keys: AsyncIterable<Key>, options?: ManyOptions): AsyncGenerator<Outcome<boolean>>
  deleteMany(keys: AtOnce<Key>, options?: ManyOptions): Promise<Outcome<boolean>[]>
  deleteMany(keys: Items<Key>, options?: ManyOptions) {
    const perform = (key: Key) => this.delete(key)
    const work = { keyOf: (key: Key) => key, weigh: () => 0, perform, weighResult: () => 0 }
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
  async explain(key: Key, options: ExplainOptions = {}): Promise<Explanation | undefined> {
    const bytes = keyBytes(key)
    const { sharesForms } = this.#preparation
    const how = { sharesForms, threshold: this.settings.near?.similarityMin }
    return this.#gate.pass(() => explain(this.#backend, bytes, how, options))
  }

  /** What in the store is like this value, the most similar first. Nothing is kept. */
  async similar(value: Value, options: SimilarOptions = {}): Promise<Similar[]> {
    const { near } = this.#preparation.keeping
    return this.#gate.pass(() => similarTo(this.#backend, near, value, options))
  }

  /** Exact at all times, and read without a scan. */
  async stats(): Promise<Stats> {
    const { near } = this.#preparation.keeping
    const { counts, linked } = await this.#gate.pass(() => this.#backend.read(readStats, near))
    const { valueBytes, contentBytes } = counts
    const dedupRatio = contentBytes === 0 ? 1 : valueBytes / contentBytes
    this.#observer?.gauge('prestige.store.total_bytes', contentBytes)
    return {
      ...counts,
      bytesSaved: valueBytes - contentBytes,
      dedupRatio,
      ...(linked && { near: { links: linked.links, possibleMisses: linked.passedOver } }),
    }
  }

  /** Reclaims expired keys, contents nobody refers to, and what puts that never ended left behind. */
  async collect(): Promise<Collected> {
    const { keeping } = this.#preparation
    const collected = await this.#gate.pass(async () => {
      const all = await collectAll(this.#backend, keeping)
      await adoptOrphans(this.#backend, keeping)
      await keeping.near?.index.trim(this.#backend)
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
    return this.#gate.pass(() => verify(this.#backend, how, options))
  }

  /** Waits for everything under way; every later call is refused. */
  close(): Promise<void> {
    return this.#gate.close(() => this.#backend.close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #observedPut(
    key: Key,
    value: Value,
    options: PutOptions | undefined,
    notes: Notes,
  ): Promise<Receipt> {
    const prepared = await prepare(this.#preparation, key, value, options, notes)
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
    first: PutEnd | 'stage',
    body: typeof putValue = putValue,
    notes?: Notes,
  ): Promise<PutEnd> {
    const end = first === 'stage' ? await this.#putInParts(prepared, body, notes) : first
    if (end.released && prepared.gc === 'immediate') await this.#collect(end.released)
    if (end.swept) await this.#adopt()
    return end
  }

  async #putInParts(
    prepared: Prepared,
    body: typeof putValue,
    notes: Notes | undefined,
  ): Promise<PutEnd> {
    // Asking whether a large value is known was no attempt to store it.
    if (notes) notes.attempts--
    const ready = await stage(this.#backend, prepared)
    let end: PutEnd | 'stage' = 'stage'
    try {
      end = await this.#backend.run(body, ready)
    } finally {
      const isInVain = end === 'stage' || end.stagedInVain
      if (isInVain) await cleanUp(() => removeParts(this.#backend, ready.staged))
    }
    if (end !== 'stage') return end
    throw new PrestigeError('BODY_MISUSE', 'A value in parts cannot be asked to be put in parts.')
  }

  async #get(key: Key, notes: Notes): Promise<Buffer | undefined> {
    const bytes = keyBytes(key)
    const value = await readValue(this.#backend, bytes, this.settings.partBytes, notes)
    notes.attribute('key_bytes', bytes.byteLength)
    if (value === undefined) notes.count('not_found_total')
    else notes.measure('value_bytes', value.byteLength)
    if (value) notes.attribute('value_bytes', value.byteLength)
    return value
  }

  async #delete(key: Key, notes?: Notes): Promise<boolean> {
    const { gc, keeping } = this.#preparation
    const body = notes ? notes.counting(removeKey) : removeKey
    const bytes = keyBytes(key)
    const started = notes && performance.now()
    const end = await this.#backend.run(body, { key: bytes, gc, keeping }).catch((error) => {
      this.#doubt(error)
      throw error
    })
    if (notes && started !== undefined) {
      notes.measure('commit_us', (performance.now() - started) * 1000)
      notes.attribute('key_bytes', bytes.byteLength)
      if (!end.existed) notes.count('not_found_total')
      if (end.swept) noteSwept(notes)
    }
    if (end.released && gc === 'immediate') await this.#collect(end.released)
    if (end.swept) await this.#adopt()
    return end.existed
  }

  /** Making the tables anew is dear, and what was refused before it was run leaves nothing in doubt. */
  #doubt(error: unknown): void {
    if (error instanceof PrestigeError && error.kind === 'invalid') return
    this.#preparation.keeping.near?.index.doubt()
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
    if (keeping.near) await cleanUp(() => adoptOrphans(this.#backend, keeping))
  }
}

/** All numbers are of one moment. */
function* readStats(scope: ReadScope, near: StoreNear | undefined) {
  const counts = yield* readCounts(scope)
  return { counts, linked: near && (yield* near.stats()) }
}

function putWork(store: Store): Work<PutItem, Receipt> {
  return {
    keyOf: ({ key }) => key,
    // What is no value at all is refused by its own put, and weighs nothing.
    weigh: ({ value }) => value?.length ?? 0,
    perform: ({ key, value, ...options }) => store.put(key, value, options),
    weighResult: () => 0,
  }
}

/**
 * The verb has been done; what is left to clean up is noted in the store, and the next `collect` finds it. A
 * failure that may pass must not make what was done look undone.
 */
async function cleanUp<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PrestigeError && error.retryable) return undefined
    throw error
  }
}
