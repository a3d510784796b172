/**
 * The Redis backend (Redis 7, Valkey 8): transactions read without locks and commit by one script that checks
 * every cell they rely on. See optimistic.ts for how they are run again, commits.ts for how a commit whose answer
 * was lost is never applied twice, keys.ts for where rows are.
 *
 * A namespace is in one slot, and so on one server of a cluster; namespaces spread.
 */

import { randomBytes } from 'node:crypto'

import { type Bytes, concat } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
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
import { Gate } from '../kit/gate.ts'
import { checkedClock, IdSource, systemRandom } from '../kit/ids.ts'
import { checkedTimeout } from '../kit/request-span.ts'
import { type OptimisticEngine, OptimisticRunner, type Tappable } from '../kit/optimistic.ts'
import { Commits, versioned } from './commits.ts'
import { Connection } from './connection.ts'
import { engineError } from './failures.ts'
import { Fetches } from './fetches.ts'
import { Keys, VERSION_BYTES } from './keys.ts'
import { parseLocation, type RedisLocation } from './location.ts'
import { Patience, pause } from './patience.ts'
import { commitScript, fetchScript, scanScript } from './scripts.ts'
import { examine, type RedisDurability, requireFsync } from './server.ts'

export interface RedisOptions extends BackendOptions, Tappable {
  /**
   * `fsync`: refused unless the server brings every write to its disk before it answers. `os`: acknowledged
   * writes survive a crash of this process, which every server gives. Not given: what the server gives.
   */
  readonly durability?: 'fsync' | 'os' | undefined
  /** For stores on top; a Redis has nothing that would have to be made. */
  readonly create?: boolean | undefined
  /** So many replicas confirm a write before it is acknowledged. Stands before `?waitReplicas=`. */
  readonly waitReplicas?: number | undefined
  /** How long a request may go unanswered (10,000). Stands before `?timeoutMs=`. */
  readonly timeoutMs?: number | undefined
}

const LIMITS: BackendLimits = {
  keyBytesMax: 16_384,
  // Larger ones would keep the server, which does one thing at a time, from everyone else.
  valueBytesMax: 1024 * 1024,
  cellsMax: 10_000,
}
const ATTEMPTS_MAX = 1000
const SCAN_ROWS = 256
const SCAN_BYTES = 4 * 1024 * 1024

export async function openRedis(location: string, options: RedisOptions): Promise<RedisBackend> {
  const parsed = parseLocation(location)
  const { waitReplicas = parsed.waitReplicas, durability } = options
  const timeoutMs = checkedTimeout(options.timeoutMs) ?? parsed.timeoutMs
  const place = { ...parsed, waitReplicas, timeoutMs }
  const keys = new Keys(place.prefix, options) // refused before anything is opened
  const connection = await Connection.open(place)
  try {
    const found = await connection.ask(() => examine(connection.masters, place))
    if (durability === 'fsync') requireFsync(found, place.shown)
    await refuseForeignKeys(connection, keys, place)
    return new RedisBackend(connection, place, keys, found, options)
  } catch (error) {
    await connection.close()
    throw engineError(error, place.shown)
  }
}

/** A script that meets a key of another type stops half way; so none may be there. */
async function refuseForeignKeys(
  connection: Connection,
  keys: Keys,
  { shown }: RedisLocation,
): Promise<void> {
  const all = [...keys.all()]
  const types = await Promise.all(all.map(({ key }) => connection.send('type', [key])))
  all.forEach(({ key, type }, at) => {
    const found = String(types[at])
    if (found === type || found === 'none') return
    throw new PrestigeError(
      'INVALID_LOCATION',
      `${shown} holds a ${found} under ${key.toString()}, which is not prestige’s. Choose another ?prefix=.`,
    )
  })
}

export class RedisBackend implements Backend {
  readonly limits: BackendLimits = LIMITS
  readonly serial = false
  /** What becomes of acknowledged writes, as reported by the server at open. */
  readonly durability: RedisDurability
  readonly #connection: Connection
  readonly #location: RedisLocation
  readonly #keys: Keys
  readonly #session: Buffer
  readonly #clock: () => number
  readonly #gate = new Gate('redis backend')
  readonly #commits: Commits
  readonly #patience: Patience
  readonly #runner: OptimisticRunner

  constructor(
    connection: Connection,
    location: RedisLocation,
    keys: Keys,
    durability: RedisDurability,
    options: RedisOptions,
  ) {
    this.#connection = connection
    this.#location = location
    this.#keys = keys
    this.durability = durability
    this.#session = keys.session(randomBytes(8).toString('hex'))
    this.#clock = checkedClock(options.clock)
    this.#patience = new Patience(location.timeoutMs)
    const fetches = new Fetches(keys, {
      fromOne: (key, fields) => connection.send('hmget', [key, ...fields]),
      fromMany: (all, args) => connection.run(fetchScript, all, args),
    })
    const commits = (this.#commits = new Commits(keys, this.#session, (all, args) =>
      this.#commit(all, args),
    ))
    const engine: OptimisticEngine = {
      fetchIsAtomic: true,
      fetch: (cells) => this.#patience.untilSent(cells, () => fetches.fetch(cells)),
      commit: (commit) => this.#patience.untilSent(commit, () => commits.commit(commit)),
    }
    this.#runner = new OptimisticRunner({
      engine: options.tap?.(engine) ?? engine,
      limits: LIMITS,
      ids: new IdSource(this.#clock, options.random ?? systemRandom),
      now: this.#clock,
      newVersion: versions(),
      sleep: pause,
      random: Math.random,
      attemptsMax: ATTEMPTS_MAX,
      audit: false,
    })
  }

  /** Commits applied and refused so far, and the requests they went in. */
  get commits(): { readonly applied: number; readonly refused: number; readonly requests: number } {
    const { applied, refused, requests } = this.#commits
    return { applied, refused, requests }
  }

  now(): number {
    return this.#clock()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#gate.pass(() => this.#runner.read(body, args))
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return this.#gate.pass(() => this.#runner.run(body, args))
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    const keys = this.#keys.of(space)
    const { order } = keys
    if (order === undefined)
      throw new PrestigeError('BODY_MISUSE', `Space ${space.name} has no order to be scanned in.`)
    let left = range.limit ?? Infinity
    let from = range.start ? concat(Buffer.from('['), range.start) : Buffer.from('-')
    const to = range.end ? concat(Buffer.from('('), range.end) : Buffer.from('+')
    while (left > 0) {
      const rows = Math.min(SCAN_ROWS, left)
      const [more, ...page] = await this.#page([order, keys.rows], [from, to, rows, SCAN_BYTES])
      for (let at = 0; at < page.length; at += 2) {
        yield rowOf(space, page[at], versioned(page[at + 1], keys, space)?.bytes)
      }
      const last = page.at(-2)
      if (more !== 1 || !(last instanceof Buffer)) return
      left -= page.length / 2
      from = concat(Buffer.from('('), last)
    }
  }

  close(): Promise<void> {
    return this.#gate.close(async () => {
      // Otherwise, or if this fails, the set goes by itself, an hour later.
      if (this.#commits.isCertain && this.#connection.isReady) {
        await this.#connection.send('unlink', [this.#session]).catch(() => undefined)
      }
      await this.#connection.close()
    })
  }

  #page(keys: readonly Buffer[], args: readonly (Buffer | number)[]): Promise<unknown[]> {
    return this.#gate.pass(() =>
      this.#patience.untilSent(args, async () => {
        const page = await this.#connection.run(scanScript, keys, args)
        return Array.isArray(page) ? page : []
      }),
    )
  }

  async #commit(keys: readonly Buffer[], args: readonly (Buffer | number)[]): Promise<unknown> {
    const { waitReplicas, shown } = this.#location
    if (waitReplicas === 0) return this.#connection.run(commitScript, keys, args)
    const done = await this.#connection.runAndWait(commitScript, keys, args, waitReplicas)
    if (done.confirmed >= waitReplicas) return done.reply
    throw new PrestigeError(
      'BACKEND_UNAVAILABLE',
      `Of ${waitReplicas} replicas of ${shown}, ${done.confirmed} confirmed in time. The write is on the primary.`,
    )
  }
}

function rowOf<V>(space: Space<V>, key: unknown, value: Bytes | undefined): Row<V> {
  if (!(key instanceof Buffer) || value === undefined) {
    throw new PrestigeError(
      'CONTENT_CORRUPT',
      `The index of ${space.name} names a row that is not there. Something else than prestige has written here.`,
    )
  }
  return { key: Buffer.from(key), value: space.codec.decode(Buffer.from(value), key) }
}

/** Eight random bytes each, drawn many at a time. Never those of options: versions have to differ everywhere. */
function versions(): () => string {
  const pool = Buffer.allocUnsafe(512 * VERSION_BYTES)
  let at = pool.byteLength
  return () => {
    if (at === pool.byteLength) {
      pool.set(randomBytes(pool.byteLength))
      at = 0
    }
    at += VERSION_BYTES
    return pool.toString('latin1', at - VERSION_BYTES, at)
  }
}
