/**
 * A store behind a server, with the methods of a store: the same arguments, receipts and error codes. Needs nothing but
 * fetch, so it runs in browsers, too.
 */

import { PrestigeError } from '../platform/errors.ts'
import {
  type AtOnce,
  type ItemOutcome,
  type Items,
  many,
  type ManyOptions,
} from '../platform/many.ts'
import { jsonText, type JsonValue, parseJson, textOf } from '../platform/value-text.ts'
import type {
  CallOptions,
  ChangesOptions,
  DeleteOptions,
  ExplainOptions,
  Explanation,
  GetStreamOptions,
  Head,
  ListOptions,
  PutItem,
  PutOptions,
  Receipt,
  Similar,
  SimilarOptions,
  StoreChange,
  StoreHealth,
  StoreKey,
  StoreStats,
  StoreStream,
  StoreValue,
} from '../store/index.ts'
import { Batch } from './batch.ts'
import { eventsOf } from './events.ts'
import { refuseNoDigest, refuseOthers, requireLimit, ttlSeconds } from './options.ts'
import { type ClientOptions, type Sent, Transport } from './transport.ts'
import {
  base64Of,
  bytesOf,
  headIn,
  keyIn,
  keyOut,
  metadataOut,
  pathOf,
  valueIn,
  type WireKey,
  wireKey,
  withKeys,
} from './wire.ts'

const PAGE = 1000
/** Longer values are requests of their own. */
const BATCHED_LENGTH_MAX = 64 * 1024
/** The server has nothing of that name: to whom asks for a key, that is the same as a missing key. */
const MISSING: ReadonlySet<string> = new Set(['KEY_NOT_FOUND', 'STORE_NOT_FOUND'])

export function createClient(url: string, options: ClientOptions = {}): StoreClient {
  return new StoreClient(new Transport(url, options))
}

export class StoreClient {
  readonly #transport: Transport
  readonly #reads: Batch
  readonly #writes: Batch

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
    this.#reads = new Batch(transport, true)
    this.#writes = new Batch(transport, false)
  }

  async put(
    key: StoreKey,
    value: StoreValue | StoreStream,
    options: PutOptions = {},
  ): Promise<Receipt> {
    const { ifAbsent, ifMatch, ttlMs, expiresAt, metadata, signal, timeoutMs, ...rest } = options
    refuseOthers(rest)
    refuseNoDigest(options)
    const ttl = ttlSeconds(ttlMs, expiresAt)
    const headers = {
      'content-type': 'application/octet-stream',
      ...(ifAbsent && { 'if-none-match': '*' }),
      ...(ifMatch !== undefined && { 'if-match': tag(ifMatch) }),
      ...(ttl !== undefined && { 'prestige-ttl': String(ttl) }),
      ...metadataOut(metadata),
    }
    const sent = { ...of('PUT', key, 'The put'), headers, body: valueIn(value) }
    const { receipt } = await this.#json<{ receipt: Receipt }>(sent, { signal, timeoutMs })
    return receipt
  }

  async putJson(key: StoreKey, value: JsonValue, options?: PutOptions): Promise<Receipt> {
    return this.put(key, jsonText(value), options)
  }

  async get(key: StoreKey, options?: CallOptions): Promise<Buffer | undefined> {
    const response = await this.#found(of('GET', key, 'The get'), options)
    return response && bytesOf(new Uint8Array(await response.arrayBuffer()))
  }

  async getStream(
    key: StoreKey,
    options: GetStreamOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const { start = 0, end, ...call } = options
    const isPart = start > 0 || end !== undefined
    if (end !== undefined && end <= start)
      return (await this.has(key, call)) ? nothing() : undefined
    const range = `bytes=${start}-${end === undefined ? '' : end - 1}`
    const sent = { ...of('GET', key, 'The get'), ...(isPart && { headers: { range } }) }
    const response = await this.#found(sent, call).catch((error: unknown) => {
      if (isOf(error, 'RANGE_NOT_SATISFIABLE')) return { body: nothing() }
      throw error
    })
    return response && (response.body ?? nothing())
  }

  async getText(key: StoreKey, options?: CallOptions): Promise<string | undefined> {
    const bytes = await this.get(key, options)
    return bytes && textOf(bytes)
  }

  async getJson<T = JsonValue>(key: StoreKey, options?: CallOptions): Promise<T | undefined> {
    const text = await this.getText(key, options)
    return text === undefined ? undefined : (parseJson(text) as T) // safe: as far as the caller knows what was put
  }

  async has(key: StoreKey, options?: CallOptions): Promise<boolean> {
    return (await this.#found(of('HEAD', key, 'The has'), options)) !== undefined
  }

  async head(key: StoreKey, options?: CallOptions): Promise<Head | undefined> {
    const response = await this.#found(of('HEAD', key, 'The head'), options)
    return response && headIn(response.headers)
  }

  /** Unlike that of a store, the value is always read whole: use `head` and `getStream` for a long one. */
  async getWithHead(
    key: StoreKey,
    options?: CallOptions,
  ): Promise<{ readonly head: Head; readonly value: Buffer } | undefined> {
    const response = await this.#found(of('GET', key, 'The get'), options)
    if (!response) return undefined
    const value = bytesOf(new Uint8Array(await response.arrayBuffer()))
    return { head: { ...headIn(response.headers), bytes: value.byteLength }, value }
  }

  async delete(key: StoreKey, options: DeleteOptions = {}): Promise<boolean> {
    refuseNoDigest(options)
    const { ifMatch, ...call } = options
    const headers = ifMatch === undefined ? {} : { 'if-match': tag(ifMatch) }
    return (await this.#found({ ...of('DELETE', key, 'The delete'), headers }, call)) !== undefined
  }

  putMany(
    items: AsyncIterable<PutItem>,
    options?: ManyOptions,
  ): AsyncGenerator<ItemOutcome<Receipt>>
  putMany(items: AtOnce<PutItem>, options?: ManyOptions): Promise<ItemOutcome<Receipt>[]>
  putMany(items: Items<PutItem>, options?: ManyOptions) {
    const perform = (item: PutItem) => this.#putOne(item)
    const weigh = ({ value }: PutItem) => value?.length ?? 0
    const keyOf = ({ key }: PutItem) => key
    return many(items, { keyOf, weigh, perform, weighResult: () => 0 }, options)
  }

  async #putOne({ key, value, ...options }: PutItem): Promise<Receipt> {
    if (!((value?.length ?? Infinity) <= BATCHED_LENGTH_MAX)) return this.put(key, value, options)
    const { ttlMs, expiresAt, ifAbsent, ifMatch, metadata, ...rest } = options
    refuseOthers(rest)
    refuseNoDigest(options)
    const { receipt } = await this.#writes.perform<{ receipt: Receipt }>({
      op: 'put',
      key: wireKey(key),
      ...(typeof value === 'string' ? { value } : { base64: base64Of(value) }),
      ttl: ttlSeconds(ttlMs, expiresAt),
      ifAbsent,
      ifMatch,
      metadata,
    })
    return receipt
  }

  getMany(
    keys: AsyncIterable<StoreKey>,
    options?: ManyOptions,
  ): AsyncGenerator<ItemOutcome<Buffer | undefined>>
  getMany(keys: AtOnce<StoreKey>, options?: ManyOptions): Promise<ItemOutcome<Buffer | undefined>[]>
  getMany(keys: Items<StoreKey>, options?: ManyOptions) {
    const perform = (key: StoreKey) => this.#getOne(key)
    const weighResult = (value: Buffer | undefined) => value?.byteLength ?? 0
    return many(keys, { keyOf: (key) => key, weigh: () => 0, perform, weighResult }, options)
  }

  async #getOne(key: StoreKey): Promise<Buffer | undefined> {
    try {
      const { value } = await this.#reads.perform<{ value: WireKey }>({
        op: 'get',
        key: wireKey(key),
      })
      return keyOut(value)
    } catch (error) {
      if (isOf(error, ...MISSING)) return undefined
      throw error
    }
  }

  deleteMany(
    keys: AsyncIterable<StoreKey>,
    options?: ManyOptions,
  ): AsyncGenerator<ItemOutcome<boolean>>
  deleteMany(keys: AtOnce<StoreKey>, options?: ManyOptions): Promise<ItemOutcome<boolean>[]>
  deleteMany(keys: Items<StoreKey>, options?: ManyOptions) {
    const perform = async (key: StoreKey) => {
      const operation = { op: 'delete', key: wireKey(key) }
      return (await this.#writes.perform<{ existed: boolean }>(operation)).existed
    }
    const keyOf = (key: StoreKey) => key
    return many(keys, { keyOf, weigh: () => 0, perform, weighResult: () => 0 }, options)
  }

  /** Keys in byte order, page by page. `start` and `end` are not known to the server: use `prefix` and `startAfter`. */
  async *keys(options: ListOptions = {}): AsyncGenerator<Buffer> {
    const { prefix, startAfter, limit = Infinity, signal, timeoutMs, ...rest } = options
    refuseOthers(rest)
    requireLimit(limit)
    let after = startAfter === undefined || startAfter.length === 0 ? '' : cursorOf(startAfter)
    for (let left = limit; left > 0;) {
      const query = new URLSearchParams({ limit: String(Math.min(PAGE, left)) })
      if (prefix !== undefined && prefix.length > 0) query.set('prefix', prefixText(prefix))
      if (after !== '') query.set('after', after)
      const sent = {
        method: 'GET',
        path: `kv?${query}`,
        what: 'The listing',
        isRead: true,
      } as const
      const response = await this.#found(sent, { signal, timeoutMs })
      const page = response ? ((await response.json()) as WireKey[]) : [] // safe: what the route lists
      left -= page.length
      for (const key of page) yield keyOut(key)
      after = response?.headers.get('prestige-next') ?? ''
      if (after === '') return
    }
  }

  /** Values are read as they are asked for: a key that is deleted meanwhile is left out. */
  async *entries(options: ListOptions = {}): AsyncGenerator<[key: Buffer, value: Buffer]> {
    for await (const { key, result, error } of this.getMany(this.keys(options))) {
      if (error) throw error
      if (result) yield [bytesOf(new Uint8Array(keyIn(key))), result]
    }
  }

  async *values(options: ListOptions = {}): AsyncGenerator<Buffer> {
    for await (const [, value] of this.entries(options)) yield value
  }

  [Symbol.asyncIterator](): AsyncGenerator<[key: Buffer, value: Buffer]> {
    return this.entries()
  }

  /** Changes from the oldest that is kept or behind a cursor, and those to come, until the signal is aborted. */
  async *changes(options: Omit<ChangesOptions, 'pollMs'> = {}): AsyncGenerator<StoreChange> {
    const { after, prefix = '', limit = Infinity, signal } = options
    const query = after === undefined ? '' : `?${new URLSearchParams({ after })}`
    const sent = {
      method: 'GET',
      path: `changes${query}`,
      what: 'The changes',
      isRead: true,
    } as const
    const { body } = await this.#transport.send(sent, { signal })
    if (!body || limit <= 0) return
    let count = 0
    for await (const data of eventsOf(body, signal)) {
      const change = JSON.parse(data, withKeys('key')) as StoreChange // safe: what the route sends
      if (!startsWith(change.key, keyOrEmpty(prefix))) continue
      yield change
      if (++count >= limit) return
    }
  }

  async explain(key: StoreKey, options: ExplainOptions = {}): Promise<Explanation | undefined> {
    const { sharedWithMax: limit, ...rest } = options
    refuseOthers(rest)
    const body = { key: wireKey(key), ...(limit !== undefined && { limit }) }
    try {
      const response = await this.#transport.send(asking('explain', body, 'The explain'))
      // safe: what the route replies with
      return JSON.parse(await response.text(), withKeys('key', 'firstKey')) as Explanation
    } catch (error) {
      if (isOf(error, ...MISSING)) return undefined
      throw error
    }
  }

  async similar(value: StoreValue, options: SimilarOptions = {}): Promise<Similar[]> {
    const text = typeof value === 'string' ? value : textOf(value)
    const sent = asking('similar', { text, ...options }, 'The search')
    return (await this.#json<{ similar: Similar[] }>(sent)).similar
  }

  async stats(): Promise<StoreStats> {
    return (await this.#report()).stats
  }

  async health(): Promise<StoreHealth> {
    return (await this.#report()).health
  }

  async #report(): Promise<{ stats: StoreStats; health: StoreHealth }> {
    const sent = {
      method: 'GET',
      path: 'admin/stats',
      what: 'The statistics',
      isRead: true,
    } as const
    const { store } = await this.#json<{ store?: { stats: StoreStats; health: StoreHealth } }>(sent)
    if (store) return store
    throw new PrestigeError('STORE_NOT_FOUND', 'The server has no store in this namespace.')
  }

  /** `undefined` where the key, or the whole store, is not there. */
  async #found(sent: Sent, options?: CallOptions): Promise<Response | undefined> {
    try {
      return await this.#transport.send(sent, options)
    } catch (error) {
      if (isOf(error, ...MISSING)) return undefined
      throw error
    }
  }

  async #json<T>(sent: Sent, options?: CallOptions): Promise<T> {
    const response = await this.#transport.send(sent, options)
    return JSON.parse(await response.text(), withKeys('firstKey')) as T // safe: what the route replies with
  }
}

function of(method: 'GET' | 'HEAD' | 'PUT' | 'DELETE', key: StoreKey, what: string): Sent {
  const isRead = method === 'GET' || method === 'HEAD'
  return { method, path: `kv/${pathOf(key)}`, what, isRead }
}

function asking(path: string, body: object, what: string): Sent {
  const headers = { 'content-type': 'application/json' }
  return { method: 'POST', path, headers, body: JSON.stringify(body), what, isRead: true }
}

function isOf(error: unknown, ...codes: string[]): boolean {
  return error instanceof PrestigeError && codes.includes(error.code)
}

function tag(digest: string): string {
  return digest === '*' ? digest : `"${digest}"`
}

function keyOrEmpty(key: StoreKey): Uint8Array {
  return key.length === 0 ? new Uint8Array() : keyIn(key)
}

/** A prefix is a parameter of a query, which is text. */
function prefixText(prefix: StoreKey): string {
  return typeof prefix === 'string' ? prefix : textOf(prefix)
}

/** As `Prestige-Next` has it. */
function cursorOf(key: StoreKey): string {
  return `base64:${base64Of(keyIn(key)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`
}

function startsWith(key: Uint8Array, prefix: Uint8Array): boolean {
  return prefix.every((byte, at) => key[at] === byte)
}

function nothing(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}
