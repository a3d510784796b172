/**
 * A driver for unstorage, and so for Nitro and Nuxt: `createStorage({ driver: prestigeDriver({ location }) })`.
 *
 * Values are kept as the bytes that unstorage hands over, so equal values are one content, whatever their keys. Nothing of
 * unstorage is loaded: a driver is a shape.
 */

import { PrestigeError } from '../platform/errors.ts'
import type { Store, StoreValue } from '../store/index.ts'
import { OpenedStore, type StoreSource } from './store-source.ts'

export interface DriverOptions extends StoreSource {
  /** Keys of the store begin so, followed by `:`. Default: they are as unstorage has them. */
  readonly base?: string | undefined
  /** Seconds until a value expires, unless `setItem` says otherwise. Default: the store's `defaultTtlMs`. */
  readonly ttl?: number | undefined
}

/** What one call may say. unstorage passes on whatever it was given. */
export interface ItemOptions {
  /** Seconds until the value expires. */
  readonly ttl?: number | undefined
}

export interface PrestigeDriver {
  readonly name: string
  readonly options: DriverOptions
  /** The store, opened if it was not. */
  getInstance(): Promise<Store>
  hasItem(key: string): Promise<boolean>
  getItem(key: string): Promise<string | null>
  getItemRaw(key: string): Promise<Buffer | null>
  getItems(items: { key: string }[]): Promise<{ key: string; value: string | null }[]>
  setItem(key: string, value: string, options?: ItemOptions): Promise<void>
  setItemRaw(key: string, value: unknown, options?: ItemOptions): Promise<void>
  setItems(
    items: { key: string; value: string; options?: ItemOptions }[],
    shared?: ItemOptions,
  ): Promise<void>
  removeItem(key: string): Promise<void>
  /** When it was put, how long it is, its SHA-256, and the seconds until it expires. */
  getMeta(key: string): Promise<ItemMeta | null>
  getKeys(base?: string): Promise<string[]>
  clear(base?: string): Promise<void>
  dispose(): Promise<void>
}

/** A type and no interface: unstorage wants one that can be indexed. */
export type ItemMeta = { mtime: Date; size: number; digest: string; ttl?: number }

const SEPARATOR = ':'

export function prestigeDriver(options: DriverOptions): PrestigeDriver {
  const opened = new OpenedStore(options)
  const base = options.base ? options.base.replace(/:+$/, '') + SEPARATOR : ''
  const at = (key: string) => base + key
  /** Keys of `a`, not those of `ab`. */
  const below = (part = '') => base + (/^$|:$/.test(part) ? part : part + SEPARATOR)
  const put = async (key: string, value: StoreValue, item: ItemOptions = {}) => {
    const ttl = item.ttl ?? options.ttl
    await (await opened.get()).put(at(key), value, ttl ? { ttlMs: ttl * 1000 } : undefined)
  }
  const text = async (key: string) => (await (await opened.get()).getText(at(key))) ?? null
  return {
    name: 'prestige',
    options,
    getInstance: () => opened.get(),
    hasItem: async (key) => (await opened.get()).has(at(key)),
    getItem: text,
    getItemRaw: async (key) => (await (await opened.get()).get(at(key))) ?? null,
    getItems: (items) =>
      Promise.all(items.map(async ({ key }) => ({ key, value: await text(key) }))),
    setItem: put,
    setItemRaw: async (key, value, item) => put(key, rawValue(value), item),
    async setItems(items, shared) {
      const each = items.map(({ key, value, options: own }) => put(key, value, own ?? shared))
      await Promise.all(each)
    },
    async removeItem(key) {
      await (await opened.get()).delete(at(key))
    },
    getMeta: async (key) => metaOf(await opened.get(), at(key)),
    getKeys: async (part) => keysOf(await opened.get(), base, below(part)),
    async clear(part) {
      const store = await opened.get()
      const prefix = below(part)
      if (prefix === '') await store.clear()
      else await store.deleteRange({ prefix })
    },
    dispose: () => opened.close(),
  }
}

/** With `setItemRaw` unstorage hands over whatever it was given. */
function rawValue(value: unknown): StoreValue {
  if (typeof value === 'string' || value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  }
  const kind = value === null ? 'null' : typeof value
  throw new PrestigeError(
    'INVALID_VALUE',
    `setItemRaw takes a string or bytes, not ${kind}. Use setItem for what becomes JSON.`,
  )
}

async function keysOf(store: Store, base: string, prefix: string): Promise<string[]> {
  const found: string[] = []
  const range = prefix === '' ? {} : { prefix }
  for await (const key of store.keys(range)) found.push(key.toString().slice(base.length))
  return found
}

async function metaOf(store: Store, key: string): Promise<ItemMeta | null> {
  const head = await store.head(key)
  if (!head) return null
  const { putAt, bytes, digest, expiresAt } = head
  const meta = { mtime: new Date(putAt), size: bytes, digest }
  if (expiresAt === undefined) return meta
  return { ...meta, ttl: Math.max(0, Math.ceil((expiresAt - Date.now()) / 1000)) }
}
