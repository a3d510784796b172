/**
 * Rows of an ordered space in byte order: the shards of the space are each in order, and are merged. Pages are read
 * consistently, the first ones of all shards at once.
 */

import { asBuffer, type Bytes, concat, EMPTY } from '../../platform/bytes.ts'
import type { Range, Space } from '../contract.ts'
import type { RawRow } from '../kit/pages.ts'
import type { Requests } from './client.ts'
import { type Item, type Layout, versionedOf } from './layout.ts'

const PAGE_ROWS = 128
const SORT_BYTES_MAX = 1024
const ROW = Buffer.of(1)
const AFTER_ROWS = Buffer.of(2)

/** What one shard has of a range, page by page. */
class Shard {
  readonly #requests: Requests
  readonly #partition: Buffer
  readonly #start: Buffer
  readonly #end: Buffer
  #after: Item | undefined
  #page: Item[] = []
  #at = 0
  #isLast = false

  constructor(requests: Requests, partition: Buffer, start: Bytes, end: Bytes | undefined) {
    this.#requests = requests
    this.#partition = partition
    this.#start = concat(ROW, start)
    this.#end = end ? concat(ROW, end) : AFTER_ROWS
  }

  get head(): Item | undefined {
    return this.#page[this.#at]
  }

  get isEmpty(): boolean {
    return this.#at >= this.#page.length && !this.#isLast
  }

  shift(): void {
    this.#at++
  }

  async load(limit: number): Promise<void> {
    while (this.isEmpty) {
      const { Items = [], LastEvaluatedKey } = await this.#requests.query({
        TableName: this.#requests.location.table,
        ConsistentRead: true,
        // A sort key has one condition, and BETWEEN includes its end, which may have been cut: see below.
        KeyConditionExpression: 'p = :p AND s BETWEEN :start AND :end',
        ExpressionAttributeValues: {
          ':p': { B: this.#partition },
          ':start': { B: this.#start.subarray(0, SORT_BYTES_MAX) },
          ':end': { B: this.#end.subarray(0, SORT_BYTES_MAX) },
        },
        ...(this.#after && { ExclusiveStartKey: this.#after }),
        Limit: limit,
      })
      this.#page = Items.filter((item) => this.#isWithin(sortOf(item)))
      this.#at = 0
      this.#isLast = LastEvaluatedKey === undefined
      this.#after = LastEvaluatedKey
    }
  }

  #isWithin(sort: Buffer): boolean {
    return sort.compare(this.#start) >= 0 && sort.compare(this.#end) < 0
  }
}

function sortOf(item: Item): Buffer {
  return asBuffer(item['s']?.B ?? EMPTY)
}

/** `load` is given every loading of pages, to refuse it or to try it again. */
export async function* scanRows(
  requests: Requests,
  layout: Layout,
  space: Space<unknown>,
  { start = EMPTY, end, limit = Infinity }: Range,
  load: (pages: () => Promise<void>) => Promise<void>,
): AsyncGenerator<RawRow> {
  if (limit <= 0 || (end && asBuffer(start).compare(end) >= 0)) return
  const shards = layout
    .partitions(space, start, end)
    .map((partition) => new Shard(requests, partition, start, end))
  const page = Math.min(PAGE_ROWS, limit)
  for (let left = limit; left > 0; left--) {
    const empty = shards.filter((shard) => shard.isEmpty)
    if (empty.length > 0) {
      await load(async () => {
        await Promise.all(empty.map((shard) => shard.load(page)))
      })
    }
    const next = least(shards)
    if (next?.head === undefined) return
    const item = next.head
    next.shift()
    yield { key: sortOf(item).subarray(1), bytes: versionedOf(item).bytes }
  }
}

function least(shards: readonly Shard[]): Shard | undefined {
  let found: Shard | undefined
  for (const shard of shards) {
    if (!shard.head) continue
    if (!found?.head || sortOf(shard.head).compare(sortOf(found.head)) < 0) found = shard
  }
  return found
}
