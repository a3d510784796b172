/**
 * The dynamodb backend: bodies run optimistically (optimistic.ts), reads of all that are in flight go out together
 * (reader.ts), commits in groups (committer.ts). One table holds everything (layout.ts).
 *
 * Everything acknowledged is durable: DynamoDB answers when a write is on several disks in several places.
 */

import { type Bytes, latin1 } from '../../platform/bytes.ts'
import type { BackendLimits, BackendOptions, Cell, Range, Space } from '../contract.ts'
import { cellName } from '../kit/draft.ts'
import { systemRandom } from '../kit/ids.ts'
import { namespacePrefix } from '../kit/namespace.ts'
import type { Commit, CommitOutcome, Retrying, Tappable, Versioned } from '../kit/optimistic.ts'
import {
  OptimisticBackend,
  type ScannableEngine,
  type SendRequest,
} from '../kit/optimistic-backend.ts'
import type { RawRow } from '../kit/pages.ts'
import { RequestSpan } from '../kit/request-span.ts'
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
import { namespacesOf, scanWhole } from './scan-table.ts'
import { Snapshots } from './snapshots.ts'

const ATTEMPTS_MAX = 200
const VERSION_BYTES = 8
const TOKEN_BYTES = 16
const LIMITS: BackendLimits = {
  keyBytesMax: KEY_BYTES_MAX,
  valueBytesMax: VALUE_BYTES_MAX,
  cellsMax: ITEMS_MAX,
  transactionBytesMax: TRANSACTION_BYTES_MAX,
}

/** Where the items of one cell are among those that were asked for: one, or one a shard of a tally. */
interface Place {
  readonly cell: Cell<unknown>
  readonly from: number
  readonly to: number
}

/** One namespace of a table. */
class DynamoEngine implements ScannableEngine {
  readonly name = 'dynamodb backend'
  readonly limits: BackendLimits = LIMITS
  readonly #requests: Requests
  readonly #layout: Layout
  readonly #reader: Reader
  readonly #snapshots: Snapshots
  readonly #committer: Committer
  readonly #span: RequestSpan
  /** What else has to be closed. */
  readonly #afterwards: () => Promise<void>

  constructor(
    requests: Requests,
    layout: Layout,
    random: (count: number) => Bytes,
    afterwards: () => Promise<void>,
  ) {
    this.#afterwards = afterwards
    this.#requests = requests
    const { region, timeoutMs } = requests.location
    this.#span = new RequestSpan(`DynamoDB in ${region}`, timeoutMs)
    this.#layout = layout
    this.#reader = new Reader(requests)
    this.#snapshots = new Snapshots(requests)
    this.#committer = new Committer({
      requests,
      layout,
      newToken: () => Buffer.from(random(TOKEN_BYTES)).toString('hex'),
    })
  }

  fetchIsAtomic = (cells: readonly Cell<unknown>[]): boolean =>
    this.#isSnapshot(cells) && this.#places(cells).isOneRequest

  fetch(cells: readonly Cell<unknown>[]): Promise<readonly (Versioned | undefined)[]> {
    return this.#span.within(cells, () => this.#fetch(cells))
  }

  commit(commit: Commit): Promise<CommitOutcome> {
    return this.#span.within(commit, () => this.#commit(commit))
  }

  scan(space: Space<unknown>, range: Range, send: SendRequest): AsyncIterable<RawRow> {
    const load = (pages: () => Promise<void>) => send(() => this.#span.within(pages, pages))
    const rows = space.ordered ? scanRows : scanWhole
    return rows(this.#requests, this.#layout, space, range, load)
  }

  async close(): Promise<void> {
    this.#requests.destroy()
    await this.#afterwards()
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

export class DynamoBackend extends OptimisticBackend {
  readonly #requests: Requests

  constructor(
    requests: Requests,
    shards: number,
    options: BackendOptions & Tappable & Retrying,
    afterwards: () => Promise<void> = () => Promise.resolve(),
  ) {
    const random = options.random ?? systemRandom
    const layout = new Layout(namespacePrefix(options.namespace), shards, options.spaces)
    super(new DynamoEngine(requests, layout, random, afterwards), options, {
      newVersion: () => latin1(random(VERSION_BYTES)),
      sleep: requests.patience.sleep,
      random: requests.patience.random,
      attemptsMax: ATTEMPTS_MAX,
    })
    this.#requests = requests
  }

  /** Names of spaces that have rows, by namespace. It reads the whole table. */
  namespaces(): Promise<Map<string, Set<string>>> {
    return namespacesOf(this.#requests)
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
