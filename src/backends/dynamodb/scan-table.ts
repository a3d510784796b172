/**
 * What can only be found by reading the whole table: rows of a space without an order, tallies, and the namespaces
 * there are. DynamoDB charges for every item it reads, whether it is wanted or not.
 */

import { asBuffer, type Bytes, EMPTY, latin1 } from '../../platform/bytes.ts'
import type { Range, Space } from '../contract.ts'
import type { Requests } from './client.ts'
import { type Item, type Layout, talliesOf, versionedOf } from './layout.ts'
import type { RawRow } from '../kit/pages.ts'

type Load = (pages: () => Promise<void>) => Promise<void>

/** Rows of one space without an order, or all its tallies. */
export async function* scanWhole(
  requests: Requests,
  layout: Layout,
  space: Space<unknown>,
  { limit = Infinity }: Range,
  load: Load,
): AsyncGenerator<RawRow> {
  const head = layout.head(space)
  const sums = new Map<string, number>()
  let left = limit
  const filter = {
    FilterExpression: 'begins_with(p, :head)',
    ExpressionAttributeValues: { ':head': { B: head } },
  }
  for await (const item of itemsOf(requests, filter, load)) {
    const rest = partitionOf(item).subarray(head.byteLength)
    if (space.kind === 'tallies') {
      for (const [key, value] of talliesOf(item, rest)) {
        sums.set(latin1(key), (sums.get(latin1(key)) ?? 0) + value)
      }
    } else if (left-- > 0) yield { key: rest, bytes: versionedOf(item).bytes }
    else return
  }
  for (const [key, sum] of [...sums].slice(0, limit)) {
    yield { key: Buffer.from(key, 'latin1'), bytes: encoded(space, sum) }
  }
}

/** Names of spaces that have rows, by namespace. */
export async function namespacesOf(requests: Requests): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  const load: Load = (pages) => pages()
  for await (const item of itemsOf(requests, { ProjectionExpression: 'p' }, load)) {
    const partition = partitionOf(item)
    if (partition[0] !== 1) continue
    const namespaceEnd = 2 + (partition[1] ?? 0)
    const namespace = partition.toString('utf8', 2, namespaceEnd)
    const spaceEnd = namespaceEnd + 1 + (partition[namespaceEnd] ?? 0)
    const spaces = found.get(namespace) ?? new Set()
    found.set(namespace, spaces.add(partition.toString('utf8', namespaceEnd + 1, spaceEnd)))
  }
  return found
}

async function* itemsOf(
  requests: Requests,
  what: Omit<Parameters<Requests['scan']>[0], 'TableName'>,
  load: Load,
): AsyncGenerator<Item> {
  let after: Item | undefined
  do {
    let page: Item[] = []
    const start = after
    await load(async () => {
      const { Items = [], LastEvaluatedKey } = await requests.scan({
        ...what,
        TableName: requests.location.table,
        ConsistentRead: true,
        ...(start && { ExclusiveStartKey: start }),
      })
      page = Items
      after = LastEvaluatedKey
    })
    yield* page
  } while (after)
}

function partitionOf(item: Item): Buffer {
  return asBuffer(item['p']?.B ?? EMPTY)
}

/** As a reader of one tally gets it. */
function encoded(space: Space<unknown>, sum: number): Bytes {
  return space.codec.encode(sum)
}
