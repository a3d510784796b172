/**
 * An embedder that remembers: identical text is never embedded twice, not by later calls, not by later processes, and
 * not by calls at the same time, which share one computation.
 *
 * Rows hold what the embedder gave, bit for bit. A text that several wait for is given up only when all of them are.
 */

import { type Bytes, endOfPrefix, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { documentOf } from '../document.ts'
import { type Embedder, type EmbedOptions, requireVector, windowsOf } from './embedder.ts'
import {
  type EmbeddingRow,
  embeddings,
  scopeOf,
  TEXT_KEY_BYTES,
  textKey,
  windowKey,
  WINDOWS_MAX,
} from './embedding-rows.ts'

type Windows = readonly Float32Array[]

/** One call of the embedder, and how many wait for a text of it. */
class Shared {
  readonly #controller = new AbortController()
  #waiting = 0

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isGivenUp(): boolean {
    return this.#controller.signal.aborted
  }

  /** Waits for a result of it; if everybody stops waiting, it is stopped. */
  async wait<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (!signal) {
      this.#waiting++
      return result
    }
    this.#waiting++
    let leave: () => void = () => undefined
    const left = new Promise<never>((_resolve, reject) => {
      leave = () => {
        reject(signal.reason)
        if (--this.#waiting === 0) this.#controller.abort(signal.reason)
      }
    })
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([result, left])
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}

interface Pending {
  readonly shared: Shared
  readonly windows: Promise<Windows>
}

export class CachedEmbedder implements Embedder {
  readonly id: string
  readonly dimensions: number
  readonly #embedder: Embedder
  readonly #backend: Backend
  readonly #scope: Buffer
  readonly #pending = new Map<string, Pending>()

  /** The backend was opened with `semanticSpaces`. */
  constructor(embedder: Embedder, backend: Backend) {
    this.id = embedder.id
    this.dimensions = embedder.dimensions
    this.#embedder = embedder
    this.#backend = backend
    this.#scope = scopeOf(embedder.id)
  }

  async embed(texts: readonly string[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    const windows = await this.embedWindows(texts, options)
    return windows.map((vectors) => documentOf(vectors).pooled)
  }

  async embedWindows(texts: readonly string[], { signal }: EmbedOptions = {}): Promise<Windows[]> {
    signal?.throwIfAborted()
    const keys = texts.map((text) => textKey(this.#scope, text))
    this.#begin(texts, keys)
    const waited = keys.map((key) => {
      const pending = this.#pending.get(latin1(key))
      if (!pending) throw new PrestigeError('WORKER_FAILED', 'A text was lost on its way.')
      return pending.shared.wait(pending.windows, signal)
    })
    return Promise.all(waited)
  }

  /** Texts that nobody is after yet go to the rows, and from there to the embedder, in one call. */
  #begin(texts: readonly string[], keys: readonly Buffer[]): void {
    const shared = new Shared()
    const fresh = new Map<string, { readonly text: string; readonly key: Buffer }>()
    keys.forEach((key, at) => {
      const name = latin1(key)
      const known = this.#pending.get(name)
      if (known && !known.shared.isGivenUp) return
      fresh.set(name, { text: texts[at] ?? '', key })
    })
    if (fresh.size === 0) return
    const all = this.#find([...fresh.values()], shared.signal)
    ;[...fresh.keys()].forEach((name, at) => {
      const windows = all.then((found) => found[at] ?? [])
      const pending = { shared, windows }
      this.#pending.set(name, pending)
      const forget = () => {
        if (this.#pending.get(name) === pending) this.#pending.delete(name)
      }
      void windows.then(forget, forget)
    })
  }

  async #find(
    asked: readonly { readonly text: string; readonly key: Buffer }[],
    signal: AbortSignal,
  ): Promise<Windows[]> {
    const found = await Promise.all(asked.map(({ key }) => this.#stored(key)))
    const missing = asked.filter((_, at) => found[at] === undefined)
    const texts = missing.map(({ text }) => text)
    const made = await windowsOf(this.#embedder, texts, { signal })
    await Promise.all(missing.map(({ key }, at) => this.#keep(key, made[at] ?? [])))
    let next = 0
    return found.map((windows) => windows ?? made[next++] ?? [])
  }

  async #stored(key: Buffer): Promise<Windows | undefined> {
    const rowsMax = this.#backend.limits.cellsMax
    const stored = await this.#backend.read(storedWindows, key, rowsMax)
    for (const vector of stored ?? []) requireVector(this, vector)
    return stored
  }

  /** Further windows first: where there is the first, all are there. */
  async #keep(key: Buffer, windows: Windows): Promise<void> {
    if (windows.length === 0 || windows.length > WINDOWS_MAX) return
    const step = Math.max(1, this.#backend.limits.cellsMax - 1)
    for (let from = 1; from < windows.length; from += step) {
      const some = windows.slice(from, from + step)
      await this.#backend.run(writeWindows, key, from, some, 0)
    }
    await this.#backend.run(writeWindows, key, 0, windows.slice(0, 1), windows.length)
  }

  /** Forgets texts. Their vectors are gone when it resolves. */
  async forget(texts: readonly string[]): Promise<void> {
    for (const text of texts) await this.#remove(textKey(this.#scope, text))
  }

  /** Forgets what this embedder made; or, with `others`, what all others made. Says how many rows went. */
  async clear({ others = false }: { readonly others?: boolean } = {}): Promise<number> {
    const range = others ? {} : { start: this.#scope, end: endOfPrefix(this.#scope) }
    let removed = 0
    for await (const { key } of this.#backend.scan(embeddings, range)) {
      const isOwn = key.subarray(0, this.#scope.byteLength).equals(this.#scope)
      if (isOwn === others) continue
      await this.#backend.run(removeKeys, [key])
      removed++
    }
    return removed
  }

  /** The first window first: a text without it is not there. */
  async #remove(key: Buffer): Promise<void> {
    const keys: Buffer[] = []
    for await (const row of this.#backend.scan(embeddings, { start: key, end: endOfPrefix(key) })) {
      keys.push(row.key)
    }
    for (const one of keys) await this.#backend.run(removeKeys, [one])
  }
}

/** Wraps an embedder with a cache in a backend that was opened with `semanticSpaces`. */
export function cachedEmbedder(embedder: Embedder, backend: Backend): CachedEmbedder {
  return new CachedEmbedder(embedder, backend)
}

function* storedWindows(
  scope: ReadScope,
  key: Bytes,
  rowsMax: number,
): Transaction<Windows | undefined> {
  // Where the first window is unchanged, so are the others: it is written last and removed first.
  scope.rely(cell(embeddings, key))
  const [first] = yield* read(cell(embeddings, key))
  if (first === undefined) return undefined
  const windows = [first.vector]
  while (windows.length < first.windows) {
    const count = Math.min(rowsMax, first.windows - windows.length)
    const from = windows.length
    const cells = Array.from({ length: count }, (_, at) =>
      cell(embeddings, windowKey(key, from + at)),
    )
    const found: readonly (EmbeddingRow | undefined)[] = yield* read(...cells)
    for (const row of found) {
      if (row === undefined) {
        throw new PrestigeError(
          'CONTENT_CORRUPT',
          `A window of a cached text is not there (key ${Buffer.from(key).toString('hex', TEXT_KEY_BYTES - 32)}). Clear the cache of embeddings.`,
        )
      }
      windows.push(row.vector)
    }
  }
  return windows
}

function* writeWindows(
  scope: Scope,
  key: Bytes,
  from: number,
  windows: Windows,
  count: number,
): Transaction<void> {
  windows.forEach((vector, at) => {
    scope.write(cell(embeddings, windowKey(key, from + at)), { windows: count, vector })
  })
}

function* removeKeys(scope: Scope, keys: readonly Bytes[]): Transaction<void> {
  for (const key of keys) scope.remove(cell(embeddings, key))
}
