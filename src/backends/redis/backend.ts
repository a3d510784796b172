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
import type { BackendLimits, BackendOptions, Cell, Range, Space } from '../contract.ts'
import type { Commit, CommitOutcome, Retrying, Tappable, Versioned } from '../kit/optimistic.ts'
import {
  OptimisticBackend,
  type ScannableEngine,
  type SendRequest,
} from '../kit/optimistic-backend.ts'
import { type Page, type PageRange, pagesOf, type RawRow } from '../kit/pages.ts'
import { checkedTimeout } from '../kit/request-span.ts'
import { Commits, versioned } from './commits.ts'
import { Connection } from './connection.ts'
import { engineError } from './failures.ts'
import { Fetches } from './fetches.ts'
import { Keys, keysOf, noteSpace } from './keys.ts'
import { parseLocation, type RedisLocation } from './location.ts'
import { Patience } from './patience.ts'
import { commitScript, fetchScript, scanScript } from './scripts.ts'
import { examine, type RedisDurability, requireFsync } from './server.ts'

export interface RedisOptions extends BackendOptions, Tappable, Retrying {
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
const SCAN_ROWS = 256
const SCAN_BYTES = 4 * 1024 * 1024
const WHOLE_ROWS_MIN = 16
const WHOLE_ROWS_MAX = 1024

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

/** One namespace on a server. */
class RedisEngine implements ScannableEngine {
  readonly name = 'redis backend'
  readonly limits: BackendLimits = LIMITS
  readonly fetchIsAtomic = true
  readonly commits: Commits
  readonly #connection: Connection
  readonly #location: RedisLocation
  readonly #keys: Keys
  readonly #session: Buffer
  readonly #fetches: Fetches
  readonly #patience: Patience

  constructor(connection: Connection, location: RedisLocation, keys: Keys) {
    this.#connection = connection
    this.#location = location
    this.#keys = keys
    this.#session = keys.session(randomBytes(8).toString('hex'))
    this.#patience = new Patience(location.timeoutMs)
    this.#fetches = new Fetches(keys, {
      fromOne: (key, fields) => connection.send('hmget', [key, ...fields]),
      fromMany: (all, args) => connection.run(fetchScript, all, args),
    })
    this.commits = new Commits(keys, this.#session, (all, args) => this.#send(all, args))
  }

  fetch(cells: readonly Cell<unknown>[]): Promise<readonly (Versioned | undefined)[]> {
    return this.#patience.untilSent(cells, () => this.#fetches.fetch(cells))
  }

  commit(commit: Commit): Promise<CommitOutcome> {
    return this.#patience.untilSent(commit, () => this.commits.commit(commit))
  }

  scan(space: Space<unknown>, range: Range, send: SendRequest): AsyncIterable<RawRow> {
    if (!space.ordered) return this.#whole(space, range, send)
    return pagesOf(range, (page) => {
      const args = pageArguments(page)
      return send(() => this.#patience.untilSent(args, () => this.#page(space, args)))
    })
  }

  async #page(space: Space<unknown>, args: readonly (Buffer | number)[]): Promise<Page> {
    const keys = this.#keys.of(space)
    const reply = await this.#connection.run(scanScript, [keys.order ?? keys.rows, keys.rows], args)
    const [more, ...found]: unknown[] = Array.isArray(reply) ? reply : []
    const rows: RawRow[] = []
    for (let at = 0; at < found.length; at += 2) {
      rows.push(rowOf(space, found[at], versioned(found[at + 1], keys, space)?.bytes))
    }
    return { rows, isLast: more !== 1 || rows.length === 0 }
  }

  /** Of a space without an order. Pages grow while they are small: values may be tiny, or a mebibyte. */
  async *#whole(
    space: Space<unknown>,
    { limit = Infinity }: Range,
    send: SendRequest,
  ): AsyncGenerator<RawRow> {
    const keys = this.#keys.of(space)
    let cursor: Buffer | undefined
    let left = limit
    for (let rows = WHOLE_ROWS_MIN; left > 0;) {
      const args = [keys.rows, cursor ?? 0, 'COUNT', rows] as const
      const [next, page] = await send(() =>
        this.#patience.untilSent(args, async () => {
          const answer = await this.#connection.send('hscan', args)
          return Array.isArray(answer) ? answer : []
        }),
      )
      const found = Array.isArray(page) ? page : []
      let bytes = 0
      for (let at = 0; at < found.length && left > 0; at += 2, left--) {
        const row = versioned(found[at + 1], keys, space)
        bytes += row?.bytes.byteLength ?? 0
        yield rowOf(space, found[at], row?.bytes)
      }
      cursor = next instanceof Buffer ? next : undefined
      if (cursor === undefined || cursor.toString() === '0') return
      if (bytes < SCAN_BYTES / 16) rows = Math.min(rows * 2, WHOLE_ROWS_MAX)
      else if (bytes > SCAN_BYTES) rows = Math.max(Math.floor(rows / 2), 1)
    }
  }

  /** Names of spaces that have rows, by namespace: all that are below this prefix. */
  async namespaces(): Promise<Map<string, Set<string>>> {
    const found = new Map<string, Set<string>>()
    await this.#connection.ask(async () => {
      for (const server of this.#connection.masters) {
        for await (const key of keysOf(server, this.#location.prefix)) noteSpace(found, key)
      }
    })
    return found
  }

  async close(): Promise<void> {
    // Otherwise, or if this fails, the set goes by itself, an hour later.
    if (this.commits.isCertain && this.#connection.isReady) {
      await this.#connection.send('unlink', [this.#session]).catch(() => undefined)
    }
    await this.#connection.close()
  }

  async #send(keys: readonly Buffer[], args: readonly (Buffer | number)[]): Promise<unknown> {
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

export class RedisBackend extends OptimisticBackend {
  /** What becomes of acknowledged writes, as reported by the server at open. */
  readonly durability: RedisDurability
  readonly #engine: RedisEngine

  constructor(
    connection: Connection,
    location: RedisLocation,
    keys: Keys,
    durability: RedisDurability,
    options: RedisOptions,
  ) {
    const engine = new RedisEngine(connection, location, keys)
    super(engine, options)
    this.durability = durability
    this.#engine = engine
  }

  /** Commits applied and refused so far, and the requests they went in. */
  get commits(): { readonly applied: number; readonly refused: number; readonly requests: number } {
    const { applied, refused, requests } = this.#engine.commits
    return { applied, refused, requests }
  }

  /** Names of spaces that have rows, by namespace. */
  namespaces(): Promise<Map<string, Set<string>>> {
    return this.#engine.namespaces()
  }
}

function pageArguments({ start, end, limit }: PageRange): (Buffer | number)[] {
  const from = start ? concat(Buffer.from('['), start) : Buffer.from('-')
  const to = end ? concat(Buffer.from('('), end) : Buffer.from('+')
  return [from, to, Math.min(SCAN_ROWS, limit), SCAN_BYTES]
}

function rowOf(space: Space<unknown>, key: unknown, bytes: Bytes | undefined): RawRow {
  if (key instanceof Buffer && bytes !== undefined) return { key, bytes }
  throw new PrestigeError(
    'CONTENT_CORRUPT',
    `The index of ${space.name} names a row that is not there. Something else than prestige has written here.`,
  )
}
