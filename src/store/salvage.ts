/**
 * Copies what is readable and right out of a damaged store: values that match their SHA-256, under their keys, with
 * the time they expire.
 *
 * An error about one row never stops the rest. Keys come from the entries first, and from the references after that:
 * a key whose entry cannot be read is still named there, with the content it points at. What is right of it is copied,
 * and everything else is reported as lost, by key where one is known and by range where none is.
 */

import { type Bytes, latin1 } from '../platform/bytes.ts'
import { canonicalProfile } from '../canonical/index.ts'
import {
  type Backend,
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Row,
  type Space,
  type Transaction,
} from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { ContentCheck, type Named } from './content-check.ts'
import type { StoreOptions } from './options.ts'
import { Layout } from './contents/layout.ts'
import { isStreamed, readChecked, readContent } from './contents/read-content.ts'
import type { Entry } from './rows.ts'
import { findSettings, sharesFormsOf, type StoreSettings } from './settings.ts'
import { decodeMetadata, type Metadata } from './metadata.ts'
import type { PutItem } from './prepare.ts'
import type { Store } from './store.ts'
import { type Gap, tolerantScan } from './tolerant-scan.ts'
import { entryOf, knownOf, raw } from './verify/raw.ts'

const TIME_BYTES = 6

/** Something that could not be copied. */
export interface Lost {
  /** Absent: it is not known which keys are lost. */
  readonly key?: Buffer
  /** Of rows that cannot be read: their space, and the last row before them. */
  readonly space?: string
  readonly after?: Buffer | undefined
  readonly reason: string
}

export interface Salvaged {
  readonly keys: number
  readonly bytes: number
  /** Keys and ranges that were lost. */
  readonly lost: number
}

interface Hooks {
  readonly signal?: AbortSignal | undefined
  readonly onKey?: ((bytes: number) => void) | undefined
  readonly onLost?: ((lost: Lost) => Promise<void> | void) | undefined
}

interface Source {
  readonly backend: Backend
  /** Every row on a readable page, where there is a reader that finds them without lookups. */
  readonly rows: ((space: string) => AsyncIterable<Row<Bytes> | Gap>) | undefined
  /** Of which one is right. */
  readonly layouts: readonly Layout[]
  readonly check: ContentCheck
  /** Losses before the first key. */
  readonly lost: number
}

/** What the new store is opened with, and how the old one is read. */
export async function targetInput(
  backend: Backend,
  given: Pick<StoreOptions, 'namespace' | 'canonical'>,
  onLost: Hooks['onLost'],
): Promise<Omit<Source, 'backend' | 'rows'> & { readonly input: StoreOptions }> {
  const { namespace } = given
  const found = await settingsOf(backend)
  if (typeof found === 'string') {
    await onLost?.({ space: 'settings', reason: `${found} The new store has default settings.` })
    const check = new ContentCheck({ profile: undefined, sharesForms: false })
    return { input: { namespace }, layouts: anyLayout(backend), check, lost: 1 }
  }
  const { canonical: name } = found
  const isUnknown = given.canonical === undefined && name.name.startsWith('function:')
  if (isUnknown) await onLost?.({ space: 'settings', reason: NO_FUNCTION })
  const canonical = isUnknown ? 'none' : (given.canonical ?? (name.name as 'none')) // safe: refused if unknown
  const profile = isUnknown ? undefined : canonicalProfile(canonical, name)
  const check = new ContentCheck({ profile, sharesForms: sharesFormsOf(found) })
  const input = {
    namespace,
    ...inputOf(found),
    canonical,
    ...(isUnknown && { fidelity: 'own' as const }),
  }
  return { input, layouts: [new Layout(found)], check, lost: isUnknown ? 1 : 0 }
}

const NO_FUNCTION =
  'The store was written with a canonical function, which is not here. The new store has none.'

/** Where the settings are lost, nothing but the bytes themselves says how contents were kept. */
function anyLayout({ limits }: Backend): Layout[] {
  const averageBytes = 0
  return [
    new Layout({ chunks: { fromBytes: Infinity, averageBytes }, deltas: true }),
    new Layout({ chunks: { fromBytes: 0, averageBytes } }),
    new Layout({ partBytes: limits.valueBytesMax }),
  ]
}

/** The settings, or why they cannot be read. */
async function settingsOf(backend: Backend): Promise<StoreSettings | string> {
  try {
    const found = await backend.read(findSettings)
    if (found) return found
    const message = 'There is no store of this namespace at this location.'
    throw new PrestigeError('STORE_NOT_FOUND', message)
  } catch (error) {
    if (isCorrupt(error)) return error.message
    throw error
  }
}

function inputOf(settings: StoreSettings): StoreOptions {
  const { dedup, fidelity, near, semantic, changes, deltas } = settings
  return {
    dedup,
    fidelity,
    changes,
    ...(near && {
      deltas: deltas === true,
      near: {
        threshold: near.similarityMin,
        profile: near.profile,
        slots: near.slots,
        bands: near.bands,
        rows: near.rows,
      },
    }),
    ...(semantic && {
      semantic: { embedder: semantic.model, threshold: semantic.similarityMin },
    }),
  }
}

export async function salvage(source: Source, store: Store, hooks: Hooks): Promise<Salvaged> {
  const job = new Salvage(source, store, hooks)
  for await (const outcome of store.putMany(job.items(), { signal: hooks.signal })) {
    if (outcome.ok) hooks.onKey?.(outcome.result.bytes)
    else await job.lose({ key: Buffer.from(outcome.key), reason: outcome.error.message })
  }
  const { keys, valueBytes: bytes } = await store.stats()
  return { keys, bytes, lost: job.lost }
}

class Salvage {
  readonly #source: Source
  readonly #store: Store
  readonly #hooks: Hooks
  /** Keys that could not be copied so far, and why. */
  readonly #failed = new Map<string, string>()
  lost: number

  constructor(source: Source, store: Store, hooks: Hooks) {
    this.#source = source
    this.#store = store
    this.#hooks = hooks
    this.lost = source.lost
  }

  async lose(lost: Lost): Promise<void> {
    this.lost++
    await this.#hooks.onLost?.(lost)
  }

  async *items(): AsyncGenerator<PutItem> {
    const gaps: Gap[] = []
    for await (const row of this.#rows(raw.entries, gaps)) {
      const item = await this.#fromEntry(row)
      if (item) yield item
    }
    const mayMiss = this.#failed.size > 0 || gaps.length > 0 || this.#source.rows !== undefined
    if (mayMiss) yield* this.#fromReferences(gaps)
    for (const [name, reason] of this.#failed) {
      await this.lose({ key: Buffer.from(name, 'latin1'), reason })
    }
  }

  async *#rows(space: Space<Bytes>, gaps: Gap[] = []): AsyncGenerator<Row<Bytes>> {
    const { rows, backend } = this.#source
    const found = rows ? rows(space.name) : tolerantScan(backend, space)
    for await (const row of found) {
      this.#hooks.signal?.throwIfAborted()
      if ('value' in row) yield { key: row.key, value: space.codec.decode(row.value, row.key) }
      else gaps.push(row)
    }
  }

  async #fromEntry({ key, value }: Row<Bytes>): Promise<PutItem | undefined> {
    const entry = entryOf(value)
    if (!entry) {
      this.#failed.set(latin1(key), 'Its entry is damaged.')
      return undefined
    }
    if (!entry.isLive(this.#source.backend.now())) return undefined
    if (await this.#copied(key, entry)) return undefined
    const bytes = await this.#contentOf(entry, entry)
    if (bytes) return this.#item(key, bytes, entry.expiresAt, metadataOf(entry))
    this.#failed.set(latin1(key), 'Its content is damaged or missing.')
    return undefined
  }

  /** Copies a long content as it is read, if it is right. */
  async #copied(key: Buffer, entry: Entry): Promise<boolean> {
    const { backend, layouts } = this.#source
    if (!layouts.some((layout) => isStreamed(layout, entry.bytes))) return false
    const { digest, exact, expiresAt } = entry
    try {
      const { signal } = this.#hooks
      const value = readChecked(backend, entry, exact ?? digest)
      const { bytes } = await this.#store.put(key, value, {
        expiresAt,
        metadata: metadataOf(entry),
        signal,
      })
      this.#hooks.onKey?.(bytes)
      return true
    } catch (error) {
      if (isCorrupt(error)) return false
      throw error
    }
  }

  /** The bytes of a content, if they are readable and right. */
  async #contentOf(
    content: { readonly id: Bytes; readonly bytes: number },
    named: Named,
  ): Promise<Buffer | undefined> {
    const { backend, layouts, check } = this.#source
    for (const layout of layouts) {
      try {
        const value = await readContent(backend, content, layout)
        if (value && (await check.isLargeRight(value, named))) return value
      } catch (error) {
        if (!isCorrupt(error)) throw error
      }
    }
    return undefined
  }

  /** Nothing, if it has expired by now. */
  #item(
    key: Buffer,
    value: Buffer,
    expiresAt: number | undefined,
    metadata?: Metadata,
  ): PutItem | undefined {
    const isExpired = expiresAt !== undefined && expiresAt <= this.#source.backend.now()
    return isExpired ? undefined : { key, value, expiresAt, metadata }
  }

  /** Keys that no scanned entry has: by a lookup, or by the contents that their references name. */
  async *#fromReferences(gaps: readonly Gap[]): AsyncGenerator<PutItem> {
    const wanted = new Map<string, Buffer[]>()
    const unknown: Gap[] = []
    for await (const { key: row } of this.#rows(raw.refs, unknown)) {
      if (row.byteLength <= ID_BYTES) continue
      const key = row.subarray(ID_BYTES)
      const item = await this.#missed(key)
      if (item) yield item
      if (!this.#failed.has(latin1(key))) continue
      const id = latin1(row.subarray(0, ID_BYTES))
      wanted.set(id, [...(wanted.get(id) ?? []), key])
    }
    // Where all references are readable, every key is known by name.
    if (unknown.length > 0) {
      for (const gap of gaps) await this.lose({ space: raw.entries.name, ...gap })
    }
    yield* this.#fromDigests(wanted)
  }

  /** `wanted`: of every content, the keys that are to be copied. */
  async *#fromDigests(wanted: ReadonlyMap<string, readonly Buffer[]>): AsyncGenerator<PutItem> {
    const times = await this.#times()
    for await (const { key: digest, value } of this.#rows(raw.digests)) {
      const known = knownOf(value)
      const keys = known && wanted.get(latin1(known.id))
      const bytes = keys && (await this.#contentOf(known, { digest, exact: known.exact }))
      if (!keys || !bytes) continue
      for (const key of keys) {
        if (!this.#failed.delete(latin1(key))) continue
        const item = this.#item(key, bytes, times.get(latin1(key)))
        if (item) yield item
      }
    }
  }

  /** A key whose entry was on no page that could be scanned: looked up, or else failed. */
  async #missed(key: Buffer): Promise<PutItem | undefined> {
    if (this.#failed.has(latin1(key)) || (await this.#store.has(key))) return undefined
    try {
      const value = await this.#source.backend.read(lookUp, key)
      if (value) return await this.#fromEntry({ key, value })
    } catch (error) {
      if (!isCorrupt(error)) throw error
    }
    this.#failed.set(latin1(key), 'Its entry cannot be read.')
    return undefined
  }

  /** When keys without a readable entry expire. */
  async #times(): Promise<Map<string, number>> {
    const times = new Map<string, number>()
    for await (const { key: row } of this.#rows(raw.expiries)) {
      if (row.byteLength <= TIME_BYTES) continue
      const name = latin1(row.subarray(TIME_BYTES))
      if (this.#failed.has(name)) times.set(name, row.readUIntBE(0, TIME_BYTES))
    }
    return times
  }
}

function metadataOf({ metadata }: Entry): Metadata | undefined {
  return metadata && decodeMetadata(metadata)
}

function* lookUp(_scope: ReadScope, key: Bytes): Transaction<Bytes | undefined> {
  const [row] = yield* read(cell(raw.entries, key))
  return row
}

function isCorrupt(error: unknown): error is PrestigeError {
  return error instanceof PrestigeError && error.kind === 'corrupt'
}
