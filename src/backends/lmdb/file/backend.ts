/**
 * A backend over an LMDB directory that only reads, without LMDB: it maps nothing, writes no lock file, and meets
 * damage with errors. Each body and each page of a scan sees one committed state, because commits of others pause
 * while it runs.
 */

import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Bytes, concat, copyOf, EMPTY } from '../../../platform/bytes.ts'
import { PrestigeError } from '../../../platform/errors.ts'
import type {
  Backend,
  BackendLimits,
  BackendOptions,
  EngineFile,
  Range,
  ReadBody,
  Row,
  Space,
} from '../../contract.ts'
import { ReadDraft } from '../../kit/draft.ts'
import { Gate } from '../../kit/gate.ts'
import { checkedClock } from '../../kit/ids.ts'
import { LiveView } from '../../kit/live-view.ts'
import { namespacePrefix, within } from '../../kit/namespace.ts'
import type { RawRow } from '../../kit/pages.ts'
import { drive, requireWhole, type SerialReader } from '../../kit/serial.ts'
import { dataFile, storeMissing } from '../files.ts'
import {
  CELLS_MAX,
  LMDB_KEY_BYTES_MAX,
  SCAN_PAGE,
  SCAN_PAGE_BYTES,
  TIMEOUT_MS,
  VALUE_BYTES_MAX,
} from '../limits.ts'
import { ReadPause } from '../locks.ts'
import { mayHaveRest, restsOf } from '../page-fit.ts'
import { Cursor } from './cursor.ts'
import { DataFile } from './data-file.ts'
import type { Meta, TreeRecord } from './format.ts'
import type { CommitPause } from './pause.ts'

/** About 8 ms of reading, after which timers and other work have their turn. */
const READS_A_TURN = 500

/** Opens the store in a directory for reading only, beside others that write. */
export async function openReadOnly(
  directory: string,
  { timeoutMs = TIMEOUT_MS, isTolerant, ...options }: ReadOnlyOptions,
): Promise<LmdbFileBackend> {
  if (!existsSync(dataFile(directory))) throw storeMissing(directory)
  return openLmdbFile(directory, options, new ReadPause(directory, timeoutMs), isTolerant)
}

export interface ReadOnlyOptions extends BackendOptions {
  /** How long to wait for a commit of another process, in milliseconds. Then: CONTENDED. */
  readonly timeoutMs?: number | undefined
  /** For salvage: a file that is damaged at its head, or cut, is read as far as it goes. */
  readonly isTolerant?: boolean
  /** Keys begin with their namespace: rows of all namespaces are seen. */
  readonly isWhole?: boolean
}

/** Closing the backend, or failing to open it, closes the pause. */
export async function openLmdbFile(
  path: string,
  options: BackendOptions & Pick<ReadOnlyOptions, 'isWhole'>,
  pause: CommitPause,
  isTolerant = false,
): Promise<LmdbFileBackend> {
  const prefix = options.isWhole ? EMPTY : namespacePrefix(options.namespace)
  const file = new DataFile(path, isTolerant)
  try {
    await pause.run(() => file.refresh())
  } catch (error) {
    file.close()
    pause.close()
    throw error
  }
  return new LmdbFileBackend(file, prefix, options, pause)
}

export class LmdbFileBackend implements Backend {
  readonly limits: BackendLimits
  readonly serial = true
  /** Only who is known to LMDB as a reader keeps it from using the pages of a moment again. */
  readonly snapshots = false
  readonly #file: DataFile
  readonly #pause: CommitPause
  readonly #prefix: Buffer
  readonly #clock: () => number
  readonly #gate = new Gate('read-only lmdb backend')
  readonly #spaces: ReadonlySet<string>
  readonly #reader: SerialReader
  /** Of the committed state that was read last. */
  readonly #trees = new Map<string, TreeRecord | undefined>()
  #state: Meta | undefined
  #reads = 0

  constructor(file: DataFile, prefix: Buffer, options: BackendOptions, pause: CommitPause) {
    this.#file = file
    this.#prefix = prefix
    this.#pause = pause
    this.#clock = checkedClock(options.clock)
    this.#spaces = new Set(options.spaces.map(({ name }) => name))
    this.limits = {
      keyBytesMax: LMDB_KEY_BYTES_MAX - prefix.byteLength,
      valueBytesMax: VALUE_BYTES_MAX,
      cellsMax: CELLS_MAX,
    }
    this.#reader = {
      get: (space, key) => this.#get(space, key),
      keys: (space, range) => this.#keys(space, range),
      rows: (space, range) => this.#rows(space, within(prefix, range), range.limit, Infinity).rows,
    }
  }

  now(): number {
    return this.#clock()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#moment(() =>
      drive(this.#reader, body(new ReadDraft(this.#clock()), ...args), undefined),
    )
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    this.#requireDeclared(space)
    requireWhole(space, range)
    let left = range.limit ?? Infinity
    let { start, end } = within(this.#prefix, range)
    while (left > 0) {
      const limit = Math.min(left, SCAN_PAGE)
      const read = () => this.#rows(space, { start, end }, limit, SCAN_PAGE_BYTES)
      const { rows, isLast } = await this.#moment(read)
      const last = rows.at(-1)
      if (last) start = concat(concat(this.#prefix, last.key), Buffer.of(0))
      for (const { key, bytes } of rows) yield { key, value: space.codec.decode(bytes, key) }
      if (isLast) return
      left -= rows.length
    }
  }

  get file(): EngineFile {
    return {
      bytes: () => this.#file.bytesInFile,
      compact: () => this.run(),
      isShared: async () => true,
    }
  }

  async run(): Promise<never> {
    this.#gate.assertOpen()
    throw new PrestigeError(
      'READ_ONLY',
      'This store is open for reading only. Open it without readOnly to write.',
    )
  }

  async snapshot(): Promise<Backend> {
    this.#gate.assertOpen()
    return new LiveView(this)
  }

  close(): Promise<void> {
    return this.#gate.close(async () => {
      this.#file.close()
      this.#pause.close()
    })
  }

  /** Runs synchronous work on the newest committed state, while nobody commits another. */
  #moment<T>(work: () => T): Promise<T> {
    return this.#gate.pass(async () => {
      this.#reads++
      if (this.#reads % READS_A_TURN === 0) await nextTurn()
      return this.#pause.run(() => {
        this.#refresh()
        return work()
      })
    })
  }

  #refresh(): void {
    const state = this.#file.refresh()
    if (state === this.#state) return
    this.#trees.clear()
    this.#state = state
  }

  /** Where a space is; nowhere (`undefined`) as long as nobody has written to it. */
  #tree(space: Space<unknown>): TreeRecord | undefined {
    this.#requireDeclared(space)
    return this.#treeNamed(space.name)
  }

  #treeNamed(name: string): TreeRecord | undefined {
    if (!this.#trees.has(name)) this.#trees.set(name, treeNamed(this.#file, name))
    return this.#trees.get(name)
  }

  #requireDeclared({ name }: Space<unknown>): void {
    if (this.#spaces.has(name)) return
    throw new PrestigeError('BODY_MISUSE', `Space ${name} was not named when the backend opened.`)
  }

  #get(space: Space<unknown>, key: Bytes): Bytes | undefined {
    const tree = this.#tree(space)
    if (tree === undefined) return undefined
    const whole = concat(this.#prefix, key)
    const cursor = new Cursor(this.#file, tree)
    if (!cursor.seek(whole) || !cursor.isAt(whole)) return undefined
    return this.#whole(space, whole, cursor.value)
  }

  /** With what LmdbTable has laid aside (page-fit.ts). */
  #whole({ name, immutable }: Space<unknown>, key: Buffer, head: Buffer): Buffer {
    if (!immutable || !mayHaveRest(head.length, this.#file.meta.pageBytes)) return head
    const tree = this.#treeNamed(restsOf(name))
    if (tree === undefined) return head
    const cursor = new Cursor(this.#file, tree)
    return cursor.seek(key) && cursor.isAt(key) ? concat(head, cursor.value) : head
  }

  *#keys(space: Space<unknown>, range: Range): Generator<Buffer> {
    for (const cursor of this.#positions(space, within(this.#prefix, range))) {
      yield this.#own(cursor.key)
    }
  }

  #rows(
    space: Space<unknown>,
    bounds: { readonly start: Buffer; readonly end: Buffer },
    limit: number,
    bytesMax: number,
  ): { readonly rows: readonly RawRow[]; readonly isLast: boolean } {
    const rows: RawRow[] = []
    if (limit <= 0) return { rows, isLast: true }
    let bytes = 0
    for (const cursor of this.#positions(space, bounds)) {
      const value = this.#whole(space, cursor.key, cursor.value)
      rows.push({ key: this.#own(cursor.key), bytes: value })
      bytes += value.byteLength
      if (rows.length >= limit || bytes >= bytesMax) return { rows, isLast: false }
    }
    return { rows, isLast: true }
  }

  *#positions(
    space: Space<unknown>,
    { start, end }: { readonly start: Buffer; readonly end: Buffer },
  ): Generator<Cursor> {
    const tree = this.#tree(space)
    if (tree === undefined) return
    const cursor = new Cursor(this.#file, tree)
    let isThere = cursor.seek(start)
    while (isThere && cursor.isBefore(end)) {
      yield cursor
      isThere = cursor.next()
    }
  }

  /** A copy: the page it is in belongs to the cache. */
  #own(key: Bytes): Buffer {
    return copyOf(key.subarray(this.#prefix.byteLength))
  }
}

/** What the main tree records of a named one. */
export function treeNamed(file: DataFile, name: string): TreeRecord | undefined {
  const cursor = new Cursor(file, file.meta.main)
  const key = Buffer.from(`${name}\0`)
  if (!cursor.seek(key) || !cursor.isAt(key)) return undefined
  const { page, index } = cursor.leaf
  return page.tree(index, file.meta.pageMax)
}
