/**
 * One LMDB directory as this thread sees it, and its group commit: everything queued while the last
 * commit ran is driven inside one LMDB write transaction, so hundreds of transactions share one fsync.
 *
 * Invariant: a job's promise settles only after the write transaction that holds it has committed (and,
 * with `fsync`, reached the disk). Whoever commits or opens holds the write lock of the directory (locks.ts).
 *
 * Why it is built the way it is:
 *  - With `os` there is no fsync to wait for, and a synchronous transaction is the cheapest form. With `fsync` a thread of
 *    lmdb's own writes and syncs. It gets its writes as a list, and never waits for this thread: a process that
 *    exits meanwhile would hang for ever, with the lock in its hands.
 *  - Durability belongs to a group, not to the environment: lmdb shares one environment a process, whose
 *    flags are those of whoever opened it first, so one thread's `os` would silently take another's `fsync`.
 *  - A group that fails as a whole is tried again one job at a time, so that only the guilty one fails.
 *  - After a failed commit the environment is opened again: LMDB refuses every transaction after a failed write of
 *    its header, and lmdb never gives back a lock of its own when a transaction cannot begin.
 */

import { PrestigeError } from '../../platform/errors.ts'
import type { Space } from '../contract.ts'
import { LmdbDatabase } from './database.ts'
import {
  beingCompacted,
  engineError,
  fullError,
  momentHeld,
  momentLost,
  openElsewhere,
  openingError,
  reasonOf,
} from './errors.ts'
import { assertSpace, directoryOf, fileBytes, isOutOfSpace } from './files.ts'
import { Group, type Job } from './group.ts'
import { contended, DirectoryLock } from './locks.ts'
import type { LmdbTable, Moment } from './table.ts'

export type { Job } from './group.ts'

/** About 8 ms of reading. */
const READS_A_TURN_MAX = 1000
/** Readers that died without closing keep pages from being used again until they are looked for. */
const READER_CHECK_MS = 100
const REMOVAL_CHECK_MS = 20
type AloneWork<T> = (isUsedElsewhere: () => Promise<boolean>) => Promise<T>

const environments = new Map<string, Promise<LmdbEnvironment>>()

export class LmdbEnvironment {
  readonly #directory: string
  readonly #lock: DirectoryLock
  readonly #database: LmdbDatabase
  #users = 1
  #reads = 0
  #turn: Promise<void> | undefined
  #queue: Job[] = []
  /** How many of the queue must reach the disk. */
  #durable = 0
  /** Something was committed that only the operating system has. */
  #isUnsynced = false
  #synced: Promise<void> = Promise.resolve()
  #scheduled = false
  /** How many jobs must go alone, because the group they were in failed. */
  #alone = 0
  #mustReopen = false
  #readersCheckedAt = performance.now()
  #removalCheckedAt = 0
  #idle: (() => void) | undefined
  /** The file is being written again; nobody else keeps the lock. */
  #isCompacting = false
  /** LMDB is closed for a moment: reads wait for it. */
  #closed: Promise<void> | undefined

  constructor(directory: string, lock: DirectoryLock, database: LmdbDatabase) {
    this.#directory = directory
    this.#lock = lock
    this.#database = database
  }

  /** The environment of a directory; all backends of this thread share one. */
  static async open(
    path: string,
    spaces: readonly Space<unknown>[],
    { create, timeoutMs }: { readonly create: boolean; readonly timeoutMs: number },
  ): Promise<LmdbEnvironment> {
    const directory = await directoryOf(path, create)
    for (;;) {
      const known = environments.get(directory)
      if (!known) return openFirst(directory, spaces, timeoutMs)
      const environment = await known
      // The last one may have left while this one waited.
      if (environment.#users === 0) continue
      await environment.#join(spaces, timeoutMs)
      return environment
    }
  }

  table(space: Space<unknown>): LmdbTable {
    const table = this.#database.table(space.name)
    if (table === undefined) {
      throw new PrestigeError(
        'BODY_MISUSE',
        `Space ${space.name} was not named when the backend opened.`,
      )
    }
    return table
  }

  /**
   * Reads are synchronous, so a loop that awaits them one by one would never let the event loop turn: neither
   * timers nor writers would get their chance. After so many reads in one turn, the next one waits for another.
   */
  get turnNeeded(): Promise<void> | undefined {
    if (this.#closed) return this.#closed
    this.#reads++
    this.#turn ??= this.#nextTurn()
    return this.#reads > READS_A_TURN_MAX ? this.#turn : undefined
  }

  /**
   * Makes the next reads see every commit of every process until now, and puts the prefix in front of
   * their keys. Holds until the current turn of the event loop gives way to another.
   */
  refresh(prefix: Buffer): void {
    this.#database.refresh()
    this.#database.keys.prefix = prefix
  }

  /** Holds what is committed now, until it is given back. */
  holdMoment(): Moment {
    if (this.#isCompacting) throw beingCompacted(this.#directory)
    return this.#database.holdMoment()
  }

  releaseMoment(moment: Moment): void {
    this.#database.releaseMoment(moment)
  }

  /** Makes the next reads, which are to be of this moment, put the prefix in front of their keys. */
  enterMoment(moment: Moment, prefix: Buffer): void {
    if (!this.#database.isHeld(moment)) throw momentLost(this.#directory)
    this.#database.keys.prefix = prefix
  }

  /** How many write transactions this directory has committed; one fsync each with `fsync`. */
  get commits(): number {
    return this.#database.commits
  }

  enqueue(job: Job): void {
    this.#queue.push(job)
    if (job.durability === 'fsync') this.#durable++
    this.#schedule()
  }

  get fileBytes(): number {
    return fileBytes(this.#directory)
  }

  /** Gives free pages back to the file system. Commits wait until it has ended; reads go on. */
  async compact(timeoutMs: number): Promise<void> {
    await this.#quietly(timeoutMs, async (isUsedElsewhere) => {
      if (await isUsedElsewhere()) throw openElsewhere(this.#directory)
      await this.#database.makeCopy()
      await this.#whileReadsWait(() => this.#database.useCopy())
    })
  }

  /** Another process, another thread, or another backend of this one has the directory open, or a backup reads it. */
  async isShared(timeoutMs: number): Promise<boolean> {
    if (this.#users > 1 || this.#database.holdsMoments) return true
    return this.#quietly(timeoutMs, (isUsedElsewhere) => isUsedElsewhere())
  }

  /** Runs work during which nobody commits. */
  async #quietly<T>(timeoutMs: number, work: AloneWork<T>): Promise<T> {
    const end = performance.now() + timeoutMs
    if (!(await this.#lock.acquire(() => performance.now() >= end))) {
      throw contended(this.#directory, timeoutMs)
    }
    this.#isCompacting = true
    try {
      this.#refuseRemoved()
      if (this.#database.holdsMoments) throw momentHeld(this.#directory)
      await this.#sync()
      return await work(() => this.#whileReadsWait(() => this.#database.isUsedElsewhere()))
    } catch (error) {
      throw await this.#explained(error)
    } finally {
      this.#isCompacting = false
      this.#lock.release()
    }
  }

  async #whileReadsWait<T>(work: () => Promise<T>): Promise<T> {
    const closed = work()
    this.#closed = Promise.allSettled([closed]).then(() => undefined)
    try {
      return await closed
    } catch (error) {
      this.#mustReopen = true
      throw error
    } finally {
      this.#closed = undefined
    }
  }

  async leave(): Promise<void> {
    this.#users--
    if (this.#users > 0) return this.#sync()
    environments.delete(this.#directory)
    if (this.#queue.length > 0 || this.#scheduled) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    try {
      await this.#database.close()
      await this.#sync()
    } finally {
      this.#database.closeFiles()
      this.#lock.close()
    }
  }

  /** One sync after the other: the last to leave closes the file. */
  #sync(): Promise<void> {
    if (this.#isUnsynced) {
      this.#isUnsynced = false
      this.#synced = this.#synced.catch(() => {}).then(() => this.#database.sync())
    }
    return this.#synced
  }

  #nextTurn(): Promise<void> {
    this.#database.renewMark()
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#reads = 0
        this.#turn = undefined
        resolve()
      })
    })
  }

  /** What is written into removed files is lost. Looked at now and then, as looking costs. */
  #refuseRemoved(): void {
    const now = performance.now()
    if (now - this.#removalCheckedAt < REMOVAL_CHECK_MS) return
    if (this.#database.isRemoved || this.#lock.isRemoved) throw replaced(this.#directory)
    this.#removalCheckedAt = now
  }

  async #join(spaces: readonly Space<unknown>[], timeoutMs: number): Promise<void> {
    if (this.#database.isReplaced) throw replaced(this.#directory)
    this.#users++
    const missing = spaces.filter(({ name }) => !this.#database.table(name))
    if (missing.length === 0) return
    try {
      await this.#lock.hold(() => this.#database.openTables(missing), timeoutMs)
    } catch (error) {
      await this.leave().catch(() => {})
      throw engineError(error, this.#directory)
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const isLocked =
      this.#lock.tryAcquire() || (await this.#lock.acquire(() => this.#failExpired()))
    if (isLocked) {
      try {
        await this.#commit()
      } finally {
        this.#lock.release()
      }
    }
    this.#scheduled = false
    if (this.#queue.length > 0) this.#schedule()
    else this.#idle?.()
  }

  /** True: nobody is left who waits. */
  #failExpired(): boolean {
    if (this.#isCompacting) return false
    const now = performance.now()
    const expired = this.#queue.filter(({ deadline }) => now >= deadline)
    if (expired.length === 0) return this.#queue.length === 0
    this.#queue = this.#queue.filter(({ deadline }) => now < deadline)
    for (const job of expired) {
      if (job.durability === 'fsync') this.#durable--
      job.failed(contended(this.#directory, job.timeoutMs))
    }
    return this.#queue.length === 0
  }

  async #commit(): Promise<void> {
    // One fsync serves all: a group is synced when any of the queue must reach the disk.
    const durability = this.#durable > 0 ? 'fsync' : 'os'
    const group = new Group(this.#database.keys, (space) => this.table(space), durability)
    try {
      this.#refuseRemoved()
      assertSpace(this.#directory)
      await this.#maintain()
      await this.#commitGroup(group)
      this.#take(group.settled.length)
      for (const { job, failure } of group.settled) {
        if (failure) job.failed(failure.error)
        else job.done()
      }
    } catch (error) {
      this.#mustReopen = true
      this.#database.forgetKept()
      this.#groupFailed(group.settled.length, await this.#explained(error))
    }
  }

  #commitGroup(group: Group): Promise<void> | void {
    const run = () => group.run(this.#queue, this.#alone > 0 ? 1 : undefined)
    if (this.#durable === 0) {
      this.#isUnsynced = true
      return this.#database.commitUnsynced(run)
    }
    // Nobody else can commit now, so the newest snapshot is what a write transaction would see.
    this.#database.refreshForCommit()
    run()
    return this.#database.commitKept()
  }

  async #explained(error: unknown): Promise<PrestigeError> {
    if (error instanceof PrestigeError) return error
    const explained = engineError(await reasonOf(error), this.#directory)
    if (!isOutOfSpace(this.#directory)) return explained
    return fullError(this.#directory, 'the last write was cut short', explained.cause)
  }

  async #maintain(): Promise<void> {
    if (this.#mustReopen) await this.#whileReadsWait(() => this.#database.reopen())
    this.#mustReopen = false
    this.#database.renewMark()
    const now = performance.now()
    if (now - this.#readersCheckedAt < READER_CHECK_MS) return
    this.#readersCheckedAt = now
    this.#database.checkReaders()
  }

  #take(count: number): Job[] {
    const jobs = this.#queue.splice(0, count)
    for (const { durability } of jobs) if (durability === 'fsync') this.#durable--
    this.#alone = Math.max(0, this.#alone - count)
    return jobs
  }

  #groupFailed(count: number, error: unknown): void {
    if (count > 1) {
      this.#alone = count
      return
    }
    // Nothing was run: the write transaction could not even begin, so nothing could be tried alone either.
    const guilty = this.#take(count === 1 ? 1 : this.#queue.length)
    for (const job of guilty) job.failed(error)
  }
}

function replaced(directory: string): PrestigeError {
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    `Files of ${directory} were removed or replaced while it is open here. Close what is open, then open it again.`,
  )
}

function openFirst(
  directory: string,
  spaces: readonly Space<unknown>[],
  timeoutMs: number,
): Promise<LmdbEnvironment> {
  const opening = openAlone(directory, spaces, timeoutMs)
  environments.set(directory, opening)
  opening.catch(() => environments.delete(directory))
  return opening
}

async function openAlone(
  directory: string,
  spaces: readonly Space<unknown>[],
  timeoutMs: number,
): Promise<LmdbEnvironment> {
  const lock = new DirectoryLock(directory)
  try {
    const database = await lock.hold(() => new LmdbDatabase(directory, spaces), timeoutMs)
    return new LmdbEnvironment(directory, lock, database)
  } catch (error) {
    lock.close()
    throw openingError(directory, error)
  }
}
