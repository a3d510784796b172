/**
 * The lmdb backend, the embedded default: transactions run inside LMDB write transactions, in groups (see
 * environment.ts); reads are synchronous, from one snapshot, under the asynchronous surface.
 *
 * Several processes and worker threads may share a directory: LMDB has one writer at a time, and every
 * body reads, decides and writes inside it.
 */

import { asBuffer, type Bytes, concat, endOfPrefix } from '../../platform/bytes.ts'
import type { BackendLimits, EngineFile, Range, Space } from '../contract.ts'
import type { Draft } from '../kit/draft.ts'
import { namespacePrefix, within } from '../kit/namespace.ts'
import type { Page, PageRange, RawRow } from '../kit/pages.ts'
import { SerialBackend, type SerialEngine } from '../kit/serial-backend.ts'
import { LmdbEnvironment } from './environment.ts'
import { engineError } from './errors.ts'
import {
  CELLS_MAX,
  LMDB_KEY_BYTES_MAX,
  SCAN_PAGE,
  SCAN_PAGE_BYTES,
  TIMEOUT_MS,
  VALUE_BYTES_MAX,
} from './limits.ts'
import type { Durability, LmdbOptions } from './options.ts'
import type { Moment } from './table.ts'

export async function openLmdb(path: string, options: LmdbOptions): Promise<LmdbBackend> {
  const { spaces, create = true, namespace, timeoutMs = TIMEOUT_MS } = options
  namespacePrefix(namespace) // refused before anything is opened
  const environment = await LmdbEnvironment.open(path, spaces, { create, timeoutMs })
  return new LmdbBackend(environment, options)
}

/** One namespace of an environment. */
class LmdbEngine implements SerialEngine {
  readonly name = 'lmdb backend'
  readonly limits: BackendLimits
  readonly #environment: LmdbEnvironment
  readonly #prefix: Buffer
  readonly #durability: Durability
  readonly #timeoutMs: number
  readonly #options: LmdbOptions
  /** Absent: reads see the newest commit. */
  readonly #moment: Moment | undefined

  constructor(environment: LmdbEnvironment, options: LmdbOptions, moment?: Moment) {
    this.#environment = environment
    this.#options = options
    this.#moment = moment
    this.#durability = options.durability ?? 'fsync'
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS
    this.#prefix = namespacePrefix(options.namespace)
    this.limits = {
      keyBytesMax: LMDB_KEY_BYTES_MAX - this.#prefix.byteLength,
      valueBytesMax: VALUE_BYTES_MAX,
      cellsMax: CELLS_MAX,
    }
  }

  read<T>(work: () => T): T | Promise<T> {
    return this.#environment.turnNeeded?.then(() => this.read(work)) ?? this.#now(work)
  }

  #now<T>(work: () => T): T {
    if (this.#moment) this.#environment.enterMoment(this.#moment, this.#prefix)
    // lmdb renews its snapshot by a timer; a commit of another process could be missed until then.
    else this.#environment.refresh(this.#prefix)
    return work()
  }

  write(work: () => Draft): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#environment.enqueue({
        durability: this.#durability,
        deadline: performance.now() + this.#timeoutMs,
        timeoutMs: this.#timeoutMs,
        prefix: this.#prefix,
        drive: work,
        done: resolve,
        failed: reject,
      })
    })
  }

  page(space: Space<unknown>, range: PageRange): Page {
    const bounded = { ...bounds(this.#prefix, range), limit: Math.min(range.limit, SCAN_PAGE) }
    const table = this.#environment.table(space)
    const { rows, isLast } = orExplain(() => table.page(bounded, SCAN_PAGE_BYTES, this.#moment))
    return { rows: this.#own(rows), isLast }
  }

  get(space: Space<unknown>, key: Bytes): Buffer | undefined {
    if (key.byteLength > this.limits.keyBytesMax) return undefined
    // Not by orExplain: one function fewer for every row.
    try {
      return this.#environment.table(space).get(key, this.#moment)
    } catch (error) {
      throw engineError(error)
    }
  }

  *keys(space: Space<unknown>, range: Range): Generator<Buffer> {
    const table = this.#environment.table(space)
    let { start, end } = bounds(this.#prefix, range)
    for (let limit = 2; ; limit = SCAN_PAGE) {
      const page = orExplain(() => table.keys({ start, end, limit }, this.#moment))
      for (const key of page) {
        start = after(key)
        yield this.#ownKey(key)
      }
      if (page.length < limit) return
    }
  }

  rows(space: Space<unknown>, range: PageRange): RawRow[] {
    const bounded = { ...bounds(this.#prefix, range), limit: range.limit }
    return this.#own(orExplain(() => this.#environment.table(space).rows(bounded, this.#moment)))
  }

  snapshot(): LmdbEngine {
    const moment = orExplain(() => this.#environment.holdMoment())
    return new LmdbEngine(this.#environment, this.#options, moment)
  }

  async close(): Promise<void> {
    if (this.#moment) this.#environment.releaseMoment(this.#moment)
    else await this.#environment.leave()
  }

  #own(rows: readonly RawRow[]): RawRow[] {
    return rows.map(({ key, bytes }) => ({ key: this.#ownKey(key), bytes }))
  }

  #ownKey(key: Bytes): Buffer {
    return asBuffer(key).subarray(this.#prefix.byteLength)
  }
}

export class LmdbBackend extends SerialBackend {
  readonly #environment: LmdbEnvironment
  readonly #timeoutMs: number

  constructor(environment: LmdbEnvironment, options: LmdbOptions) {
    super(new LmdbEngine(environment, options), options)
    this.#environment = environment
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS
  }

  get file(): EngineFile {
    const environment = this.#environment
    return {
      bytes: () => environment.fileBytes,
      compact: () => environment.compact(this.#timeoutMs),
      isShared: () => environment.isShared(this.#timeoutMs),
    }
  }

  /** Write transactions committed in this directory so far, by anyone. */
  get commits(): number {
    return this.#environment.commits
  }
}

/** What the engine throws gets a code like everything else; what a body throws never passes here. */
function orExplain<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw engineError(error)
  }
}

function bounds(prefix: Bytes, range: Range): { start: Buffer; end: Buffer } {
  const { start, end } = within(prefix, range)
  return { start: bound(start), end: bound(end) }
}

/** LMDB refuses bounds longer than a key; no key lies between one and the end of its longest prefix. */
function bound(bytes: Buffer): Buffer {
  if (bytes.byteLength <= LMDB_KEY_BYTES_MAX) return bytes
  return endOfPrefix(bytes.subarray(0, LMDB_KEY_BYTES_MAX)) ?? bytes
}

/** Where to go on behind a key. */
function after(key: Bytes): Buffer {
  return bound(concat(key, Buffer.of(0)))
}
