/**
 * One LMDB directory as this thread sees it, and its group commit: everything queued while the last
 * commit ran is driven inside one LMDB write transaction, so hundreds of transactions share one fsync.
 *
 * Invariant: a job's promise settles only after the write transaction that holds it has committed (and,
 * with `fsync`, reached the disk).
 *
 * Why it is built the way it is:
 *  - lmdb's asynchronous `transaction()` commits what was written before its callback threw; its
 *    `childTransaction()` rolls back. With `os` there is no fsync to wait for, and `transactionSync` is the
 *    cheapest form (12-16 CPU µs a put where the asynchronous ones take 20).
 *  - Durability belongs to a group, not to the environment: lmdb shares one environment a process, whose
 *    flags are those of whoever opened it first, so one thread's `os` would silently take another's `fsync`.
 *  - A group that fails as a whole is tried again one job at a time, so that only the guilty one fails.
 *  - A group ends after some milliseconds or megabytes, so that the event loop stays responsive.
 */

import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'

import type * as Lmdb from 'lmdb'

import { type Bytes, copyOf, EMPTY } from '../../bytes.ts'
import { PrestigeError } from '../../errors.ts'
import type { Space } from '../contract.ts'
import type { Addition, Draft } from '../draft.ts'
import { engineError, reasonOf } from './errors.ts'
import { dataFile, directoryOf, identityOf, refuseForeignFile, syncFile } from './files.ts'

export type Durability = 'fsync' | 'os'
export type Table = Lmdb.Database<Bytes, Bytes>

// lmdb's CommonJS build loads in half the time of its ES modules, which a command line pays at every start.
const lmdb: typeof Lmdb = createRequire(import.meta.url)('lmdb')

/** One transaction waiting for its group. */
export interface Job {
  readonly durability: Durability
  /** Runs the body inside the open write transaction and returns what it recorded. Throws what the body throws. */
  drive(): Draft
  /** What its keys begin with. */
  readonly prefix: Buffer
  done(): void
  failed(error: unknown): void
}

const GROUP_JOBS_MAX = 512
const GROUP_BYTES_MAX = 8 * 1024 * 1024
const GROUP_MS_MAX = 10
/** About 8 ms of reading. */
const READS_A_TURN_MAX = 1000
const SPACES_MAX = 256
/** Address space, not disk: the file grows as it is written. */
const MAP_BYTES = 2 ** 40
/** lmdb's flags of a transaction that can be rolled back, commits at once, and leaves the flush to the system. */
const UNSYNCED: number =
  lmdb.TransactionFlags.ABORTABLE |
  lmdb.TransactionFlags.SYNCHRONOUS_COMMIT |
  lmdb.TransactionFlags.NO_SYNC_FLUSH

interface Settled {
  readonly job: Job
  readonly failure: { readonly error: unknown } | undefined
}

const environments = new Map<string, LmdbEnvironment>()

export class LmdbEnvironment {
  readonly #root: Lmdb.RootDatabase<Bytes, Bytes>
  readonly #directory: string
  readonly #identity: string
  /** To sync what `os` left to the system, wherever the file may have been moved to. */
  readonly #file: number
  readonly #tables = new Map<string, Table>()
  readonly #keys = new PrefixedKeys()
  #users = 0
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
  #idle: (() => void) | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#root = lmdb.open<Bytes, Bytes>({
      path: directory,
      noSubdir: false,
      encoding: 'binary',
      maxDbs: SPACES_MAX,
      mapSize: MAP_BYTES,
      overlappingSync: false,
      // With it a failed commit rejects a promise of lmdb's own that nobody can catch, and the process dies.
      eventTurnBatching: false,
    })
    this.#identity = identityOf(directory)
    this.#file = openSync(dataFile(directory), 'r+')
  }

  /** The environment of a directory; all backends of this thread share one. */
  static async open(
    path: string,
    spaces: readonly Space<unknown>[],
    create: boolean,
  ): Promise<LmdbEnvironment> {
    const directory = await directoryOf(path, create)
    await refuseForeignFile(dataFile(directory))
    let environment = environments.get(directory)
    if (environment) environment.#refuseReplaced()
    else {
      environment = openOrExplain(directory)
      environments.set(directory, environment)
    }
    environment.#join(spaces)
    return environment
  }

  table(space: Space<unknown>): Table {
    const table = this.#tables.get(space.name)
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
    this.#reads++
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#reads = 0
        this.#turn = undefined
        resolve()
      })
    })
    return this.#reads > READS_A_TURN_MAX ? this.#turn : undefined
  }

  /**
   * Makes the next reads see every commit of every process until now, and puts the prefix in front of
   * their keys. Holds until the current turn of the event loop gives way to another.
   */
  refresh(prefix: Buffer): void {
    this.#root.resetReadTxn()
    this.#keys.prefix = prefix
  }

  /** Runs synchronous work whose keys carry their prefix already. */
  withWholeKeys<T>(work: () => T): T {
    const { prefix } = this.#keys
    this.#keys.prefix = EMPTY
    try {
      return work()
    } finally {
      this.#keys.prefix = prefix
    }
  }

  /** How many write transactions this directory has committed; one fsync each with `fsync`. */
  get commits(): number {
    // safe: lmdb's stats are untyped, and this field has been there since its first version
    return (this.#root.getStats() as { lastTxnId: number }).lastTxnId
  }

  enqueue(job: Job): void {
    this.#queue.push(job)
    if (job.durability === 'fsync') this.#durable++
    this.#schedule()
  }

  async leave(): Promise<void> {
    this.#users--
    if (this.#users > 0) return this.#sync()
    if (environments.get(this.#directory) === this) environments.delete(this.#directory)
    if (this.#queue.length > 0 || this.#scheduled) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    await this.#root.close()
    await this.#sync().finally(() => closeSync(this.#file))
  }

  /** One sync after the other: the last to leave closes the file. */
  #sync(): Promise<void> {
    if (this.#isUnsynced) {
      this.#isUnsynced = false
      this.#synced = this.#synced.catch(() => {}).then(() => syncFile(this.#file))
    }
    return this.#synced
  }

  /** Whoever removed or replaced the file would otherwise write into the one that nobody can find any more. */
  #refuseReplaced(): void {
    if (identityOf(this.#directory) === this.#identity) return
    throw new PrestigeError(
      'BACKEND_UNAVAILABLE',
      `${this.#directory} was removed or replaced while it is open here. Close what is open, then open it again.`,
    )
  }

  #join(spaces: readonly Space<unknown>[]): void {
    for (const { name } of spaces) {
      if (this.#tables.has(name)) continue
      const options = { name, encoding: 'binary', keyEncoder: this.#keys.encoder } as const
      this.#tables.set(name, this.#openTable(options))
    }
    this.#users++
  }

  #openTable(options: Lmdb.DatabaseOptions & { name: string }): Table {
    try {
      return this.#root.openDB<Bytes, Bytes>(options)
    } catch (error) {
      if (this.#users === 0) environments.delete(this.#directory)
      throw engineError(error)
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const taken: Settled[] = []
    try {
      await this.#commitGroup(taken)
      this.#take(taken.length)
      for (const { job, failure } of taken) {
        if (failure) job.failed(failure.error)
        else job.done()
      }
    } catch (error) {
      this.#groupFailed(taken, engineError(await reasonOf(error)))
    }
    this.#scheduled = false
    if (this.#queue.length > 0) this.#schedule()
    else this.#idle?.()
  }

  /** One fsync serves all: a group is synced when any of the queue must reach the disk. */
  #commitGroup(taken: Settled[]): Promise<void> | void {
    const drive = () => this.#driveGroup(taken)
    if (this.#durable > 0) return this.#root.childTransaction(drive)
    this.#isUnsynced = true
    // oxlint-disable-next-line no-unsafe-enum-assignment -- lmdb types a sum of flags as one of them
    this.#root.transactionSync(drive, UNSYNCED)
  }

  #take(count: number): Job[] {
    const jobs = this.#queue.splice(0, count)
    for (const { durability } of jobs) if (durability === 'fsync') this.#durable--
    this.#alone = Math.max(0, this.#alone - count)
    return jobs
  }

  /** Drives jobs from the head of the queue; they leave it once their fate is known. */
  #driveGroup(taken: Settled[]): void {
    const started = performance.now()
    const sums: Sum[] = []
    const jobsMax = this.#alone > 0 ? 1 : GROUP_JOBS_MAX
    let bytes = 0
    for (const job of this.#queue) {
      bytes += this.#driveOne(job, taken, sums)
      if (taken.length >= jobsMax || bytes > GROUP_BYTES_MAX) break
      if (performance.now() - started > GROUP_MS_MAX) break
    }
    for (const sum of sums) this.#addUp(sum)
  }

  /** A body that throws has recorded nothing that counts; an engine that throws takes the group with it. */
  #driveOne(job: Job, taken: Settled[], sums: Sum[]): number {
    this.#keys.prefix = job.prefix
    let draft: Draft
    try {
      draft = job.drive()
    } catch (error) {
      taken.push({ job, failure: { error } })
      return 0
    }
    taken.push({ job, failure: undefined })
    for (const addition of draft.additions) addTo(sums, job.prefix, addition)
    return this.#apply(draft)
  }

  #apply(draft: Draft): number {
    let written = 0
    for (const { space, key, bytes } of draft.finalWrites()) {
      const table = this.table(space)
      if (bytes === undefined) {
        table.removeSync(key)
      } else {
        table.putSync(key, bytes)
        written += bytes.byteLength
      }
    }
    return written
  }

  #addUp({ prefix, space, key, delta }: Sum): void {
    this.#keys.prefix = prefix
    const table = this.table(space)
    const current = table.getBinary(key)
    const sum = (current ? space.codec.decode(current) : 0) + delta
    table.putSync(key, space.codec.encode(sum))
  }

  #groupFailed(taken: readonly Settled[], error: unknown): void {
    if (taken.length > 1) {
      this.#alone = taken.length
      return
    }
    // Nothing taken: the write transaction could not even begin, so nothing could be tried alone either.
    const guilty = this.#take(taken.length === 1 ? 1 : this.#queue.length)
    for (const job of guilty) job.failed(error)
  }
}

interface Sum {
  readonly prefix: Buffer
  readonly space: Space<number>
  readonly key: Bytes
  delta: number
}

/**
 * Additions of a whole group are summed first: a tally costs one write a group, not one a put. The few
 * tallies there are are constants, so looking for the same key object is enough; one that is missed is
 * only added by itself.
 */
function addTo(sums: Sum[], prefix: Buffer, { space, key, delta }: Addition): void {
  for (const sum of sums) {
    if (sum.key !== key || sum.prefix !== prefix || sum.space !== space) continue
    sum.delta += delta
    return
  }
  sums.push({ prefix, space, key, delta })
}

type WriteKey = (key: Bytes, target: Buffer, start: number) => number
type ReadKey = (source: Buffer, start: number, end: number) => Buffer

/** Puts a namespace's prefix in front of keys as lmdb takes them in, without a copy a key. */
class PrefixedKeys {
  prefix: Buffer = EMPTY
  readonly encoder: { writeKey: WriteKey; readKey: ReadKey } = {
    writeKey: (key, target, start) => {
      const { prefix } = this
      if (prefix.byteLength === 1) target[start] = prefix[0] ?? 0
      else if (prefix.byteLength > 0) target.set(prefix, start)
      target.set(key, start + prefix.byteLength)
      return start + prefix.byteLength + key.byteLength
    },
    readKey: (source, start, end) => copyOf(source.subarray(start, end)),
  }
}

function openOrExplain(directory: string): LmdbEnvironment {
  try {
    return new LmdbEnvironment(directory)
  } catch (error) {
    throw new PrestigeError(
      'BACKEND_UNAVAILABLE',
      `LMDB cannot open ${directory}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
}
