/**
 * A storage engine over LevelDB (`classic-level`), made of nothing but the public subpath `prestige-dedup/backend`.
 *
 * LevelDB reads from snapshots and writes batches atomically, but a batch has no conditions. So bodies run
 * optimistically: cells are fetched with their versions, and a commit, while no other one runs, compares the versions of
 * what the body relied on and writes its batch. A directory belongs to one process; its backends share one database.
 *
 * Stored: space name, 0, namespace, key → version (8 bytes), value.
 */

import { mkdir, realpath } from 'node:fs/promises'

import { ClassicLevel } from 'classic-level'
import {
  type Addition,
  type BackendLimits,
  type BackendOptions,
  type Bytes,
  type Cell,
  cellName,
  type Commit,
  type CommitOutcome,
  namespacePrefix,
  OptimisticBackend,
  type Page,
  type PageRange,
  pagesOf,
  PrestigeError,
  type Range,
  type RawRow,
  type ScannableEngine,
  type SendRequest,
  type Space,
  type Tappable,
  type Versioned,
  within,
} from 'prestige-dedup/backend'

const LIMITS: BackendLimits = {
  keyBytesMax: 4096,
  valueBytesMax: 4 * 1024 * 1024,
  cellsMax: 10_000,
}
const PAGE_ROWS = 256
const VERSION_BYTES = 8
/** Holds the version of the last commit. No space has an empty name, so no row is in its place. */
const LAST_COMMIT = Buffer.of(0)

export interface LevelOptions extends BackendOptions, Tappable {
  /** `true` (default): what is acknowledged survives a power failure. `false`: a crash of the process. */
  readonly sync?: boolean
}

/** Opens the directory, which is made if it is missing. `openStore(await openLevel(…))` opens a store on it. */
export async function openLevel(
  directory: string,
  options: LevelOptions,
): Promise<OptimisticBackend> {
  const prefix = namespacePrefix(options.namespace) // refused before anything is opened
  await mkdir(directory, { recursive: true })
  const database = await Database.open(await realpath(directory))
  return new OptimisticBackend(new LevelEngine(database, prefix, options.sync ?? true), options)
}

type Level = ClassicLevel<Buffer, Buffer>
type Operation = { type: 'put'; key: Buffer; value: Buffer } | { type: 'del'; key: Buffer }

/** Runs what it is given one after another. */
class Queue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}

/** One open directory, for all backends of this process that use it. */
class Database {
  static readonly #open = new Map<string, Database>()
  static readonly #openings = new Queue()
  readonly level: Level
  readonly commits = new Queue()
  readonly #path: string
  #users = 0

  private constructor(path: string) {
    this.#path = path
    this.level = new ClassicLevel(path, { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  }

  static open(path: string): Promise<Database> {
    return Database.#openings.run(async () => {
      const database = Database.#open.get(path) ?? new Database(path)
      await orUnavailable(`open ${path}`, () => database.level.open())
      Database.#open.set(path, database)
      database.#users++
      return database
    })
  }

  leave(): Promise<void> {
    return Database.#openings.run(async () => {
      if (--this.#users > 0) return
      Database.#open.delete(this.#path)
      await this.level.close()
    })
  }
}

class LevelEngine implements ScannableEngine {
  readonly name = 'level backend'
  readonly limits = LIMITS
  /** Cells of one fetch come from one snapshot. */
  readonly fetchIsAtomic = true
  readonly #database: Database
  readonly #level: Level
  readonly #prefix: Buffer
  readonly #sync: boolean

  constructor(database: Database, prefix: Buffer, sync: boolean) {
    this.#database = database
    this.#level = database.level
    this.#prefix = prefix
    this.#sync = sync
  }

  fetch(cells: readonly Cell<unknown>[]): Promise<(Versioned | undefined)[]> {
    return orUnavailable('read', () => this.#fetch(cells))
  }

  commit(commit: Commit): Promise<CommitOutcome> {
    return this.#database.commits.run(() => orUnavailable('write', () => this.#commit(commit)))
  }

  scan(space: Space<unknown>, range: Range, send: SendRequest): AsyncIterable<RawRow> {
    return pagesOf(range, (page) =>
      send(() => orUnavailable('read', () => this.#page(space, page))),
    )
  }

  close(): Promise<void> {
    return this.#database.leave()
  }

  async #fetch(cells: readonly Pick<Cell<unknown>, 'space' | 'key'>[]) {
    const snapshot = this.#level.snapshot()
    try {
      const keys = cells.map(({ space, key }) => this.#keyOf(space, key))
      return (await this.#level.getMany(keys, { snapshot })).map(versioned)
    } finally {
      await snapshot.close()
    }
  }

  async #commit({ version, checks, writes, additions }: Commit): Promise<CommitOutcome> {
    const found = await this.#fetch(checks)
    if (checks.some((check, at) => check.version !== found[at]?.version)) {
      const names = checks.map(({ space, key }) => cellName(space, key))
      const fresh = new Map(names.map((name, at) => [name, found[at]]))
      return { applied: false, fresh, isOneMoment: true }
    }
    const tag = Buffer.from(version, 'latin1')
    const operations: Operation[] = [{ type: 'put', key: LAST_COMMIT, value: tag }]
    for (const { space, key, bytes } of writes) {
      const at = this.#keyOf(space, key)
      if (!bytes) operations.push({ type: 'del', key: at })
      else operations.push({ type: 'put', key: at, value: Buffer.concat([tag, bytes]) })
    }
    for (const { space, key, delta } of summed(additions)) {
      const [now] = await this.#fetch([{ space, key }])
      const sum = space.codec.encode((now ? space.codec.decode(now.bytes) : 0) + delta)
      const value = Buffer.concat([tag, sum])
      operations.push({ type: 'put', key: this.#keyOf(space, key), value })
    }
    await this.#write(operations, tag)
    return { applied: true }
  }

  /** After an error only the database knows whether the batch was written, and no other commit is in between. */
  async #write(operations: Operation[], tag: Buffer): Promise<void> {
    try {
      await this.#level.batch(operations, { sync: this.#sync })
    } catch (error) {
      const last = await this.#level.get(LAST_COMMIT)
      if (!last?.equals(tag)) throw error
    }
  }

  async #page(space: Space<unknown>, range: PageRange): Promise<Page> {
    const { start, end } = within(this.#prefix, range)
    const limit = Math.min(range.limit, PAGE_ROWS)
    const head = spacePrefix(space)
    const bounds = { gte: Buffer.concat([head, start]), lt: Buffer.concat([head, end]), limit }
    const entries = await this.#level.iterator(bounds).all()
    const cut = head.byteLength + this.#prefix.byteLength
    const rows = entries.map(([key, value]) => ({
      key: key.subarray(cut),
      bytes: value.subarray(VERSION_BYTES),
    }))
    return { rows, isLast: rows.length < limit }
  }

  #keyOf(space: Space<unknown>, key: Bytes): Buffer {
    return Buffer.concat([spacePrefix(space), this.#prefix, key])
  }
}

function spacePrefix({ name }: Space<unknown>): Buffer {
  return Buffer.from(`${name}\0`)
}

function versioned(value: Buffer | undefined): Versioned | undefined {
  if (!value) return undefined
  return {
    version: value.toString('latin1', 0, VERSION_BYTES),
    bytes: value.subarray(VERSION_BYTES),
  }
}

/** One addition a tally: a batch that named a tally twice would keep the second alone. */
function summed(additions: readonly Addition[]): Iterable<Addition> {
  const sums = new Map<string, Addition>()
  for (const { space, key, delta } of additions) {
    const name = cellName(space, key)
    sums.set(name, { space, key, delta: delta + (sums.get(name)?.delta ?? 0) })
  }
  return sums.values()
}

/** A failed read is an error, never a miss; this one says that trying again may help. */
async function orUnavailable<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PrestigeError) throw error
    const message = `LevelDB could not ${what}: ${String(error)}`
    throw new PrestigeError('BACKEND_UNAVAILABLE', message, { cause: error })
  }
}
