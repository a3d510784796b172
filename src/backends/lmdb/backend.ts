/**
 * The lmdb backend, the embedded default: transactions run inside LMDB write transactions, in groups (see
 * environment.ts); reads are synchronous, from one snapshot, under the asynchronous surface.
 *
 * Several processes and worker threads may share a directory: LMDB has one writer at a time, and every
 * body reads, decides and writes inside it.
 */

import { asBuffer, type Bytes, concat, endOfPrefix } from '../../platform/bytes.ts'
import type {
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Range,
  ReadBody,
  Row,
  Space,
} from '../contract.ts'
import { Draft, ReadDraft } from '../kit/draft.ts'
import { Gate } from '../kit/gate.ts'
import { checkedClock, IdSource, systemRandom } from '../kit/ids.ts'
import { checkWrites } from '../kit/limits.ts'
import { type Durability, LmdbEnvironment } from './environment.ts'
import { engineError } from './errors.ts'
import {
  CELLS_MAX,
  LMDB_KEY_BYTES_MAX,
  SCAN_PAGE,
  SCAN_PAGE_BYTES,
  TIMEOUT_MS,
  VALUE_BYTES_MAX,
} from './limits.ts'
import { namespacePrefix, within } from '../kit/namespace.ts'
import { drive, type RawRow, type SerialReader } from '../kit/serial.ts'
import type { LmdbTable } from './table.ts'

export interface LmdbOptions extends BackendOptions {
  /** `fsync` (default): what is acknowledged survives a power failure. `os`: only a crash of the process. */
  readonly durability?: Durability | undefined
  /** Make the directory when it is not there (default). Otherwise a missing store is an error. */
  readonly create?: boolean | undefined
  /** How long to wait for other processes that commit or open, in milliseconds (default 30,000). Then: CONTENDED. */
  readonly timeoutMs?: number | undefined
}

export async function openLmdb(path: string, options: LmdbOptions): Promise<LmdbBackend> {
  const { spaces, create = true, namespace, timeoutMs = TIMEOUT_MS } = options
  namespacePrefix(namespace) // refused before anything is opened
  const environment = await LmdbEnvironment.open(path, spaces, { create, timeoutMs })
  return new LmdbBackend(environment, options)
}

export class LmdbBackend implements Backend {
  readonly limits: BackendLimits
  readonly serial = true
  readonly #environment: LmdbEnvironment
  readonly #prefix: Buffer
  readonly #clock: () => number
  readonly #ids: IdSource
  readonly #gate = new Gate('lmdb backend')
  readonly #reader: SerialReader
  readonly #durability: Durability
  readonly #timeoutMs: number

  constructor(environment: LmdbEnvironment, options: LmdbOptions) {
    this.#environment = environment
    this.#durability = options.durability ?? 'fsync'
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS
    this.#prefix = namespacePrefix(options.namespace)
    this.#clock = checkedClock(options.clock)
    this.#ids = new IdSource(this.#clock, options.random ?? systemRandom)
    this.limits = {
      keyBytesMax: LMDB_KEY_BYTES_MAX - this.#prefix.byteLength,
      valueBytesMax: VALUE_BYTES_MAX,
      cellsMax: CELLS_MAX,
    }
    this.#reader = {
      get: (space, key) => this.#get(environment.table(space), key),
      keys: (space, range) => this.#keys(environment.table(space), range),
      rows: (space, range) => this.#rows(environment.table(space), range),
    }
  }

  /** Write transactions committed in this directory so far, by anyone. */
  get commits(): number {
    return this.#environment.commits
  }

  now(): number {
    return this.#clock()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    this.#gate.assertOpen()
    const turn = this.#environment.turnNeeded
    if (turn) {
      await turn
      this.#gate.assertOpen()
    }
    // lmdb renews its snapshot by a timer; a commit of another process could be missed until then.
    this.#environment.refresh(this.#prefix)
    return drive(this.#reader, body(new ReadDraft(this.#clock()), ...args), undefined)
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#gate.enter()
      let result: T
      this.#environment.enqueue({
        durability: this.#durability,
        deadline: performance.now() + this.#timeoutMs,
        timeoutMs: this.#timeoutMs,
        prefix: this.#prefix,
        drive: () => {
          const draft = new Draft(true, this.#ids, this.#clock())
          result = drive(this.#reader, body(draft, ...args), draft)
          checkWrites(draft, this.limits)
          return draft
        },
        done: () => {
          this.#gate.leave()
          resolve(result)
        },
        failed: (error) => {
          this.#gate.leave()
          // oxlint-disable-next-line prefer-promise-reject-errors -- it is whatever the body threw
          reject(error)
        },
      })
    })
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    const table = this.#environment.table(space)
    let left = range.limit ?? Infinity
    let { start, end } = bounds(this.#prefix, range)
    while (left > 0) {
      this.#gate.assertOpen()
      this.#environment.refresh(this.#prefix)
      const limit = Math.min(left, SCAN_PAGE)
      const page = orExplain(() => table.page({ start, end, limit }, SCAN_PAGE_BYTES))
      // Before the rows are given away: whoever gets them may write over their keys.
      const last = page.rows.at(-1)
      if (last) start = after(last.key)
      for (const { key, bytes } of page.rows) {
        const own = this.#own(key)
        yield { key: own, value: space.codec.decode(bytes, own) }
      }
      if (page.isLast) return
      left -= page.rows.length
    }
  }

  close(): Promise<void> {
    return this.#gate.close(() => this.#environment.leave())
  }

  #get(table: LmdbTable, key: Bytes): Buffer | undefined {
    if (key.byteLength > this.limits.keyBytesMax) return undefined
    return orExplain(() => table.get(key))
  }

  *#keys(table: LmdbTable, range: Range): Generator<Buffer> {
    let { start, end } = bounds(this.#prefix, range)
    for (let limit = 2; ; limit = SCAN_PAGE) {
      const page = orExplain(() => table.keys({ start, end, limit }))
      for (const key of page) {
        start = after(key)
        yield this.#own(key)
      }
      if (page.length < limit) return
    }
  }

  #rows(table: LmdbTable, range: Range & { readonly limit: number }): RawRow[] {
    const { start, end } = bounds(this.#prefix, range)
    const rows = orExplain(() => table.rows({ start, end, limit: range.limit }))
    return rows.map(({ key, bytes }) => ({ key: this.#own(key), bytes }))
  }

  #own(key: Bytes): Buffer {
    return asBuffer(key).subarray(this.#prefix.byteLength)
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
