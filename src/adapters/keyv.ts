/**
 * Storage for Keyv 6: `new Keyv({ store: new KeyvStorage({ location }) })`.
 *
 * Keyv writes when a value expires into the value. Here it is taken out and kept as the key's expiry, so that equal values
 * are one content whenever they expire, and put back when the value is read. Nothing of Keyv is loaded: storage is a shape.
 */

import { EventEmitter } from 'node:events'

import { PrestigeError } from '../platform/errors.ts'
import type { Store } from '../store/index.ts'
import { OpenedStore, type StoreSource } from './store-source.ts'

export interface KeyvStorageOptions extends StoreSource {
  /** Keys of the store begin so, followed by `::`; Keyv sets it to its own. Default: all keys of the store are Keyv's. */
  readonly namespace?: string | undefined
}

/** One of many values to set. */
export interface KeyvItem<Value = unknown> {
  key: string
  value: Value
  /** Milliseconds since 1970. */
  expires?: number
}

type KeyvMethod =
  | 'get'
  | 'set'
  | 'delete'
  | 'clear'
  | 'has'
  | 'getMany'
  | 'setMany'
  | 'deleteMany'
  | 'hasMany'
  | 'disconnect'
  | 'iterator'

/** What Keyv wants to know of a storage. */
export interface KeyvCapabilities {
  compatible: boolean
  store: 'keyvStorage'
  /** `set` takes the moment of expiry, and `get` gives nothing that has expired. */
  expires: boolean
  methods: Record<KeyvMethod, { exists: boolean; methodType: 'async' }>
}

type Listener = (...given: unknown[]) => void

const SEPARATOR = '::'
const METHODS: readonly KeyvMethod[] = [
  'get',
  'set',
  'delete',
  'clear',
  'has',
  'getMany',
  'setMany',
  'deleteMany',
  'hasMany',
  'disconnect',
  'iterator',
]

export class KeyvStorage extends EventEmitter {
  readonly capabilities: KeyvCapabilities
  /** Options as they were given. */
  readonly opts: KeyvStorageOptions
  readonly #opened: OpenedStore
  #namespace: string | undefined

  constructor(options: KeyvStorageOptions) {
    super()
    this.opts = options
    this.#opened = new OpenedStore(options)
    this.namespace = options.namespace
    const methods = Object.fromEntries(
      METHODS.map((name) => [name, { exists: true, methodType: 'async' }]),
    ) as KeyvCapabilities['methods'] // safe: one member for each name
    this.capabilities = { compatible: true, store: 'keyvStorage', expires: true, methods }
  }

  get namespace(): string | undefined {
    return this.#namespace
  }

  /** A key may hold the separator; a namespace may not, or keys of two namespaces could be the same. */
  set namespace(namespace: string | undefined) {
    if (namespace?.includes(SEPARATOR) || namespace?.endsWith(':')) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        `The namespace "${namespace}" holds "${SEPARATOR}" or ends in ":", which separates it from keys. Choose another.`,
      )
    }
    this.#namespace = namespace
  }

  async get<Value>(key: string): Promise<Value | string | undefined> {
    return this.#read(await this.#opened.get(), this.#at(key))
  }

  async getMany<Value>(keys: string[]): Promise<(Value | string | undefined)[]> {
    const store = await this.#opened.get()
    return Promise.all(keys.map((key) => this.#read(store, this.#at(key))))
  }

  async set(key: string, value: unknown, expires?: number): Promise<boolean> {
    const [done = false] = await this.setMany([
      { key, value, ...(expires !== undefined && { expires }) },
    ])
    return done
  }

  async setMany<Value>(items: KeyvItem<Value>[]): Promise<boolean[]> {
    const store = await this.#opened.get()
    return Promise.all(items.map((item) => this.#write(store, item)))
  }

  async has(key: string): Promise<boolean> {
    return (await this.#opened.get()).has(this.#at(key))
  }

  hasMany(keys: string[]): Promise<boolean[]> {
    return Promise.all(keys.map((key) => this.has(key)))
  }

  async delete(key: string): Promise<boolean> {
    return (await this.#opened.get()).delete(this.#at(key))
  }

  deleteMany(keys: string[]): Promise<boolean[]> {
    return Promise.all(keys.map((key) => this.delete(key)))
  }

  /** All keys of the namespace; without one, all keys of the store. */
  async clear(): Promise<void> {
    const store = await this.#opened.get()
    if (this.#prefix === '') await store.clear()
    else await store.deleteRange({ prefix: this.#prefix })
  }

  async *iterator<Value>(): AsyncGenerator<(string | Awaited<Value> | undefined)[], void> {
    const store = await this.#opened.get()
    const prefix = this.#prefix
    for await (const key of store.keys(prefix === '' ? {} : { prefix })) {
      const value = await this.#read(store, key.toString())
      if (value !== undefined) yield [key.toString().slice(prefix.length), value]
    }
  }

  /** Closes the store, unless it was given open. */
  disconnect(): Promise<void> {
    return this.#opened.close()
  }

  /** Typed as Keyv has it: Node says less of what a listener is. */
  override listeners(event: string | symbol): Listener[] {
    return super.listeners(event) as Listener[] // safe: `on` takes no other
  }

  override rawListeners(event: string | symbol): Listener[] {
    return super.rawListeners(event) as Listener[] // safe: as above
  }

  get #prefix(): string {
    return this.#namespace === undefined ? '' : this.#namespace + SEPARATOR
  }

  #at(key: string): string {
    return this.#prefix + key
  }

  async #read(store: Store, key: string): Promise<string | undefined> {
    const [text, head] = await Promise.all([store.getText(key), store.head(key)])
    return text === undefined ? undefined : withExpiry(text, head?.expiresAt)
  }

  async #write(store: Store, { key, value, expires }: KeyvItem): Promise<boolean> {
    const at = this.#at(key)
    if (expires === undefined) {
      await store.put(at, textOf(value))
      return true
    }
    const ttlMs = expires - Date.now()
    if (ttlMs <= 0) await store.delete(at)
    else await store.put(at, withoutExpiry(textOf(value), expires), { ttlMs })
    return true
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  throw new PrestigeError(
    'INVALID_VALUE',
    'Only texts are stored: Keyv must serialize values. Leave out serialization: false.',
  )
}

/** As the serializer of Keyv ends a value that expires. What another serializer makes stays as it is. */
const endOf = (expires: number) => `,"expires":${expires}}`

function withoutExpiry(text: string, expires: number): string {
  const end = endOf(expires)
  return text.startsWith('{"value":') && text.endsWith(end)
    ? `${text.slice(0, -end.length)}}`
    : text
}

function withExpiry(text: string, expires: number | undefined): string {
  if (expires === undefined || !text.startsWith('{"value":') || !text.endsWith('}')) return text
  return /,"expires":\d+\}$/.test(text) ? text : text.slice(0, -1) + endOf(expires)
}
