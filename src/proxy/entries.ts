/**
 * What is kept of answers. A row of an address and of who asks lists its variants (code, headers, times); the body of each
 * has a key of its own, so that the store keeps equal bodies once. A row is written after its bodies: one without them is
 * never seen. All keys expire.
 */

import { randomUUID } from 'node:crypto'

import * as v from 'valibot'

import type { Store, StoreStream, ValueWithHead } from '../store/index.ts'
import { type CacheKey, variantOf } from './cache-key.ts'
import { variedBy } from './headers.ts'
import type { CheckedOptions } from './options.ts'
import { type Received, usefulMs } from './policy.ts'

/** Those of one address that are kept; the oldest goes first. */
const VARIANTS_MAX = 32
/** A body that was replaced stays until those who are reading it have ended. */
const REPLACED_MS = 5 * 60 * 1000

const variantForm = v.object({
  vary: v.array(v.string()),
  /** Digest of what the request said about them. */
  variant: v.string(),
  status: v.number(),
  headers: v.array(v.tuple([v.string(), v.string()])),
  requestedAt: v.number(),
  receivedAt: v.number(),
  body: v.string(),
  digest: v.string(),
})
type Variant = v.InferOutput<typeof variantForm>

const rowForm = v.object({ format: v.literal(1), variants: v.array(variantForm) })

/** An answer that is kept, with its body opened. */
export interface Kept extends Received {
  readonly variant: Variant
  readonly body: ValueWithHead
}

export class Entries {
  readonly #store: Store
  readonly #options: CheckedOptions

  constructor(store: Store, options: CheckedOptions) {
    this.#store = store
    this.#options = options
  }

  /** The latest answer that fits what the request says; `undefined` also where its body is gone. */
  async find({ entry }: CacheKey, asked: Headers): Promise<Kept | undefined> {
    const variants = variantsIn(await this.#store.get(entry))
    const variant = variants.findLast((one) => one.variant === variantOf(one.vary, asked))
    if (!variant) return undefined
    const body = await this.#store.getWithHead(variant.body)
    if (body?.head.digest !== variant.digest) return undefined
    return { ...variant, headers: new Headers(variant.headers), variant, body }
  }

  /** Where the body of an answer that is being received is put. It is kept only by a row that names it. */
  async putBody(
    { address }: CacheKey,
    received: Received,
    body: StoreStream,
  ): Promise<Pick<Variant, 'body' | 'digest'>> {
    const { prefix } = this.#options
    const key = `${prefix}1:body:${address.slice(prefix.length)}${randomUUID()}`
    await this.#store.put(key, body, { ttlMs: this.#ttlMs(received) + REPLACED_MS })
    const head = await this.#store.head(key)
    return { body: key, digest: head?.digest ?? '' }
  }

  async keep(
    { entry }: CacheKey,
    asked: Headers,
    received: Received,
    body: Pick<Variant, 'body' | 'digest'>,
  ): Promise<void> {
    const vary = variedBy(received.headers)
    const { status, requestedAt, receivedAt } = received
    const headers = [...received.headers]
    const variant = variantOf(vary, asked)
    const added = { vary, variant, status, headers, requestedAt, receivedAt, ...body }
    let replaced: readonly Variant[] = []
    const change = (value: Buffer | undefined) => {
      const before = variantsIn(value)
      // What the request fits was asked for again: there is no use for the older one.
      const others = before.filter((one) => one.variant !== variantOf(one.vary, asked))
      const kept = [...others, added].slice(-VARIANTS_MAX)
      replaced = before.filter((one) => !kept.some((other) => other.body === one.body))
      return JSON.stringify({ format: 1, variants: kept })
    }
    await this.#store.update(entry, change, { ttlMs: this.#ttlMs(received) })
    await this.#expire(replaced)
  }

  /** The upstream says that it is still what it has: its times and headers are new, its body stays. */
  async freshen(key: CacheKey, asked: Headers, received: Received, kept: Kept): Promise<void> {
    const { body, digest } = kept.variant
    if (await this.#store.expire(body, this.#ttlMs(received) + REPLACED_MS))
      await this.keep(key, asked, received, { body, digest })
  }

  /** Nothing of the address is used again. */
  async forget({ address }: Pick<CacheKey, 'address'>): Promise<void> {
    for await (const key of this.#store.keys({ prefix: address })) {
      const variants = variantsIn(await this.#store.get(key))
      await this.#store.delete(key)
      await this.#expire(variants)
    }
  }

  async discard(body: Pick<Variant, 'body'>): Promise<void> {
    await this.#store.delete(body.body)
  }

  async #expire(variants: readonly Variant[]): Promise<void> {
    for (const { body } of variants) await this.#store.expire(body, REPLACED_MS)
  }

  #ttlMs(received: Received): number {
    const { clock, keepStaleMs } = this.#options
    return Math.max(1, usefulMs(received, clock(), keepStaleMs))
  }
}

/** What another version wrote, or somebody else, is nothing that is kept: it is asked for again. */
function variantsIn(value: Buffer | undefined): Variant[] {
  if (!value) return []
  try {
    const read = v.safeParse(rowForm, JSON.parse(value.toString()))
    return read.success ? read.output.variants : []
  } catch {
    return []
  }
}
