/** LMDB's files of one directory, open in this thread: the environment of lmdb, its tables, and the mark of use. */

import { closeSync, fstatSync, ftruncateSync, openSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'

import type * as Lmdb from 'lmdb'

import type { Bytes } from '../../platform/bytes.ts'
import type { Space } from '../contract.ts'
import { type CopyTarget, makeCopy, removeUnfinishedCopy, syncCopy, useCopy } from './compact.ts'
import { checkHead } from './file/data-file.ts'
import { dataFile, hasMarker, lockFile, prepareFiles, syncFile, writeMarker } from './files.ts'
import { VALUE_BYTES_MAX } from './limits.ts'
import { isInUse, UseMark } from './locks.ts'
import { mapBytes } from './map-size.ts'
import { restsOf } from './page-fit.ts'
import { LmdbTable, type Moment, PrefixedKeys, type Rests } from './table.ts'

// lmdb's CommonJS build loads in half the time of its ES modules, which a command line pays at every start.
const lmdb: typeof Lmdb = createRequire(import.meta.url)('lmdb')

const SPACES_MAX = 256
/** lmdb's flags of a transaction that can be rolled back, commits at once, and leaves the flush to the system. */
const UNSYNCED: number =
  lmdb.TransactionFlags.ABORTABLE |
  lmdb.TransactionFlags.SYNCHRONOUS_COMMIT |
  lmdb.TransactionFlags.NO_SYNC_FLUSH

type Root = Lmdb.RootDatabase<Bytes, Bytes>

/** To be opened, and to commit, only while holding the write lock of the directory. */
export class LmdbDatabase {
  readonly keys = new PrefixedKeys()
  readonly #directory: string
  /** To sync what was left to the system, wherever the file may have been moved to. */
  #file: number
  readonly #tables = new Map<string, LmdbTable>()
  readonly #spaces = new Map<string, Space<unknown>>()
  /** Moments that are held. */
  readonly #moments = new Set<Moment>()
  #root: Root
  #mark: UseMark

  constructor(directory: string, spaces: readonly Space<unknown>[]) {
    this.#directory = directory
    removeUnfinishedCopy(directory)
    prepareFiles(directory)
    this.#file = openSync(dataFile(directory), 'r+')
    const isNew = fstatSync(this.#file).size === 0
    try {
      if (!isNew) checkHead(directory, hasMarker(directory))
      this.#root = openRoot(directory)
      this.#mark = markUse(directory, this.#root)
      writeMarker(directory)
    } catch (error) {
      // Half a header would make the directory unusable for good.
      if (isNew) ftruncateSync(this.#file)
      closeSync(this.#file)
      throw error
    }
    try {
      this.openTables(spaces)
    } catch (error) {
      this.#root.close().catch(() => {})
      this.closeFiles()
      throw error
    }
  }

  /** In one transaction: each by itself would be a sync each. */
  openTables(spaces: readonly Space<unknown>[]): void {
    const opened = new Map<string, LmdbTable>()
    this.#root.transactionSync(() => {
      for (const { name, immutable } of spaces) {
        const rests = immutable ? this.#openRests(name) : undefined
        opened.set(name, new LmdbTable(this.#openDatabase(name), this.keys, rests))
      }
    }, lmdb.TransactionFlags.SYNCHRONOUS_COMMIT)
    for (const space of spaces) this.#spaces.set(space.name, space)
    for (const [name, table] of opened) this.#tables.set(name, table)
  }

  #openRests(name: string): Rests {
    // safe: lmdb's stats are untyped, and this field has been there since its first version
    const { pageSize } = this.#root.getStats() as { pageSize: number }
    return { database: this.#openDatabase(restsOf(name)), pageBytes: pageSize }
  }

  #openDatabase(name: string): Lmdb.Database<Bytes, Bytes> {
    const options = { name, encoding: 'binary', keyEncoder: this.keys.encoder } as const
    return this.#root.openDB<Bytes, Bytes>(options)
  }

  table(name: string): LmdbTable | undefined {
    return this.#tables.get(name)
  }

  /** Makes the next reads see every commit of every process until now. */
  refresh(): void {
    this.#root.resetReadTxn()
  }

  /**
   * The same, for work that is committed later, while nobody else can commit. A process that dies between writing its
   * commit and announcing it leaves other readers one commit behind; whoever begins a write transaction puts that
   * right, so one is begun and given up.
   */
  refreshForCommit(): void {
    this.commitUnsynced(() => lmdb.ABORT)
    this.refresh()
  }

  /** Holds what is committed now. Until it is given back, LMDB uses none of its pages again. */
  holdMoment(): Moment {
    this.refresh()
    const moment = { transaction: this.#root.useReadTransaction() }
    // lmdb begins a transaction with its first read.
    for (const _ of this.#root.getKeys({ limit: 1, ...moment })) break
    this.refresh()
    this.#moments.add(moment)
    return moment
  }

  releaseMoment(moment: Moment): void {
    if (this.#moments.delete(moment)) moment.transaction.done()
  }

  get holdsMoments(): boolean {
    return this.#moments.size > 0
  }

  /** After a commit that failed nothing that was held is left. */
  isHeld(moment: Moment): boolean {
    return this.#moments.has(moment)
  }

  /** How many write transactions this directory has committed. */
  get commits(): number {
    // safe: lmdb's stats are untyped, and this field has been there since its first version
    return (this.#root.getStats() as { lastTxnId: number }).lastTxnId
  }

  /** Runs work in a write transaction that is committed and left to the operating system. */
  commitUnsynced(work: () => unknown): void {
    // oxlint-disable-next-line no-unsafe-enum-assignment -- lmdb types a sum of flags as one of them
    this.#root.transactionSync(work, UNSYNCED)
  }

  /** Commits what the tables have kept, and syncs it. A thread of lmdb's own does it. */
  async commitKept(): Promise<void> {
    await this.#root.batch(() => {
      for (const table of this.#tables.values()) table.flush()
    })
  }

  forgetKept(): void {
    for (const table of this.#tables.values()) table.forget()
  }

  sync(): Promise<void> {
    return syncFile(this.#file)
  }

  /** Frees the places, and so the pages, of readers that died. */
  checkReaders(): void {
    this.#root.readerCheck()
  }

  renewMark(): void {
    this.#mark.renew()
  }

  /** Nobody can find the files any more. */
  get isRemoved(): boolean {
    return fstatSync(this.#file).nlink === 0 || this.#mark.isRemoved
  }

  /** The directory was moved, and another one may be in its place. */
  get isReplaced(): boolean {
    const found = statSync(dataFile(this.#directory), { throwIfNoEntry: false })
    const own = fstatSync(this.#file)
    return found?.ino !== own.ino || found.dev !== own.dev
  }

  /** `whileClosed`: done before it is opened again, while this thread does not use the files. */
  async reopen(whileClosed: () => void = () => {}): Promise<void> {
    for (const moment of this.#moments) this.releaseMoment(moment)
    await this.#root.close()
    this.#mark.close()
    try {
      whileClosed()
    } finally {
      this.#root = openRoot(this.#directory)
      this.#mark = markUse(this.#directory, this.#root)
      this.openTables([...this.#spaces.values()])
    }
  }

  /** Everything in a new file, without free pages. Rows are read on until it is put in place by `useCopy`. */
  async makeCopy(): Promise<void> {
    await makeCopy(this.#directory, openTarget)
  }

  /** Another process, or another thread of this one, has the directory open. Others cannot open it meanwhile. */
  async isUsedElsewhere(): Promise<boolean> {
    let isUsed = true
    await this.reopen(() => (isUsed = isInUse(lockFile(this.#directory))))
    return isUsed
  }

  /** To be called when nobody else has the directory open. */
  async useCopy(): Promise<void> {
    await this.reopen(() => {
      useCopy(this.#directory)
      closeSync(this.#file)
      this.#file = openSync(dataFile(this.#directory), 'r+')
    })
    await syncCopy(this.#directory)
  }

  /** Needs no lock: as long as the mark is there, LMDB takes nothing apart that other processes use. */
  async close(): Promise<void> {
    await this.#root.close()
  }

  /** After the last sync. */
  closeFiles(): void {
    this.#mark.close()
    closeSync(this.#file)
  }
}

function openRoot(directory: string): Root {
  const options: Lmdb.RootDatabaseOptionsWithPath & { readonly noReadAhead: boolean } = {
    path: directory,
    noSubdir: false,
    encoding: 'binary',
    maxDbs: SPACES_MAX,
    mapSize: mapBytes(dataFile(directory)),
    overlappingSync: false,
    // Reading ahead from a store that is larger than memory displaces what is needed: 40 times fewer gets a second.
    noReadAhead: true,
    // With it a failed commit rejects a promise of lmdb's own that nobody can catch, and the process dies.
    eventTurnBatching: false,
  }
  const root = lmdb.open<Bytes, Bytes>(options)
  makeRoomForValues(root)
  return root
}

/** An environment that nobody else knows of. */
function openTarget(path: string): CopyTarget {
  const root = openRoot(path)
  const tables = new Map<string, Lmdb.Database<Bytes, Bytes>>()
  const { encoder } = new PrefixedKeys()
  return {
    write(name, rows) {
      const options = { name, encoding: 'binary', keyEncoder: encoder } as const
      const table = tables.get(name) ?? root.openDB<Bytes, Bytes>(options)
      tables.set(name, table)
      const work = () => {
        for (const { key, value } of rows) table.putSync(key, value)
      }
      // oxlint-disable-next-line no-unsafe-enum-assignment -- lmdb types a sum of flags as one of them
      root.transactionSync(work, UNSYNCED)
    },
    async close() {
      await root.close()
      const file = openSync(dataFile(path), 'r+')
      try {
        await syncFile(file)
      } finally {
        closeSync(file)
      }
    },
  }
}

let hasRoom = false

/**
 * lmdb hands out values that do not fit into its buffer as views of its map, and from Node 24 on the process ends when
 * those are closed. So its buffer, which all environments of this thread share, is made as large as values can be.
 */
function makeRoomForValues(root: Root): void {
  if (hasRoom) return
  // safe: lmdb does not declare it; it makes a buffer of twice the length that it is given
  const own = root as Root & { _allocateGetBuffer(length: number): unknown }
  own._allocateGetBuffer(VALUE_BYTES_MAX / 2 + 1024)
  hasRoom = true
}

/** A first read makes this process known as a reader, which LMDB must do before the mark can stand beside its own. */
function markUse(directory: string, root: Root): UseMark {
  root.getBinary(Buffer.of(0))
  return new UseMark(lockFile(directory))
}
