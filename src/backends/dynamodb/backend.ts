/**
 * The dynamodb backend: bodies run optimistically (optimistic.ts), reads of all that are in flight go out together
 * (reader.ts), commits in groups (committer.ts). One table holds everything (layout.ts).
 *
 * Everything acknowledged is durable: DynamoDB answers when a write is on several disks in several places.
 */

import { type Bytes, copyOf, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type {
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Cell,
  Range,
  ReadBody,
  Row,
  Space,
} from '../contract.ts'
import { cellName } from '../kit/draft.ts'
import { Gate } from '../kit/gate.ts'
import { checkedClock, IdSource, systemRandom } from '../kit/ids.ts'
import { namespacePrefix } from '../kit/namespace.ts'
import { RequestSpan } from '../kit/request-span.ts'
import {
  type Commit,
  type CommitOutcome,
  type OptimisticEngine,
  OptimisticRunner,
  type Versioned,
  type Tappable,
} from '../kit/optimistic.ts'
import type { Requests } from './client.ts'
import { Committer } from './committer.ts'
import {
  type Address,
  type Item,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  Layout,
  sumOf,
  TRANSACTION_BYTES_MAX,
  VALUE_BYTES_MAX,
  versionedOf,
} from './layout.ts'
import { Reader } from './reader.ts'
import { scanRows } from './scan.ts'
import { Snapshots } from './snapshots.ts'

const ATTEMPTS_MAX = 200
const VERSION_BYTES = 8
const TOKEN_BYTES = 16

/** Where the items of one cell are among those that were asked for: one, or one a shard of a tally. */
interface Place {
  readonly cell: Cell<unknown>
  readonly from: number
  readonly to: number
}

export class DynamoBackend implements Backend {
  readonly serial = false
  readonly limits: BackendLimits = {
    keyBytesMax: KEY_BYTES_MAX,
    valueBytesMax: VALUE_BYTES_MAX,
    cellsMax: ITEMS_MAX,
    transactionBytesMax: TRANSACTION_BYTES_MAX,
  }
  readonly #requests: Requests
  readonly #layout: Layout
  readonly #reader: Reader
  readonly #snapshots: Snapshots
  readonly #committer: Committer
  readonly #runner: OptimisticRunner
  readonly #span: RequestSpan
  readonly #clock: () => number
  readonly #gate = new Gate('dynamodb backend')
  /** What else has to be closed. */
  readonly #afterwards: () => Promise<void>

  constructor(
    requests: Requests,
    shards: number,
    options: BackendOptions & Tappable,
    afterwards: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#afterwards = afterwards
    const random = options.random ?? systemRandom
    this.#requests = requests
    const { region, timeoutMs } = requests.location
    this.#span = new RequestSpan(`DynamoDB in ${region}`, timeoutMs)
    this.#layout = new Layout(namespacePrefix(options.namespace), shards, options.spaces)
    this.#reader = new Reader(requests)
    this.#snapshots = new Snapshots(requests)
    this.#committer = new Committer({
      requests,
      layout: this.#layout,
      newToken: () => Buffer.from(random(TOKEN_BYTES)).toString('hex'),
    })
    this.#clock = checkedClock(options.clock)
    this.#runner = new OptimisticRunner({
      engine: options.tap?.(this.#engine()) ?? this.#engine(),
      limits: this.limits,
      ids: new IdSource(this.#clock, random),
      now: this.#clock,
      newVersion: () => latin1(random(VERSION_BYTES)),
      sleep: requests.patience.sleep,
      random: requests.patience.random,
      attemptsMax: ATTEMPTS_MAX,
      audit: false,
    })
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
    this.#gate.assertOpen()
    if (!space.ordered) {
      throw new PrestigeError('BODY_MISUSE', `Space ${space.name} has no order to scan it in.`)
    }
    const load = (pages: () => Promise<void>) => {
      this.#gate.assertOpen()
      return this.#runner.untilSent(() => this.#span.within(pages, pages))
    }
    const rows = scanRows(this.#requests, this.#layout, space, range, load)
    for await (const { key, bytes } of rows) {
      yield { key: copyOf(key), value: space.codec.decode(copyOf(bytes), key) }
    }
  }

  close(): Promise<void> {
    return this.#gate.close(async () => {
      this.#requests.destroy()
      await this.#afterwards()
    })
  }

  #engine(): OptimisticEngine {
    return {
      fetchIsAtomic: (cells) => this.#isSnapshot(cells) && this.#places(cells).isOneRequest,
      fetch: (cells) => this.#span.within(cells, () => this.#fetch(cells)),
      commit: (commit) => this.#span.within(commit, () => this.#commit(commit)),
    }
  }

  /** Tallies are sums over many items, which only a snapshot shows at one moment. */
  #isSnapshot(cells: readonly { readonly space: Space<unknown> }[]): boolean {
    return cells.some(({ space }) => space.kind === 'tallies')
  }

  async #fetch(cells: readonly Cell<unknown>[]): Promise<(Versioned | undefined)[]> {
    const { addresses, places } = this.#places(cells)
    const items = this.#isSnapshot(cells)
      ? await this.#snapshots.take(addresses)
      : await this.#reader.read(addresses)
    return places.map((place) => found(place, items))
  }

  #commit(commit: Commit): Promise<CommitOutcome> {
    const writes = commit.writes.length + commit.additions.length
    return writes > 0 ? this.#committer.commit(commit) : this.#validate(commit)
  }

  /** What was only read is compared with a snapshot, which costs a tenth of checking it by a write. */
  async #validate({ checks }: Commit): Promise<CommitOutcome> {
    const { addresses, places, isOneRequest } = this.#places(checks)
    const items = await this.#snapshots.take(addresses)
    const fresh = new Map<string, Versioned | undefined>()
    let isUnchanged = true
    places.forEach((place, at) => {
      const now = found(place, items)
      const { space, key } = place.cell
      fresh.set(cellName(space, key), now)
      if (now?.version !== checks[at]?.version) isUnchanged = false
    })
    return isUnchanged ? { applied: true } : { applied: false, fresh, isOneMoment: isOneRequest }
  }

  #places(cells: readonly Cell<unknown>[]): {
    addresses: Address[]
    places: Place[]
    isOneRequest: boolean
  } {
    const addresses: Address[] = []
    const names = new Map<string, number>()
    const places = cells.map((cell) => {
      const own = this.#addressesOf(cell)
      const from = names.get(own[0]?.name ?? '') ?? addresses.length
      if (from === addresses.length) addresses.push(...own)
      if (own[0]) names.set(own[0].name, from)
      return { cell, from, to: from + own.length }
    })
    return { addresses, places, isOneRequest: addresses.length <= ITEMS_MAX }
  }

  /** None for a key too long to be kept. */
  #addressesOf({ space, key }: { readonly space: Space<unknown>; readonly key: Bytes }): Address[] {
    if (key.byteLength > KEY_BYTES_MAX) return []
    if (space.kind === 'rows') return [this.#layout.row(space, key)]
    const { shards } = this.#layout
    return Array.from({ length: shards }, (_, shard) => this.#layout.tally(space, key, shard))
  }
}

function found(
  { cell: { space, key }, from, to }: Place,
  items: readonly (Item | undefined)[],
): Versioned | undefined {
  if (space.kind === 'tallies') {
    const sum = sumOf(items.slice(from, to), key)
    // Two equal sums cannot be distinguished, and need not be.
    return sum === undefined ? undefined : { bytes: space.codec.encode(sum), version: String(sum) }
  }
  const item = to > from ? items[from] : undefined
  return item && versionedOf(item)
}
